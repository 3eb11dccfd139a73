package gates

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/theme"
	"github.com/looprig/looprig/tui/transcript"
)

// The context and the actions of a sampling gate. A keymap that does not have
// them leaves them on their own keys.
const (
	samplingKeys keymap.Context = "gate.sampling"

	samplingRun     keymap.ID = "sampling.run"
	samplingEdit    keymap.ID = "sampling.edit"
	samplingDecline keymap.ID = "sampling.decline"
	samplingCancel  keymap.ID = "sampling.cancel"
	samplingFull    keymap.ID = "sampling.full"
)

var samplingDefaults = []struct {
	id  keymap.ID
	key string
}{{samplingRun, "r"}, {samplingEdit, "e"}, {samplingDecline, "d"}, {samplingCancel, "esc"}, {samplingFull, "f"}}

const (
	// maxEditable is the longest text that can be edited here, in bytes.
	maxEditable = 64 << 10
	// roleWidth is the column of the roles.
	roleWidth = 9
)

// samplingID is the action of a key press.
func (g *Gate) samplingID(k tea.KeyPressMsg) keymap.ID {
	if id, ok := g.o.Keys.Match(k, samplingKeys); ok {
		return id
	}
	for _, d := range samplingDefaults {
		if _, has := g.o.Keys.Action(d.id); !has && k.String() == d.key {
			return d.id
		}
	}
	return ""
}

// samplingKeyOf is the key of an action, as people read it.
func (g *Gate) samplingKeyOf(id keymap.ID) string {
	if a, ok := g.o.Keys.Action(id); ok {
		return a.Key()
	}
	for _, d := range samplingDefaults {
		if d.id == id {
			return keymap.Pretty(d.key)
		}
	}
	return ""
}

// prompt is the request that a sampling gate shows.
func (g *Gate) prompt() gate.SamplingPrompt {
	if p := g.env.Prompt.Sampling; p != nil {
		return *p
	}
	return gate.SamplingPrompt{Stage: gate.SamplingRequest}
}

// openSampling begins a reply that a person writes.
func (g *Gate) openSampling() {
	if g.prompt().Writes() {
		g.edit = newEditor(g.o.Theme, "")
		g.editing = true
	}
}

func (g *Gate) samplingKey(k tea.KeyPressMsg) Action {
	if g.editing {
		return g.editorKey(k)
	}
	switch g.samplingID(k) {
	case samplingRun:
		return g.run()
	case samplingEdit:
		g.startEdit()
		return Action{}
	case samplingDecline:
		return answer(gate.ActionDecline)
	case samplingCancel:
		return answer(gate.ActionCancel)
	case samplingFull:
		g.full = !g.full
		return Action{}
	default:
	}
	g.pager.Key(k, g.o.Keys)
	return Action{}
}

// run sends what is shown: the text that was edited, when one was.
func (g *Gate) run() Action {
	g.fault = ""
	if g.edit == nil {
		return answer(gate.ActionRun)
	}
	text := g.edit.text()
	switch {
	case strings.TrimSpace(text) == "":
		g.fault, g.editing = "there is nothing to send: write the text first", true
		return Action{}
	case len(text) > gate.MaxTextBytes:
		g.fault, g.editing = fmt.Sprintf("the text is %d bytes; at most %d are taken", len(text), gate.MaxTextBytes), true
		return Action{}
	case g.prompt().Writes():
		return Action{Do: Answer, Response: gate.Response{Action: gate.ActionRun, Text: text}}
	case text == g.editable():
		return answer(gate.ActionRun)
	}
	return Action{Do: Answer, Response: gate.Response{Action: gate.ActionEdit, Text: text}}
}

// editable is the text that an edit replaces, raw.
func (g *Gate) editable() string {
	p := g.prompt()
	if p.Stage == gate.SamplingReply {
		return p.Reply
	}
	for _, m := range slices.Backward(p.Messages) {
		if m.Kind == "text" && (m.Role == "user" || m.Role == "assistant") {
			return m.Text
		}
	}
	return ""
}

