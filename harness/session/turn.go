package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
)

// maxReasonBytes bounds the reason of a failed turn.
const maxReasonBytes = 1 << 10

// turn is one input on its way to a final answer. It runs on a goroutine of its
// own; the loop reads history and result after that has ended.
type turn struct {
	s         *Session
	loop      *loop // its immutable fields
	id        string
	in        *input
	set       *tool.Set
	model     model.Client
	withdrawn map[string]tool.Definition
	ctx       context.Context
	cancel    context.CancelCauseFunc
	began     time.Time
	budget    *budget

	restored *restoredTurn // of a turn that began before a restart

	history  []content.Message
	opened   []openedTool
	measured measure
	steps    int
	usage    event.Usage
	calls    []CallResult
	result   TurnResult
}

// failure ends a turn that cannot go on.
type failure struct {
	code   string
	reason string
}

func (f *failure) Error() string { return f.code + ": " + f.reason }

func (t *turn) head() event.Header { return event.Header{Loop: t.loop.id, Turn: t.id} }

// run does the whole turn and leaves its result.
func (t *turn) run() {
	text, err := t.guarded()
	t.result = TurnResult{
		Turn: t.id, Text: text, Calls: t.calls, Steps: t.steps, Usage: t.usage,
		Outcome: TurnCompleted, Duration: t.s.o.Clock.Now().Sub(t.began),
	}
	stopped, wasStopped := errors.AsType[*interruption](context.Cause(t.ctx))
	switch {
	case wasStopped && err != nil:
		t.result.Outcome, t.result.Text, t.result.Reason = TurnInterrupted, "", stopped.Error()
	case err != nil:
		t.result.Outcome, t.result.Text = TurnFailed, ""
		t.result.Code, t.result.Reason = classify(err)
	}
	if err := t.s.hub.append(nil, t.last(stopped)); err != nil && t.result.Code != CodeJournalFailed {
		t.result.Outcome, t.result.Code, t.result.Reason = TurnFailed, CodeJournalFailed, err.Error()
	}
}

// last is the event that ends the turn.
func (t *turn) last(by *interruption) event.Event {
	r, ms := t.result, t.result.Duration.Milliseconds()
	switch r.Outcome {
	case TurnInterrupted:
		return &event.TurnInterrupted{Header: t.head(), By: by.by, DurationMS: ms}
	case TurnFailed:
		return &event.TurnFailed{Header: t.head(), Code: r.Code, Reason: r.Reason, DurationMS: ms}
	default:
		return &event.TurnCompleted{
			Header: t.head(), Text: r.Text, Steps: r.Steps, Calls: len(r.Calls), Usage: r.Usage, DurationMS: ms,
		}
	}
}

// classify gives an error its code and a clean reason.
func classify(err error) (code, reason string) {
	code = CodeInternal
	if f, ok := errors.AsType[*failure](err); ok {
		return f.code, safetext.ToLineN(f.reason, maxReasonBytes).String()
	}
	if _, ok := errors.AsType[*JournalError](err); ok || errors.Is(err, ErrClosed) {
		code = CodeJournalFailed
	}
	return code, safetext.ToLineN(err.Error(), maxReasonBytes).String()
}

// guarded turns a panic into a failure of this turn alone.
func (t *turn) guarded() (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			t.s.contained(p)
			t.pairUses()
			err = &failure{CodeInternal, fmt.Sprintf("panic: %v", p)}
		}
	}()
	if t.restored != nil {
		return t.resume()
	}
	kind, said := kindUser, t.in.in.Text
	switch {
	case t.in.compact:
		kind, said = kindCompact, ""
	case t.in.call != nil:
		kind, said = kindCall, t.in.text()
	}
	err = t.s.hub.emit(nil, &event.TurnStarted{
		Header: t.head(), Input: t.in.id, Origin: string(t.in.in.Origin.Kind), Kind: kind, Text: said, Toolset: t.set.Digest(),
	})
	switch {
	case err != nil:
		return "", err
	case t.in.compact:
		return t.compactByHand()
	case t.in.call != nil:
		return t.operate()
	}
	return t.converse()
}

