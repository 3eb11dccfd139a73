package mcpadapter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/mcpadapter/catalog"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// The codes of states that a binding has outside its client's life.
const (
	codeAsking   = "trust_asked"
	codePending  = "trust_pending"
	codeRefused  = "trust_refused"
	codeDisabled = "disabled"
	codeInvalid  = "invalid"
)

// retireTime is how long calls in flight of a withdrawn binding may go on.
const retireTime = 30 * time.Second

// runtime is one run of one binding: from the decision of trust to the close.
// A binding that is enabled again or replaced gets a new one, so that a stale
// definition can never reach a server that it was not made for.
type runtime struct {
	m   *Manager
	id  uint64
	cfg Binding
	cl  *client.Client

	trail *trail
	meter *meter
	said  masker // for what a server says of failures

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	ask    chan chan<- error // asks for trust again; gets what came of it
	first  chan struct{}     // closed when the first outcome is known
	once   sync.Once
	rush   chan struct{} // closed when nobody waits for calls in flight any more

	mu       sync.Mutex
	firstErr error
	decision Decision
	asking   *client.StateChange // the state while trust is undecided
	gone     string              // why the binding was withdrawn, "" while it is not
	silent   bool                // another runtime speaks for the binding now
	// What is offered unasked, and what has to be searched for, where a loop wants it.
	eager, lazy definitions
	calls       map[string]flight // in flight, by id
	pending     int               // open questions
	waiting     map[string]chan struct{}
	ended       chan struct{} // closed when a retired runtime is closed
}

func newRuntime(m *Manager, id uint64, cfg Binding, last *catalog.Generation) (*runtime, error) {
	rt := &runtime{
		m: m, id: id, cfg: cfg, ask: make(chan chan<- error), first: make(chan struct{}), ended: make(chan struct{}), rush: make(chan struct{}),
		calls: map[string]flight{}, waiting: map[string]chan struct{}{}, trail: &trail{}, meter: m.meter(cfg.Name),
	}
	if tr := cfg.Server.Transport; tr != nil {
		rt.trail.mask, rt.said = newMasker(tr.Declared()), newWordMasker(tr.Declared())
	}
	deps := client.Deps{Now: m.deps.Clock.Now, Connect: m.deps.connect, Observer: rt.observer(), Crash: m.deps.crash(), Last: last, Eras: era{rt}, Explain: rt.saying}
	if m.deps.Gates != nil {
		deps.Elicit = rt.elicit
	}
	if rt.maySample() {
		deps.Sample = rt.sample
	}
	cl, err := client.New(cfg.Server, deps)
	if err != nil {
		return nil, err
	}
	rt.cl = cl
	rt.ctx, rt.cancel = context.WithCancel(context.Background())
	return rt, nil
}

func (rt *runtime) start() {
	rt.wg.Add(1)
	go rt.m.deps.crash().Guard(rt.run)
}

// run decides on trust, starts the client and notes the first outcome.
func (rt *runtime) run() {
	defer rt.wg.Done()
	var reply chan<- error
	if !rt.trusted(&reply) {
		rt.settle(&reply, rt.ctx.Err())
		return
	}
	rt.cl.Start()
	rt.settle(&reply, rt.cl.WaitAttempt(rt.ctx, 0))
}

// settle notes an outcome, and answers whoever asked for it.
func (rt *runtime) settle(reply *chan<- error, err error) {
	if *reply != nil {
		*reply <- err // has room for one
		*reply = nil
	}
	rt.once.Do(func() {
		rt.mu.Lock()
		rt.firstErr = err
		rt.mu.Unlock()
		close(rt.first)
	})
}

