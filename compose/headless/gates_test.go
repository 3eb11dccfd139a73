package headless

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/looprig/looprig/compose/answers"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/harness/model/operator"
	"github.com/looprig/looprig/harness/model/scripted"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/harness/tool"
)

// rig is a session whose tools ask what a test says.
type rig struct {
	t       *testing.T
	s       *session.Session
	set     *answers.Set
	seen    []string // what tools were answered
	args    []string // of the calls, in the order in which they came
	meet    *sync.WaitGroup
	mu      sync.Mutex
	binding integration.Binding
}

// asking is a tool that opens gates and says what came of them.
type asking struct {
	r    *rig
	name string
	reqs []gate.Request
}

func (a *asking) Prepare(_ context.Context, args json.RawMessage) (tool.Prepared, error) {
	return &askingCall{a, args}, nil
}

type askingCall struct {
	a    *asking
	args json.RawMessage
}

func (c *askingCall) Args() json.RawMessage             { return c.args }
func (*askingCall) Check(context.Context) *tool.Refusal { return nil }
func (c *askingCall) Invoke(ctx context.Context, call tool.Call) tool.Result {
	if c.a.name == "meet" { // both have to be there at once
		c.a.r.meet.Done()
		c.a.r.meet.Wait()
	}
	if c.a.name == "stall" {
		<-ctx.Done()
		return tool.Result{Outcome: tool.Cancelled, Sent: true}
	}
	c.a.r.mu.Lock()
	c.a.r.args = append(c.a.r.args, string(c.args))
	c.a.r.mu.Unlock()
	said := []string{c.a.name}
	for _, req := range c.a.reqs {
		req.Subject = gate.Subject{Loop: call.Loop, Turn: call.Turn, Step: call.Step, Call: call.ID, Binding: "fx"}
		resp, err := c.a.r.s.OpenGate(ctx, req)
		if err != nil {
			return tool.Result{Outcome: tool.Failed, Reason: err.Error()}
		}
		said = append(said, fmt.Sprintf("%s:%s:%s%s%v", resp.Close, resp.Action, resp.Values, resp.Text, resp.Chosen))
		if resp.Close != "" || resp.Action == gate.ActionDecline || resp.Action == gate.ActionCancel {
			break
		}
	}
	return tool.Result{Outcome: tool.OK, Sent: true, Structured: c.args, Content: []content.Block{content.Text(strings.Join(said, " "))}}
}

// fakePort has one binding that is ready, or what a test makes of it.
type fakePort struct{ r *rig }

func (p fakePort) Bindings() []integration.Binding { return []integration.Binding{p.r.binding} }
func (fakePort) Catalog(string, uint64) (integration.Catalog, bool) {
	return integration.Catalog{}, false
}
func (fakePort) Kinds() []integration.SourceKind                 { return nil }
func (fakePort) Current(string) (string, json.RawMessage, bool)  { return "", nil, false }
func (fakePort) Apply(context.Context, integration.Change) error { return nil }
func (fakePort) Preview(context.Context, integration.Change) (integration.Preview, error) {
	return integration.Preview{}, nil
}

var _ integration.Port = fakePort{}

const print0 = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

// requests are the gates that each tool opens.
func requests() map[string][]gate.Request {
	schema := &form.Schema{Fields: []form.Field{
		{Name: "name", Kind: form.KindText, Required: true}, {Name: "n", Kind: form.KindInteger},
	}}
	sampling := func(stage gate.SamplingStage, written bool) gate.Request {
		return gate.Request{Kind: gate.KindSampling, Prompt: gate.Prompt{Title: "?", Origin: gate.OriginHost, Sampling: &gate.SamplingPrompt{
			Stage: stage, Messages: []gate.SamplingMessage{{Role: "user", Kind: "text", Text: "hm"}}, Model: "m", MaxTokens: 10,
			Editable: !written, Written: written, Digest: print0,
		}}}
	}
	ask := func(multiple bool, choices ...string) []gate.Request {
		return []gate.Request{{Kind: gate.KindAskUser, Prompt: gate.Prompt{Title: "?", Body: "which?", Origin: gate.OriginModel, Choices: choices, Multiple: multiple}}}
	}
	one := func(k gate.Kind, p gate.Prompt) []gate.Request {
		p.Title, p.Origin = "?", gate.OriginHost
		return []gate.Request{{Kind: k, Prompt: p}}
	}
	return map[string][]gate.Request{
		"plain": nil, "give": nil, "meet": nil, "stall": nil,
		"form":    one(gate.KindForm, gate.Prompt{Schema: schema}),
		"confirm": one(gate.KindConfirm, gate.Prompt{}),
		"open":    one(gate.KindOpenURL, gate.Prompt{Target: "https://example.com"}),
		"trust":   one(gate.KindUntrustedServer, gate.Prompt{Fingerprint: print0}),
		"sample":  {sampling(gate.SamplingRequest, false), sampling(gate.SamplingReply, false)},
		"write":   {sampling(gate.SamplingRequest, false), sampling(gate.SamplingReply, true)},
		"ask":     ask(false), "choose": ask(false, "red", "green"), "several": ask(true, "red", "green", "blue"),
	}
}

