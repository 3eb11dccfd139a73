package session

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/harness/tool"
)

// past is what a session's records amount to: everything that a session needs to
// go on. It is made by applying the records one by one, and it is what a
// snapshot holds. It is not safe for concurrent use.
type past struct {
	// Seq is the last record that is in it.
	Seq         uint64            `json:"seq"`
	App         string            `json:"app"`
	Mode        string            `json:"mode"`
	Title       string            `json:"title,omitempty"`
	Parent      string            `json:"parent,omitempty"`
	ParentSeq   uint64            `json:"parent_seq,omitempty"`
	Fingerprint event.Fingerprint `json:"fingerprint,omitempty"`
	// The last id of each kind: they go on from there and are never used again.
	TurnID  uint64 `json:"turn_id"`
	InputID uint64 `json:"input_id"`
	CallID  uint64 `json:"call_id"`
	GateID  uint64 `json:"gate_id"`
	// Delegated counts the delegates, whose loops' names end in their number.
	Delegated uint64 `json:"delegated,omitempty"`

	Turns    int            `json:"turns"`
	Coverage event.Coverage `json:"coverage"`
	// Usage by model, of this session alone.
	Usage []event.ModelUsage `json:"usage,omitempty"`
	// Closed says that the last record is session.closed.
	Closed bool            `json:"closed"`
	Loops  []*pastLoop     `json:"loops,omitempty"`
	Open   []gate.Envelope `json:"open,omitempty"`
	// Reconfigured are the bindings that an operator changed in the session and
	// saved.
	Reconfigured []string `json:"reconfigured,omitempty"`
	// Grants are those for the session.
	Grants []policy.Grant `json:"grants,omitempty"`

	limits Limits
	fill   func([]content.Block) ([]content.Block, error)
}

// pastLoop is one loop.
type pastLoop struct {
	ID     string `json:"id"`
	Model  string `json:"model"`
	Parent string `json:"parent,omitempty"` // of a delegate
	Closed bool   `json:"closed"`
	// Switched is the model that an operator gave the loop, "" for none.
	Switched string            `json:"switched,omitempty"`
	History  []content.Message `json:"history,omitempty"`
	Queue    []pastInput       `json:"queue,omitempty"`
	// Sets are the newest toolsets by source, Looked the deferred tools whose
	// schemas the model asked for.
	Sets   map[string][]event.BindingGeneration `json:"sets,omitempty"`
	Looked []string                             `json:"looked,omitempty"`
	// Turn has begun and not ended.
	Turn *pastTurn `json:"turn,omitempty"`
}

// pastInput is an input whose turn has not begun.
type pastInput struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	Call bool   `json:"call,omitempty"`
}

// pastTurn is a turn without an end.
type pastTurn struct {
	ID     string      `json:"id"`
	Input  string      `json:"input"`
	Origin string      `json:"origin"`
	Kind   string      `json:"kind"`
	Text   string      `json:"text,omitempty"`
	Began  time.Time   `json:"began"`
	Steps  int         `json:"steps"`
	Usage  event.Usage `json:"usage"`
	// Uses are the calls that the last message asked for, while the history has
	// no results of them.
	Uses  []string    `json:"uses,omitempty"`
	Calls []*pastCall `json:"calls,omitempty"`
}

// pastCall is a call of an unfinished turn.
type pastCall struct {
	ID        string `json:"id"`
	Step      int    `json:"step"`
	Tool      string `json:"tool"`
	ModelName string `json:"model_name"`
	Args      []byte `json:"args"`
	By        string `json:"by"`
	// Started has the call's intent, nil while there is none.
	Started *event.ToolStarted `json:"started,omitempty"`
	Outcome tool.Outcome       `json:"outcome,omitempty"` // "" while there is none
	Reason  string             `json:"reason,omitempty"`
	// Result is how the outcome reads in the history, until it is there.
	Result *content.Block `json:"result,omitempty"`
}