// converse runs steps until the model has no more calls.
func (t *turn) converse() (string, error) {
	t.history = append(t.history, content.Message{Role: content.RoleUser, Blocks: []content.Block{content.Text(t.in.in.Text)}})
	return t.goOn()
}

// goOn asks the model until it has no more calls.
func (t *turn) goOn() (string, error) {
	for {
		if err := t.mayGoOn(); err != nil {
			return "", err
		}
		if over := t.budget.takeStep(); over != nil {
			return "", over
		}
		if err := t.fit(); err != nil {
			return "", err
		}
		t.steps++
		msg, err := t.step()
		if err != nil {
			return "", err
		}
		t.history = append(t.history, content.Message{Role: content.RoleAssistant, Blocks: msg.blocks})
		t.remember(msg.usage.Input, msg.usage.Output)
		if len(msg.uses) == 0 {
			return content.PlainText(msg.blocks), nil
		}
		if err := t.answerUses(msg.uses); err != nil {
			return "", err
		}
	}
}

// mayGoOn checks what ends a turn between its steps.
func (t *turn) mayGoOn() error {
	if t.s.isClosing() {
		t.cancel(&interruption{by: "session_closed"})
	}
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	return t.s.Err()
}

// answerUses runs the calls of a message and puts their results into the
// history, so that every tool use has its result whatever happens.
func (t *turn) answerUses(uses []toolUse) error {
	if f := t.budget.takeCalls(len(uses)); f != nil {
		blocks := make([]content.Block, len(uses))
		for i, u := range uses {
			blocks[i] = resultBlock(u.id, tool.Result{Outcome: tool.OverLimit, Reason: f.reason}, t.s.o.Limits)
		}
		t.history = append(t.history, content.Message{Role: content.RoleTool, Blocks: blocks})
		return f
	}
	batch := make([]*call, len(uses))
	for i, u := range uses {
		batch[i] = t.newCall(u)
	}
	err := t.runBatch(batch)
	t.openLookups(batch)
	blocks := make([]content.Block, len(batch))
	for i, c := range batch {
		blocks[i] = resultBlock(c.id, c.result.Result, t.s.o.Limits)
		t.calls = append(t.calls, c.result)
	}
	t.history = append(t.history, content.Message{Role: content.RoleTool, Blocks: blocks})
	return err
}

// pairUses gives tool uses that a panic left without results their results: a
// history without them is one that no model takes.
func (t *turn) pairUses() {
	if len(t.history) == 0 || t.history[len(t.history)-1].Role != content.RoleAssistant {
		return
	}
	var blocks []content.Block
	for _, b := range t.history[len(t.history)-1].Blocks {
		if b.Kind == content.KindToolUse {
			blocks = append(blocks, resultBlock(b.CallID, tool.Result{Outcome: tool.Indeterminate, Reason: "an internal failure"}, t.s.o.Limits))
		}
	}
	if len(blocks) > 0 {
		t.history = append(t.history, content.Message{Role: content.RoleTool, Blocks: blocks})
	}
}

// operate runs an operator's call. It joins the history as a record in a
// user's message, not as a tool use that no model made.
func (t *turn) operate() (string, error) {
	if err := t.mayGoOn(); err != nil {
		return "", err
	}
	t.steps = 1
	c := t.operatorCall()
	return t.operated(c, t.runBatch([]*call{c}))
}

// operated puts an operator's call on record for the model.
func (t *turn) operated(c *call, err error) (string, error) {
	t.calls = append(t.calls, c.result)
	t.history = append(t.history, content.Message{Role: content.RoleUser, Blocks: []content.Block{content.Text(recordOf(c.result, t.s.o.Limits))}})
	if err == nil && t.ctx.Err() != nil && c.result.Outcome == tool.Cancelled {
		err = context.Cause(t.ctx)
	}
	return c.result.Text(), err
}