// run runs a script whose answers and steps are given.
func runGates(t *testing.T, text, def string) (*rig, error) {
	t.Helper()
	script, err := LoadScript("s.yaml", []byte(text), testEnv)
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	r := &rig{t: t, meet: &sync.WaitGroup{}, set: answers.New(gate.AnswererScript, "s.yaml", script.Answers), binding: integration.Binding{Name: "fx", State: integration.StateReady, Generation: 1}}
	if def != "refuse" {
		r.set.SetFallback(gate.Action(def))
	}
	r.meet.Add(2)
	var client model.Client = operator.Client{}
	var replies *scripted.Client
	if script.Model == scripted.Name {
		replies = scripted.New(script.Replies)
		client = replies
	}
	pol, err := policy.New(policy.Config{Ask: []policy.Rule{{Pattern: "mcp:fx:plain"}}, Allow: []policy.Rule{{Pattern: "mcp:*"}}})
	if err != nil {
		t.Fatal(err)
	}
	r.s, err = session.Open(t.Context(), session.Options{
		Store: store, StoreName: "sqlite", App: "test", Mode: "headless", Policy: pol, Answer: r.set.Answer,
		Loops: []session.LoopConfig{{Name: "main", Model: client}, {Name: "other", Model: client}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var defs []tool.Definition
	for name, reqs := range requests() {
		defs = append(defs, tool.Definition{
			Name: "mcp__fx__" + name, Identity: tool.Identity{Source: "mcp", Binding: "fx", Name: name}, InputSchema: json.RawMessage(`{"type":"object"}`),
			Digest: print0, Generation: 1, Trust: tool.TrustAccepted, Parallel: true, Handler: &asking{r: r, name: name, reqs: reqs},
		})
	}
	for _, loop := range []string{"main", "other"} {
		if err := r.s.ReplaceExternalTools(t.Context(), loop, "mcp", 1, defs); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // nothing here may hang
	defer cancel()
	err = Run(ctx, Options{
		Script: script, Session: r.s, Port: fakePort{r}, Answers: r.set, Scripted: replies, Text: func(s string) { r.seen = append(r.seen, s) },
		Settle: func(context.Context) error { return nil },
	})
	if ctx.Err() != nil {
		t.Fatal("it hung")
	}
	if cerr := r.s.Close(t.Context(), session.CloseInfo{}); cerr != nil {
		t.Error(cerr)
	}
	return r, err
}

func call(name string) string { return "  - call: {tool: mcp__fx__" + name + "}\n" }

// asks is a step whose call a model makes, so that it is asked about.
const asks = "  - user: go\n"

func replies(tools ...string) string {
	var uses []string
	for _, name := range tools {
		uses = append(uses, "{tool: mcp__fx__"+name+"}")
	}
	return "replies: [{call: [" + strings.Join(uses, ", ") + "]}, {say: done}]\n"
}

// TestGateAnswers is every kind of gate with every answer, what the asker is told
// and what the run ends with.
func TestGateAnswers(t *testing.T) {
	t.Parallel()
	const none = ":[]" // of a response without values, text and choices
	for name, c := range map[string]struct {
		top, answers, steps, def string
		code                     exit.Code
		told, err                string
	}{
		"permission once":          {top: replies("plain"), answers: "{gate: permission, tool: \"mcp:fx:plain\", answer: once, times: 1}", steps: asks, told: "done"},
		"permission session":       {top: replies("plain", "plain"), answers: "{gate: permission, answer: session}", steps: asks, told: "done"},
		"permission always":        {top: replies("plain"), answers: "{gate: permission, answer: always, when: \".n == null\"}", steps: asks, told: "done"},
		"permission denied":        {top: replies("plain"), answers: "{gate: permission, answer: deny, reason: not today}", steps: asks, code: exit.GateRefused, err: "not today"},
		"permission unanswered":    {top: replies("plain"), steps: asks, code: exit.GateRefused, err: "no_interactive_gate"},
		"permission by default":    {top: replies("plain"), steps: asks, def: "decline", code: exit.GateRefused, err: "no_interactive_gate"},
		"permission batch":         {top: replies("plain", "plain"), answers: "{gate: permission, answer: once, times: 2}", steps: asks, told: "done"},
		"permission batch, one":    {top: replies("plain", "plain"), answers: "{gate: permission, answer: once, times: 1}", steps: asks, code: exit.GateRefused, err: "no answer matches"},
		"permission batch, none":   {top: replies("plain", "plain"), steps: asks, code: exit.GateRefused, err: "no_interactive_gate"},
		"permission batch bounded": {top: replies("plain", "plain"), answers: "{gate: permission, answer: session, when: \"true\"}", steps: asks, told: "done"},
		"permission batch by call": {top: replies("plain", "plain"), answers: "{gate: permission, answer: session, when: \"true\", times: 1}\n  - {gate: permission, answer: deny, reason: not this one}", steps: asks, code: exit.GateRefused, err: "not this one"},
		"form submitted":           {answers: "{gate: form, binding: fx, submit: {name: Ada, n: 9007199254740993}}", steps: call("form"), told: `form :submit:{"name":"Ada","n":9007199254740993}[]`},
		"form declined":            {answers: "{gate: form, answer: decline}", steps: call("form"), told: "form :decline" + none},
		"form refused":             {answers: "{gate: form, answer: refuse}", steps: call("form"), told: "form :decline" + none},
		"form cancelled":           {answers: "{gate: form, answer: cancel}", steps: call("form"), told: "form :cancel" + none},
		"form unanswered":          {steps: call("form"), code: exit.GateRefused, err: "no_interactive_gate", told: "form policy:decline" + none},
		"form by default":          {steps: call("form"), def: "cancel", told: "form :cancel" + none},
		"form lacks a field":       {answers: "{gate: form, submit: {n: 1}}", steps: call("form"), code: exit.GateRefused, err: "name"},
		"form has another field":   {answers: "{gate: form, submit: {name: Ada, nick: A}}", steps: call("form"), code: exit.GateRefused, err: "nick"},
		"form has another type":    {answers: "{gate: form, submit: {name: Ada, n: many}}", steps: call("form"), code: exit.GateRefused, err: "s.yaml:3: the answer to gate g1 does not fit and was not sent: field \"n\": must be a whole number"},
		"confirm accepted":         {answers: "{gate: confirm, answer: accept}", steps: call("confirm"), told: "confirm :accept" + none},
		"confirm declined":         {answers: "{gate: confirm, answer: decline}", steps: call("confirm"), told: "confirm :decline" + none},
		"confirm cancelled":        {answers: "{gate: confirm, answer: cancel}", steps: call("confirm"), told: "confirm :cancel" + none},
		"confirm unanswered":       {steps: call("confirm"), code: exit.GateRefused, err: "no_interactive_gate"},
		"url opened":               {answers: "{gate: open_url, host: example.com, answer: accept}", steps: call("open"), told: "open :open" + none},
		"url copied":               {answers: "{gate: open_url, answer: copy}", steps: call("open"), told: "open :copy" + none},
		"url declined":             {answers: "{gate: open_url, answer: decline}", steps: call("open"), told: "open :decline" + none},
		"url of another host":      {answers: "{gate: open_url, host: example.org, answer: accept}", steps: call("open"), code: exit.GateRefused, err: "no_interactive_gate"},
		"url by default":           {steps: call("open"), def: "decline", told: "open :decline" + none},
		"server accepted":          {answers: "{gate: untrusted_server, fingerprint: \"" + print0 + "\", answer: accept}", steps: call("trust"), told: "trust :accept" + none},
		"server once":              {answers: "{gate: untrusted_server, answer: once}", steps: call("trust"), told: "trust :once" + none},
		"server refused":           {answers: "{gate: untrusted_server, answer: refuse}", steps: call("trust"), told: "trust :refuse" + none},
		"server unanswered":        {steps: call("trust"), code: exit.GateRefused, err: "no_interactive_gate"},
		"another server":           {answers: "{gate: untrusted_server, fingerprint: \"sha256:" + strings.Repeat("1", 64) + "\", answer: accept}", steps: call("trust"), code: exit.GateRefused, err: "no_interactive_gate"},
		"sampling run":             {answers: "{gate: sampling, answer: run, times: 1}", steps: call("sample"), told: "sample :run" + none + " :run" + none},
		"sampling reply":           {answers: "{gate: sampling, answer: run, reply: mine}", steps: call("sample"), told: "sample :run" + none + " :edit:mine[]"},
		"sampling edited":          {answers: "{gate: sampling, answer: edit, text: better}", steps: call("sample"), told: "sample :edit:better[] :run" + none},
		"sampling by stages":       {answers: "{gate: sampling, stage: request, answer: run}\n  - {gate: sampling, stage: reply, answer: cancel}", steps: call("sample"), told: "sample :run" + none + " :cancel" + none},
		"sampling declined":        {answers: "{gate: sampling, answer: decline}", steps: call("sample"), told: "sample :decline" + none},
		"sampling unanswered":      {steps: call("sample"), code: exit.GateRefused, err: "no_interactive_gate"},
		"sampling written":         {answers: "{gate: sampling, answer: run, reply: mine}", steps: call("write"), told: "write :run" + none + " :run:mine[]"},
		"sampling unwritten":       {answers: "{gate: sampling, answer: run}", steps: call("write"), code: exit.GateRefused, err: "give it as reply"},
		"question answered":        {answers: "{gate: ask_user, text: the blue one}", steps: call("ask"), told: "ask :answer:the blue one[]"},
		"question dismissed":       {answers: "{gate: ask_user, answer: dismiss}", steps: call("ask"), told: "ask :dismiss" + none},
		"question unanswered":      {steps: call("ask"), code: exit.GateRefused, err: "no_interactive_gate"},
		"question by default":      {steps: call("ask"), def: "decline", told: "ask :dismiss" + none},
		"question chosen":          {answers: "{gate: ask_user, choose: [green]}", steps: call("choose"), told: "choose :answer:[1]"},
		"question several":         {answers: "{gate: ask_user, choose: [blue, red]}", steps: call("several"), told: "several :answer:[0 2]"},
		"question too many":        {answers: "{gate: ask_user, choose: [red, green]}", steps: call("choose"), code: exit.GateRefused, err: "takes one choice"},
		"question no such choice":  {answers: "{gate: ask_user, choose: [pink]}", steps: call("choose"), code: exit.GateRefused, err: `"pink" is no choice; there are: "red", "green"`},
		"question text for choice": {answers: "{gate: ask_user, text: red}", steps: call("choose"), code: exit.GateRefused, err: "choose"},
		"question choice for text": {answers: "{gate: ask_user, choose: [red]}", steps: call("ask"), code: exit.GateRefused, err: "no choices"},
		"times left over":          {answers: "{gate: confirm, answer: accept, times: 2}", steps: call("confirm"), code: exit.Expectation, err: "s.yaml:3: this answer was used 1 of 2 times"},
		"times used up":            {answers: "{gate: confirm, answer: accept, times: 1}", steps: call("confirm") + call("confirm"), code: exit.GateRefused, err: "no_interactive_gate"},
		"the next after times":     {answers: "{gate: confirm, answer: accept, times: 1}\n  - {gate: confirm, answer: cancel}", steps: call("confirm") + call("confirm"), told: "confirm :cancel" + none},
		"an expected refusal":      {steps: call("confirm") + "    expect: ['.gates[0].detail == \"no_interactive_gate\"', '.gates[0].action == \"decline\"']\n", told: "confirm policy:decline" + none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := "version: 1\nanswers:\n"
			if c.answers == "" {
				text = "version: 1\n"
			} else {
				text += "  - " + c.answers + "\n"
			}
			r, err := runGates(t, text+c.top+"steps:\n"+c.steps, first(c.def, "refuse"))
			if got := exit.Of(err); got != c.code {
				t.Fatalf("exit code %d, not %d: %v", got, c.code, err)
			}
			if c.err != "" && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v, without %q", err, c.err)
			}
			if c.told != "" && (len(r.seen) == 0 || r.seen[len(r.seen)-1] != c.told) {
				t.Errorf("told %q, not %q", r.seen, c.told)
			}
		})
	}
}

// What belongs to one kind of gate is refused for another, with its place.
func TestAnswersThatCannotBe(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{gate: form, answer: once}":                                           `"once" does not answer a form gate`,
		"{gate: ask_user, answer: accept}":                                     `does not answer a ask_user gate`,
		"{gate: ask_user}":                                                     "an answer says",
		"{gate: ask_user, text: a, choose: [b]}":                               "a text, or with choose",
		"{gate: ask_user, answer: dismiss, text: a}":                           "no text and no choice",
		"{gate: ask_user, text: \"\"}":                                         "empty",
		"{gate: form, choose: [b], answer: decline}":                           "choose belongs to a ask_user gate",
		"{gate: confirm, text: b, answer: accept}":                             "text belongs to a sampling gate",
		"{gate: permission, answer: once, when: .a}":                           "when narrows",
		"{gate: permission, answer: always, cover: read_only}":                 "cover widens",
		"{gate: permission, answer: session, cover: all}":                      "read_only",
		"{gate: permission, answer: always, when: \".a\", fingerprint: x}":     "fingerprint belongs",
		"{gate: untrusted_server, answer: accept}":                             "exact fingerprint",
		"{gate: untrusted_server, answer: accept, fingerprint: \"sha256:AA\"}": "64 hexadecimal",
		"{gate: nothing, answer: accept}":                                      "nothing",
		"{gate: confirm, answer: accept, times: 0}":                            "times",
	} {
		_, err := LoadScript("s.yaml", []byte("version: 1\nanswers:\n  - "+text+"\nsteps:\n  - status: {}\n"), testEnv)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "s.yaml:3:") {
			t.Errorf("%s: %v, without %q", text, err, want)
		}
	}
}
