package tui

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/bindings"
	"github.com/looprig/looprig/tui/markdown"
	"github.com/looprig/looprig/tui/status"
	"github.com/looprig/looprig/tui/transcript"
)

// events takes what the pump has gathered.
func (m *model) events(msg eventsMsg) tea.Cmd {
	var cmds []tea.Cmd
	sources := false
	for _, r := range msg.records {
		cmds = append(cmds, m.event(r))
		sources = sources || ofSources(r.Event)
	}
	if sources {
		m.bindings = m.o.Port.Bindings()
	}
	if msg.err != nil {
		m.ended = true
		if !errors.Is(msg.err, io.EOF) {
			m.tr.Note(m.now, "", transcript.Bad, "the event stream was lost: "+msg.err.Error()+"; what happens now is not shown")
		} else {
			m.tr.Note(m.now, "", transcript.Info, "the session has ended")
		}
	}
	return tea.Batch(cmds...)
}

// ofSources reports an event after which the bindings look different.
func ofSources(e event.Event) bool {
	switch e.(type) {
	case *event.BindingChanged, *event.CatalogCandidate, *event.CatalogAdopted, *event.CatalogRejected,
		*event.BindingReconfigured, *event.PinChanged, *event.ToolsetAdopted, *event.Notice, *event.ResourceUpdated:
		return true
	}
	return false
}

func (m *model) event(r event.Record) tea.Cmd {
	h := r.Event.Head()
	m.tr.Loop(h.Loop)
	switch e := r.Event.(type) {
	case *event.InputQueued:
		m.queued = append(m.queued, queued{input: e.Input, text: e.Text})
	case *event.TurnStarted:
		m.turnStarted(e)
	case *event.TurnCompleted:
		return m.turnCompleted(e)
	case *event.TurnFailed:
		m.turnEnded(h.Loop)
		m.tr.Note(h.Time, h.Loop, transcript.Bad, "the turn failed ("+e.Code+"): "+e.Reason)
	case *event.TurnInterrupted:
		m.turnEnded(h.Loop)
		m.tr.Note(h.Time, h.Loop, transcript.Warn, "interrupted")
	case *event.LoopIdle:
		delete(m.turns, h.Loop)
	case *event.SessionRestored:
		m.tr.Note(h.Time, "", transcript.Info, restoredText(e))
	case *event.GrantChanged:
		m.grantEvent(e)
	case *event.ModelChanged, *event.HistoryCompacted:
		m.contextEvent(e)
	case *event.ModelDelta:
		m.tr.Delta(m.stamp(h), h.Loop, messageKey(h, e.Step), e.Kind, e.Text)
	case *event.MessageCompleted:
		return m.message(e, r.Line)
	default:
		m.callEvent(r)
	}
	return nil
}

// restoredText marks where the session went on.
func restoredText(e *event.SessionRestored) string {
	text := fmt.Sprintf("the session goes on from here: %s before", counted(e.Turns, "turn"))
	if n := len(e.Indeterminate); n > 0 {
		text += fmt.Sprintf("; outcome unknown, not sent again: %s", strings.Join(e.Indeterminate, ", "))
	}
	if e.Reinstalled > 0 {
		text += "; open again: " + counted(e.Reinstalled, "question")
	}
	if n := len(e.Held); n > 0 {
		text += "; kept and not run: " + counted(n, "queued input")
	}
	return text
}

// stamp is an event's time; ephemeral events may carry none.
func (m *model) stamp(h *event.Header) time.Time {
	if h.Time.IsZero() {
		return m.now
	}
	return h.Time
}

func messageKey(h *event.Header, step int) string {
	return fmt.Sprintf("%s%d", turnKey(h), step)
}

// turnKey is what the keys of a turn's messages start with.
func turnKey(h *event.Header) string { return h.Loop + "/" + h.Turn + "/" }

func (m *model) turnStarted(e *event.TurnStarted) {
	for i, q := range m.queued {
		if q.input == e.Input {
			m.queued = append(m.queued[:i:i], m.queued[i+1:]...)
			break
		}
	}
	m.stopping = false
	m.turns[e.Loop] = turn{id: e.Turn, started: e.Time, user: e.Kind != "call"}
	if e.Kind != "call" && e.Text != "" {
		m.given(e)
	}
}