func (g *Gate) startEdit() {
	g.fault = ""
	text := g.editable()
	switch {
	case !g.prompt().CanEdit():
		g.fault = "this request cannot be edited: its last message is not one text"
		return
	case g.edit != nil:
	case len(text) > maxEditable:
		g.fault = fmt.Sprintf("the text is %s, too long to edit here; it can be sent as it is, or declined", transcript.Bytes(int64(len(text))))
		return
	default:
		g.edit = newEditor(g.o.Theme, text)
	}
	g.editing = true
}

// editorKey writes; the form's keys send, decline and leave. Leaving keeps what
// was written.
func (g *Gate) editorKey(k tea.KeyPressMsg) Action {
	id, _ := g.o.Keys.Match(k, keymap.Form)
	switch id {
	case keymap.FormSubmit:
		return g.run()
	case keymap.FormDecline:
		return answer(gate.ActionDecline)
	case keymap.FormCancel:
		g.editing, g.fault = false, ""
	case keymap.FormNext, keymap.FormPrev, keymap.FormUnset:
	default:
		if page, _ := g.o.Keys.Match(k, keymap.List); page == keymap.ListPgUp || page == keymap.ListPgDn {
			g.pager.Key(k, g.o.Keys) // what is replied to stays readable
			break
		}
		g.fault = ""
		g.edit.key(k)
	}
	return Action{}
}

// sampling lays out the request, and the reply where there is one.
func (g *Gate) sampling(w int) []string {
	th, p := g.o.Theme, g.prompt()
	head := "model " + string(safetext.ToLineN(p.Model, 128)) + " · at most " + strconv.Itoa(p.MaxTokens) + " tokens · context: "
	context := string(safetext.ToLineN(p.Context, 64))
	if context == "" || context == "none" {
		head += "none"
	} else {
		head += "asked for " + context + ", none is given"
	}
	out := cells.Wrap(head, w)
	spent := strconv.Itoa(p.Spent)
	if p.Budget > 0 {
		spent += " of " + strconv.Itoa(p.Budget)
	}
	out = append(out, styled(th.Muted, cells.Wrap(spent+" tokens of its budget are used", w))...)
	if p.Budget > 0 && p.Spent+p.MaxTokens > p.Budget {
		out = append(out, styled(th.Warn, cells.Wrap(theme.SymbolWarn+" a reply of full length would exceed the budget", w))...)
	}
	if len(p.Hints) > 0 {
		hints := make([]string, len(p.Hints))
		for i, h := range p.Hints {
			hints[i] = string(safetext.Ident(h))
		}
		out = append(out, styled(th.Muted, cells.Wrap("the server would like: "+strings.Join(hints, ", "), w))...)
	}
	out = append(out, "")
	if p.Stage == gate.SamplingReply && !p.Written {
		out = append(out, g.reply(p, w)...)
	}
	out = append(out, g.messages(p, w)...)
	return append(out, pair(th, "recorded", string(safetext.Ident(p.Digest)), roleWidth, w)...)
}

// reply is the model's text, in a gutter of its own.
func (g *Gate) reply(p gate.SamplingPrompt, w int) []string {
	th := g.o.Theme
	out := []string{th.Muted.Render(cells.Cut(fmt.Sprintf("the model's reply, %d bytes:", len(p.Reply)), w))}
	if p.Reply == "" {
		out = append(out, th.Gutter.Render("│")+" "+th.Muted.Render(cells.Cut("(nothing)", w-2)))
	} else {
		for _, l := range safetext.ToBlockN(p.Reply, maxArgBytes).Lines() {
			for _, part := range cells.Wrap(string(l), w-2) {
				out = append(out, th.Gutter.Render("│")+" "+part)
			}
		}
	}
	return append(out, "")
}

