package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
)

// call is one tool call on its way through the pipeline, the same for a model,
// a person and a script. Until it runs, the batch's goroutine or one that the
// batch waits for touches it.
type call struct {
	t      *turn
	id     string
	by     string // "model", "person", "script"
	name   string // as it was asked for
	asked  json.RawMessage
	def    tool.Definition
	known  bool
	gone   bool // known, but not in the turn's toolset
	began  time.Time
	over   bool // result is final
	result CallResult

	prepared tool.Prepared
	args     []byte // a copy of the exact bytes that were decided on
	pol      policy.Decision
	started  bool // the intent is durable
	again    bool // its tool.requested is from before a restart
	prompt   string
	gated    time.Duration
	reports  *progress // from the sending on
}

// newCall makes a model's call.
func (t *turn) newCall(u toolUse) *call {
	c := &call{t: t, id: u.id, by: "model", name: u.name, asked: u.args}
	if c.def, c.known = t.set.Lookup(u.name); !c.known {
		c.def, c.known = t.withdrawn[u.name]
		c.gone = c.known
	}
	return c
}

// operatorCall makes the call that the turn's input is.
func (t *turn) operatorCall() *call {
	in := t.in.call
	c := &call{
		t: t, id: nextID("c", &t.s.calls), by: string(t.in.in.Origin.Kind), name: in.def.Name,
		asked: in.args, def: in.def, known: true,
	}
	if def, ok := t.set.ByIdentity(in.def.Identity); ok {
		c.def, c.name = def, def.Name
	} else {
		c.gone = true
	}
	return c
}

func (c *call) identity() string {
	if !c.known {
		return ""
	}
	return c.def.Identity.String()
}

// request records that the call was asked for.
func (c *call) request() error {
	c.began = c.t.s.o.Clock.Now()
	if c.again {
		c.result = CallResult{ID: c.id, Tool: c.def.Identity, ModelName: c.name, Args: c.asked}
		return nil
	}
	c.result = CallResult{ID: c.id, Tool: c.def.Identity, ModelName: c.name, Args: c.asked}
	c.t.s.count.add(func(k *event.Coverage) { k.Calls++ })
	return c.t.s.hub.emit(nil, &event.ToolRequested{
		Header: c.t.head(), Step: c.t.steps, Call: c.id, Tool: c.identity(), ModelName: c.name, Args: c.asked, By: c.by,
	})
}

// prepare takes the call to its verdict. Afterwards it is over, allowed, or to
// be asked about.
func (c *call) prepare(ctx context.Context) {
	switch {
	case !c.known:
		err := &tool.UnknownToolError{Spelling: c.name}
		if _, resolved := c.t.set.Resolve(c.name); resolved != nil {
			_ = errors.As(resolved, &err)
		}
		c.refuse(tool.Unavailable, err.Error(), "unknown_tool")
		return
	case c.gone:
		c.refuse(tool.Unavailable, "the tool "+c.label()+" is not offered any more", "withdrawn")
		return
	}
	if refused := c.ready(ctx); refused != nil {
		if refused.Outcome == tool.InvalidArguments && c.by == "model" && !c.t.isOpen(c.def) {
			refused.Reason += "; " + ToolSchema + " tells what the tool takes"
		}
		c.refuse(refused.Outcome, refused.Reason, "")
		return
	}
	if refused := c.check(ctx); refused != nil {
		c.refuse(refused.Outcome, refused.Reason, "")
		return
	}
	c.decide(ctx)
}

// label is the tool's identity, clean.
func (c *call) label() string { return safetext.Ident(c.identity()).String() }

