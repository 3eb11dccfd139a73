package session

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
)

// restoredToolsWait is how long a turn from before a restart waits for the tools
// that were permitted to it. Then they are unavailable.
const restoredToolsWait = 30 * time.Second

// restoredTurn is a turn that waited for a permission when its process ended.
type restoredTurn struct {
	loop    string
	past    *pastTurn
	gates   []gate.Envelope
	answers map[string]restoredAnswer // by call; of the turn's goroutine
	toolset chan struct{}             // capacity 1: the loop's tools have changed
}

// restoredAnswer is the answer to a question from before a restart.
type restoredAnswer struct {
	env   gate.Envelope
	shown gate.CallPrompt
	given gate.Response
}

// refused says that the call is not to be made, whatever it would be now.
func (a restoredAnswer) refused(call string) bool {
	return a.given.Close != "" || a.given.For(call) == gate.ActionDeny
}

// take makes an unfinished turn the loop's running one. It stays parked until it
// is answered: the toolset may still be installed under it.
func (l *loop) take(r *restoredTurn) {
	ctx, cancel := context.WithCancelCause(context.Background())
	p := r.past
	in := &input{
		id: p.Input, fut: &future{done: make(chan struct{})},
		in: Input{Text: p.Text, Origin: gate.Answerer{Kind: gate.AnswererKind(p.Origin), ID: byRestart}},
	}
	t := &turn{
		s: l.s, loop: l, id: p.ID, in: in, set: l.set.Load(), ctx: ctx, cancel: cancel, began: l.s.o.Clock.Now(),
		model: l.model, history: l.history, steps: p.Steps, usage: p.Usage, restored: r, budget: l.newTurnBudget(),
	}
	t.budget.steps, t.budget.calls = p.Steps, len(p.Calls)
	for _, c := range p.Calls {
		if c.Outcome != "" {
			t.calls = append(t.calls, CallResult{
				ID: c.ID, ModelName: c.ModelName, Tool: identityOf(c.Tool), Args: c.Args,
				Result: tool.Result{Outcome: c.Outcome, Reason: c.Reason},
			})
		}
	}
	l.running, l.parked = t, r
}

// resume goes on where the restart found the turn: with the answers to its
// questions, under the toolset of now.
func (t *turn) resume() (string, error) {
	r := t.restored
	r.answers = map[string]restoredAnswer{}
	wanted := false
	for _, env := range r.gates {
		given := t.awaitAnswer(env)
		for _, shown := range env.Prompt.Calls {
			a := restoredAnswer{env: env, shown: shown, given: given}
			r.answers[shown.Call] = a
			wanted = wanted || !a.refused(shown.Call)
		}
	}
	if wanted {
		t.awaitTools()
	}
	err := t.loop.do(context.Background(), func() {
		l := t.loop
		l.parked = nil
		t.set, t.withdrawn, t.opened = l.set.Load(), l.tools.withdrawn(), slices.Clone(l.looked)
	})
	switch {
	case err != nil:
		return "", err
	case r.past.Kind == kindCall:
		return t.resumeCall()
	}
	if err := t.resumeUses(); err != nil {
		return "", err
	}
	return t.goOn()
}

// awaitAnswer waits for the answer to a gate, or withdraws it with the turn.
func (t *turn) awaitAnswer(env gate.Envelope) gate.Response {
	resp, err := t.s.gates.Await(t.ctx, env.ID)
	if err != nil && t.ctx.Err() != nil {
		_ = t.s.gates.Close(env.ID, gate.ReasonWithdrawn, "")
		resp, err = t.s.gates.Await(context.WithoutCancel(t.ctx), env.ID)
	}
	if err != nil {
		return gate.Unanswered(env.Kind, gate.ReasonWithdrawn, "")
	}
	return resp
}

// awaitTools waits for the tools that somebody allowed, which come when their
// servers have started.
func (t *turn) awaitTools() {
	r := t.restored
	late := make(chan struct{})
	stop := t.s.o.Clock.AfterFunc(restoredToolsWait, func() { close(late) })
	defer stop()
	for {
		set, missing := t.loop.set.Load(), false
		for id, a := range r.answers {
			if a.refused(id) {
				continue
			}
			_, there := set.ByIdentity(identityOf(a.shown.Tool))
			missing = missing || !there
		}
		if !missing {
			return
		}
		select {
		case <-r.toolset:
		case <-late:
			return
		case <-t.ctx.Done():
			return
		}
	}
}

