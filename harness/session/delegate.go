package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
)

// ToolDelegate is the built-in tool by which a model gives a task to another
// agent.
const ToolDelegate = "delegate"

// RuleBuiltin is the rule of a call of ToolDelegate or ToolAskUser that no rule
// of the policy is about: what either of them leads to is asked about itself.
const RuleBuiltin = "built-in"

// Bounds of delegates.
const (
	// DefaultDelegateDepth is how many delegates deep a chain may be.
	DefaultDelegateDepth = 3
	// DefaultDelegates of one session, those of before a restart included.
	DefaultDelegates = 64
	// MaxTaskBytes bounds a task.
	MaxTaskBytes = 256 << 10
	// delegateEnd bounds the taking down of a delegate.
	delegateEnd = 15 * time.Second
)

// The classes of a delegation that was refused.
const (
	ClassDelegateDepth  = "limit_delegate_depth"
	ClassDelegates      = "limit_delegates"
	ClassDelegateBudget = "limit_budget"
	ClassDelegateTools  = "delegate_not_ready"
)

// OriginModel is the origin of a delegate's turn: no operator gave it its task.
const OriginModel gate.AnswererKind = "model"

// LoopLimits bound each turn of one loop below the session's own limits. A zero
// field leaves the session's.
type LoopLimits struct {
	Steps int
	Calls int
}

// Delegate describes a delegate to the host.
type Delegate struct {
	// Loop is its loop's id, Agent its configured name, Parent the id of the loop
	// that started it.
	Loop, Agent, Parent string
	// Call started it, Depth is how many delegates deep it is: 1 or more.
	Call  string
	Depth int
}

// DelegateHost readies and takes down what belongs to one delegate alone. The
// methods are called once for each delegate, on one goroutine; different
// delegates call at the same time.
type DelegateHost interface {
	// Ready gives the delegate's loop its tools, which are installed when it
	// returns, and names the bindings that are not there in time. An error, which
	// is host-written, keeps the delegate from beginning. ctx bounds it.
	Ready(ctx context.Context, d Delegate) (missing []string, err error)
	// Ended releases what Ready took, whatever came of it. The loop is closed. It
	// waits no longer than ctx.
	Ended(ctx context.Context, d Delegate)
}

// delegation is what a delegate's loop knows of its origin.
type delegation struct {
	parent *loop
	call   string
	depth  int
	budget *budget // of the turn that started it
}

// depth is 0 for a loop that is no delegate.
func (l *loop) depth() int {
	if l.from == nil {
		return 0
	}
	return l.from.depth
}

// prefix begins the titles of a loop's questions; "" for the only loop that
// input goes to.
func (l *loop) prefix() string {
	if l.from == nil && len(l.s.o.Loops) < 2 {
		return ""
	}
	return safetext.ToLineN(l.id, 200).String() + ": "
}

// newTurnBudget is what one turn of the loop may use.
func (l *loop) newTurnBudget() *budget {
	var above *budget
	if l.from != nil {
		above = l.from.budget
	}
	return newBudget(above, smaller(l.limits.Steps, l.s.o.Limits.StepsPerTurn), smaller(l.limits.Calls, l.s.o.Limits.CallsPerTurn))
}

// builtins are the host's tools of a loop, those of its configuration first.
func (l *loop) builtins(c LoopConfig) []tool.Definition {
	defs := slices.Clone(c.Builtin)
	if len(c.Delegates) > 0 {
		defs = append(defs, l.delegateTool(c.Delegates))
	}
	if c.AskUser && !l.model.Info().Person {
		defs = append(defs, askUserTool(l))
	}
	return defs
}

// HostTools are the names of the tools that sessions have by themselves, whatever
// their configuration.
func HostTools() []string { return []string{ToolSearch, ToolSchema, ToolDelegate, ToolAskUser} }