// ready prepares the call: its arguments are validated, and the bytes fixed.
func (c *call) ready(ctx context.Context) (refused *tool.Refusal) {
	defer func() {
		if p := recover(); p != nil {
			c.t.s.contained(p)
			refused = &tool.Refusal{Outcome: tool.Failed, Reason: "the tool's handler panicked before anything was sent"}
		}
	}()
	if c.def.Handler == nil {
		return &tool.Refusal{Outcome: tool.Unavailable, Reason: "the tool has no handler"}
	}
	p, err := c.def.Handler.Prepare(ctx, c.asked)
	if err != nil {
		return prepareRefusal(err)
	}
	c.prepared, c.args = p, bytes.Clone(p.Args())
	if !json.Valid(c.args) {
		return &tool.Refusal{Outcome: tool.Failed, Reason: "the tool's handler prepared arguments that are not JSON"}
	}
	c.result.Args = c.args
	return nil
}

func prepareRefusal(err error) *tool.Refusal {
	if r, ok := errors.AsType[*tool.Refusal](err); ok {
		return r
	}
	reason := safetext.ToLineN(err.Error(), maxReasonBytes).String()
	if _, ok := errors.AsType[*tool.ArgumentError](err); ok {
		return &tool.Refusal{Outcome: tool.InvalidArguments, Reason: reason}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &tool.Refusal{Outcome: tool.Cancelled, Reason: "cancelled before anything was sent"}
	}
	return &tool.Refusal{Outcome: tool.Failed, Reason: reason}
}

// check asks whether the call can still be served as it was defined.
func (c *call) check(ctx context.Context) (refused *tool.Refusal) {
	defer func() {
		if p := recover(); p != nil {
			c.t.s.contained(p)
			refused = &tool.Refusal{Outcome: tool.Failed, Reason: "the tool's handler panicked before anything was sent"}
		}
	}()
	if ctx.Err() != nil {
		return &tool.Refusal{Outcome: tool.Cancelled, Reason: "cancelled before anything was sent"}
	}
	return c.prepared.Check(ctx)
}

// decide asks the policy.
func (c *call) decide(ctx context.Context) {
	s := c.t.s
	c.pol = s.o.Policy.Decide(ctx, policy.Request{
		Identity: c.def.Identity, Loop: c.t.loop.id, Agent: c.t.loop.name, Args: c.args, ToolDigest: c.def.Digest, Pin: c.def.Pin,
		Hints: c.def.Hints, HintsTrusted: c.def.HintsTrusted, Trust: c.def.Trust,
		Operator: c.by != "model", Interactive: s.o.Interactive,
	}, grantBook{s})
	c.lapse()
	c.withoutGate()
	c.byBuiltin()
	s.count.add(func(k *event.Coverage) { k.Gated++ })
	c.result.Decision = event.Decision{
		Verdict: string(c.pol.Verdict), Rule: c.pol.Rule, Considered: c.pol.Considered,
		ToolDigest: c.pol.Digest, Reason: c.pol.Reason, Grant: c.pol.Grant,
	}
	if c.pol.Verdict == policy.Deny {
		reason := "denied by the policy rule " + c.pol.Rule
		if c.pol.Reason != "" {
			reason += ": " + c.pol.Reason
		}
		c.refuse(tool.Denied, reason, "policy")
	}
}

// asks reports that somebody has to be asked.
func (c *call) asks() bool { return !c.over && c.pol.Verdict == policy.Ask }

// refuse ends a call of which nothing was sent. detail is a closed code.
func (c *call) refuse(o tool.Outcome, reason, detail string) {
	if c.result.Decision.Verdict == "" {
		c.result.Decision = event.Decision{Verdict: string(policy.Deny), Rule: ruleNone, ToolDigest: c.def.Digest}
	}
	c.finish(tool.Result{Outcome: o, Reason: reason, Class: detail})
}

// execute sends the call, its intent being durable before the first byte.
func (c *call) execute(ctx context.Context) {
	if c.over {
		return
	}
	if refused := c.check(ctx); refused != nil {
		c.refuse(refused.Outcome, refused.Reason, "")
		return
	}
	if !c.unchanged() {
		c.refuse(tool.Failed, "the arguments are not those that were decided on", "arguments_changed")
		return
	}
	if err := c.intend(); err != nil {
		c.result.Result = tool.Result{Outcome: tool.Failed, Reason: "nothing was sent: the intent could not be recorded", Class: CodeJournalFailed}
		c.over = true
		return
	}
	c.finish(wellFormed(c.invoke(ctx)))
}

