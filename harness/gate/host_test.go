package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/looprig/looprig/harness/form"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 10 * time.Second

var person = Answerer{Kind: AnswererPerson, ID: "tester"}

// clock runs timers when it is told to.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[*timer]struct{}
}

type timer struct {
	at time.Time
	f  func()
}

func newClock() *clock {
	return &clock{now: time.Unix(1_800_000_000, 0), timers: map[*timer]struct{}{}}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{c.now.Add(d), f}
	c.timers[t] = struct{}{}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, was := c.timers[t]
		delete(c.timers, t)
		return was
	}
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	var due []func()
	for t := range c.timers {
		if !t.at.After(c.now) {
			due = append(due, t.f)
			delete(c.timers, t)
		}
	}
	c.mu.Unlock()
	for _, f := range due {
		f()
	}
}

// log records what a host tells.
type log struct {
	mu   sync.Mutex
	said []string
}

func (l *log) options() HostOptions {
	add := func(s string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.said = append(l.said, s)
	}
	return HostOptions{
		Opened: func(e Envelope) error { add("opened " + e.ID); return nil },
		Resolved: func(r Resolution) error {
			add(fmt.Sprintf("resolved %s %s %s %s", r.Envelope.ID, r.Reason, r.Response.Action, r.Wait))
			return nil
		},
	}
}

