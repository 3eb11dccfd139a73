package session

import (
	"context"
	"errors"
	"slices"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/model"
)

// kindCompact is the kind of a turn that only compacts.
const kindCompact = "compact"

// Why a history is compacted, as the event says it.
const (
	causeLimit    = "limit"    // the next request would not fit
	causeOverflow = "overflow" // the model refused one that did not
	causeAsked    = "asked"    // an operator wanted it
)

// keptShare is the part of the room for a history that its newest messages keep:
// one of so many.
const keptShare = 3

// Compact replaces the older part of a loop's history by a summary that the
// loop's own model writes. It is a turn of its own: it is queued while another
// runs, can be interrupted, and leaves the history alone unless it succeeds. It
// fails as SubmitTo does.
func (s *Session) Compact(ctx context.Context, loop string, by gate.Answerer) (Ticket, error) {
	if !by.Operator() || by.Kind == gate.AnswererPolicy {
		return Ticket{}, ErrNoOrigin
	}
	l, err := s.find(loop)
	if err != nil {
		return Ticket{}, err
	}
	if err := s.Err(); err != nil {
		return Ticket{}, err
	}
	x := &input{
		id: nextID("i", &s.inputs), in: Input{Text: "/compact", Origin: by}, compact: true, fut: &future{done: make(chan struct{})},
	}
	var t Ticket
	var taken error
	if err := l.do(ctx, func() { t, taken = l.accept(x) }); err != nil {
		return Ticket{}, err
	}
	return t, taken
}

// compactByHand is the turn of Compact.
func (t *turn) compactByHand() (string, error) {
	if err := t.mayGoOn(); err != nil {
		return "", err
	}
	cut := lastTurn(t.history)
	if w := t.window(); cut == 0 || w > 0 && tokensOfMessages(t.history[cut:]) > (roomIn(w)-t.fixed())/keptShare {
		cut = len(t.history)
	}
	done, err := t.compact(causeAsked, cut, -1)
	if err == nil && !done {
		err = t.s.hub.emit(nil, &event.Notice{
			Header: t.head(), Code: "nothing_to_compact", Level: "info", Text: "there is nothing to summarise yet",
		})
	}
	return "", err
}

// lastTurn is where the newest turn of a history begins.
func lastTurn(history []content.Message) int {
	for i, m := range slices.Backward(history) {
		if m.Role == content.RoleUser {
			return i
		}
	}
	return 0
}

// fit makes room where the next request would not fit into the model's context.
// Where nothing can be made smaller the request is sent all the same: the model
// knows best.
func (t *turn) fit() error {
	w := t.window()
	if w == 0 || t.needs() <= roomIn(w) {
		return nil
	}
	_, err := t.shrink(causeLimit, w)
	return err
}

// squeeze makes room after the model refused a request for its size. It fails
// with the turn's failure when there is nothing to take away.
func (t *turn) squeeze(refused error) error {
	t.measured.window = max(t.needs()*9/10, 1)
	done, err := t.shrink(causeOverflow, t.measured.window)
	if err == nil && !done {
		err = overflowFailure(refused)
	}
	return err
}

// shrink compacts so that the newest messages keep a share of the room. It
// reports whether it could.
func (t *turn) shrink(cause string, window int) (bool, error) {
	room := roomIn(window) - t.fixed()
	if room <= 0 && cause == causeLimit {
		return false, nil // what takes the room is no history
	}
	request := lastTurn(t.history)
	cut := cutFor(t.history, max(room, 0)/keptShare)
	carried := -1
	if cut > request {
		carried = request
	}
	return t.compact(cause, cut, carried)
}

// cutFor finds where the part of a history begins that may stay: no more than
// so many tokens, at the beginning of a turn where there is one in it, never
// between a call and its result.
func cutFor(history []content.Message, keep int) int {
	cut, turns := len(history), len(history)
	size := 0
	for i, m := range slices.Backward(history) {
		size += tokensOfMessages(history[i : i+1])
		if size > keep {
			break
		}
		if m.Role != content.RoleTool {
			cut = i
		}
		if m.Role == content.RoleUser {
			turns = i
		}
	}
	if turns < len(history) {
		return turns
	}
	return cut
}

// compact replaces the messages before cut, but for the one at carried, which
// stays as it is (-1 for none). It reports whether there was anything to
// replace. A failure or an interruption leaves the history as it was.
func (t *turn) compact(cause string, cut, carried int) (bool, error) {
	if !worthwhile(t.history[:cut], carried) {
		return false, nil
	}
	e := &event.HistoryCompacted{
		Header: t.head(), Replaced: cut, Kept: len(t.history) - cut, Carried: carried + 1, Before: tokensOfMessages(t.history), Cause: cause,
	}
	var err error
	if e.Summary, e.Usage, e.Reason, err = t.summarise(t.history[:cut]); err != nil {
		return false, err
	}
	next := compactedHistory(t.history, e)
	if e.Summary != "" && tokensOfMessages(next) >= e.Before && cause != causeAsked {
		e.Summary, e.Reason = "", "the summary was no shorter than what it is about"
		next = compactedHistory(t.history, e)
	}
	e.After = tokensOfMessages(next)
	if err := t.s.hub.append(nil, e); err != nil {
		return false, err
	}
	t.usage = sumOf(t.usage, e.Usage)
	t.s.used.add(t.model.Info().Name, "", e.Usage)
	t.history, t.measured = next, measure{window: t.measured.window}
	return true, nil
}

// worthwhile reports whether messages are more than a summary and the message
// that is carried over.
func worthwhile(messages []content.Message, carried int) bool {
	n := len(messages)
	if carried >= 0 && carried < n {
		n--
	}
	if len(messages) > 0 && isSummary(messages[0]) {
		n--
	}
	return n > 0
}

// overflows reports whether a model refused a request for its size.
func overflows(err error) bool {
	failed, ok := errors.AsType[*model.Error](err)
	return ok && failed.Code == "context_overflow"
}

func overflowFailure(err error) error {
	return &failure{CodeContextOverflow, err.Error() + "; it still does not after older turns were summarised: " +
		"begin another session, take a model with a larger context (/model), or give the model fewer tools"}
}