// unchanged reports that the bytes are still those that were decided on.
func (c *call) unchanged() (same bool) {
	defer func() {
		if p := recover(); p != nil {
			c.t.s.contained(p)
			same = false
		}
	}()
	return bytes.Equal(c.prepared.Args(), c.args)
}

// intend makes the intent and tool.started durable together.
func (c *call) intend() error {
	d := c.draft(ledger.KindIntent)
	err := c.t.s.hub.append([]ledger.Draft{d}, &event.ToolStarted{
		Header: c.t.head(), Step: c.t.steps, Call: c.id, Tool: c.identity(), ModelName: c.name,
		Binding: c.def.Identity.Binding, Generation: c.def.Generation, Args: c.args,
		ArgsDigest: d.ArgsDigest, Decision: c.result.Decision, Pinned: c.pinned(),
	})
	if err != nil {
		return err
	}
	c.started = true
	c.t.s.count.add(func(k *event.Coverage) {
		k.Ledgered++
		if c.pinned() {
			k.Pinned++
		}
	})
	return nil
}

// pinned says that somebody accepted what serves the call.
func (c *call) pinned() bool {
	return c.def.Pin != "" && (c.def.Trust == tool.TrustAccepted || c.def.Trust == tool.TrustOnce)
}

// draft is what both of the call's ledger entries say.
func (c *call) draft(k ledger.Kind) ledger.Draft {
	d := ledger.Draft{
		Kind: k, Session: c.t.s.o.ID, Loop: c.t.loop.id, Turn: c.t.id, Call: c.id, Source: c.by,
		Binding: c.def.Identity.Binding, Tool: c.identity(), ToolDigest: c.def.Digest, Pin: c.def.Pin,
		ArgsDigest: digest(c.result.Args), PromptDigest: c.prompt,
		Rule: c.result.Decision.Rule, Considered: c.result.Decision.Considered,
		Verdict: c.result.Decision.Verdict, Gate: c.result.Decision.Gate,
	}
	if a := c.result.Decision.Answerer; a != nil {
		d.Answerer, d.AnswererKind = a.ID, string(a.Kind)
	}
	return d
}

// invoke waits for the call's outcome. A handler that ignores its cancellation
// is left behind after a grace: what it does is then unknown.
func (c *call) invoke(ctx context.Context) tool.Result {
	c.reports = &progress{clock: c.t.s.o.Clock, tell: c.report}
	defer c.reports.end()
	out := make(chan tool.Result, 1)
	c.t.s.spawn(func() { out <- c.send(ctx) })
	select {
	case r := <-out:
		return r
	case <-ctx.Done():
	}
	late := make(chan struct{})
	stop := c.t.s.o.Clock.AfterFunc(c.cancelGrace(), func() { close(late) })
	defer stop()
	select {
	case r := <-out:
		return r
	case <-late:
		return tool.Result{Outcome: tool.Indeterminate, Sent: true, Class: "cancel_ignored", Reason: "the call was cancelled and did not end"}
	}
}

// send invokes the handler. After a panic nobody knows what was sent.
func (c *call) send(ctx context.Context) (r tool.Result) {
	defer func() {
		if p := recover(); p != nil {
			c.t.s.contained(p)
			r = tool.Result{Outcome: tool.Indeterminate, Sent: true, Class: "panic", Reason: "the tool's handler panicked"}
		}
	}()
	return c.prepared.Invoke(withTurn(ctx, c.t), tool.Call{
		ID: c.id, Session: c.t.s.o.ID, Loop: c.t.loop.id, Turn: c.t.id, Step: c.t.steps, Progress: c.reports.report,
	})
}