func (m *model) turnEnded(loop string) {
	m.stopping = false
	if m.toast.text == interrupting {
		m.toast = toast{}
	}
	delete(m.turns, loop)
	m.tr.EndStreams(loop)
}

// turnCompleted shows the answer when no message of the turn did.
func (m *model) turnCompleted(e *event.TurnCompleted) tea.Cmd {
	t := m.turns[e.Loop]
	m.turnEnded(e.Loop)
	if t.user && !t.spoke && e.Text != "" {
		return m.speak(m.tr.Message(e.Time, e.Loop, messageKey(&e.Header, 0), e.Text, nil))
	}
	return nil
}

func (m *model) message(e *event.MessageCompleted, line []byte) tea.Cmd {
	if e.Role != content.RoleAssistant {
		return nil
	}
	text := transcript.Plain(e.Content)
	if t, ok := m.turns[e.Loop]; ok && text != "" {
		t.spoke = true
		m.turns[e.Loop] = t
	}
	return m.speak(m.tr.Message(e.Time, e.Loop, messageKey(&e.Header, e.Step), text, line))
}

// speak parses a message's Markdown off the interface's goroutine.
func (m *model) speak(it *transcript.Item) tea.Cmd {
	if it == nil || it.Text() == "" {
		return nil
	}
	text := it.Text()
	return func() tea.Msg { return docMsg{item: it, doc: markdown.Parse(text)} }
}

func (m *model) callEvent(r event.Record) {
	switch e := r.Event.(type) {
	case *event.ToolRequested:
		m.tr.Requested(e.Time, e.Loop, transcript.Call{ID: e.Call, Tool: e.Tool, ModelName: e.ModelName, By: e.By, Args: e.Args})
	case *event.ToolStarted:
		m.tr.Requested(e.Time, e.Loop, transcript.Call{ID: e.Call, Tool: e.Tool, ModelName: e.ModelName, By: "model", Args: e.Args})
		m.tr.Started(e.Call, e.Time, e.Args)
	case *event.ToolProgress:
		m.tr.Progress(e.Call, progress(e))
	case *event.ToolCompleted:
		m.tr.Completed(e.Call, transcript.Completion{
			Outcome: e.Outcome, Reason: e.Reason, Content: e.Content, Data: e.Structured, DataFault: e.StructuredInvalid, Sent: e.Sent,
			Took: time.Duration(e.DurationMS) * time.Millisecond, Gated: time.Duration(e.GateMS) * time.Millisecond, Raw: r.Line,
		})
	case *event.GateOpened:
		m.gateOpened(e.Envelope)
	case *event.GateResolved:
		m.gateResolved(e)
	default:
		m.sourceEvent(r.Event)
	}
}

func progress(e *event.ToolProgress) string {
	s := fmt.Sprintf("%g", e.Progress)
	if e.Total > 0 {
		s += fmt.Sprintf(" of %g", e.Total)
	}
	return strings.TrimSpace(s + " " + e.Message)
}

// sourceEvent turns what happens to bindings into notices.
func (m *model) sourceEvent(e event.Event) {
	h := e.Head()
	switch e := e.(type) {
	case *event.BindingChanged:
		text := e.State
		if e.Text != "" {
			text += ": " + e.Text
		} else if e.Class != "" {
			text += ": " + e.Class
		}
		m.notice(h, e.Binding, text, stateLevel(e.State))
	case *event.CatalogCandidate:
		m.notice(h, e.Binding, fmt.Sprintf("gen %d: %s", e.Generation, itemsText(e.CatalogChange)), "info")
	case *event.CatalogAdopted:
		m.catalogAdopted(h, e.CatalogChange)
	case *event.CatalogRejected:
		m.notice(h, e.Binding, fmt.Sprintf("listing refused, gen %d stays: %s", e.Generation, e.Reason), "warn")
	case *event.BindingReconfigured:
		text := e.Op + " by " + e.By
		if e.Saved {
			text += ", saved"
		}
		m.notice(h, e.Binding, text, "info")
	case *event.Notice:
		m.notice(h, e.Binding, e.Text, e.Level)
	case *event.PinChanged:
		m.notice(h, e.Binding, pinText(e), pinLevel(event.TypeOf(e)))
	case *event.BindingStderr:
		m.log(h, e.Binding, "stderr: "+e.Line, "info", fromStderr)
	case *event.BindingLog:
		m.log(h, e.Binding, logText(e), logLevel(e.Level), fromLog)
	case *event.ResourceUpdated:
		m.resourceUpdated(h, e)
	}
}