// messages is everything that goes to the model, in the server's gutter.
func (g *Gate) messages(p gate.SamplingPrompt, w int) []string {
	th := g.o.Theme
	all := p.Messages
	if p.System != "" {
		all = append([]gate.SamplingMessage{{Role: "system", Kind: "text", Text: p.System}}, all...)
	}
	out := []string{th.Muted.Render(cells.Cut(fmt.Sprintf("messages (%d), the server's words, not verified:", len(all)), w))}
	lw := min(roleWidth, max((w-2)/3, 1))
	for _, m := range all {
		role := string(safetext.ToLineN(m.Role, 64))
		if cells.Width(role) > lw {
			out = append(out, th.Gutter.Render("│")+" "+th.Muted.Render(cells.Cut(role, w-2)))
			role = ""
		}
		for _, l := range safetext.ToBlockN(said(m), maxArgBytes).Lines() {
			for _, part := range cells.Wrap(string(l), max(w-lw-3, 1)) {
				out = append(out, cells.Cut(th.Gutter.Render("│")+" "+th.Muted.Render(cells.Fit(role, lw))+" "+part, w))
				role = ""
			}
		}
	}
	return append(out, "")
}

// said is a message's text, or what is known of what is not text.
func said(m gate.SamplingMessage) string {
	if m.Kind == "text" {
		return m.Text
	}
	s := "[" + m.Kind
	if m.MIME != "" {
		s += " " + m.MIME
	}
	s += ", " + transcript.Bytes(int64(m.Bytes))
	if m.Digest != "" {
		s += ", " + m.Digest
	}
	if m.Text != "" {
		s += ": " + m.Text
	}
	return s + "]"
}

// samplingFoot is the editor while it is open, else the choices.
func (g *Gate) samplingFoot(w, h int) []string {
	th, p := g.o.Theme, g.prompt()
	if g.editing {
		label := "the message to send instead:"
		switch {
		case p.Writes():
			label = "your reply, as the model:"
		case p.Stage == gate.SamplingReply:
			label = "the reply to send instead:"
		}
		return append([]string{th.Muted.Render(cells.Cut(label, w))}, g.edit.view(th, w, max(min(h/2-2, 10), 1))...)
	}
	run, edit := "Run it as shown", "Edit the last message first"
	switch {
	case p.Writes():
		run, edit = "Send the reply", "Write the reply"
	case p.Stage == gate.SamplingReply:
		run, edit = "Send the reply as shown", "Edit the reply first"
	}
	var out []string
	if g.edit != nil {
		out = append(out, th.Muted.Render(cells.Cut("edited, "+strconv.Itoa(len(g.edit.text()))+" bytes: "+string(safetext.ToLineN(g.edit.text(), 256)), w)))
		if !p.Writes() {
			run = "Send it as edited"
		}
	}
	rows := []struct {
		id   keymap.ID
		text string
	}{{samplingRun, run}, {samplingEdit, edit}, {samplingDecline, "Decline"}, {samplingCancel, "Cancel"}}
	for _, r := range rows {
		if r.id == samplingEdit && !p.CanEdit() {
			continue
		}
		out = append(out, cells.Cut("  "+th.Key.Render(cells.Fit(g.samplingKeyOf(r.id), 4))+" "+r.text, w))
	}
	if p.Stage == gate.SamplingRequest {
		out = append(out, th.Muted.Render(cells.Cut("Nothing goes back to the server before the reply is approved as well.", w)))
	}
	return out
}

// samplingHint is the lower edge.
func (g *Gate) samplingHint(left string, w int) string {
	k := g.o.Keys
	room := w - cells.Width(left)
	if g.editing {
		return left + k.HintFit(room, "form.submit=send", "form.decline=decline", "form.cancel=back to the choices")
	}
	full := g.samplingKeyOf(samplingFull) + " full screen"
	if g.full {
		full = g.samplingKeyOf(samplingFull) + " smaller"
	}
	return left + k.HintAfter(room, full+" · j/k scroll", "gate.oldest=minimise")
}

// samplingAbout says who asks whom.
func samplingAbout(e gate.Envelope) string {
	who := "a server"
	if e.Subject.Binding != "" {
		who = string(safetext.Ident(e.Subject.Binding))
	}
	p := e.Prompt.Sampling
	switch {
	case p == nil || p.Stage != gate.SamplingReply:
		return who + " asks the model to write"
	case p.Written:
		return "you write a reply to " + who
	}
	return "the model's reply to " + who
}