// trusted waits for a decision that lets the binding start; false means that
// the runtime was closed first.
func (rt *runtime) trusted(reply *chan<- error) bool {
	if rt.cfg.Server.Builtin || rt.m.deps.Trust == nil {
		rt.decide(Decision{Kind: Accepted})
		return rt.ctx.Err() == nil
	}
	tr := rt.cfg.Server.Transport
	for {
		d := rt.m.deps.Trust(rt.ctx, TrustRequest{
			Binding: rt.cfg.Name, Kind: tr.Kind(), Origin: tr.Origin(), Definition: rt.cfg.Server,
			Waiting: func() { rt.hold(codeAsking, "waiting for somebody to decide whether it may be started") },
		})
		if rt.ctx.Err() != nil {
			return false
		}
		rt.decide(d)
		switch d.Kind {
		case Accepted, Once:
			return true
		case Refused:
			rt.settle(reply, rt.distrust(codeRefused, d, "it was refused"))
		default:
			rt.settle(reply, rt.distrust(codePending, d, "nobody has decided whether it may be started"))
		}
		select {
		case *reply = <-rt.ask:
		case <-rt.ctx.Done():
			return false
		}
	}
}

func (rt *runtime) decide(d Decision) {
	rt.mu.Lock()
	rt.decision = d
	if d.Kind == Accepted || d.Kind == Once {
		rt.asking = nil
	}
	rt.mu.Unlock()
}

func (rt *runtime) distrust(code string, d Decision, text string) error {
	if d.Reason != "" {
		text = d.Reason
	}
	class := protocol.ClassUntrusted
	if d.Changed {
		class = protocol.ClassIntegrity
	}
	rt.holdClass(code, class, text)
	return &protocol.Error{Class: class, Op: "start", Message: text}
}

func (rt *runtime) hold(code, text string) { rt.holdClass(code, "", text) }

func (rt *runtime) holdClass(code string, class Class, text string) {
	change := client.StateChange{
		Previous: integration.StateConfigured, State: integration.StateUntrusted,
		Code: code, Class: class, Text: safetext.ToLine(text).String(), Time: rt.m.deps.Clock.Now(),
	}
	rt.mu.Lock()
	if rt.asking != nil {
		change.Previous = rt.asking.State
	}
	rt.asking = &change
	rt.mu.Unlock()
	rt.tell(change)
}

// tell turns a state change into an event and a line of history.
func (rt *runtime) tell(s client.StateChange) {
	if !rt.hushed() {
		rt.m.tellState(rt.cfg, s)
	}
}

func (rt *runtime) observer() client.Observer {
	name := rt.cfg.Name
	return client.Observer{
		State: rt.tell,
		Candidate: func(prev, next *catalog.Generation) {
			rt.tellWithheld(prev, next)
			rt.m.pump.event(&event.CatalogCandidate{Header: rt.m.header(rt.cfg), CatalogChange: change(name, prev, next)})
			rt.m.changed()
		},
		Rejected: func(stays uint64, class Class, reason string) {
			rt.m.pump.event(&event.CatalogRejected{
				Header: rt.m.header(rt.cfg), Binding: name, Generation: stays, Class: string(class), Reason: reason,
			})
		},
		Stderr: func(line string) {
			rt.m.pump.event(&event.BindingStderr{Header: rt.m.header(rt.cfg), Binding: name, Line: line})
		},
		Log:   rt.logged,
		Trace: rt.traced,
		Updated: func(uri string) {
			rt.m.pump.event(&event.ResourceUpdated{Header: rt.m.header(rt.cfg), Binding: name, URI: uri})
		},
		Notice:         func(code, level, text string) { rt.notice(code, Level(level), nil, "%s", text) },
		ElicitComplete: rt.elicitComplete,
	}
}

func (rt *runtime) notice(code string, level Level, err error, format string, args ...any) {
	rt.m.notice(rt.cfg.Name, code, level, err, format, args...)
}

// maxWithheldTold is how many withheld tools one notice names.
const maxWithheldTold = 5

// tellWithheld gives notice of tools that a new generation holds and that are
// not offered for what they are.
func (rt *runtime) tellWithheld(prev, next *catalog.Generation) {
	var told []string
	n := 0
	for _, t := range next.Tools {
		was, ok := prev.Tool(t.Name)
		if t.Withheld == "" || ok && was.Digest == t.Digest && was.Withheld == t.Withheld {
			continue
		}
		if n++; n <= maxWithheldTold {
			told = append(told, safetext.Ident(t.Name).String()+" ("+t.Withheld+")")
		}
	}
	if n == 0 {
		return
	}
	more := ""
	if n > maxWithheldTold {
		more = fmt.Sprintf(" and %d more", n-maxWithheldTold)
	}
	rt.cl.Notice("tools_withheld", string(LevelWarn), "generation %d has %d tools that are not offered: %s%s", next.Number, n, strings.Join(told, ", "), more)
}