func stateLevel(s string) string {
	switch s {
	case "failed", "invalid":
		return "error"
	case "degraded", "reconnecting", "untrusted":
		return "warn"
	}
	return "info"
}

// pinText says what came of a pin. What was let in once has none.
func pinText(e *event.PinChanged) string {
	if e.Once && event.TypeOf(e) == event.TypePinAccepted {
		return e.Layer + " let in once, not pinned"
	}
	return e.Layer + " " + strings.ReplaceAll(string(event.TypeOf(e)), ".", " ")
}

func pinLevel(t event.Type) string {
	if t == event.TypePinChanged || t == event.TypePinRefused {
		return "warn"
	}
	return "info"
}

// catalogAdopted shows a new generation where it is seen: in the notices, and as
// a line across the transcript when it replaced another.
func (m *model) catalogAdopted(h *event.Header, c event.CatalogChange) {
	if c.From == 0 {
		m.notice(h, c.Binding, fmt.Sprintf("gen %d · %d tools", c.Generation, c.Tools), "info")
		return
	}
	text := strings.TrimSpace(fmt.Sprintf("gen %d → %d %s", c.From, c.Generation, changeText(c)))
	m.notice(h, c.Binding, text, "info")
	m.adopted++
	line := string(safetext.Ident(c.Binding)) + " " + text
	if names := changedNames(c); names != "" {
		line += " · " + names
	}
	m.tr.Rule(h.Time, "catalog changed: "+line)
}

// changeText counts what changed: "+1 ~1 −2".
func changeText(c event.CatalogChange) string {
	var parts []string
	for _, p := range []struct {
		sign string
		n    int
	}{{"+", len(c.Added)}, {"~", len(c.Changed)}, {"−", len(c.Removed)}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%s%d", p.sign, p.n))
		}
	}
	return strings.Join(parts, " ")
}

// itemsText is changeText that says what it counts: tools, prompts, resources
// and templates together.
func itemsText(c event.CatalogChange) string {
	switch n := len(c.Added) + len(c.Changed) + len(c.Removed); n {
	case 0:
		return "nothing new"
	case 1:
		return changeText(c) + " item"
	}
	return changeText(c) + " items"
}

func changedNames(c event.CatalogChange) string {
	const most = 4
	var out []string
	add := func(sign string, names []string) {
		for _, n := range names {
			if len(out) < most {
				out = append(out, sign+string(safetext.ToLineN(n, 64)))
			}
		}
	}
	add("+", c.Added)
	add("~", c.Changed)
	add("−", c.Removed)
	return strings.Join(out, " ")
}

func (m *model) notice(h *event.Header, binding, text, level string) {
	m.notices = append(m.notices, m.line(h, binding, text, level))
	if len(m.notices) > maxNotices {
		m.notices = append([]status.Notice(nil), m.notices[len(m.notices)-maxNotices*9/10:]...)
	}
}

func (m *model) log(h *event.Header, binding, text, level string, from logSource) {
	m.logs = append(m.logs, logLine{m.line(h, binding, text, level), from})
	if len(m.logs) > maxLogs {
		m.logs = append([]logLine(nil), m.logs[len(m.logs)-maxLogs*9/10:]...)
	}
}

// logText is a log message in one line: a text as it is, anything else as JSON.
func logText(e *event.BindingLog) string {
	text := bindings.LogData(e.Data)
	if e.Logger != "" {
		text = e.Logger + ": " + text
	}
	return "log " + e.Level + ": " + text
}

func logLevel(level string) string { return bindings.Severity(level) }

func (m *model) line(h *event.Header, binding, text, level string) status.Notice {
	name := ""
	if binding != "" {
		name = string(safetext.Ident(binding))
	}
	return status.Notice{Time: m.stamp(h), Binding: name, Text: string(safetext.ToLineN(text, 1024)), Level: level}
}