// hosted makes the definition of one of the session's own tools.
func hosted(name, title, about string, schema any, h tool.Handler) tool.Definition {
	s, _ := json.Marshal(schema) // made of strings and numbers alone
	return tool.Definition{
		Name: name, Title: title, Description: about, InputSchema: s, Identity: builtin(name),
		HintsTrusted: true, Trust: tool.TrustBuiltin, Parallel: true,
		Digest: digest([]byte(name + "\n" + about + "\n" + string(s))), Tokens: (len(name) + len(about) + len(s)) / 4, Handler: h,
	}
}

func (l *loop) delegateTool(agents []string) tool.Definition {
	schema := map[string]any{
		"type": "object", "required": []string{"agent", "task"}, "additionalProperties": false,
		"properties": map[string]any{
			"agent": map[string]any{"type": "string", "enum": agents},
			"task":  map[string]any{"type": "string", "minLength": 1, "description": "all that the agent needs to know: it sees nothing of this conversation"},
		},
	}
	return hosted(ToolDelegate, "Delegate a task",
		"Gives a task to another agent, which has its own tools, and waits for its answer. Several may run in one step.",
		schema, &delegator{l: l, agents: slices.Clone(agents)})
}

// delegator is the handler of ToolDelegate on one loop.
type delegator struct {
	l      *loop
	agents []string
}

var _ tool.Handler = (*delegator)(nil)

type delegateArgs struct {
	Agent string `json:"agent"`
	Task  string `json:"task"`
}

// Prepare implements tool.Handler.
func (d *delegator) Prepare(_ context.Context, raw json.RawMessage) (tool.Prepared, error) {
	var a delegateArgs
	if err := arguments(ToolDelegate, raw, &a); err != nil {
		return nil, err
	}
	switch {
	case !slices.Contains(d.agents, a.Agent):
		return nil, misfit(ToolDelegate, "/agent", "is none of %s", strings.Join(d.agents, ", "))
	case strings.TrimSpace(a.Task) == "":
		return nil, misfit(ToolDelegate, "/task", "says nothing")
	case len(a.Task) > MaxTaskBytes:
		return nil, misfit(ToolDelegate, "/task", "is %d bytes, more than %d", len(a.Task), MaxTaskBytes)
	}
	out, err := json.Marshal(a)
	return &hostedCall{args: out, run: func(ctx context.Context, c tool.Call) tool.Result { return d.run(ctx, c, a) }}, err
}

// run starts the delegate, waits for its turn and takes it down.
func (d *delegator) run(ctx context.Context, c tool.Call, a delegateArgs) tool.Result {
	t := turnOf(ctx)
	if t == nil {
		return refusedDelegate(tool.Failed, CodeInternal, "the call belongs to no turn")
	}
	child, refused := d.start(t, c, a.Agent)
	if refused != nil {
		return *refused
	}
	who := Delegate{Loop: child.id, Agent: child.name, Parent: d.l.id, Call: c.ID, Depth: child.from.depth}
	defer d.end(ctx, child, who)
	if refused := d.ready(ctx, who); refused != nil {
		return *refused
	}
	return d.await(ctx, child, a.Task)
}

// refusedDelegate is the result of a delegation that did not begin.
func refusedDelegate(o tool.Outcome, class, reason string) tool.Result {
	b, _ := json.Marshal(delegateReport{Outcome: "refused", Reason: class}) // strings and numbers alone
	return tool.Result{Outcome: o, Class: class, Reason: reason, Structured: b}
}

