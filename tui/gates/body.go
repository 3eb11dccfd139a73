package gates

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/theme"
	"github.com/looprig/looprig/tui/transcript"
)

const (
	// maxArgBytes is the most that is laid out of one call's arguments.
	maxArgBytes = 8 << 20
	// maxFields bounds the members of an argument object that get a line of
	// their own; more are shown as one document.
	maxFields = 200
	// labelWidth is the widest column of labels.
	labelWidth = 20
)

// bodyCache keeps the laid out text: arguments may be large.
type bodyCache struct {
	width int
	full  bool
	lines []string
}

// body is everything above the choices.
func (g *Gate) body(w int) []string {
	if g.cache.lines == nil || g.cache.width != w || g.cache.full != g.full {
		g.cache = bodyCache{width: w, full: g.full, lines: g.lay(w)}
	}
	return g.cache.lines
}

func (g *Gate) lay(w int) []string {
	p, th := g.env.Prompt, g.o.Theme
	out := make([]string, 0, 16)
	// Who asks for a message of the model is in the upper edge.
	if g.env.Kind != gate.KindSampling {
		out = append(out, styled(th.Bold, cells.Wrap(string(safetext.ToLine(p.Title)), w))...)
	}
	for _, warning := range p.Warnings {
		out = append(out, styled(th.Warn, cells.Wrap(theme.SymbolWarn+" "+string(safetext.ToLine(warning)), w))...)
	}
	if p.Body != "" {
		out = append(out, g.foreign(p.Body, p.Origin, w)...)
	}
	switch g.env.Kind {
	case gate.KindPermission:
		for i, c := range p.Calls {
			out = append(out, g.call(i, c, w)...)
		}
	case gate.KindOpenURL:
		out = append(out, g.address(w)...)
	case gate.KindSampling:
		out = append(out, g.sampling(w)...)
	case gate.KindUntrustedServer:
		out = append(out, "")
		for _, f := range p.Launch {
			out = append(out, pair(th, string(safetext.ToLine(f.Label)), string(safetext.ToLineN(f.Value, maxArgBytes)), labelWidth, w)...)
		}
		out = append(out, pair(th, "fingerprint", string(safetext.Ident(p.Fingerprint)), labelWidth, w)...)
	default:
	}
	return out
}

// foreign is text of a server or a model, in a gutter that nothing in it can
// leave.
func (g *Gate) foreign(text string, origin gate.Origin, w int) []string {
	th := g.o.Theme
	var out []string
	switch origin {
	case gate.OriginServer:
		out = append(out, th.Muted.Render(cells.Cut("text of the server, not verified:", w)))
	case gate.OriginModel:
		out = append(out, th.Muted.Render(cells.Cut("text of the model:", w)))
	default:
	}
	for _, l := range safetext.ToBlock(text).Lines() {
		for _, part := range cells.Wrap(string(l), w-2) {
			if origin == gate.OriginHost {
				out = append(out, part)
				continue
			}
			out = append(out, th.Gutter.Render("│")+" "+part)
		}
	}
	return out
}

func styled(st lipgloss.Style, lines []string) []string {
	for i, l := range lines {
		lines[i] = st.Render(l)
	}
	return lines
}

// pair is a label and a value that wraps in its own column.
func pair(th *theme.Theme, label, value string, lw, w int) []string {
	lw = max(min(lw, w/3), 1)
	var out []string
	for i, l := range cells.Break(value, max(w-lw-1, 1)) {
		name := ""
		if i == 0 {
			name = label
		}
		out = append(out, th.Muted.Render(cells.Fit(name, lw))+" "+l)
	}
	return out
}

// call is one call: what would run, with which bytes, and what is known of it.
func (g *Gate) call(i int, c gate.CallPrompt, w int) []string {
	th := g.o.Theme
	name := transcript.CallName(c.Tool)
	if g.batch() {
		name = fmt.Sprintf("%d. %s", i+1, name)
	}
	out := []string{"", th.Bold.Render(cells.Cut(name, w))}
	if c.Title != "" {
		out = append(out, cells.Cut(th.Gutter.Render("│")+" "+string(safetext.ToLine(c.Title)), w))
	}
	out = append(out, g.arguments(c.Args, w)...)
	out = append(out, pair(th, "hints", hints(c.Hints)+" (the server's own claim)", 8, w)...)
	out = append(out, cells.Cut(th.Muted.Render(cells.Fit("pin", min(8, max(w/3, 1))))+" "+trust(th, c), w))
	if c.Pin != "" {
		out = append(out, pair(th, "", string(safetext.Ident(c.Pin)), 8, w)...)
	}
	out = append(out, pair(th, "recorded", "arguments "+string(safetext.Ident(c.ArgsDigest))+", tool "+string(safetext.Ident(c.ToolDigest)), 8, w)...)
	if c.Rule != "" {
		out = append(out, pair(th, "rule", string(safetext.ToLine(c.Rule)), 8, w)...)
	}
	if len(c.ReadOnly) > 0 {
		names := make([]string, len(c.ReadOnly))
		for i, n := range c.ReadOnly {
			names[i] = string(safetext.Ident(n))
		}
		key, _ := g.o.Keys.Action(keymap.PermitRead)
		out = append(out, pair(th, key.Key()+" allows", strings.Join(names, ", "), 8, w)...)
	}
	return out
}

