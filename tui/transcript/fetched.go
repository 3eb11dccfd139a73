package transcript

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/theme"
)

// MaxPage bounds what a page of one item shows, in bytes.
const MaxPage = 4 << 20

// What was fetched.
const (
	FetchedPrompt   = "prompt"
	FetchedResource = "resource"
)

// Fetched is a prompt or a resource that a person asked a server for. All text
// in it is raw.
type Fetched struct {
	What        string
	Binding     string
	Name        string // the prompt's name or the URI
	Description string
	Content     []content.Block
	Messages    []content.Message
	Raw         json.RawMessage
	Took        time.Duration
}

// Text is the text of what was fetched; a block that is no text is named in its
// place. It is raw.
func (f *Fetched) Text() string {
	if len(f.Messages) == 0 {
		return blocksText(f.Content)
	}
	parts := make([]string, len(f.Messages))
	for i, m := range f.Messages {
		parts[i] = blocksText(m.Blocks)
		if len(f.Messages) > 1 {
			parts[i] = string(m.Role) + ": " + parts[i]
		}
	}
	return strings.Join(parts, "\n\n")
}

func blocksText(blocks []content.Block) string {
	var out []string
	for _, b := range blocks {
		switch {
		case b.Blob != "":
			out = append(out, "["+Stored(b)+"]")
		case b.Kind == content.KindText, b.Kind == content.KindResource && b.Text != "":
			out = append(out, b.Text)
		case b.Kind == content.KindStructured:
			out = append(out, string(b.JSON))
		default:
			out = append(out, "["+strings.TrimSpace(fmt.Sprintf("%s %s", string(safetext.Ident(string(b.Kind))), mime(b)))+", "+size(b)+": not text]")
		}
	}
	return strings.Join(out, "\n")
}

// Fetched adds what a person asked a server for.
func (t *Transcript) Fetched(at time.Time, f Fetched) *Item {
	it := t.add(&Item{kind: KindFetched, time: at, fetched: &f, raw: boundedRaw(f.Raw), expanded: true})
	n := contentBytes(f.Content) + len(f.Raw)
	for _, m := range f.Messages {
		n += contentBytes(m.Blocks)
	}
	t.grow(it, n)
	return it
}

// Fetched returns what the item shows that was fetched, or nil.
func (it *Item) Fetched() *Fetched { return it.fetched }

func layFetched(it *Item, w int, f Frame) []string {
	d, th := it.fetched, f.Theme
	fold := "▸ "
	if it.expanded {
		fold = "▾ "
	}
	head := th.Muted.Render(fold) + th.Bold.Render(string(safetext.Ident(d.Binding))+" ▸ "+d.What+" "+string(safetext.Ident(d.Name)))
	out := []string{cells.Spread(head, th.Good.Render(theme.SymbolGood+" fetched")+th.Muted.Render(" "+theme.Short(d.Took)), w)}
	if it.expanded {
		gutter := th.Gutter.Render("│") + " "
		for _, l := range capped(d.lines(max(w-4, 1)), max(w-4, 1)) {
			out = append(out, "  "+gutter+th.Text.Render(l))
		}
	}
	return out
}

// lines lays the blocks out, those of a prompt below who says them.
func (f *Fetched) lines(w int) []string {
	var out []string
	if f.Description != "" {
		out = append(out, wrapBlock(f.Description, w)...)
	}
	if len(f.Messages) == 0 {
		return append(out, layBlocks(f.Content, w)...)
	}
	for _, m := range f.Messages {
		out = append(out, cells.Cut(string(safetext.Ident(string(m.Role)))+":", w))
		out = append(out, layBlocks(m.Blocks, w)...)
	}
	return out
}

func layBlocks(blocks []content.Block, w int) []string {
	var out []string
	for i, b := range blocks {
		if i == maxBlocks {
			return append(out, fmt.Sprintf("… %d more blocks", len(blocks)-maxBlocks))
		}
		out = append(out, layBlock(b, w)...)
	}
	return out
}

// Page is all of an item's text, for a pager: lines of at most w cells.
func (it *Item) Page(w int) []string {
	text := it.Text()
	if it.call != nil {
		text = "arguments\n" + indent(it.call.Args) + "\n\nresult\n" + text
		if len(it.call.Data) > 0 && !sameText(it.call) {
			text += "\n\nstructured\n" + indent(it.call.Data)
		}
	}
	var out []string
	for _, l := range safetext.ToBlockN(text, MaxPage).Lines() {
		out = append(out, cells.Wrap(string(l), w)...)
	}
	return out
}