// start makes the child's loop.
func (d *delegator) start(t *turn, c tool.Call, agent string) (*loop, *tool.Result) {
	refuse := func(o tool.Outcome, class, reason string) (*loop, *tool.Result) {
		r := refusedDelegate(o, class, reason)
		return nil, &r
	}
	s := d.l.s
	conf, ok := s.agent(agent)
	if !ok {
		return refuse(tool.Unavailable, "unknown_agent", "the agent is not configured")
	}
	if limit := s.o.Limits.DelegateDepth; d.l.depth() >= limit {
		return refuse(tool.OverLimit, ClassDelegateDepth, fmt.Sprintf("delegates may be %d deep (limits.delegateDepth)", limit))
	}
	if none := t.budget.left(); none != nil {
		return refuse(none.Outcome, ClassDelegateBudget, none.Reason)
	}
	n, ok := s.takeDelegate()
	if !ok {
		return refuse(tool.OverLimit, ClassDelegates, fmt.Sprintf("the session has had its %d delegates (limits.delegates)", s.o.Limits.Delegates))
	}
	if conf.Model.Info().Person { // nobody can speak to a delegate: it works with the model that it works for
		conf.Model = t.model
	}
	conf.from = &delegation{parent: d.l, call: c.ID, depth: d.l.depth() + 1, budget: t.budget}
	conf.id = d.l.id + "/" + agent + "-" + strconv.FormatUint(n, 10)
	l, recorded, err := s.newLoop(conf)
	if err == nil {
		err = s.hub.wait(recorded)
	}
	if err != nil {
		return refuse(tool.Failed, CodeInternal, safetext.ToLineN(err.Error(), maxReasonBytes).String())
	}
	return l, nil
}

// takeDelegate numbers the next delegate of the session.
func (s *Session) takeDelegate() (uint64, bool) {
	for {
		n := s.delegated.Load()
		if n >= uint64(s.o.Limits.Delegates) {
			return 0, false
		}
		if s.delegated.CompareAndSwap(n, n+1) {
			return n + 1, true
		}
	}
}

// ready waits for the delegate's own tools and tells of those that are missing.
func (d *delegator) ready(ctx context.Context, who Delegate) *tool.Result {
	s := d.l.s
	if s.o.Delegates == nil {
		return nil
	}
	missing, err := s.o.Delegates.Ready(ctx, who)
	if ctx.Err() != nil {
		r := delegateStopped()
		return &r
	}
	if err != nil {
		r := refusedDelegate(tool.Unavailable, ClassDelegateTools, safetext.ToLineN(err.Error(), maxReasonBytes).String())
		return &r
	}
	if len(missing) == 0 {
		return nil
	}
	names := make([]string, len(missing))
	for i, name := range missing {
		names[i] = safetext.Ident(name).String()
	}
	// That it cannot be recorded leaves the session latched, which says so.
	_ = s.hub.emit(nil, &event.Notice{
		Header: event.Header{Loop: who.Loop}, Code: ClassDelegateTools, Level: "warn",
		Text: "the delegate begins without the tools of " + strings.Join(names, ", "),
	})
	return nil
}

// end takes the delegate down, whatever became of its turn.
func (d *delegator) end(ctx context.Context, child *loop, who Delegate) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), delegateEnd)
	defer cancel()
	s := d.l.s
	if child.close(ctx, "delegate_ended") == nil {
		s.forget(child)
	}
	if s.o.Delegates != nil {
		s.o.Delegates.Ended(ctx, who)
	}
}

// forget takes a loop that has ended out of the session's list.
func (s *Session) forget(l *loop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loops = slices.DeleteFunc(slices.Clone(s.loops), func(x *loop) bool { return x == l })
}

// await runs the child's one turn.
func (d *delegator) await(ctx context.Context, child *loop, task string) tool.Result {
	in := &input{id: nextID("i", &d.l.s.inputs), in: Input{Text: task}, fut: &future{done: make(chan struct{})}}
	in.in.Origin.Kind = OriginModel
	var refused error
	if err := child.do(ctx, func() { _, refused = child.accept(in) }); err != nil || refused != nil {
		return delegateStopped()
	}
	select {
	case <-in.fut.done:
	case <-ctx.Done():
		child.stop(context.WithoutCancel(ctx), in)
	}
	select {
	case <-in.fut.done:
	default:
		return tool.Result{Outcome: tool.Indeterminate, Class: "cancel_ignored", Reason: "the delegate was cancelled and did not end", Sent: true}
	}
	return delegateResult(child, in.fut.result, in.fut.err)
}

