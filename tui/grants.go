package tui

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/list"
	"github.com/looprig/looprig/tui/theme"
	"github.com/looprig/looprig/tui/transcript"
)

// Grants is what the person has granted. Its methods are called from commands.
type Grants interface {
	// Grants lists what is granted to the session, and for good.
	Grants(ctx context.Context) ([]policy.Grant, error)
	// RevokeGrant takes a grant back. What comes of it arrives as an event.
	RevokeGrant(ctx context.Context, id string) error
}

type (
	grantsMsg struct {
		all     []policy.Grant
		err     error
		revoked bool
	}
	actRevoke struct{ id string }
)

func (actRevoke) isAction() {}

// grantsDialog lists the grants; one that is chosen twice is revoked.
type grantsDialog struct {
	p      *list.Picker
	doomed string
	says   string
	keys   *keymap.Map
	th     *theme.Theme
}

var _ dialog = (*grantsDialog)(nil)

// maxWhenShown bounds what a line shows of a grant's predicate, in bytes.
const maxWhenShown = 80

func newGrantsDialog(all []policy.Grant, keys *keymap.Map, th *theme.Theme) *grantsDialog {
	// Tools that were granted together have one id, and are revoked together.
	var entries []list.Entry
	at := map[string]int{}
	more := map[string]int{}
	for _, g := range all {
		if i, ok := at[g.ID]; ok {
			more[g.ID]++
			entries[i].Label = fmt.Sprintf("%s and %d more", transcript.CallName(all[i].Tool), more[g.ID])
			continue
		}
		e := list.Entry{ID: g.ID, Label: transcript.CallName(g.Tool), Note: string(g.Scope) + " · " + g.Created.Local().Format("2006-01-02 15:04")}
		if g.When != "" {
			e.Label += " when " + string(safetext.ToLineN(g.When, maxWhenShown))
		}
		at[g.ID] = len(entries)
		entries = append(entries, e)
	}
	return &grantsDialog{p: list.NewPicker("grants", entries), keys: keys, th: th}
}

func (d *grantsDialog) key(k tea.KeyPressMsg, _ time.Time) action {
	doomed := d.doomed
	d.doomed, d.says = "", ""
	switch d.p.Key(k, d.keys) {
	case list.Closed:
		return actClose{}
	case list.Chosen:
		e, ok := d.p.Selected()
		switch {
		case !ok:
		case doomed == e.ID:
			return actRevoke{e.ID}
		default:
			d.doomed, d.says = e.ID, "press it again to revoke this grant"
		}
	default:
	}
	return nil
}

func (d *grantsDialog) paste(text string, _ time.Time) { d.p.Paste(text) }
func (d *grantsDialog) setTheme(th *theme.Theme)       { d.th = th }

func (d *grantsDialog) view(f dialogFrame) []string {
	w := min(max(f.w-4, min(f.w, 36)), 110)
	lines := d.p.View(d.th, max(w-4, 4), max(f.h-3, 1))
	if d.says != "" {
		lines = append(lines, d.th.Warn.Render(d.says))
	}
	hint := d.keys.HintEnds(w-6, []string{"list.close=close"}, "list.choose=revoke")
	return d.th.Box(d.p.Title(), hint, lines, w)
}

// openGrants lists what is granted.
func (m *model) openGrants() tea.Cmd {
	g, ctx := m.o.Grants, m.ctx
	if g == nil {
		m.say("this host keeps no grants")
		return nil
	}
	return func() tea.Msg {
		all, err := g.Grants(ctx)
		return grantsMsg{all: all, err: err}
	}
}

func (m *model) revokeGrant(id string) tea.Cmd {
	g, ctx := m.o.Grants, m.ctx
	return func() tea.Msg {
		if err := g.RevokeGrant(ctx, id); err != nil {
			return grantsMsg{err: err}
		}
		all, err := g.Grants(ctx)
		return grantsMsg{all: all, err: err, revoked: true}
	}
}

// grantsListed shows what was listed, in place of an older list.
func (m *model) grantsListed(msg grantsMsg) {
	if msg.err != nil {
		m.say("grants: " + string(safetext.ToLine(msg.err.Error())))
		return
	}
	if d, ok := m.top().(*grantsDialog); ok {
		m.remove(d)
	}
	if len(msg.all) == 0 {
		if !msg.revoked {
			m.say("nothing is granted: every answer so far was for one call")
		}
		return
	}
	m.push(newGrantsDialog(msg.all, m.keys, m.th))
}

// grantEvent shows what was granted or taken back.
func (m *model) grantEvent(e *event.GrantChanged) {
	tone, text := transcript.Info, ""
	what := transcript.CallName(e.Tool)
	switch {
	case e.Op == "given" && e.Scope == string(policy.ScopeAlways):
		text = "granted always, until its definition changes: " + what
	case e.Op == "given":
		text = "granted for this session: " + what
	case e.Op == "revoked":
		text = "grant revoked: " + what
	default:
		tone, text = transcript.Warn, "grant ended, the definition has changed: "+what
	}
	if e.When != "" {
		text += " when " + string(safetext.ToLineN(e.When, maxWhenShown))
	}
	m.tr.Note(e.Time, e.Loop, tone, text)
}
