package session

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/tool"
)

// finish records the outcome: with an outcome entry for a call that was
// started, with a decision entry for one that was not.
func (c *call) finish(r tool.Result) {
	s := c.t.s
	c.over = true
	c.result.Result = r
	c.result.Duration = s.o.Clock.Now().Sub(c.began)
	c.result.Gate = c.gated + s.gates.TakeWait(c.id)
	d := c.draft(ledger.KindDecision)
	if c.started {
		d.Kind = ledger.KindOutcome
	}
	d.Outcome, d.Attempts, d.Detail = string(r.Outcome), r.Attempts, r.Class
	d.ResultDigest = resultDigest(r)
	e := &event.ToolCompleted{
		Header: c.t.head(), Step: c.t.steps, Call: c.id, Tool: c.identity(), ModelName: c.name,
		Outcome: r.Outcome, Reason: r.Reason, Class: r.Class, Sent: r.Sent, Attempts: r.Attempts,
		Content: r.Content, Structured: r.Structured, StructuredInvalid: r.StructuredInvalid,
		DurationMS: c.result.Duration.Milliseconds(), GateMS: c.result.Gate.Milliseconds(), ServerMS: r.ServerTime.Milliseconds(),
	}
	if w := shareOf(r, s.o.Limits, c.by != "model").withheld; w != (event.Withheld{}) {
		e.Withheld = &w
	}
	if e.Content == nil {
		e.Content = []content.Block{}
	}
	if !c.started {
		dec := c.result.Decision
		e.Decision = &dec
		if !bytes.Equal(c.result.Args, c.asked) {
			e.Args = c.result.Args
		}
	}
	if err := s.hub.emit([]ledger.Draft{d}, e); err != nil {
		return
	}
	s.count.add(func(k *event.Coverage) {
		k.Outcomes++
		if !c.started {
			k.Ledgered++
		}
		if r.Outcome == tool.Indeterminate {
			k.Indeterminate++
		}
	})
}

// resultDigest covers what a result said; "" when it said nothing.
func resultDigest(r tool.Result) string {
	if len(r.Content) == 0 && len(r.Structured) == 0 {
		return ""
	}
	b, err := json.Marshal(struct {
		Content    []content.Block `json:"content"`
		Structured json.RawMessage `json:"structured,omitempty"`
	}{r.Content, r.Structured})
	if err != nil {
		return digest(fmt.Append(nil, err))
	}
	return digest(b)
}
