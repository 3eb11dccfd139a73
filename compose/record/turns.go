package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/looprig/looprig/compose/config/doc"
	"github.com/looprig/looprig/compose/headless"
	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/tool"
)

// interrupted is the code of a turn that somebody stopped; those of failed ones
// are the event's.
const interrupted = "interrupted"

// What a turn is.
const (
	kindUser = "user"
	kindCall = "call"
)

// turn is one turn on its way into the script.
type turn struct {
	loop, id   string
	kind, text string
	// parent is the turn whose call started a delegate's loop.
	parent *turn
	ended  bool
	code   string // "" for a turn that was completed
	said   string
	reply  []reply
	call   *event.ToolRequested
	tools  []*event.ToolCompleted
	gates  []*question
	// why it is not in the script, "" when it is.
	dropped string
	// early says that a call found a server that was still starting.
	early bool
}

// reply is one message of the model, rendered.
type reply struct{ text string }

// item is one step, in the order of the session.
type item struct {
	turn   *turn
	step   string // of anything else: rendered
	change *change
	waits  []wait
}

type wait struct {
	binding    string
	generation uint64
}

func turnKey(h event.Header) string { return h.Loop + "\x00" + h.Turn }

// own is the turn of the script that a turn belongs to: itself, or the one that
// a delegate works for.
func (t *turn) own() *turn {
	for range 64 { // deeper than any delegate
		if t.parent == nil {
			break
		}
		t = t.parent
	}
	return t
}

func (r *Recorder) turnStarted(e *event.TurnStarted) {
	t := &turn{loop: e.Loop, id: e.Turn, kind: e.Kind, text: e.Text}
	if l := r.loops[e.Loop]; l.call != "" {
		t.parent = r.calls[l.call]
	}
	for _, other := range r.order {
		if !other.ended && t.parent == nil && other.parent == nil {
			r.note("turn %s ran beside turn %s; the script does one after the other", ident(t.id), ident(other.id))
		}
	}
	r.turns[turnKey(e.Header)] = t
	r.order = append(r.order, t)
	r.loopName(e.Loop)
	if t.parent != nil {
		return
	}
	r.items = append(r.items, item{turn: t, waits: r.waits()})
	if t.kind == kindUser && t.text == "" {
		t.dropped = "its text was empty"
	}
}

// waits are for the generations that the loops have adopted since the last step.
func (r *Recorder) waits() []wait {
	var out []wait
	for name, n := range r.have {
		if n > max(r.waited[name], 1) {
			out = append(out, wait{name, n})
		}
		r.waited[name] = max(n, r.waited[name])
	}
	slices.SortFunc(out, func(a, b wait) int { return cmp.Compare(a.binding, b.binding) })
	return out
}

func (r *Recorder) turnEnded(h event.Header, code, said string) {
	t := r.turns[turnKey(h)]
	if t == nil {
		r.note("turn %s began before the recording and is not in it", ident(h.Turn))
		return
	}
	t.ended, t.code, t.said = true, code, said
	switch code {
	case "", "limit_steps", "limit_calls":
	case interrupted:
		t.drop("it was interrupted")
	default:
		t.drop("it failed with " + code)
	}
}

func (t *turn) drop(why string) {
	if t.dropped == "" {
		t.dropped = why
	}
	if o := t.own(); o != t && why != "" {
		o.drop("turn " + ident(t.id) + " of a delegate is not in the script: " + why)
	}
}

// message keeps a model's message as a reply.
func (r *Recorder) message(e *event.MessageCompleted) {
	t := r.turns[turnKey(e.Header)]
	if t == nil || e.Role != content.RoleAssistant {
		return
	}
	var said strings.Builder
	var calls []string
	for _, b := range e.Content {
		switch b.Kind {
		case content.KindText:
			text, err := r.body(b)
			if err != nil {
				t.drop("a text of the model is kept apart and is not here")
				return
			}
			said.WriteString(text)
		case content.KindToolUse:
			args, err := flow(b.JSON)
			if err != nil {
				t.drop("the arguments of a call cannot be written down: " + err.Error())
				return
			}
			calls = append(calls, "{tool: "+name(b.Name)+", args: "+args+"}")
		case content.KindReasoning:
			r.note("what the model reasons is not in the script")
		default:
			r.note("the model's messages have content of the kind %s, which is not in the script", ident(string(b.Kind)))
		}
	}
	line := "{say: " + quote(said.String())
	if len(calls) > 0 {
		line = "{call: [" + strings.Join(calls, ", ") + "]"
		if said.Len() > 0 {
			line = "{say: " + quote(said.String()) + ", " + line[1:]
		}
	}
	t.reply = append(t.reply, reply{line + "}"})
}

// body is the text of a block, wherever it is kept.
func (r *Recorder) body(b content.Block) (string, error) {
	if b.Blob == "" {
		return b.Text, nil
	}
	if r.o.Body == nil {
		return "", fmt.Errorf("the body %s is not here", b.Blob)
	}
	raw, err := r.o.Body(b.Blob)
	return string(raw), err
}

func (r *Recorder) requested(e *event.ToolRequested) {
	t := r.turns[turnKey(e.Header)]
	if t == nil {
		return
	}
	r.calls[e.Call] = t
	if t.kind == kindCall {
		t.call = e
	}
}

