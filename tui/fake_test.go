package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/tool"
)

// world is a session, its events and its tool sources, all in memory.
type world struct {
	mu       sync.Mutex
	now      time.Time
	bindings []integration.Binding
	tools    []tool.Definition
	gates    []gate.Envelope
	waiting  map[string]chan gate.Response
	answers  []gate.Response
	calls    []string
	inputs   []string
	stops    int
	changes  []integration.Change
	applyErr error
	preview  integration.Preview
	viewErr  error
	gateErr  error
	opened   []string
	copied   []string
	reads    []string
	asks     []integration.CompleteRequest
	readErr  error
	askErr   error
	body     string // of every resource
	evil     string // stands in for every text of a server
	slow     chan struct{}
	events   chan event.Record
	done     chan struct{}
	n        int
}

var (
	_ Session  = (*world)(nil)
	_ Events   = (*world)(nil)
	_ Bindings = (*world)(nil)
	_ Opener   = (*world)(nil)
	_ Clock    = (*world)(nil)
)

var start = time.Date(2026, 11, 30, 14, 2, 31, 0, time.UTC)

const addSchema = `{"type":"object","required":["a","b"],"properties":{"a":{"type":"number","title":"First"},"b":{"type":"number"},"note":{"type":"string"}}}`

func newWorld() *world {
	since := start.Add(-12 * time.Minute)
	next := start.Add(4 * time.Second)
	yes := true
	w := &world{now: start, waiting: map[string]chan gate.Response{}, events: make(chan event.Record, 10_000), done: make(chan struct{})}
	w.bindings = []integration.Binding{
		{Name: "demo", State: integration.StateReady, Kind: "builtin", Origin: "looprig demo-server", Scope: "session", Enabled: true, Generation: 1, Tools: 9, Prompts: 2, Resources: 3, Tokens: 940, Since: since, Trust: "builtin", Revision: "2025-11-25", ServerName: "demo", ServerVersion: "1.0.0", Digest: "sha256:9f2c", History: []integration.History{{Time: since, Code: "started", Text: "gen 1, 9 tools"}}, Stderr: []string{"info listening", "warn rate limit 80 %"}},
		{Name: "files", State: integration.StateReady, Kind: "stdio", Origin: "files-mcp /srv", Scope: "session", Enabled: true, Generation: 3, Tools: 6, Tokens: 2100, Since: since, Trust: "accepted", Pin: "sha256:01ff"},
		{Name: "tracker", State: integration.StateReconnecting, Kind: "http", Origin: "tracker.example.com", Scope: "session", Enabled: true, Since: start.Add(-4 * time.Second), NextTry: &next, Class: "lost", Code: "lost", Reason: "the server closed the connection"},
		{Name: "docs", State: integration.StateUntrusted, Kind: "stdio", Origin: "npx docs-mcp", Scope: "session", Enabled: true, Trust: "pending", Warnings: []string{"npx fetches code when it starts"}, WithheldEnv: []string{"NODE_OPTIONS"}},
		{Name: "scratch", State: integration.StateDisabled, Kind: "stdio", Origin: "scratch", Scope: "session"},
	}
	def := func(name, desc, schema string, h tool.Hints) tool.Definition {
		return tool.Definition{Name: "mcp__demo__" + name, Description: desc, InputSchema: json.RawMessage(schema), Hints: h, Identity: tool.Identity{Source: "mcp", Binding: "demo", Name: name}, Digest: "sha256:bb", Generation: 1, Trust: tool.TrustBuiltin, Tokens: 90}
	}
	w.tools = []tool.Definition{
		def("add", "Adds two numbers.", addSchema, tool.Hints{ReadOnly: &yes}),
		def("wipe", "Deletes everything.", `{"type":"object"}`, tool.Hints{Destructive: &yes}),
		def("nested", "Takes an object.", `{"type":"object","properties":{"p":{"type":"object","properties":{"x":{"type":"integer"}}}}}`, tool.Hints{}),
	}
	w.tools[2].Deferred = true
	return w
}

func (w *world) ID() string     { return "01JDEMO" }
func (w *world) Model() string  { return "you (no key)" }
func (w *world) Operator() bool { return true }
func (w *world) Remote() bool   { return false }

func (w *world) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) Submit(_ context.Context, text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inputs = append(w.inputs, text)
	return nil
}

func (w *world) Call(_ context.Context, name string, args json.RawMessage) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, name+" "+string(args))
	return nil
}

