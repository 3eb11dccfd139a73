package compose

import (
	"context"
	"errors"
	"fmt"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/tui"
)

// maxShown bounds the sessions that the interface lists.
const maxShown = 500

// keptSessions are the sessions of the home as the interface lists them.
type keptSessions struct{ app *App }

var _ tui.Sessions = keptSessions{}

func (k keptSessions) List(ctx context.Context, text string) ([]tui.SessionEntry, error) {
	metas, err := k.app.store.List(ctx, journal.Query{Text: text, Limit: maxShown})
	if err != nil {
		return nil, err
	}
	out := make([]tui.SessionEntry, 0, len(metas))
	for _, m := range metas {
		if m.Title == "" && m.Turns > 0 {
			m.Title = k.opening(ctx, m.Session)
		}
		e := tui.SessionEntry{
			ID: m.Session, Title: m.Title, Mode: m.Mode, Updated: m.Updated, Turns: m.Turns, Fork: m.Parent != "",
			Open: m.Open != "" || m.Session == k.app.Session.ID(),
		}
		switch {
		case m.Session == k.app.Session.ID():
			e.State = "this one"
		case e.Open:
			e.State = "open"
		case m.Closed:
			e.State = "closed"
		default:
			e.State = "unfinished"
		}
		out = append(out, e)
	}
	return out, nil
}

// maxOpening bounds the records that are looked through for what was said first.
const maxOpening = 200

// opening is what was said first in a session, "" where that is not near its
// beginning.
func (k keptSessions) opening(ctx context.Context, session string) string {
	for rec, err := range k.app.store.Read(ctx, session, 1) {
		if err != nil || rec.Seq > maxOpening {
			return ""
		}
		if rec.Type != string(event.TypeTurnStarted) {
			continue
		}
		if e, err := event.Decode(rec.Line); err == nil {
			if started, ok := e.(*event.TurnStarted); ok {
				return started.Text
			}
		}
	}
	return ""
}

func (k keptSessions) Delete(ctx context.Context, id string) error {
	err := k.app.store.Delete(ctx, id)
	if errors.Is(err, journal.ErrForked) {
		return fmt.Errorf("%w: looprig sessions delete %s --with-forks deletes both", err, id)
	}
	return err
}