// withdraw takes the tools out of later builds and of service. Calls in flight
// go on.
func (rt *runtime) withdraw(why string) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.gone == "" {
		rt.gone = why
	}
}

func (rt *runtime) withdrawn() string {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.gone
}

// hush makes another runtime the one that speaks for the binding.
func (rt *runtime) hush() {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.silent = true
}

func (rt *runtime) hushed() bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.silent
}

// hurry has a run that is withdrawn not wait for its calls in flight. It is
// idempotent.
func (rt *runtime) hurry() {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	select {
	case <-rt.rush:
	default:
		close(rt.rush)
	}
}

// retire waits for calls in flight, at most retireTime, and closes. The end of
// ctx and hurry end the waiting early.
func (rt *runtime) retire(ctx context.Context) {
	rt.cancel() // a start or a decision that is still open is given up
	ctx, cancel := context.WithTimeout(ctx, retireTime)
	defer cancel()
	over := make(chan struct{})
	rt.wg.Add(1)
	go rt.m.deps.crash().Guard(func() {
		defer rt.wg.Done()
		select {
		case <-rt.rush:
			cancel()
		case <-over:
		}
	})
	if err := rt.cl.Retire(ctx); err != nil {
		rt.notice("close_failed", LevelWarn, err, "the binding did not close cleanly: %s", err.Error())
	}
	close(over)
	rt.wg.Wait()
}

// failure describes why the binding could not start.
func (rt *runtime) failure(err error) BindingFailure {
	f := BindingFailure{Binding: rt.cfg.Name, Class: protocol.ClassOf(err), Err: err, Reason: "it could not start"}
	if err != nil {
		f.Reason = rt.saying(safetext.ToLine(err.Error()).String(), err)
	}
	if f.Class == "" {
		f.Class = protocol.ClassClosed
		if errors.Is(err, context.DeadlineExceeded) {
			f.Class = protocol.ClassTimeout
		}
	}
	f.Stderr = cleanTail(rt.cl.Status().Peer.StderrTail)
	return f
}

// maxTail is how many of the last stderr lines an error repeats.
const maxTail = 5

func cleanTail(lines []string) []string {
	if len(lines) > maxTail {
		lines = lines[len(lines)-maxTail:]
	}
	var out []string
	for _, l := range lines {
		out = append(out, safetext.ToLineN(l, 400).String())
	}
	return out
}

// change describes a generation against another one.
func change(binding string, prev, next *catalog.Generation) event.CatalogChange {
	d := catalog.Diff(prev, next)
	c := event.CatalogChange{
		Binding: binding, Generation: next.Number, Digest: next.Digest, Revision: next.Revision,
		Tools: len(next.Tools), Prompts: len(next.Prompts), Resources: len(next.Resources), Templates: len(next.Templates),
		Tokens: next.Tokens(), Added: d.Added, Removed: d.Removed, Changed: d.Changed,
	}
	if prev != nil {
		c.From = prev.Number
	}
	return c
}

// unavailable says why the binding serves no calls now.
func (rt *runtime) unavailable() *tool.Refusal {
	if why := rt.withdrawn(); why != "" {
		return &tool.Refusal{Outcome: tool.Unavailable, Reason: fmt.Sprintf("binding %s was %s", rt.cfg.Name, why)}
	}
	state, ok := rt.cl.Serving()
	if ok {
		return nil
	}
	rt.mu.Lock()
	if rt.asking != nil {
		state = rt.asking.State
	}
	rt.mu.Unlock()
	return &tool.Refusal{Outcome: tool.Unavailable, Reason: fmt.Sprintf("binding %s is %s", rt.cfg.Name, state)}
}