func mustOpen(t *testing.T, h *Host, r Request) Envelope {
	t.Helper()
	e, err := h.Open(r)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func await(t *testing.T, h *Host, id string) Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := h.Await(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestQueueKeepsItsOrderAndEachAnswerItsGate(t *testing.T) {
	t.Parallel()
	l := &log{}
	c := newClock()
	o := l.options()
	o.Clock = c
	h := NewHost(o)
	for range 3 {
		mustOpen(t, h, Request{Kind: KindConfirm})
	}
	c.advance(time.Second)
	if err := h.Respond("g2", Response{Action: ActionAccept, Answerer: person}); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, g := range h.Gates() {
		ids = append(ids, g.ID)
	}
	if !slices.Equal(ids, []string{"g1", "g3"}) {
		t.Fatalf("open %v", ids)
	}
	if r := await(t, h, "g2"); r.Action != ActionAccept || r.Answerer != person || r.Close != "" {
		t.Fatalf("response %+v", r)
	}
	if err := h.Respond("g2", Response{Action: ActionDecline, Answerer: person}); !errors.Is(err, ErrGateClosed) || errors.Is(err, ErrExpired) {
		t.Fatalf("answering twice: %v", err)
	}
	if err := h.Respond("g9", Response{Action: ActionDecline, Answerer: person}); !errors.Is(err, ErrGateClosed) {
		t.Fatalf("no such gate: %v", err)
	}
	if want := []string{"opened g1", "opened g2", "opened g3", "resolved g2 answered accept 1s"}; !slices.Equal(l.said, want) {
		t.Fatalf("told %v", l.said)
	}
}

func TestOnlyOneOfManyAnswersCounts(t *testing.T) {
	t.Parallel()
	h := NewHost(HostOptions{})
	e := mustOpen(t, h, Request{Kind: KindConfirm})
	var wg sync.WaitGroup
	var mu sync.Mutex
	taken := 0
	for range 16 {
		wg.Go(func() {
			if h.Respond(e.ID, Response{Action: ActionAccept, Answerer: person}) == nil {
				mu.Lock()
				defer mu.Unlock()
				taken++
			}
		})
	}
	wg.Wait()
	if taken != 1 {
		t.Fatalf("%d answers were taken", taken)
	}
}

// While an answer is being recorded no other is taken.
func TestNoSecondAnswerWhileTheFirstIsRecorded(t *testing.T) {
	t.Parallel()
	var h *Host
	var second, closing error
	recorded := 0
	h = NewHost(HostOptions{Resolved: func(r Resolution) error {
		if recorded++; recorded == 1 {
			second = h.Respond(r.Envelope.ID, Response{Action: ActionDecline, Answerer: person})
			closing = h.Close(r.Envelope.ID, ReasonWithdrawn, "")
		}
		return nil
	}})
	e := mustOpen(t, h, Request{Kind: KindConfirm})
	if err := h.Respond(e.ID, Response{Action: ActionAccept, Answerer: person}); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(second, ErrGateClosed) || !errors.Is(closing, ErrGateClosed) || recorded != 1 || await(t, h, e.ID).Action != ActionAccept {
		t.Fatalf("second answer: %v, close: %v, recorded %d times", second, closing, recorded)
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	c := newClock()
	h := NewHost(HostOptions{Clock: c})
	e := mustOpen(t, h, Request{Kind: KindForm, Deadline: time.Minute, Prompt: Prompt{Schema: &FormSchema{}}})
	other := mustOpen(t, h, Request{Kind: KindPermission, Deadline: time.Minute})
	if err := h.Respond(other.ID, Response{Action: ActionDeny, Answerer: person}); err != nil {
		t.Fatal(err)
	}
	c.advance(59 * time.Second)
	if len(h.Gates()) != 1 || e.DeadlineMS != 60_000 {
		t.Fatalf("gates %+v", h.Gates())
	}
	c.advance(time.Second)
	if r := await(t, h, e.ID); r.Close != ReasonTimedOut || r.Action != ActionCancel {
		t.Fatalf("response %+v", r)
	}
	if err := h.Respond(e.ID, Response{Action: ActionSubmit, Answerer: person}); !errors.Is(err, ErrExpired) {
		t.Fatalf("late: %v", err)
	}
}

func TestOnlyOperatorsAnswer(t *testing.T) {
	t.Parallel()
	h := NewHost(HostOptions{})
	e := mustOpen(t, h, Request{Kind: KindConfirm})
	for _, who := range []Answerer{{}, {Kind: "model", ID: "m"}, {Kind: AnswererPerson}} {
		if err := h.Respond(e.ID, Response{Action: ActionAccept, Answerer: who}); !errors.Is(err, ErrNotOperator) {
			t.Errorf("%+v: %v", who, err)
		}
	}
	if len(h.Gates()) != 1 {
		t.Fatal("the gate is gone")
	}
}

func askName() *FormSchema {
	s, err := form.ParseElicitation([]byte(`{"type":"object","properties":{"name":{"type":"string","minLength":2},"n":{"type":"integer","default":7}},"required":["name"]}`), form.Limits{})
	if err != nil {
		panic(err)
	}
	return &s
}

func TestAnswersMustFit(t *testing.T) {
	t.Parallel()
	h := NewHost(HostOptions{})
	asked := mustOpen(t, h, Request{Kind: KindForm, Prompt: Prompt{Schema: askName()}})
	confirm := mustOpen(t, h, Request{Kind: KindConfirm})
	permission := mustOpen(t, h, Request{Kind: KindPermission, Prompt: Prompt{Calls: []CallPrompt{{Call: "c1"}, {Call: "c2", ReadOnly: []string{"a", "b"}}}}})
	server := mustOpen(t, h, Request{Kind: KindUntrustedServer, Prompt: Prompt{Fingerprint: "sha256:aa"}})
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	cases := []struct {
		gate  string
		r     Response
		field string
	}{
		{asked.ID, Response{Action: ActionSubmit, Values: raw(`{"name":"x"}`)}, "name"},
		{asked.ID, Response{Action: ActionSubmit, Values: raw(`{}`)}, "name"},
		{asked.ID, Response{Action: ActionSubmit}, "name"},
		{asked.ID, Response{Action: ActionSubmit, Values: raw(`{"name":"Ada","other":1}`)}, "other"},
		{asked.ID, Response{Action: ActionSubmit, Values: raw(`[]`)}, ""},
		{asked.ID, Response{Action: ActionAccept}, ""},
		{asked.ID, Response{Action: ActionDecline, Values: raw(`{"name":"Ada"}`)}, ""},
		{confirm.ID, Response{Action: ActionSubmit}, ""},
		{confirm.ID, Response{}, ""},
		{confirm.ID, Response{Action: ActionAccept, Calls: map[string]Action{"c1": ActionOnce}}, ""},
		{permission.ID, Response{Action: ActionOnce, Calls: map[string]Action{"c9": ActionOnce}}, ""},
		{permission.ID, Response{Action: ActionOnce, Calls: map[string]Action{"c1": ActionAccept}}, ""},
		{permission.ID, Response{Calls: map[string]Action{"c1": ActionOnce}}, ""},
		{permission.ID, Response{}, ""},
		{permission.ID, Response{Action: ActionSession, Terms: map[string]Terms{"c9": {Reason: "no"}}}, ""},
		{permission.ID, Response{Action: ActionOnce, Terms: map[string]Terms{"c1": {When: ".x"}}}, ""},
		{permission.ID, Response{Action: ActionSession, Terms: map[string]Terms{"c1": {Cover: CoverReadOnly}}}, ""},
		{permission.ID, Response{Action: ActionAlways, Terms: map[string]Terms{"c2": {Cover: CoverReadOnly}}}, ""},
		{permission.ID, Response{Action: ActionSession, Terms: map[string]Terms{"c2": {Cover: CoverReadOnly, When: ".x"}}}, ""},
		{permission.ID, Response{Action: ActionSession, Terms: map[string]Terms{"c2": {When: strings.Repeat("x", maxWhenBytes+1)}}}, ""},
		{permission.ID, Response{Action: ActionOnce, When: ".x"}, ""},
		{permission.ID, Response{Action: ActionAlways, Cover: CoverReadOnly}, ""},
		{permission.ID, Response{Action: ActionSession, Cover: CoverReadOnly}, ""},
		{confirm.ID, Response{Action: ActionAccept, Terms: map[string]Terms{"c1": {Reason: "no"}}}, ""},
		{server.ID, Response{Action: ActionAccept}, ""},
		{server.ID, Response{Action: ActionAccept, Fingerprint: "sha256:bb"}, ""},
		{server.ID, Response{Action: ActionOnce, Fingerprint: "sha256:bb"}, ""},
	}
	for i, c := range cases {
		c.r.Answerer = person
		var invalid *InvalidAnswerError
		if err := h.Respond(c.gate, c.r); !errors.As(err, &invalid) || invalid.Field != c.field || invalid.Gate != c.gate || invalid.Reason == "" {
			t.Errorf("case %d: %v", i, err)
		}
	}
	if len(h.Gates()) != 4 {
		t.Fatalf("an answer that did not fit closed a gate: %+v", h.Gates())
	}
	good := map[string]Response{
		asked.ID:      {Action: ActionSubmit, Values: raw(` {"name" : "Ada"} `)},
		confirm.ID:    {Action: ActionDecline},
		permission.ID: {Calls: map[string]Action{"c1": ActionOnce, "c2": ActionSession}, Reason: "r", Terms: map[string]Terms{"c2": {Cover: CoverReadOnly}}},
		server.ID:     {Action: ActionAccept, Fingerprint: "sha256:aa"},
	}
	for id, r := range good {
		r.Answerer = person
		if err := h.Respond(id, r); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	// Values arrive in the form's one encoding, defaults included.
	if r := await(t, h, asked.ID); string(r.Values) != `{"name":"Ada","n":7}` {
		t.Errorf("values %s", r.Values)
	}
	if r := await(t, h, permission.ID); r.For("c1") != ActionOnce || r.For("c2") != ActionSession || r.For("c3") != ActionDeny ||
		r.TermsFor("c1") != (Terms{Reason: "r"}) || r.TermsFor("c2") != (Terms{Cover: CoverReadOnly}) {
		t.Errorf("choices %+v", r)
	}
}

func TestAskWithdrawsWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	h := NewHost(HostOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e, r, err := h.Ask(ctx, Request{Kind: KindConfirm, Subject: Subject{Call: "c1"}})
	if err != nil || r.Close != ReasonWithdrawn || r.Action != ActionCancel || len(h.Gates()) != 0 {
		t.Fatalf("%+v %v", r, err)
	}
	if err := h.Respond(e.ID, Response{Action: ActionAccept, Answerer: person}); !errors.Is(err, ErrGateClosed) {
		t.Fatalf("late: %v", err)
	}
	forged := mustOpen(t, h, Request{Kind: KindConfirm}).ID
	if err := h.Close(forged, ReasonAnswered, ""); err != nil || await(t, h, forged).Close != ReasonWithdrawn {
		t.Fatalf("a gate was closed as answered: %v", err)
	}
	id := mustOpen(t, h, Request{Kind: KindConfirm}).ID
	if _, err := h.Await(ctx, id); !errors.Is(err, context.Canceled) || len(h.Gates()) != 1 {
		t.Fatalf("await: %v, %d gates", err, len(h.Gates()))
	}
}

func TestWaitOfACall(t *testing.T) {
	t.Parallel()
	c := newClock()
	h := NewHost(HostOptions{Clock: c})
	for range 2 {
		e := mustOpen(t, h, Request{Kind: KindConfirm, Subject: Subject{Call: "c1"}})
		c.advance(2 * time.Second)
		if err := h.Close(e.ID, ReasonWithdrawn, ""); err != nil {
			t.Fatal(err)
		}
	}
	if d := h.TakeWait("c1"); d != 4*time.Second || h.TakeWait("c1") != 0 {
		t.Fatalf("waited %s", d)
	}
}

func TestAnswerer(t *testing.T) {
	t.Parallel()
	answers := map[Kind]func(context.Context) (Response, bool){
		KindConfirm:    func(context.Context) (Response, bool) { return Response{Action: ActionAccept, Answerer: person}, true },
		KindPermission: func(context.Context) (Response, bool) { return Response{}, false },
		KindForm: func(context.Context) (Response, bool) {
			return Response{Action: ActionSubmit, Values: json.RawMessage(`{"name":1}`), Answerer: person}, true
		},
		KindOpenURL:         func(context.Context) (Response, bool) { panic("x") },
		KindUntrustedServer: func(ctx context.Context) (Response, bool) { <-ctx.Done(); return Response{}, false },
	}
	h := NewHost(HostOptions{Answer: func(ctx context.Context, e Envelope) (Response, bool) { return answers[e.Kind](ctx) }})
	ask := func(k Kind) Response {
		return await(t, h, mustOpen(t, h, Request{Kind: k, Prompt: Prompt{Schema: askName()}}).ID)
	}
	if r := ask(KindConfirm); r.Action != ActionAccept || r.Close != "" {
		t.Errorf("confirm %+v", r)
	}
	if r := ask(KindPermission); r.Action != ActionDeny || r.Close != ReasonPolicy || r.Detail != string(ReasonNoGate) {
		t.Errorf("permission %+v", r)
	}
	if r := ask(KindForm); r.Action != ActionDecline || r.Close != ReasonPolicy || r.Detail == "" {
		t.Errorf("form %+v", r)
	}
	if r := ask(KindOpenURL); r.Action != ActionDecline || r.Close != ReasonPolicy {
		t.Errorf("open_url %+v", r)
	}
	id := mustOpen(t, h, Request{Kind: KindUntrustedServer}).ID
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := h.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if r := await(t, h, id); r.Action != ActionRefuse || r.Close != ReasonSessionClosed {
		t.Errorf("untrusted %+v", r)
	}
	if _, err := h.Open(Request{Kind: KindConfirm}); !errors.Is(err, ErrHostClosed) {
		t.Errorf("after the end: %v", err)
	}
}

func TestBoundsAndRecords(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk full")
	var openErr, resolveErr error
	h := NewHost(HostOptions{MaxOpen: 1, Opened: func(Envelope) error { return openErr }, Resolved: func(Resolution) error { return resolveErr }})
	openErr = broken
	if _, err := h.Open(Request{Kind: KindConfirm}); !errors.Is(err, broken) || len(h.Gates()) != 0 {
		t.Fatalf("unrecorded gate: %v", err)
	}
	openErr = nil
	id := mustOpen(t, h, Request{Kind: KindConfirm}).ID
	if _, err := h.Open(Request{Kind: KindConfirm}); !errors.Is(err, ErrTooManyGates) {
		t.Fatalf("second: %v", err)
	}
	if _, err := h.Open(Request{Kind: "sampling"}); err == nil {
		t.Fatal("an unknown kind opened")
	}
	resolveErr = broken
	if err := h.Respond(id, Response{Action: ActionAccept, Answerer: person}); !errors.Is(err, broken) {
		t.Fatalf("unrecorded answer: %v", err)
	}
	if r := await(t, h, id); r.Action != ActionDecline || r.Close != ReasonPolicy {
		t.Fatalf("an answer that was not recorded reached the asker: %+v", r)
	}
	resolveErr = nil
	for range keptAnswers + 1 {
		e := mustOpen(t, h, Request{Kind: KindConfirm})
		if err := h.Close(e.ID, ReasonWithdrawn, ""); err != nil {
			t.Fatal(err)
		}
	}
	if len(h.kept) > keptAnswers {
		t.Fatalf("%d gates are remembered", len(h.kept))
	}
}

func TestPrivatePartIsNeverEncoded(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(Envelope{ID: "g1", Private: Private{URL: "https://example.com/?canary"}})
	if err != nil {
		t.Fatalf("%s %v", b, err)
	}
	if want := `{"gate":"g1","kind":"","subject":{},"prompt":{"title":"","origin":""},"opened_at":"0001-01-01T00:00:00Z"}`; string(b) != want {
		t.Fatalf("%s", b)
	}
}
