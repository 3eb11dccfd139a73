package session

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/harness/model/scripted"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/harness/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 10 * time.Second

// memoryStore is a journal.Store of one session. fail, when set, decides on
// each append.
type memoryStore struct {
	mu       sync.Mutex
	records  []journal.Record
	ledger   []ledger.Draft
	blobs    map[string]journal.Blob
	appends  []journal.Batch
	fail     func(journal.Batch) error
	readErr  error
	renewed  int
	renewErr error
	released bool
	snapshot *journal.Snapshot
}

var _ journal.Store = (*memoryStore)(nil)

func (m *memoryStore) Create(_ context.Context, meta journal.Meta, holder string) (journal.Lease, error) {
	return journal.Lease{Session: meta.Session, Holder: holder, Token: 1}, nil
}

func (m *memoryStore) Watch(ctx context.Context, session string, from uint64) iter.Seq2[journal.Record, error] {
	return m.Read(ctx, session, from)
}

func (m *memoryStore) Delete(context.Context, string) error { return journal.ErrLeased }

func (m *memoryStore) SaveSnapshot(_ context.Context, _ journal.Lease, s journal.Snapshot) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.snapshot = &s
	return nil
}

func (m *memoryStore) Snapshot(context.Context, string) (journal.Snapshot, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.snapshot == nil {
		return journal.Snapshot{}, false, nil
	}
	return *m.snapshot, true, nil
}

func (m *memoryStore) Acquire(context.Context, string, string, time.Duration) (journal.Lease, error) {
	return journal.Lease{}, journal.ErrLeased
}

func (m *memoryStore) Renew(context.Context, journal.Lease, time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.renewed++
	return m.renewErr
}

func (m *memoryStore) Release(context.Context, journal.Lease) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.released = true
	return nil
}

func (m *memoryStore) Append(_ context.Context, _ journal.Lease, b journal.Batch) ([]ledger.Entry, error) {
	m.mu.Lock()
	fail := m.fail
	m.mu.Unlock()
	if fail != nil {
		if err := fail(b); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if b.ExpectedSeq != uint64(len(m.records)) {
		return nil, journal.ErrConflict
	}
	for i, r := range b.Records {
		if r.Seq != b.ExpectedSeq+uint64(i)+1 {
			return nil, fmt.Errorf("record %d has seq %d", i, r.Seq)
		}
	}
	m.records = append(m.records, b.Records...)
	m.ledger = append(m.ledger, b.Ledger...)
	m.appends = append(m.appends, b)
	if m.blobs == nil {
		m.blobs = map[string]journal.Blob{}
	}
	for _, x := range b.Blobs {
		m.blobs[x.Digest] = x
	}
	return nil, nil
}

func (m *memoryStore) Read(_ context.Context, _ string, from uint64) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		for seq := from; ; seq++ {
			m.mu.Lock()
			err := m.readErr
			var rec journal.Record
			ok := seq >= 1 && seq <= uint64(len(m.records))
			if ok {
				rec = m.records[seq-1]
			}
			m.mu.Unlock()
			if err != nil {
				yield(journal.Record{}, err)
				return
			}
			if !ok || !yield(rec, nil) {
				return
			}
		}
	}
}

func (m *memoryStore) Blob(_ context.Context, d string) (journal.Blob, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b, ok := m.blobs[d]; ok {
		return b, nil
	}
	return journal.Blob{}, journal.ErrNotFound
}

func (m *memoryStore) List(context.Context, journal.Query) ([]journal.Meta, error) { return nil, nil }
func (m *memoryStore) Close() error                                                { return nil }

// all is what is there now: the hub may append meanwhile.
func (m *memoryStore) all() []journal.Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.records)
}

func (m *memoryStore) setFail(f func(journal.Batch) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = f
}

// events decodes what is in the journal.
func (m *memoryStore) events(t *testing.T) []event.Event {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]event.Event, len(m.records))
	for i, r := range m.records {
		e, err := event.Decode(r.Line)
		if err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		out[i] = e
	}
	return out
}

// types lists the types in the journal, in order.
func (m *memoryStore) types() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]string, len(m.records))
	for i, r := range m.records {
		out[i] = r.Type
	}
	return out
}

// drafts are the entries of a kind that are not those of closed gates (see
// gateDrafts).
func (m *memoryStore) drafts(k ledger.Kind) []ledger.Draft {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []ledger.Draft
	for _, d := range m.ledger {
		if d.Kind == k && d.GateKind == "" {
			out = append(out, d)
		}
	}
	return out
}

// gateDrafts are the entries of closed gates.
func (m *memoryStore) gateDrafts() []ledger.Draft {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []ledger.Draft
	for _, d := range m.ledger {
		if d.GateKind != "" {
			out = append(out, d)
		}
	}
	return out
}

// of returns the journaled events of one Go type.
func of[E event.Event](t *testing.T, m *memoryStore) []E {
	t.Helper()
	var out []E
	for _, e := range m.events(t) {
		if x, ok := e.(E); ok {
			out = append(out, x)
		}
	}
	return out
}

// fake is a tool handler whose parts a test replaces.
type fake struct {
	prepare func(json.RawMessage) (json.RawMessage, error)
	check   func() *tool.Refusal
	invoke  func(context.Context, tool.Call, json.RawMessage) tool.Result
	args    func(json.RawMessage) json.RawMessage // what Prepared.Args says
	calls   atomic.Int32
}

type fakePrepared struct {
	f    *fake
	args json.RawMessage
}