func (w *world) Interrupt(context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stops++
	return nil
}

func (w *world) RespondGate(_ context.Context, id string, r gate.Response) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gateErr != nil {
		return w.gateErr
	}
	if !r.Answerer.Operator() {
		return gate.ErrNotOperator
	}
	w.answers = append(w.answers, r)
	for i, g := range w.gates {
		if g.ID == id {
			w.gates = append(w.gates[:i:i], w.gates[i+1:]...)
			break
		}
	}
	return nil
}

func (w *world) Gates() []gate.Envelope {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]gate.Envelope(nil), w.gates...)
}

func (w *world) Tools() []tool.Definition { return w.tools }

func (w *world) Resolve(spelling string) (tool.Definition, error) {
	for _, d := range w.tools {
		for _, s := range []string{d.Name, d.Identity.Binding + " " + d.Identity.Name, d.Identity.Binding + "." + d.Identity.Name, d.Identity.String(), d.Identity.Name} {
			if s == spelling {
				return d, nil
			}
		}
	}
	return tool.Definition{}, fmt.Errorf("no tool %q", spelling)
}

func (w *world) Next(ctx context.Context) (event.Record, error) {
	select {
	case r := <-w.events:
		return r, nil
	case <-w.done:
		return event.Record{}, io.EOF
	case <-ctx.Done():
		return event.Record{}, ctx.Err()
	}
}

func (w *world) Bindings() []integration.Binding {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]integration.Binding(nil), w.bindings...)
}

func (w *world) Catalog(binding string, generation uint64) (integration.Catalog, bool) {
	if binding != "demo" || generation > 2 {
		return integration.Catalog{}, false
	}
	if generation == 0 {
		generation = 2
	}
	no := false
	c := integration.Catalog{Binding: binding, Generation: generation, Digest: fmt.Sprint("sha256:9f2", generation), Revision: "2025-11-25"}
	for _, d := range w.tools {
		c.Items = append(c.Items, integration.Item{Kind: "tool", Name: d.Identity.Name, ModelName: d.Name, Description: d.Description, InputSchema: d.InputSchema, Hints: d.Hints, Digest: d.Digest, Tokens: d.Tokens})
	}
	c.Items = append(c.Items,
		integration.Item{Kind: "prompt", Name: "greet", Description: "Greets somebody.", Arguments: []integration.Argument{{Name: "who", Description: "whom to greet", Required: true}, {Name: "tone"}}},
		integration.Item{Kind: "prompt", Name: "motto", Description: "Says the motto."},
		integration.Item{Kind: "resource", Name: "demo://notes/1", MIME: "text/plain", Description: "The first note."},
		integration.Item{Kind: "resource", Name: "demo://clock", MIME: "application/json"},
		integration.Item{Kind: "template", Name: "demo://notes/{id}{?page}", MIME: "text/plain", Description: "A note by its number."})
	if w.evil != "" {
		w.corruptItems(c.Items)
	}
	if generation == 1 {
		c.Items[0].Digest, c.Items[0].Description = "sha256:old", "Adds numbers."
		c.Items[0].InputSchema = json.RawMessage(`{"type":"object","required":["a"],"properties":{"a":{"type":"number","title":"First"}}}`)
		c.Items[0].Hints = tool.Hints{ReadOnly: &no}
		c.Items[1] = integration.Item{Kind: "tool", Name: "legacy", ModelName: "mcp__demo__legacy", Digest: "sha256:legacy"}
	}
	return c, true
}

// corruptItems writes hostile text over all that a server says of its items.
func (w *world) corruptItems(items []integration.Item) {
	schema, _ := json.Marshal(map[string]string{"description": w.evil})
	for i := range items {
		it := &items[i]
		it.Title, it.Description, it.MIME, it.Withheld, it.Digest = w.evil, w.evil, w.evil, w.evil, w.evil
		it.InputSchema, it.OutputSchema = schema, json.RawMessage(w.evil)
		for j := range it.Arguments {
			it.Arguments[j] = integration.Argument{Name: fmt.Sprint(w.evil, j), Description: w.evil}
		}
		if it.Kind != "template" {
			it.Name = fmt.Sprint(w.evil, i)
		}
	}
}

