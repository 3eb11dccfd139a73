package gates

import (
	"fmt"
	"time"

	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/theme"
	"github.com/looprig/looprig/tui/transcript"
)

// maxBox is the widest a gate is drawn, maxFull when it shows everything.
const (
	maxBox  = 104
	maxFull = 160
)

// View draws the gate as a box of at most w by h cells. It is the pos-th of
// total open gates.
func (g *Gate) View(w, h int, now time.Time, pos, total int) []string {
	if g.full {
		w = min(w, maxFull)
	} else {
		w = min(max(w-6, min(w, 40)), maxBox)
	}
	inner, room := max(w-4, 8), max(h-2, 1)
	var lines []string
	switch {
	case g.closed != "":
		lines = cells.Wrap(g.closed, inner)
	case g.form != nil:
		lines = g.form.View(inner, room)
	default:
		lines = g.question(inner, room)
	}
	if len(lines) > room {
		lines = lines[:room]
	}
	return g.o.Theme.Box(g.title(pos, total, w-6), g.hint(now, w-6), lines, w)
}

func (g *Gate) question(w, h int) []string {
	foot := g.foot(w, h)
	room := max(h-len(foot), 1)
	lines := append([]string(nil), g.pager.View(g.o.Theme, g.body(w), w, room)...)
	if len(foot) > 0 && len(lines)+len(foot) < h {
		lines = append(lines, "")
	}
	return append(lines, foot...)
}

// foot is what the person chooses from, and what went wrong.
func (g *Gate) foot(w, h int) []string {
	th := g.o.Theme
	var out, faults []string
	if g.fault != "" {
		for _, l := range cells.Wrap(theme.SymbolBad+" "+string(safetext.ToLine(g.fault)), w) {
			faults = append(faults, th.Bad.Render(l))
		}
	}
	switch {
	case g.writing:
		about := "Tell the model why (enter denies, esc goes back):"
		if g.about >= 0 {
			about = fmt.Sprintf("Why call %d is denied (enter marks it, esc goes back):", g.about+1)
		}
		out = append(out, th.Muted.Render(cells.Cut(about, w)),
			cells.Fit("> "+tail(string(g.reason), w-4)+th.Accent.Render("▏"), w))
	case g.env.Kind == gate.KindPermission && !g.full:
		out = append(out, g.rows(w, h-len(faults))...)
	case g.env.Kind == gate.KindPermission:
	case g.env.Kind == gate.KindSampling:
		out = append(out, g.samplingFoot(w, h)...)
	default:
		out = append(out, g.buttons(w)...)
	}
	return append(out, faults...)
}

func tail(s string, w int) string {
	if n := cells.Width(s); n > w {
		r := []rune(s)
		return "…" + string(r[max(len(r)-w+1, 0):])
	}
	return s
}

// rows is the calls of a batch with their checkboxes, then the choices. In a
// height that does not hold them beside a line of the question they are those
// around the cursor: what enter takes is always on the screen.
func (g *Gate) rows(w, h int) []string {
	th := g.o.Theme
	var out []string
	cursor := 0
	if g.batch() {
		visible := min(max(h-len(g.choices())-4, 1), 5)
		first := max(0, min(g.cursor-visible/2, len(g.checked)-visible))
		for i := first; i < min(first+visible, len(g.checked)); i++ {
			c := g.env.Prompt.Calls[i]
			if i == g.cursor {
				cursor = len(out)
			}
			text := fmt.Sprintf("%s%d. %s %s", g.box(i), i+1, transcript.CallName(c.Tool), safetext.ToLineN(string(c.Args), 256))
			if said := g.own[i].say(); said != "" {
				text = cells.Spread(text, cells.Cut(said, max(w/2, 4)), w-4)
			}
			out = append(out, g.row(text, i, w))
		}
		if n := len(g.checked); n > visible {
			out = append(out, th.Muted.Render(cells.Cut(fmt.Sprintf("  %d calls", n), w)))
		}
	}
	for i, c := range g.choices() {
		if g.firstChoice()+i == g.cursor {
			cursor = len(out)
		}
		a, _ := g.o.Keys.Action(c.id)
		out = append(out, g.row(cells.Spread(c.text, a.Key(), w-4), g.firstChoice()+i, w))
	}
	if g.cursor < 0 {
		out = append(out, th.Muted.Render(cells.Cut("  nothing is preselected: "+g.careful(), w)))
	}
	room := max(h-1, 1)
	first := max(min(cursor-room/2, len(out)-room), 0)
	return out[first:min(first+room, len(out))]
}

func (g *Gate) row(text string, i, w int) string {
	if i == g.cursor {
		return g.o.Theme.Selected.Render(cells.Fit("▸ "+text, w))
	}
	return cells.Cut("  "+text, w)
}

// urlSays labels the choices of an address with what they answer.
var urlSays = map[keymap.ID]string{
	keymap.URLOpen:    "Open it and answer accepted",
	keymap.URLCopy:    "Copy it and answer accepted",
	keymap.URLDecline: "Decline, open nothing",
	keymap.URLCancel:  "Cancel, open nothing",
}