// arguments shows the exact bytes: each member of the object in its own line, and
// how much it is.
func (g *Gate) arguments(args json.RawMessage, w int) []string {
	th := g.o.Theme
	out := []string{th.Muted.Render(cells.Cut("arguments, "+strconv.Itoa(len(args))+" bytes:", w))}
	fields, ok := members(args)
	if !ok {
		for _, l := range cells.Break(string(safetext.ToLineN(string(args), maxArgBytes)), w-2) {
			out = append(out, "  "+l)
		}
		return out
	}
	lw := 1
	for _, f := range fields {
		lw = max(lw, min(cells.Width(f.name), labelWidth))
	}
	lw = min(lw, max((w-2)/3, 1))
	for _, f := range fields {
		label := f.name
		if cells.Width(label) > lw {
			for _, l := range cells.Break(label, w-2) {
				out = append(out, "  "+th.Muted.Render(l))
			}
			label = ""
		}
		for _, l := range pair(th, label, f.value, lw, w-2) {
			out = append(out, "  "+l)
		}
	}
	if len(fields) == 0 {
		out = append(out, "  {}")
	}
	return out
}

type member struct{ name, value string }

// members splits an object without interpreting its values.
func members(doc json.RawMessage) ([]member, bool) {
	dec := jsontext.NewDecoder(strings.NewReader(string(doc)))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != jsontext.KindBeginObject {
		return nil, false
	}
	var out []member
	for dec.PeekKind() != jsontext.KindEndObject {
		name, err := dec.ReadToken()
		if err != nil || len(out) == maxFields {
			return nil, false
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		out = append(out, member{string(safetext.Ident(key)), string(safetext.ToLineN(string(value), maxArgBytes))})
	}
	return out, true
}

func hints(h tool.Hints) string {
	var out []string
	add := func(v *bool, yes, no string) {
		if v != nil && *v {
			out = append(out, yes)
		} else if v != nil && no != "" {
			out = append(out, no)
		}
	}
	add(h.ReadOnly, "read-only", "")
	add(h.Destructive, "destructive", "not destructive")
	add(h.Idempotent, "idempotent", "")
	add(h.OpenWorld, "open world", "closed world")
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, " · ")
}

func trust(th *theme.Theme, c gate.CallPrompt) string {
	switch c.Trust {
	case tool.TrustAccepted:
		return th.Good.Render(theme.SymbolGood + " accepted")
	case tool.TrustBuiltin:
		return th.Good.Render(theme.SymbolGood + " built in")
	case tool.TrustOnce:
		return th.Warn.Render(theme.SymbolWarn + " for this run only")
	default:
	}
	return th.Warn.Render(theme.SymbolWarn + " not accepted")
}

// address shows where a page is, and the whole of it on request.
func (g *Gate) address(w int) []string {
	th, url := g.o.Theme, g.env.Private.URL
	target := string(safetext.ToLine(g.env.Prompt.Target))
	scheme, host, _ := strings.Cut(target, "://")
	puny := "no"
	if strings.Contains(host, "xn--") {
		puny = "yes: the name is written in other letters than it seems"
	}
	out := []string{""}
	out = append(out, pair(th, "host", host, 8, w)...)
	out = append(out, pair(th, "scheme", scheme, 8, w)...)
	out = append(out, pair(th, "punycode", puny, 8, w)...)
	if url == "" {
		return out
	}
	lines := cells.Break(string(safetext.ToLineN(url, maxArgBytes)), max(w-2, 1))
	out = append(out, th.Muted.Render(cells.Cut("address, "+strconv.Itoa(len(url))+" bytes:", w)))
	for i, l := range lines {
		if i == 2 && !g.full && len(lines) > 3 {
			out = append(out, th.Muted.Render(fmt.Sprintf("  … %d more lines, v shows them", len(lines)-2)))
			break
		}
		out = append(out, "  "+l)
	}
	return out
}