func (p *past) loop(id string) *pastLoop {
	for _, l := range p.Loops {
		if l.ID == id {
			return l
		}
	}
	l := &pastLoop{ID: id}
	p.Loops = append(p.Loops, l)
	return l
}

// turn is the unfinished turn that an event belongs to, or nil.
func (p *past) turn(h *event.Header) (*pastLoop, *pastTurn) {
	l := p.loop(h.Loop)
	if l.Turn == nil || l.Turn.ID != h.Turn {
		return l, nil
	}
	return l, l.Turn
}

func (t *pastTurn) call(id string) *pastCall {
	for _, c := range t.Calls {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// used keeps the highest number of an id such as "t12".
func used(last *uint64, id string) {
	if len(id) < 2 {
		return
	}
	if n, err := strconv.ParseUint(id[1:], 10, 64); err == nil && n > *last {
		*last = n
	}
}

// apply takes the next event.
func (p *past) apply(e event.Event) error {
	switch e := e.(type) {
	case *event.SessionStarted:
		p.App, p.Mode, p.Title = e.App, e.Mode, e.Title
		p.Parent, p.ParentSeq, p.Fingerprint = e.Parent, e.ParentSeq, e.Fingerprint
		p.Closed = e.Parent != "" // nothing of a fork is under way
	case *event.SessionRestored:
		p.Closed = false
		if len(e.Fingerprint) > 0 {
			p.Fingerprint = e.Fingerprint
		}
	case *event.SessionClosed:
		p.Closed, p.Coverage = true, e.Coverage
	case *event.GateOpened:
		used(&p.GateID, e.ID)
		p.Open = append(p.Open, e.Envelope)
	case *event.GateResolved:
		p.Open = slices.DeleteFunc(p.Open, func(g gate.Envelope) bool { return g.ID == e.Gate })
	case *event.GrantChanged:
		p.pastGrant(e, e.Session)
	case *event.BindingReconfigured:
		if e.Saved && !slices.Contains(p.Reconfigured, e.Binding) {
			p.Reconfigured = append(p.Reconfigured, e.Binding)
		}
	case *event.ToolRequested, *event.ToolStarted, *event.ToolCompleted:
		return p.applyCall(e)
	default:
		return p.applyLoop(e)
	}
	return nil
}

// applyLoop takes an event of a loop or of its turn.
func (p *past) applyLoop(e event.Event) error {
	switch e := e.(type) {
	case *event.LoopStarted:
		l := p.loop(e.Loop)
		l.Model, l.Parent, l.Closed = e.Model, e.Parent, false
		if e.Parent != "" {
			used(&p.Delegated, e.Loop[max(strings.LastIndex(e.Loop, "-"), 0):])
		}
	case *event.LoopClosed:
		l := p.loop(e.Loop)
		l.Closed = true
		if l.Parent != "" { // nobody will speak with it again
			l.History, l.Queue, l.Sets, l.Looked = nil, nil, nil, nil
		}
	case *event.ModelChanged:
		p.switched(p.loop(e.Loop), e.To)
	case *event.ToolsetAdopted:
		l := p.loop(e.Loop)
		if l.Sets == nil {
			l.Sets = map[string][]event.BindingGeneration{}
		}
		l.Sets[e.Source] = e.Bindings
	case *event.SamplingCompleted:
		p.Usage = addModelUsage(p.Usage, e.Model, event.ForServers, e.Usage)
	case *event.InputQueued:
		used(&p.InputID, e.Input)
		l := p.loop(e.Loop)
		if e.Kind == kindCompact {
			break // nobody waits for it any more
		}
		if !slices.ContainsFunc(l.Queue, func(i pastInput) bool { return i.ID == e.Input }) {
			l.Queue = append(l.Queue, pastInput{ID: e.Input, Text: e.Text, Call: e.Kind == kindCall})
		}
	case *event.TurnStarted:
		p.startTurn(e)
	case *event.MessageCompleted:
		return p.message(e)
	case *event.HistoryCompacted:
		l := p.loop(e.Loop)
		l.History = compactedHistory(l.History, e)
		p.Usage = addModelUsage(p.Usage, l.Model, "", e.Usage)
		if _, t := p.turn(&e.Header); t != nil {
			t.Usage = sumOf(t.Usage, e.Usage)
		}
	case *event.TurnCompleted:
		p.endTurn(&e.Header, tool.Result{Outcome: tool.Indeterminate, Reason: "an internal failure"})
	case *event.TurnFailed:
		r := tool.Result{Outcome: tool.Indeterminate, Reason: "an internal failure"}
		if e.Code == CodeLimitCalls {
			r = tool.Result{Outcome: tool.OverLimit, Reason: e.Reason}
		}
		p.endTurn(&e.Header, r)
	case *event.TurnInterrupted:
		p.endTurn(&e.Header, tool.Result{Outcome: tool.Cancelled, Reason: "cancelled before anything was sent"})
	}
	return nil
}

// switched notes that a loop has another model from now on; that an operator
// decided so is no difference of configurations later.
func (p *past) switched(l *pastLoop, to string) {
	l.Model, l.Switched = to, to
	p.Fingerprint = slices.Clone(p.Fingerprint)
	for i, f := range p.Fingerprint {
		if f.Field == ModelField(l.ID) {
			p.Fingerprint[i].Value = to
		}
	}
}

// The kinds of input, as turn.started and input.queued say them.
const (
	kindUser = "user"
	kindCall = "call"
)

func (p *past) startTurn(e *event.TurnStarted) {
	used(&p.TurnID, e.Turn)
	used(&p.InputID, e.Input)
	l := p.loop(e.Loop)
	l.Queue = slices.DeleteFunc(l.Queue, func(i pastInput) bool { return i.ID == e.Input })
	l.Turn = &pastTurn{ID: e.Turn, Input: e.Input, Origin: e.Origin, Kind: e.Kind, Text: e.Text, Began: e.Time}
	if e.Kind != kindCall && e.Kind != kindCompact {
		l.History = append(l.History, content.Message{Role: content.RoleUser, Blocks: []content.Block{content.Text(e.Text)}})
	}
}

func (p *past) message(e *event.MessageCompleted) error {
	blocks, err := p.fill(e.Content)
	if err != nil {
		return err
	}
	l, t := p.turn(&e.Header)
	l.History = append(l.History, content.Message{Role: e.Role, Blocks: blocks})
	p.Usage = addModelUsage(p.Usage, l.Model, "", e.Usage)
	var uses []string
	for _, b := range blocks {
		if b.Kind == content.KindToolUse {
			used(&p.CallID, b.CallID)
			uses = append(uses, b.CallID)
		}
	}
	if t != nil {
		t.Steps, t.Uses = e.Step, uses
		t.Usage = sumOf(t.Usage, e.Usage)
	}
	return nil
}

// sumOf adds what two messages used.
func sumOf(a, b event.Usage) event.Usage {
	a.Input += b.Input
	a.Output += b.Output
	a.CacheRead += b.CacheRead
	a.CacheWrite += b.CacheWrite
	a.Reasoning += b.Reasoning
	if a.Currency == "" {
		a.Currency = b.Currency
	}
	if a.Currency == b.Currency { // different money has no sum: Session.Usage keeps each apart
		a.CostMicro += b.CostMicro
	}
	return a
}

// endTurn ends a turn; uses that are still without a result get this one.
func (p *past) endTurn(h *event.Header, rest tool.Result) {
	l, t := p.turn(h)
	if t == nil {
		return
	}
	l.pair(t, func(id string) content.Block { return resultBlock(id, rest, p.limits) })
	l.Turn = nil
	p.Turns++
}

// pair puts the results of the last message's calls into the history.
func (l *pastLoop) pair(t *pastTurn, rest func(id string) content.Block) {
	if len(t.Uses) == 0 {
		return
	}
	blocks := make([]content.Block, len(t.Uses))
	for i, id := range t.Uses {
		if c := t.call(id); c != nil && c.Result != nil {
			blocks[i], c.Result = *c.Result, nil
		} else {
			blocks[i] = rest(id)
		}
	}
	t.Uses = nil
	l.History = append(l.History, content.Message{Role: content.RoleTool, Blocks: blocks})
}

// applyCall takes an event of a call.
func (p *past) applyCall(e event.Event) error {
	switch e := e.(type) {
	case *event.ToolRequested:
		used(&p.CallID, e.Call)
		p.Coverage.Calls++
		if _, t := p.turn(&e.Header); t != nil {
			t.Calls = append(t.Calls, &pastCall{ID: e.Call, Step: e.Step, Tool: e.Tool, ModelName: e.ModelName, Args: e.Args, By: e.By})
			t.Steps = max(t.Steps, e.Step)
		}
	case *event.ToolStarted:
		p.Coverage.Gated++
		p.Coverage.Ledgered++
		if e.Pinned {
			p.Coverage.Pinned++
		}
		if _, t := p.turn(&e.Header); t != nil {
			if c := t.call(e.Call); c != nil {
				c.Started = e
			}
		}
	case *event.ToolCompleted:
		p.countOutcome(e)
		return p.outcome(e)
	}
	return nil
}

func (p *past) countOutcome(e *event.ToolCompleted) {
	p.Coverage.Outcomes++
	if e.Outcome == tool.Indeterminate {
		p.Coverage.Indeterminate++
	}
	if e.Decision != nil {
		p.Coverage.Ledgered++
		if e.Decision.Rule != ruleNone {
			p.Coverage.Gated++
		}
	}
}

// outcome puts a call's result where the history will have it.
func (p *past) outcome(e *event.ToolCompleted) error {
	l, t := p.turn(&e.Header)
	if t == nil {
		return nil
	}
	c := t.call(e.Call)
	if c == nil || c.Outcome != "" {
		return nil
	}
	blocks, err := p.fill(e.Content)
	if err != nil {
		return err
	}
	r := tool.Result{Outcome: e.Outcome, Reason: e.Reason, Class: e.Class, Content: blocks, Structured: e.Structured, StructuredInvalid: e.StructuredInvalid}
	c.Outcome, c.Reason = e.Outcome, e.Reason
	if t.Kind == kindCall {
		args := c.Args
		switch {
		case c.Started != nil:
			args = c.Started.Args
		case len(e.Args) > 0:
			args = e.Args
		}
		said := recordOf(CallResult{Result: r, ID: c.ID, Tool: identityOf(c.Tool), Args: args}, p.limits)
		l.History = append(l.History, content.Message{Role: content.RoleUser, Blocks: []content.Block{content.Text(said)}})
		return nil
	}
	b := resultBlock(c.ID, r, p.limits)
	c.Result = &b
	l.look(c)
	for _, id := range t.Uses {
		if x := t.call(id); x == nil || x.Result == nil {
			return nil
		}
	}
	l.pair(t, nil)
	return nil
}

// look notes that the model asked for a deferred tool's schema.
func (l *pastLoop) look(c *pastCall) {
	if c.Tool != builtin(ToolSchema).String() || c.Outcome != tool.OK || c.Started == nil {
		return
	}
	var in struct {
		Name string `json:"name"`
	}
	if arguments(ToolSchema, c.Started.Args, &in) != nil || in.Name == "" {
		return
	}
	l.Looked = slices.DeleteFunc(l.Looked, func(n string) bool { return n == in.Name })
	l.Looked = append(l.Looked, in.Name)
	if n := len(l.Looked); n > maxOpened {
		l.Looked = slices.Clone(l.Looked[n-maxOpened:])
	}
}

// identityOf reads an identity as it is written in records.
func identityOf(s string) tool.Identity {
	source, rest, _ := strings.Cut(s, ":")
	if source == builtinSource {
		return tool.Identity{Source: source, Name: rest}
	}
	binding, name, ok := strings.Cut(rest, ":")
	if !ok {
		return tool.Identity{Source: source, Name: rest}
	}
	return tool.Identity{Source: source, Binding: binding, Name: name}
}
