package session

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
)

// runBatch runs the calls of one step. All are prepared and decided on, those
// that somebody has to be asked about are asked about together, and each runs
// as soon as it may. It returns an error when the turn cannot go on.
func (t *turn) runBatch(batch []*call) error {
	for _, c := range batch {
		if err := c.request(); err != nil {
			for _, x := range batch {
				x.result.Result = tool.Result{Outcome: tool.Failed, Reason: "nothing was sent: the journal failed", Class: CodeJournalFailed}
			}
			return err
		}
	}
	slots := make(chan struct{}, t.s.o.Limits.ParallelCalls)
	each(batch, func(c *call) {
		slots <- struct{}{}
		defer func() { <-slots }()
		t.s.guarded(func() { c.prepare(t.ctx) })
	})
	var asking []*call
	asks := make([]bool, len(batch))
	for i, c := range batch {
		if asks[i] = c.asks(); asks[i] {
			asking = append(asking, c)
		}
	}
	settled := make(chan struct{})
	ended := make([]chan struct{}, len(batch))
	for i := range ended {
		ended[i] = make(chan struct{})
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(settled)
		t.s.guarded(func() { t.permit(asking) })
	})
	for i, c := range batch {
		before := predecessors(batch, ended, i)
		wg.Go(func() {
			defer close(ended[i])
			if asks[i] {
				<-settled
			}
			for _, p := range before {
				<-p
			}
			slots <- struct{}{}
			defer func() { <-slots }()
			t.s.guarded(func() { c.execute(t.ctx) })
		})
	}
	wg.Wait()
	for _, c := range batch {
		if !c.over {
			c.lost()
		}
	}
	return t.s.Err()
}

// lost ends a call whose own goroutine crashed.
func (c *call) lost() {
	r := tool.Result{Outcome: tool.Failed, Reason: "an internal failure", Class: CodeInternal}
	if c.started {
		r = tool.Result{Outcome: tool.Indeterminate, Reason: "an internal failure after the call was sent", Class: CodeInternal, Sent: true}
	}
	c.finish(r)
}

// each runs f for every call at once and waits.
func each(batch []*call, f func(*call)) {
	var wg sync.WaitGroup
	for _, c := range batch {
		wg.Go(func() { f(c) })
	}
	wg.Wait()
}

// predecessors are the calls that have to end before call i may start: of one
// source, only calls that both allow it overlap.
func predecessors(batch []*call, ended []chan struct{}, i int) []chan struct{} {
	var out []chan struct{}
	me := batch[i].def
	for j, c := range batch[:i] {
		same := c.def.Identity.Source == me.Identity.Source && c.def.Identity.Binding == me.Identity.Binding
		if same && (!c.def.Parallel || !me.Parallel) {
			out = append(out, ended[j])
		}
	}
	return out
}

// permit asks about calls in one gate and settles each.
func (t *turn) permit(asking []*call) {
	asking = t.settleFromBefore(asking)
	if len(asking) == 0 {
		return
	}
	prompt := permissionPrompt(asking)
	for _, c := range asking {
		c.prompt = promptDigest(prompt)
	}
	subject := gate.Subject{Loop: t.loop.id, Turn: t.id, Step: t.steps}
	if len(asking) == 1 {
		subject.Call, subject.Binding = asking[0].id, asking[0].def.Identity.Binding
	}
	began := t.s.o.Clock.Now()
	env, r, err := t.s.gates.Ask(t.ctx, gate.Request{
		Kind: gate.KindPermission, Subject: subject, Prompt: prompt, Restorable: true,
	})
	wait := t.s.o.Clock.Now().Sub(began)
	for _, c := range asking {
		if subject.Call == "" {
			c.gated = wait // the host counts gates about a single call
		}
		if err != nil {
			c.refuse(tool.Cancelled, "nobody could be asked: "+safetext.ToLineN(err.Error(), maxReasonBytes).String(), "gate_failed")
			continue
		}
		c.settle(env, r)
	}
}

// settle applies the answer to a call.
func (c *call) settle(env gate.Envelope, r gate.Response) {
	d := &c.result.Decision
	d.Gate, d.Verdict = env.ID, string(policy.Deny)
	if r.Close != "" {
		c.unanswered(r)
		return
	}
	who := r.Answerer
	d.Answerer = &who
	switch r.For(c.id) {
	case gate.ActionSession:
		c.give(env, r, policy.ScopeSession)
		d.Verdict = string(policy.Allow)
	case gate.ActionAlways:
		c.give(env, r, policy.ScopeAlways)
		d.Verdict = string(policy.Allow)
	case gate.ActionOnce:
		d.Verdict = string(policy.Allow)
	default:
		d.Reason = safetext.ToLineN(r.TermsFor(c.id).Reason, maxReasonBytes).String()
		reason := "denied by the operator"
		if d.Reason != "" {
			reason += ": " + d.Reason
		}
		c.refuse(tool.Denied, reason, "operator")
	}
}

// unanswered ends a call whose gate closed without an answer.
func (c *call) unanswered(r gate.Response) {
	d := &c.result.Decision
	d.Reason = string(r.Close)
	switch r.Close {
	case gate.ReasonPolicy:
		d.Reason = r.Detail
		c.refuse(tool.Denied, "not permitted: "+r.Detail, closedDetail(r.Detail))
	case gate.ReasonTimedOut:
		c.refuse(tool.Denied, "not permitted: the question was not answered in time", string(r.Close))
	default:
		c.refuse(tool.Cancelled, "cancelled while somebody was asked", string(r.Close))
	}
}

// closedDetail keeps the one detail that is a code.
func closedDetail(detail string) string {
	if detail == string(gate.ReasonNoGate) {
		return detail
	}
	return string(gate.ReasonPolicy)
}

// permissionPrompt is rendered from the bytes that will be sent.
func permissionPrompt(asking []*call) gate.Prompt {
	p := gate.Prompt{Origin: gate.OriginHost, Title: fmt.Sprintf("Allow %d calls?", len(asking))}
	if len(asking) == 1 {
		p.Title = "Allow " + asking[0].label() + "?"
	}
	if len(asking) > 0 {
		p.Title = asking[0].t.loop.prefix() + p.Title
	}
	for _, c := range asking {
		p.Calls = append(p.Calls, gate.CallPrompt{
			Call: c.id, Tool: c.identity(), ModelName: c.name, Title: c.def.Title,
			Args: c.args, ArgsDigest: digest(c.args), ToolDigest: c.def.Digest, Hints: c.def.Hints,
			Trust: c.def.Trust, Pin: c.def.Pin, Rule: c.pol.Rule, Explicit: c.pol.Explicit,
			ReadOnly: c.readOnlyNames(),
		})
		if c.pol.Reason != "" {
			p.Warnings = append(p.Warnings, c.label()+": "+c.pol.Reason)
		}
	}
	return p
}

// promptDigest names what the answerer was shown.
func promptDigest(p gate.Prompt) string {
	b, err := json.Marshal(p)
	if err != nil {
		return ""
	}
	return digest(b)
}
