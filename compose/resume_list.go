package compose

import (
	"context"
	"errors"
	"fmt"

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

func (k keptSessions) Delete(ctx context.Context, id string) error {
	err := k.app.store.Delete(ctx, id)
	if errors.Is(err, journal.ErrForked) {
		return fmt.Errorf("%w: looprig sessions delete %s --with-forks deletes both", err, id)
	}
	return err
}
