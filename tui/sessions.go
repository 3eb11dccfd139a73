package tui

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/list"
	"github.com/looprig/looprig/tui/theme"
)

// Sessions are the sessions that the host keeps. Its methods are called from
// commands.
type Sessions interface {
	// List is newest first; with text, only those in which it occurs.
	List(ctx context.Context, text string) ([]SessionEntry, error)
	// Delete removes a session for good.
	Delete(ctx context.Context, id string) error
}

// SessionEntry is one session. Title is raw.
type SessionEntry struct {
	ID      string
	Title   string
	Mode    string
	Updated time.Time
	Turns   int
	// State is "open", "closed" or "unfinished"; Open says that some process,
	// this one perhaps, has it, so that it can only be forked.
	State string
	Open  bool
	Fork  bool
}

// Next is the session that the person wants to go on with in place of this one.
type Next struct {
	ID   string
	Fork bool
}

// sessionsMsg is what came of a listing or a deletion.
type sessionsMsg struct {
	text    string
	entries []SessionEntry
	deleted string
	err     error
}

type (
	actNext          struct{ next Next }
	actDeleteSession struct{ id string }
)

func (actNext) isAction()          {}
func (actDeleteSession) isAction() {}

// sessionsDialog is the Sessions screen: a list to filter, whose entries can be
// gone on with, forked or deleted.
type sessionsDialog struct {
	text    string // what was searched for
	p       *list.Picker
	entries map[string]SessionEntry
	doomed  string // its deletion has been asked for once
	says    string
	keys    *keymap.Map
	th      *theme.Theme
}

func newSessionsDialog(msg sessionsMsg, now time.Time, keys *keymap.Map, th *theme.Theme) *sessionsDialog {
	d := &sessionsDialog{text: msg.text, entries: map[string]SessionEntry{}, keys: keys, th: th}
	entries := make([]list.Entry, len(msg.entries))
	for i, e := range msg.entries {
		d.entries[e.ID] = e
		title := string(safetext.ToLineN(e.Title, maxSessionTitle))
		if title == "" {
			title = e.ID
		}
		if e.Fork {
			title += " (fork)"
		}
		if e.Mode == "headless" {
			title += " (headless)"
		}
		entries[i] = list.Entry{
			ID: e.ID, Label: title,
			Note: fmt.Sprintf("%s · %s · %s", since(now, e.Updated), counted(e.Turns, "turn"), e.State),
		}
	}
	title := "sessions"
	if msg.text != "" {
		title += " with “" + string(safetext.ToLineN(msg.text, maxSessionTitle)) + "”"
	}
	d.p = list.NewPicker(title, entries)
	return d
}

// maxSessionTitle bounds what a line shows of a title, in bytes.
const maxSessionTitle = 200

// since is a time for people, as of now.
func since(now, at time.Time) string {
	switch d := now.Sub(at); {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return at.Local().Format("2006-01-02")
}

func (d *sessionsDialog) key(k tea.KeyPressMsg, _ time.Time) action {
	e, ok := d.p.Selected()
	entry := d.entries[e.ID]
	id, _ := d.keys.Match(k, keymap.Sessions)
	doomed := d.doomed
	d.doomed, d.says = "", ""
	switch {
	case id == keymap.SessionFork && ok && entry.Turns == 0:
		d.says = "no turn of it has ended: there is nothing to fork"
		return nil
	case id == keymap.SessionFork && ok:
		return actNext{Next{ID: entry.ID, Fork: true}}
	case id == keymap.SessionDelete && ok && entry.Open:
		d.says = "it is open: what is open cannot be deleted"
		return nil
	case id == keymap.SessionDelete && ok && doomed != entry.ID:
		d.doomed, d.says = entry.ID, "press it again to delete this session for good"
		return nil
	case id == keymap.SessionDelete && ok:
		return actDeleteSession{entry.ID}
	case id != "":
		return nil
	}
	switch d.p.Key(k, d.keys) {
	case list.Closed:
		return actClose{}
	case list.Chosen:
		if entry.Open {
			d.says = "it is open: it can be forked, not opened twice"
			return nil
		}
		return actNext{Next{ID: entry.ID}}
	default:
	}
	return nil
}

func (d *sessionsDialog) paste(text string, _ time.Time) { d.p.Paste(text) }
func (d *sessionsDialog) setTheme(th *theme.Theme)       { d.th = th }

func (d *sessionsDialog) view(f dialogFrame) []string {
	w := min(max(f.w-4, min(f.w, 36)), 110)
	lines := d.p.View(d.th, max(w-4, 4), max(f.h-3, 1))
	if d.says != "" {
		lines = append(lines, d.th.Warn.Render(d.says))
	}
	hint := d.keys.HintEnds(w-6, []string{"list.close=close"}, "list.choose=go on", "sessions.fork=fork", "sessions.delete=delete")
	return d.th.Box(d.p.Title(), hint, lines, w)
}

var _ dialog = (*sessionsDialog)(nil)

// openSessions lists the sessions, with words only those in which they occur.
func (m *model) openSessions(words string) tea.Cmd {
	if m.o.Sessions == nil {
		m.say("this host keeps no sessions")
		return nil
	}
	s, ctx := m.o.Sessions, m.ctx
	return func() tea.Msg {
		entries, err := s.List(ctx, words)
		return sessionsMsg{text: words, entries: entries, err: err}
	}
}

// sessionsListed shows what was listed, in place of an older list.
func (m *model) sessionsListed(msg sessionsMsg) {
	if msg.err != nil {
		m.say("sessions: " + string(safetext.ToLine(msg.err.Error())))
		return
	}
	if d, ok := m.top().(*sessionsDialog); ok {
		m.remove(d)
	}
	if msg.deleted != "" {
		m.say("session " + msg.deleted + " was deleted")
	}
	m.push(newSessionsDialog(msg, m.now, m.keys, m.th))
}

// deleteSession removes one and lists the others.
func (m *model) deleteSession(d *sessionsDialog, id string) tea.Cmd {
	s, ctx, text := m.o.Sessions, m.ctx, d.text
	return func() tea.Msg {
		if err := s.Delete(ctx, id); err != nil {
			return sessionsMsg{err: err}
		}
		entries, err := s.List(ctx, text)
		return sessionsMsg{text: text, entries: entries, deleted: id, err: err}
	}
}

// goOnWith ends this session for another.
func (m *model) goOnWith(n Next) { m.quit(Result{Reason: ReasonQuit, Next: &n}) }