func (w *world) Kinds() []integration.SourceKind {
	return []integration.SourceKind{
		{Name: "stdio", Title: "A program on this machine", Form: form.Schema{Fields: []form.Field{
			{Name: "command", Title: "Command", Kind: form.KindText, Required: true}, {Name: "args", Title: "Arguments", Kind: form.KindText},
			{Name: "required", Title: "Required", Kind: form.KindBoolean, Default: json.RawMessage("false")}}}},
		{Name: "http", Title: "A server at an address", Form: form.Schema{Fields: []form.Field{
			{Name: "name", Title: "Name", Kind: form.KindText, Required: true}, {Name: "url", Title: "Address", Kind: form.KindText, Format: form.FormatURI, Required: true}}}},
	}
}

func (w *world) Current(binding string) (string, json.RawMessage, bool) {
	return "stdio", json.RawMessage(`{"command":"files-mcp","args":"/srv"}`), binding == "files"
}

func (w *world) Apply(_ context.Context, c integration.Change) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes = append(w.changes, c)
	if w.applyErr != nil {
		return w.applyErr
	}
	for i := range w.bindings {
		b := &w.bindings[i]
		if b.Name != c.Binding {
			continue
		}
		switch c.Op {
		case integration.OpEnable:
			b.Enabled, b.State = true, integration.StateReady
		case integration.OpDisable:
			b.Enabled, b.State, b.Generation, b.Tools = false, integration.StateDisabled, 0, 0
		case integration.OpRemove:
			w.bindings = append(w.bindings[:i:i], w.bindings[i+1:]...)
			return nil
		default:
		}
	}
	if c.Op == integration.OpAdd {
		w.bindings = append(w.bindings, integration.Binding{Name: c.Binding, State: integration.StateStarting, Kind: c.Kind, Origin: "new", Scope: "session", Enabled: true, Since: w.now})
	}
	return nil
}

func (w *world) Open(url string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opened = append(w.opened, url)
	if strings.Contains(url, "unopenable") {
		return errors.New("no browser")
	}
	return nil
}

func (w *world) Copy(text string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.copied = append(w.copied, text)
	return "the clipboard", nil
}

// open opens a gate and returns its event.
func (w *world) open(e gate.Envelope) event.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
	if e.ID == "" {
		e.ID = fmt.Sprint("g", w.n)
	}
	e.OpenedAt = w.now
	w.gates = append(w.gates, e)
	public := e
	public.Private = gate.Private{}
	return &event.GateOpened{Header: w.head(), Envelope: public}
}

// withdraw closes a gate and returns its event.
func (w *world) withdraw(id string, why gate.CloseReason) event.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, g := range w.gates {
		if g.ID == id {
			w.gates = append(w.gates[:i:i], w.gates[i+1:]...)
			break
		}
	}
	return &event.GateResolved{Header: w.head(), Gate: id, Reason: why}
}

func (w *world) head() event.Header {
	return event.Header{V: 1, Time: w.now, Session: "01JDEMO", Loop: "main", Turn: "t1"}
}

func permissionGate() gate.Envelope {
	yes := true
	return gate.Envelope{Kind: gate.KindPermission, Subject: gate.Subject{Loop: "main", Binding: "demo", Call: "c2"}, Prompt: gate.Prompt{
		Title: "demo (builtin) wants to run a tool", Origin: gate.OriginHost, Calls: []gate.CallPrompt{{
			Call: "c2", Tool: "mcp:demo:wipe", ModelName: "mcp__demo__wipe", Args: json.RawMessage(`{"run":88123,"arch":"arm64"}`),
			ArgsDigest: "sha256:aa11", ToolDigest: "sha256:bb22", Hints: tool.Hints{Destructive: &yes, OpenWorld: &yes}, Trust: tool.TrustAccepted, Pin: "sha256:9f2c", Rule: "default"}}}}
}

func formGate() gate.Envelope {
	s := form.Schema{Fields: []form.Field{
		{Name: "title", Title: "Title", Kind: form.KindText, Required: true, MinLength: intp(8), MaxLength: intp(80)},
		{Name: "due", Title: "Due", Kind: form.KindText, Format: form.FormatDate},
		{Name: "severity", Title: "Severity", Kind: form.KindChoice, Required: true, Options: options("low", "medium", "high")},
		{Name: "labels", Title: "Labels", Kind: form.KindMulti, Options: options("ci", "infra", "flaky"), MinItems: intp(1)},
		{Name: "estimate", Title: "Estimate (h)", Kind: form.KindNumber, Minimum: "0", Maximum: "40", Default: json.RawMessage("2.5")},
		{Name: "notify", Title: "Notify", Kind: form.KindBoolean, Default: json.RawMessage("true")},
	}}
	return gate.Envelope{Kind: gate.KindForm, Subject: gate.Subject{Binding: "tracker"}, Prompt: gate.Prompt{Title: "tracker asks for input", Body: "Create an issue for the nightly failure", Origin: gate.OriginServer, Schema: &s}}
}