func (r *Recorder) completed(e *event.ToolCompleted) {
	t := r.turns[turnKey(e.Header)]
	if t == nil {
		return
	}
	t.tools = append(t.tools, e)
	if b := bindingOf(e.Tool); b != "" && e.Outcome == tool.Unavailable && starting(r.states[b]) {
		t.own().early = true
		r.note("turn %s called a tool of server %s while that was still starting; in the script it is ready", ident(t.id), ident(b))
	}
}

// bindingOf is the binding of an identity, "" for the host's own tools and for
// names that are nobody's.
func bindingOf(identity string) string {
	rest, ok := strings.CutPrefix(identity, "mcp:")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, ":")
	return name
}

// step renders a turn of the script.
func (r *Recorder) turnStep(t *turn) (string, error) {
	var b strings.Builder
	switch t.kind {
	case kindUser:
		b.WriteString("  - user: " + quote(headless.Literal(t.text)) + "\n")
	case kindCall:
		if t.call == nil {
			return "", fmt.Errorf("its call was never asked for")
		}
		args, err := literal(t.call.Args)
		if err != nil {
			return "", fmt.Errorf("its arguments cannot be written down: %w", err)
		}
		b.WriteString("  - call: {tool: " + name(t.call.ModelName) + ", args: " + args + "}\n")
	default:
		return "", fmt.Errorf("a turn of the kind %q", t.kind)
	}
	if t.loop != r.first {
		b.WriteString("    loop: " + name(r.loopName(t.loop)) + "\n")
	}
	b.WriteString("    expect:\n")
	for _, e := range r.expected(t) {
		b.WriteString("      - " + expr(e) + "\n")
	}
	return b.String(), nil
}

// expected is what holds of a turn whenever it is done again.
func (r *Recorder) expected(t *turn) []string {
	var out []string
	switch {
	case t.early:
		out = append(out, `.outcome != ""`)
	case t.kind == kindCall && len(t.tools) == 1:
		out = append(out, ".outcome == "+jq(string(t.tools[0].Outcome)))
	case t.code != "":
		out = append(out, `.outcome == "failed"`)
	default:
		out = append(out, `.outcome == "ok"`)
	}
	if t.kind == kindUser && !t.early {
		outcomes := make([]string, len(t.tools))
		for i, c := range sorted(t.tools) {
			outcomes[i] = string(c.Outcome)
		}
		out = append(out, "[.tools[].outcome] == "+jq(outcomes))
		if t.code == "" && len(t.said) <= maxExpected {
			out = append(out, ".text == "+jq(t.said))
		}
	}
	return append(out, t.expectedGates()...)
}

// sorted are the calls in the order in which they were asked for, which is that
// of their ids.
func sorted(calls []*event.ToolCompleted) []*event.ToolCompleted {
	out := slices.Clone(calls)
	slices.SortStableFunc(out, func(a, b *event.ToolCompleted) int {
		if n := cmp.Compare(a.Step, b.Step); n != 0 {
			return n
		}
		if n := cmp.Compare(len(a.Call), len(b.Call)); n != 0 {
			return n
		}
		return cmp.Compare(a.Call, b.Call)
	})
	return out
}

// expectedGates are the questions of a turn, and what the server was told where
// that does not depend on who answers.
func (t *turn) expectedGates() []string {
	if t.early {
		return nil
	}
	kinds := []string{}
	told := [][]string{}
	for _, q := range t.gates {
		if q.resolved == nil || q.kind() == gate.KindUntrustedServer {
			continue
		}
		kinds = append(kinds, string(q.kind()))
		switch q.kind() {
		case gate.KindForm, gate.KindConfirm, gate.KindOpenURL:
			told = append(told, []string{string(q.kind()), string(q.resolved.Response.Action)})
		default:
		}
	}
	slices.Sort(kinds)
	slices.SortFunc(told, func(a, b []string) int { return cmp.Compare(strings.Join(a, " "), strings.Join(b, " ")) })
	out := []string{`[.gates[] | select(.kind != "untrusted_server") | .kind] | sort == ` + jq(kinds)}
	if len(told) > 0 {
		out = append(out, `[.gates[] | select(.kind == "form" or .kind == "confirm" or .kind == "open_url") | [.kind, .action]] | sort == `+jq(told))
	}
	return out
}

// jq is a value as jq has it, which takes JSON.
func jq(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(event.Escape(b))
}

// literal renders arguments of a step, in which nothing stands for a saved value.
func literal(raw json.RawMessage) (string, error) {
	if len(raw) == 0 {
		return "{}", nil
	}
	n, err := doc.ParseJSON("arguments", raw)
	if err != nil {
		return "", err
	}
	return render(literally(n))
}

func literally(n *doc.Node) *doc.Node {
	out := *n
	if n.Kind == doc.String {
		out.Text = headless.Literal(n.Text)
	}
	out.Items, out.Members = make([]*doc.Node, len(n.Items)), make([]doc.Member, len(n.Members))
	for i, item := range n.Items {
		out.Items[i] = literally(item)
	}
	for i, m := range n.Members {
		out.Members[i] = doc.Member{Key: m.Key, Value: literally(m.Value)}
	}
	return &out
}