// stop interrupts a delegate's turn and waits for its end, for a while.
func (l *loop) stop(ctx context.Context, in *input) {
	ctx, cancel := context.WithTimeout(ctx, l.stopGrace())
	defer cancel()
	_ = l.do(ctx, func() {
		if l.running != nil {
			l.running.cancel(&interruption{by: "parent"})
		}
	})
	select {
	case <-in.fut.done:
	case <-ctx.Done():
	}
}

// stopGrace is how long an interrupted turn of the loop may take to end: its own
// calls have their grace, and so have those of delegates below it.
func (l *loop) stopGrace() time.Duration {
	below := max(l.s.o.Limits.DelegateDepth-l.depth(), 0)
	return time.Duration(below+1) * (l.s.o.Limits.CancelGrace + delegateEnd)
}

// cancelGrace is how long the call may take to return once it is cancelled. A
// delegation takes its delegate down first.
func (c *call) cancelGrace() time.Duration {
	if _, ok := c.def.Handler.(*delegator); ok {
		return c.t.loop.stopGrace() + delegateEnd
	}
	return c.t.s.o.Limits.CancelGrace
}

// delegateReport is the structured half of a delegation's result.
type delegateReport struct {
	Agent   string `json:"agent,omitempty"`
	Loop    string `json:"loop,omitempty"`
	Outcome string `json:"outcome"` // that of the delegate's turn, or "refused"
	Reason  string `json:"reason,omitempty"`
	Steps   int    `json:"steps"`
	Calls   int    `json:"calls"`
	Input   int    `json:"input_tokens,omitempty"`
	Output  int    `json:"output_tokens,omitempty"`
}

func delegateStopped() tool.Result {
	b, _ := json.Marshal(delegateReport{Outcome: string(TurnInterrupted)}) // strings and numbers alone
	return tool.Result{Outcome: tool.Cancelled, Class: "interrupted", Reason: "the delegate was interrupted", Sent: true, Structured: b}
}

// delegateResult is what the parent is given of the child's turn.
func delegateResult(child *loop, r TurnResult, err error) tool.Result {
	if err != nil || r.Outcome == TurnInterrupted {
		return delegateStopped()
	}
	report := delegateReport{
		Agent: child.name, Loop: child.id, Outcome: string(r.Outcome), Reason: r.Code,
		Steps: r.Steps, Calls: len(r.Calls), Input: r.Usage.Input, Output: r.Usage.Output,
	}
	b, _ := json.Marshal(report) // strings and numbers alone
	out := tool.Result{Outcome: tool.OK, Sent: true, Attempts: 1, Structured: b}
	if r.Outcome == TurnFailed {
		out.Outcome, out.Class, out.Reason = tool.ToolError, r.Code, "the delegate failed: "+r.Reason
		if r.Code == CodeLimitSteps || r.Code == CodeLimitCalls {
			out.Outcome = tool.OverLimit
		}
		return out
	}
	out.Content = []content.Block{content.Text(r.Text)}
	return out
}

// agent is the configuration of an agent.
func (s *Session) agent(name string) (LoopConfig, bool) {
	for _, list := range [][]LoopConfig{s.o.Agents, s.o.Loops} {
		for _, c := range list {
			if c.Name == name {
				return c, true
			}
		}
	}
	return LoopConfig{}, false
}

// byBuiltin allows a call of the session's own tools that no rule is about.
func (c *call) byBuiltin() {
	if c.pol.Verdict != policy.Ask || c.pol.Rule != policy.RuleDefault {
		return
	}
	switch c.def.Handler.(type) {
	case *delegator, *asker:
		c.pol.Considered = append(c.pol.Considered, RuleBuiltin)
		c.pol.Verdict, c.pol.Rule, c.pol.Reason = policy.Allow, RuleBuiltin, ""
	}
}
