package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/status"
	"github.com/looprig/looprig/tui/theme"
)

// labelWidth is the column of labels.
const labelWidth = 9

// lay is the detail of an item, laid out once per item, state and width.
func (s *Screen) lay(it integration.Item, d Data, th *theme.Theme, w int) []string {
	before := uint64(0)
	if s.comparing && d.Before != nil {
		before = d.Before.Generation
	}
	key := fmt.Sprintf("%q %d %d %s %q %s %t %t %d", d.Binding, d.Catalog.Generation, before, it.Kind, it.Name, it.Digest, d.Deferred[it.ModelName], d.Watched[it.Name], d.Updated[it.Name])
	if s.cache.key == key && s.cache.width == w && s.cache.th == th {
		return s.cache.lines
	}
	p := &printer{th: th, w: w}
	p.item(it, d)
	if s.comparing && d.Before != nil {
		p.compared(s.changeOf(it, d))
	} else {
		p.texts(it)
	}
	s.cache.key, s.cache.width, s.cache.th, s.cache.lines = key, w, th, p.out
	return p.out
}

type printer struct {
	th  *theme.Theme
	w   int
	out []string
}

func (p *printer) field(label, value string) {
	if strings.TrimSpace(value) == "" {
		return
	}
	for i, l := range cells.Wrap(value, max(p.w-labelWidth-1, 1)) {
		if i > 0 {
			label = ""
		}
		p.out = append(p.out, cells.Cut(p.th.Muted.Render(cells.Fit(label, labelWidth))+" "+l, p.w))
	}
}

func (p *printer) heading(title string) {
	p.out = append(p.out, "", p.th.Heading.Render(cells.Cut(title, p.w)))
}

// foreign is a server's text in its gutter.
func (p *printer) foreign(title, text string) {
	if text == "" {
		return
	}
	p.heading(title)
	for _, l := range safetext.ToBlockN(text, maxText).Lines() {
		for _, part := range cells.Wrap(string(l), max(p.w-2, 1)) {
			p.out = append(p.out, p.th.Gutter.Render("│")+" "+part)
		}
	}
}

// item is what is known of an item in labelled lines.
func (p *printer) item(it integration.Item, d Data) {
	for _, l := range cells.Wrap(string(safetext.Ident(it.Name)), p.w) {
		p.out = append(p.out, p.th.Bold.Render(l))
	}
	p.field("called", modelName(it))
	p.field("withheld", string(safetext.ToLine(it.Withheld)))
	if it.Kind == Tool && d.Deferred[it.ModelName] {
		p.field("deferred", "a model finds it with tool_search; it costs no context until then")
	}
	p.field("type", string(safetext.ToLine(it.MIME)))
	if it.Tokens > 0 {
		p.field("costs", status.Tokens(it.Tokens)+" tokens of context")
	}
	p.field("claims", hints(it.Hints))
	if d.Watched[it.Name] && it.Kind == Resource {
		p.field("watched", "its changes are reported")
	}
	if n := d.Updated[it.Name]; n > 0 && it.Kind == Resource {
		p.field("changed", fmt.Sprintf("%d times since it was read here", n))
	}
	p.field("digest", string(safetext.ToLine(it.Digest)))
}

func modelName(it integration.Item) string {
	if it.ModelName == "" {
		return ""
	}
	return string(safetext.Ident(it.ModelName))
}

// hints is what the server says of its tool; nothing of it is checked.
func hints(h tool.Hints) string {
	var out []string
	for _, x := range []struct {
		v       *bool
		yes, no string
	}{
		{h.ReadOnly, "read-only", "writes"}, {h.Destructive, "destructive", "not destructive"},
		{h.Idempotent, "idempotent", "not idempotent"}, {h.OpenWorld, "open world", "closed world"},
	} {
		switch {
		case x.v == nil:
		case *x.v:
			out = append(out, x.yes)
		default:
			out = append(out, x.no)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return strings.Join(out, " · ") + " (the server's own word)"
}

// texts are the longer parts of an item.
func (p *printer) texts(it integration.Item) {
	p.foreign("TITLE", it.Title)
	p.foreign(fmt.Sprintf("DESCRIPTION, %d bytes", len(it.Description)), it.Description)
	for _, a := range it.Arguments {
		req := ""
		if a.Required {
			req = " *"
		}
		title := "ARGUMENT " + string(safetext.Ident(a.Name)) + req
		if a.Description == "" {
			p.heading(title)
			continue
		}
		p.foreign(title, a.Description)
	}
	p.foreign("INPUT SCHEMA", pretty(it.InputSchema))
	p.foreign("OUTPUT SCHEMA", pretty(it.OutputSchema))
}

func pretty(doc json.RawMessage) string {
	if len(doc) == 0 || len(doc) > maxText {
		return string(doc)
	}
	var buf bytes.Buffer
	if json.Indent(&buf, doc, "", "  ") != nil || buf.Len() > maxText {
		return string(doc)
	}
	return buf.String()
}

// Raw is an item as JSON for a pager, raw.
func Raw(it integration.Item) string {
	doc, err := json.Marshal(it)
	if err != nil {
		return err.Error()
	}
	return pretty(doc)
}