// again is a call from before the restart; what is known of it is on record.
func (t *turn) again(p *pastCall) *call {
	c := t.newCall(toolUse{id: p.ID, name: p.ModelName, args: p.Args})
	c.by, c.again = p.By, true
	if p.By != "model" || !c.known {
		id := identityOf(p.Tool)
		def, there := t.set.ByIdentity(id)
		if !there {
			def = tool.Definition{Name: p.ModelName, Identity: id}
		}
		c.def, c.known, c.gone = def, p.Tool != "", !there
	}
	return c
}

// refuseFromBefore ends a call that the answer was against.
func (c *call) refuseFromBefore() bool {
	a, ok := c.t.restored.answers[c.id]
	if !ok || !a.refused(c.id) {
		return false
	}
	_ = c.request() // it writes nothing
	c.t.s.count.add(func(k *event.Coverage) { k.Gated++ })
	c.prompt = promptDigest(a.env.Prompt)
	c.result.Decision = event.Decision{Rule: a.shown.Rule, ToolDigest: a.shown.ToolDigest}
	c.settle(a.env, a.given)
	return true
}

// resumeUses makes the calls that the turn had not made, and puts all results of
// the message into the history.
func (t *turn) resumeUses() error {
	p := t.restored.past
	var batch []*call
	made := map[string]*call{}
	for _, id := range p.Uses {
		was := p.call(id)
		if was == nil || was.Outcome != "" {
			continue
		}
		c := t.again(was)
		made[id] = c
		if !c.refuseFromBefore() {
			batch = append(batch, c)
		}
	}
	err := t.runBatch(batch)
	t.openLookups(batch)
	blocks := make([]content.Block, len(p.Uses))
	for i, id := range p.Uses {
		switch c, was := made[id], p.call(id); {
		case c != nil:
			blocks[i] = resultBlock(id, c.result.Result, t.s.o.Limits)
			t.calls = append(t.calls, c.result)
		case was != nil && was.Result != nil:
			blocks[i] = *was.Result
		default:
			blocks[i] = resultBlock(id, fromBefore(&pastCall{}), t.s.o.Limits)
		}
	}
	t.history = append(t.history, content.Message{Role: content.RoleTool, Blocks: blocks})
	return err
}

// resumeCall makes an operator's call.
func (t *turn) resumeCall() (string, error) {
	var c *call
	for _, was := range t.restored.past.Calls {
		if was.Outcome == "" {
			c = t.again(was)
		}
	}
	if c == nil {
		return "", errors.New("the turn has no call to go on with")
	}
	var err error
	if !c.refuseFromBefore() {
		err = t.runBatch([]*call{c})
	}
	return t.operated(c, err)
}

// settleFromBefore applies the answers from before a restart to the very calls
// that were shown, and returns those that somebody has to be asked about.
func (t *turn) settleFromBefore(asking []*call) []*call {
	if t.restored == nil {
		return asking
	}
	var rest []*call
	for _, c := range asking {
		a, ok := t.restored.answers[c.id]
		if !ok || a.shown.ArgsDigest != digest(c.args) || a.shown.ToolDigest != c.def.Digest || a.shown.Pin != c.def.Pin || a.shown.Rule != c.pol.Rule {
			rest = append(rest, c)
			continue
		}
		c.prompt = promptDigest(a.env.Prompt)
		c.settle(a.env, a.given)
	}
	return rest
}

// lookAgain gives the model the tools whose schemas it had asked for before a
// restart, as their sources come back.
func (l *loop) lookAgain(set *tool.Set) {
	if l.parked != nil {
		select {
		case l.parked.toolset <- struct{}{}:
		default:
		}
	}
	l.looking = slices.DeleteFunc(l.looking, func(name string) bool {
		d, err := set.Resolve(name)
		if err != nil {
			return false
		}
		o := openedTool{d.Name, d.Identity, d.Digest}
		if d.Deferred && !slices.Contains(l.looked, o) {
			l.looked = append(l.looked, o)
		}
		return true
	})
}

// compareWithBefore says, once for each binding, that its tools are not those
// that the session had before a restart.
func (l *loop) compareWithBefore(s slot) {
	before := l.before[s.source]
	if len(before) == 0 {
		return
	}
	for _, now := range bindings(s.defs) {
		i := slices.IndexFunc(before, func(b event.BindingGeneration) bool { return b.Binding == now.Binding })
		if i < 0 {
			continue
		}
		if before[i].Digest != now.Digest {
			_ = l.s.hub.emit(nil, &event.Notice{
				Header: l.head(), Binding: now.Binding, Code: "catalog_drift", Level: string(event.SeverityWarn),
				Text: "the tools of " + safetext.Ident(now.Binding).String() + " are not those that the session had: they were " + short(before[i].Digest) + ", they are " + short(now.Digest),
			})
		}
		before = slices.Delete(slices.Clone(before), i, i+1)
	}
	l.before[s.source] = before
}
