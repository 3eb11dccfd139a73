package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/theme"
)

// maxBlocks bounds the blocks of one result that are shown.
const maxBlocks = 100

func layCall(it *Item, w int, f Frame, loop string) []string {
	c, th := it.call, f.Theme
	fold := "▸ "
	if it.expanded {
		fold = "▾ "
	}
	state := callState(c, f)
	name := CallName(c.Tool)
	if c.Tool == "" {
		name = tool.Asked("", c.ModelName).String() // a model asked for what is not there
	}
	if loop != "" {
		name = loop + " · " + name
	}
	if c.By != "model" && c.By != "" {
		name = "you ▸ " + name
	}
	head := th.Muted.Render(fold) + th.Bold.Render(name)
	if room := w - cells.Width(head) - cells.Width(state) - 3; room > 8 && !it.expanded {
		head += "  " + th.Muted.Render(cells.Cut(string(safetext.ToLineN(string(c.Args), 512)), room))
	}
	out := []string{cells.Spread(head, state, w)}
	gutter := th.Gutter.Render("│") + " "
	inner := max(w-4, 1)
	add := func(st lipgloss.Style, lines []string) {
		for _, l := range lines {
			out = append(out, "  "+gutter+st.Render(l))
		}
	}
	if c.State == CallDone && c.Outcome != tool.OK && c.Reason != "" {
		add(th.Warn, capped(wrapBlock(c.Reason, inner), inner))
	}
	if c.Progress != "" {
		add(th.Muted, wrapBlock(c.Progress, inner)[:1])
	}
	if !it.expanded {
		return out
	}
	add(th.Muted, capped(wrapBlock(compact(c.Args), inner), inner))
	if c.State == CallDone {
		add(th.Text, capped(layContent(c, inner), inner))
	}
	return out
}

// CallName writes a tool's identity as people read it: "demo ▸ add".
func CallName(identity string) string {
	parts := strings.SplitN(identity, ":", 3)
	if len(parts) == 3 {
		return string(safetext.Ident(parts[1])) + " ▸ " + string(safetext.Ident(parts[2]))
	}
	return string(safetext.Ident(parts[len(parts)-1]))
}

func callState(c *Call, f Frame) string {
	th := f.Theme
	switch c.State {
	case CallRequested:
		return th.Muted.Render(theme.SymbolBusy + " asked")
	case CallGated:
		return th.Warn.Render(theme.SymbolBusy + " gate: you")
	case CallRunning:
		return th.Busy.Render(theme.SymbolBusy + " running " + theme.Age(f.Now.Sub(c.Started)))
	default:
	}
	symbol, word, st := th.Outcome(c.Outcome)
	return st.Render(symbol+" "+word) + th.Muted.Render(" "+theme.Short(c.Took))
}

// layContent shows a result's blocks: text as it is, the rest by what it is.
func layContent(c *Call, w int) []string {
	var out []string
	for i, b := range c.Content {
		if i == maxBlocks {
			out = append(out, fmt.Sprintf("… %d more blocks", len(c.Content)-maxBlocks))
			break
		}
		out = append(out, layBlock(b, w)...)
	}
	if len(c.Data) > 0 && !sameText(c) {
		out = append(out, cells.Cut("structured", w))
		out = append(out, wrapBlock(indent(c.Data), w)...)
	}
	if c.DataFault != "" {
		out = append(out, wrapBlock(theme.SymbolWarn+" structured content breaks the output schema: "+c.DataFault, w)...)
	}
	return out
}

// sameText reports that the text already is the structured content.
func sameText(c *Call) bool {
	text := []byte(content.PlainText(c.Content))
	return bytes.Equal([]byte(compact(json.RawMessage(text))), []byte(compact(c.Data)))
}

func layBlock(b content.Block, w int) []string {
	describe := func(parts ...string) []string {
		return wrapBlock(strings.Join(parts, " "), w)
	}
	if b.Blob != "" {
		return describe(Stored(b))
	}
	switch b.Kind {
	case content.KindText, content.KindReasoning:
		return wrapBlock(b.Text, w)
	case content.KindImage, content.KindAudio:
		return describe(string(b.Kind), mime(b), size(b))
	case content.KindResource:
		head := describe("resource", string(safetext.Ident(b.URI)), mime(b))
		if b.Text != "" {
			return append(head, wrapBlock(b.Text, w)...)
		}
		return append(head, describe(size(b))...)
	case content.KindResourceLink:
		return describe("link", string(safetext.Ident(b.Name)), "→", string(safetext.Ident(b.URI)), b.Description)
	case content.KindStructured:
		return wrapBlock(indent(b.JSON), w)
	default:
	}
	return append(describe("a block of kind", string(safetext.Ident(string(b.Kind)))), wrapBlock(compact(b.JSON), w)...)
}

// Stored says what a block is whose body is stored apart, and where to find it:
// "65.0 KiB of text/plain, kept in the journal (sha256:…)". It is clean.
func Stored(b content.Block) string {
	kind, _, _ := strings.Cut(b.MIME, ";")
	what := string(safetext.Ident(kind))
	if kind == "" {
		what = string(safetext.Ident(string(b.Kind)))
	}
	if b.URI != "" {
		what += " from " + string(safetext.Ident(b.URI))
	}
	return binary(b.Bytes) + " of " + what + ", kept in the journal (" + string(safetext.Ident(b.Blob)) + ")"
}

// binary writes the size of a body whose limit is in powers of two.
func binary(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

func mime(b content.Block) string {
	if b.MIME == "" {
		return ""
	}
	return string(safetext.Ident(b.MIME))
}

func size(b content.Block) string {
	n := b.Bytes
	if n == 0 {
		n = int64(len(b.Data) + len(b.Text))
	}
	return Bytes(n)
}

// Bytes writes a size for people.
func Bytes(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1000*1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1000/1000)
}

func compact(doc json.RawMessage) string {
	if len(doc) == 0 || len(doc) > MaxBodyBytes {
		return string(doc)
	}
	var buf bytes.Buffer
	if json.Compact(&buf, doc) != nil {
		return string(doc)
	}
	return buf.String()
}

func indent(doc json.RawMessage) string {
	if len(doc) == 0 || len(doc) > MaxBodyBytes {
		return string(doc)
	}
	var buf bytes.Buffer
	if json.Indent(&buf, doc, "", "  ") != nil || buf.Len() > 2*MaxBodyBytes {
		return string(doc)
	}
	return buf.String()
}