func (g *Gate) buttons(w int) []string {
	ids := []keymap.ID{keymap.ConfirmYes, keymap.ConfirmNo, keymap.ConfirmCancel}
	switch g.env.Kind {
	case gate.KindOpenURL:
		ids = []keymap.ID{keymap.URLOpen, keymap.URLCopy, keymap.URLDecline, keymap.URLCancel}
		if g.o.Remote {
			ids[0], ids[1] = ids[1], ids[0]
		}
	case gate.KindUntrustedServer:
		ids = []keymap.ID{keymap.ServerAccept, keymap.ServerOnce, keymap.ServerRefuse}
	default:
	}
	var out []string
	for _, id := range ids {
		a, _ := g.o.Keys.Action(id)
		title := a.Title
		if says := urlSays[id]; says != "" {
			title = says
		}
		out = append(out, cells.Cut("  "+g.o.Theme.Key.Render(cells.Fit(a.Key(), 4))+" "+title, w))
	}
	return out
}

// title fits into w cells, unless they are very few: the place in a form is left out
// first, then what the gate is about is cut.
func (g *Gate) title(pos, total, w int) string {
	kind := map[gate.Kind]string{
		gate.KindPermission: "permission", gate.KindForm: "form", gate.KindConfirm: "confirm",
		gate.KindOpenURL: "open url", gate.KindUntrustedServer: "untrusted server", gate.KindSampling: "sampling",
		gate.KindAskUser: "question",
	}[g.env.Kind]
	if g.form == nil && g.env.Kind == gate.KindForm {
		kind = "confirm"
	}
	place, field := fmt.Sprintf(" · %d of %d", max(pos, 1), max(total, 1)), ""
	if g.form != nil {
		field = fmt.Sprintf(" · field %d of %d", g.form.Position(), g.form.Len())
	}
	about := About(g.env)
	if g.env.Kind == gate.KindSampling {
		about = samplingAbout(g.env)
	}
	room := w - cells.Width(kind+field+place) - 3
	if room < min(cells.Width(about), leastAbout) {
		field, room = "", room+cells.Width(field)
	}
	if about != "" && room > 3 {
		return kind + " · " + cells.Cut(about, room) + field + place
	}
	return kind + field + place
}

// leastAbout is how much of what a gate is about stands in its title, in cells,
// before the place in its form does: who asks is said first.
const leastAbout = 12

// About names what a gate is about in a few words. It is clean.
func About(e gate.Envelope) string {
	if e.Kind == gate.KindPermission && len(e.Prompt.Calls) == 1 {
		return transcript.CallName(e.Prompt.Calls[0].Tool)
	}
	if e.Kind == gate.KindPermission && len(e.Prompt.Calls) > 1 {
		return fmt.Sprintf("%d calls", len(e.Prompt.Calls))
	}
	if e.Kind == gate.KindAskUser {
		// The title is the host's, and says whose model asks.
		return string(safetext.ToLineN(e.Prompt.Title, 120))
	}
	if e.Subject.Binding != "" {
		return string(safetext.Ident(e.Subject.Binding))
	}
	return ""
}

func (g *Gate) hint(now time.Time, w int) string {
	switch {
	case g.closed != "":
		return "closed"
	case g.sending:
		return "sending the answer…"
	case !g.armed && now.Sub(g.quiet) < Quiet:
		return fmt.Sprintf("armed in %.1f s, once the keyboard rests", (Quiet - now.Sub(g.quiet)).Seconds())
	}
	left := ""
	if g.env.DeadlineMS > 0 {
		d := g.env.OpenedAt.Add(time.Duration(g.env.DeadlineMS) * time.Millisecond).Sub(now)
		left = "expires in " + theme.Age(d) + " · "
	}
	k := g.o.Keys
	switch {
	case g.writing && g.about >= 0:
		return left + "⏎ marks the call · esc goes back"
	case g.writing:
		return left + "⏎ denies · esc goes back"
	case g.form != nil && g.env.Kind == gate.KindAskUser:
		return left + k.HintAfter(w-cells.Width(left), g.form.KeyHint(), "form.submit=answer", "form.decline=dismiss", "gate.oldest=minimise")
	case g.form != nil:
		return left + k.HintAfter(w-cells.Width(left), g.form.KeyHint(), "form.submit=submit", "form.cancel=cancel", "form.decline=decline", "form.next=next", "form.previous=back")
	case g.env.Kind == gate.KindPermission && g.full:
		return left + "j/k scroll · " + k.Hint("permission.full=choices")
	case g.env.Kind == gate.KindPermission && g.batch() && g.cursor >= 0 && g.cursor < len(g.own):
		return left + k.HintAfter(w-cells.Width(left), "this call", "permission.once=once", "permission.session=session", "permission.always=always",
			"permission.deny=deny", "permission.deny_reason=why", "permission.toggle=check", "permission.exact=exact", "permission.minimise=minimise")
	case g.env.Kind == gate.KindPermission && g.batch():
		return left + k.Hint("permission.toggle=check", "permission.full=all arguments", "permission.minimise=minimise") + " · ↑↓ j/k"
	case g.env.Kind == gate.KindPermission:
		if g.grantable() {
			exact := "permission.exact=only these arguments"
			if g.exact {
				exact = "permission.exact=any arguments"
			}
			return left + k.HintAfter(w-cells.Width(left), "↑↓ j/k", exact, "permission.full=all", "permission.minimise=minimise")
		}
		return left + k.Hint("permission.full=all arguments", "permission.minimise=minimise") + " · ↑↓ choose · j/k scroll"
	case g.env.Kind == gate.KindOpenURL:
		return left + k.Hint("open_url.full=full address", "gate.oldest=minimise")
	case g.env.Kind == gate.KindSampling:
		return g.samplingHint(left, w)
	case g.env.Kind == gate.KindUntrustedServer:
		return left + k.Hint("server.minimise=minimise") + " · j/k scroll"
	}
	return left + k.Hint("gate.oldest=minimise") + " · j/k scroll"
}