func (f *fake) Prepare(_ context.Context, args json.RawMessage) (tool.Prepared, error) {
	if f.prepare != nil {
		out, err := f.prepare(args)
		if err != nil {
			return nil, err
		}
		args = out
	}
	return &fakePrepared{f: f, args: args}, nil
}

func (p *fakePrepared) Args() json.RawMessage {
	if p.f.args != nil {
		return p.f.args(p.args)
	}
	return p.args
}

func (p *fakePrepared) Check(context.Context) *tool.Refusal {
	if p.f.check != nil {
		return p.f.check()
	}
	return nil
}

func (p *fakePrepared) Invoke(ctx context.Context, c tool.Call) tool.Result {
	p.f.calls.Add(1)
	if p.f.invoke != nil {
		return p.f.invoke(ctx, c, p.args)
	}
	return okResult("done")
}

func okResult(text string) tool.Result {
	return tool.Result{Outcome: tool.OK, Content: []content.Block{content.Text(text)}, Sent: true, Attempts: 1}
}

// blocking is a handler that reports its start and waits for release or the end
// of its context.
type blocking struct {
	fake
	started chan string
	release chan struct{}
}

func newBlocking() *blocking {
	b := &blocking{started: make(chan string, 64), release: make(chan struct{})}
	b.invoke = func(ctx context.Context, c tool.Call, _ json.RawMessage) tool.Result {
		b.started <- c.ID
		select {
		case <-b.release:
			return okResult("released")
		case <-ctx.Done():
			return tool.Result{Outcome: tool.Cancelled, Reason: "cancelled", Sent: true}
		}
	}
	return b
}

func define(binding, name string, h tool.Handler, change ...func(*tool.Definition)) tool.Definition {
	d := tool.Definition{
		Name: "mcp__" + binding + "__" + name, Description: name, InputSchema: json.RawMessage(`{"type":"object"}`),
		Identity: tool.Identity{Source: "mcp", Binding: binding, Name: name},
		Digest:   digest([]byte(binding + name)), Generation: 1, Trust: tool.TrustAccepted, Pin: "sha256:aa",
		Parallel: true, Handler: h,
	}
	for _, f := range change {
		f(&d)
	}
	return d
}

func serial(d *tool.Definition) { d.Parallel = false }

// world is a session under test.
type world struct {
	*Session
	t     *testing.T
	store *memoryStore
	model *scripted.Client
}

var person = gate.Answerer{Kind: gate.AnswererPerson, ID: "tester"}

func allowAll() *policy.Policy { return rules(policy.Config{Allow: []policy.Rule{{Pattern: "*"}}}) }

func rules(c policy.Config) *policy.Policy {
	p, err := policy.New(c)
	if err != nil {
		panic(err)
	}
	return p
}

// open starts a session with the tools in the slot "mcp" of its loop "main".
func open(t *testing.T, o Options, replies []scripted.Reply, defs ...tool.Definition) *world {
	t.Helper()
	w := &world{t: t, store: &memoryStore{}, model: scripted.New(scripted.Config{Replies: replies})}
	if o.Store == nil {
		o.Store = w.store
	}
	if len(o.Loops) == 0 {
		o.Loops = []LoopConfig{{Name: "main", Model: w.model}}
	}
	var err error
	if w.Session, err = Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.shut() })
	if len(defs) > 0 {
		w.must(w.ReplaceExternalTools(t.Context(), "main", "mcp", 1, defs))
	}
	return w
}

// shut closes the session and fails the test when that takes too long.
func (w *world) shut() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.Close(ctx, CloseInfo{Reason: "completed"}); err != nil && w.Err() == nil {
		w.t.Errorf("close: %v", err)
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	w.t.Cleanup(cancel)
	return ctx
}

func (w *world) submit(in Input) Ticket {
	w.t.Helper()
	if in.Origin.Kind == "" {
		in.Origin = person
	}
	tk, err := w.Submit(w.ctx(), in)
	w.must(err)
	return tk
}

func (w *world) await(tk Ticket) TurnResult {
	w.t.Helper()
	r, err := w.AwaitTurn(w.ctx(), tk)
	w.must(err)
	return r
}

// say runs a turn of the model.
func (w *world) say(text string) TurnResult {
	w.t.Helper()
	return w.await(w.submit(Input{Text: text}))
}

// call runs an operator's call.
func (w *world) call(name, args string) TurnResult {
	w.t.Helper()
	return w.await(w.submit(Input{Call: &CallInput{Tool: name, Args: json.RawMessage(args)}}))
}

// eventually waits for a condition.
func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("never happened: %s", what)
		}
	}
}

// gate waits for an open gate.
func (w *world) gate() gate.Envelope {
	w.t.Helper()
	w.eventually("a gate opens", func() bool { return len(w.Gates()) > 0 })
	return w.Gates()[0]
}

func (w *world) answer(r gate.Response) {
	w.t.Helper()
	if r.Answerer.Kind == "" {
		r.Answerer = person
	}
	w.must(w.RespondGate(w.ctx(), w.gate().ID, r))
}

// uses is a reply that calls tools with empty arguments.
func uses(names ...string) scripted.Reply {
	var r scripted.Reply
	for _, n := range names {
		r.Call = append(r.Call, scripted.Call{Tool: n})
	}
	return r
}

func outcomes(r TurnResult) []tool.Outcome {
	var out []tool.Outcome
	for _, c := range r.Calls {
		out = append(out, c.Outcome)
	}
	return out
}

// modelFunc is a model made of a function.
type modelFunc func(context.Context, model.Request, func(model.Chunk, error) bool)

func (modelFunc) Info() model.Info { return model.Info{Name: "func"} }

func (f modelFunc) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) { f(ctx, r, yield) }
}