func intp(n int) *int { return &n }

func options(names ...string) []form.Option {
	var out []form.Option
	for _, n := range names {
		v, _ := json.Marshal(n)
		out = append(out, form.Option{Value: v, Label: n})
	}
	return out
}

func urlGate() gate.Envelope {
	return gate.Envelope{Kind: gate.KindOpenURL, Subject: gate.Subject{Binding: "docs"}, Prompt: gate.Prompt{Title: "docs asks to open a page in your browser", Origin: gate.OriginHost, Target: "https://auth.example.com"},
		Private: gate.Private{URL: "https://auth.example.com/authorize?client_id=looprig&state=abc"}}
}

func confirmGate() gate.Envelope {
	return gate.Envelope{Kind: gate.KindConfirm, Subject: gate.Subject{Binding: "demo"}, Prompt: gate.Prompt{Title: "demo asks for confirmation", Body: "Really evolve?", Origin: gate.OriginServer}}
}

func serverGate() gate.Envelope {
	return gate.Envelope{Kind: gate.KindUntrustedServer, Subject: gate.Subject{Binding: "docs"}, Prompt: gate.Prompt{Title: "docs has not been accepted yet", Origin: gate.OriginHost,
		Warnings: []string{"npx fetches code when it starts: what runs may change"}, Fingerprint: "sha256:77ab09de77ab09de77ab09de77ab09de77ab09de77ab09de77ab09de77ab09de",
		Launch: []gate.Fact{{Label: "command", Value: "/usr/bin/npx"}, {Label: "argument 1", Value: "-y"}, {Label: "argument 2", Value: "docs-mcp@2.1.0"}, {Label: "directory", Value: "/home/ada/project"}, {Label: "environment", Value: "DOCS_TOKEN (value not shown)"}}}}
}

// story is a short session: two turns, calls, a new generation.
func (w *world) story() []event.Event {
	h := w.head()
	h2 := h
	h2.Turn = "t2"
	yes := content.RoleAssistant
	return []event.Event{
		&event.TurnStarted{Header: h, Input: "i1", Origin: "person", Kind: "user", Text: "Why did the nightly job fail on arm64?"},
		&event.MessageCompleted{Header: h, Step: 1, Role: yes, Content: []content.Block{content.Text("I'll look at the last run. It shows a timeout in `TestStream` after:\n\n- **arm64** image 2026-11-28 → 2026-11-29\n- step time 41 s → 118 s")}},
		&event.ToolRequested{Header: h, Step: 1, Call: "c1", Tool: "mcp:demo:add", ModelName: "mcp__demo__add", Args: json.RawMessage(`{"a":1,"b":2}`), By: "model"},
		&event.ToolStarted{Header: h, Step: 1, Call: "c1", Tool: "mcp:demo:add", Args: json.RawMessage(`{"a":1,"b":2}`)},
		&event.ToolCompleted{Header: h, Step: 1, Call: "c1", Tool: "mcp:demo:add", Outcome: tool.OK, Content: []content.Block{content.Text("3")}, DurationMS: 412},
		&event.TurnCompleted{Header: h, Text: "done"},
		&event.LoopIdle{Header: h},
		&event.BindingChanged{Header: h, Binding: "tracker", State: "reconnecting", Code: "lost", Text: "the server closed the connection"},
		&event.CatalogAdopted{Header: h, CatalogChange: event.CatalogChange{Binding: "demo", From: 1, Generation: 2, Tools: 10, Added: []string{"tools/jobs.rerun"}, Changed: []string{"tools/add: description"}}},
		&event.TurnStarted{Header: h2, Input: "i2", Origin: "person", Kind: "call"},
		&event.ToolRequested{Header: h2, Step: 1, Call: "c2", Tool: "mcp:demo:wipe", ModelName: "mcp__demo__wipe", Args: json.RawMessage(`{"run":88123,"arch":"arm64"}`), By: "person"},
	}
}
