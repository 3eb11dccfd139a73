package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/transcript"
)

// key sends a key press to where the focus is: the keys of Always first, then
// the dialog on top, then the screen.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	m.quitOn, m.quitKey = m.quitKey, ""
	m.listing = false
	if id, ok := m.keys.Match(k, keymap.Always); ok {
		return m.run(id)
	}
	if m.leader {
		m.leader = false
		if id, ok := m.keys.Match(k, keymap.Leader); ok && m.top() == nil {
			return m.run(id)
		}
		return nil
	}
	if d := m.top(); d != nil {
		cmd := m.act(d, d.key(k, m.now))
		if f, ok := d.(*formDialog); ok {
			cmd = tea.Batch(cmd, m.suggest(f))
		}
		return cmd
	}
	switch m.screen {
	case screenBindings:
		a := m.bind.Key(k, m.keys, m.bindingData())
		if a.Page != nil {
			m.push(foreignPage(a.Page.Title, a.Page.Text, m.keys, m.th))
			return nil
		}
		return m.bindingAction(a.ID, a.Binding)
	case screenCatalog:
		return m.catalogKey(k)
	default:
	}
	if m.finding {
		m.findKey(k)
		return nil
	}
	if m.pane == paneTranscript {
		return m.transcriptKey(k)
	}
	m.typedAt = m.now
	return m.composerKey(k)
}

func (m *model) composerKey(k tea.KeyPressMsg) tea.Cmd {
	if m.cp.Searching() {
		if id, _ := m.keys.Match(k, keymap.Composer); id == keymap.Send {
			m.cp.EndSearch()
			return nil
		}
	}
	id, _ := m.keys.Match(k, keymap.Composer, keymap.Global)
	switch id {
	case keymap.Send:
		m.typedAt = time.Time{} // the person has finished
		return m.send()
	case keymap.Editor:
		return m.startEditor()
	case keymap.QuitEmpty:
		if m.cp.Empty() {
			m.quitTwice(quitEmpty, "")
			return nil
		}
	case keymap.Palette, keymap.Help, keymap.LeaderKey, keymap.OpenMain, keymap.OpenBindings, keymap.OpenCatalog, keymap.OpenLedger,
		keymap.OpenSessions, keymap.OpenGate, keymap.OpenNotices, keymap.NextPane, keymap.Back:
		return m.run(id)
	default:
	}
	if k.String() == "?" && m.cp.Empty() {
		m.openHelp()
		return nil
	}
	m.cp.Key(k, m.keys)
	return nil
}

// quitEmpty quits where nothing is written.
const quitEmpty = "ctrl+d"

// quitTwice quits when the same key was the last one pressed, a short time ago.
func (m *model) quitTwice(key, hint string) {
	if m.quitOn == key && m.now.Sub(m.quitAt) <= twice {
		m.quit(Result{Reason: ReasonQuit})
		return
	}
	m.quitKey, m.quitAt = key, m.now
	m.say(hint + "press " + keymap.Pretty(key) + " again to quit")
}

// ctrlC clears what is being written, or closes what is open; then interrupts;
// then quits. It never answers a gate. A gate may have opened by itself between
// two presses, so that one which is put aside does not stand between them.
func (m *model) ctrlC() tea.Cmd {
	const key = "ctrl+c"
	if d := m.top(); d != nil {
		m.pop()
		if g, ok := d.(*gateDialog); ok {
			m.putAside(g)
			m.quitTwice(key, "put aside, F6 opens it; ")
		}
		return nil
	}
	if m.screen == screenMain && !m.cp.Empty() {
		m.cp.Clear()
		return nil
	}
	if m.running() && !m.stopping {
		return m.interrupt()
	}
	m.quitTwice(key, "")
	return nil
}

// interrupting is said until the turn has ended.
const interrupting = "interrupting…"

func (m *model) interrupt() tea.Cmd {
	s, ctx := m.o.Session, m.ctx
	m.stopping = true
	m.say(interrupting)
	return func() tea.Msg { return interruptedMsg{s.Interrupt(ctx)} }
}

// back goes one level out, or interrupts. It never approves or denies.
func (m *model) back() tea.Cmd {
	switch {
	case m.giveUp():
	case m.screen != screenMain:
		m.screen = screenMain
	case m.cp.Escape():
	case m.pane != paneComposer:
		m.pane = paneComposer
	case m.running():
		return m.interrupt()
	}
	return nil
}

func (m *model) nextPane() {
	if m.screen != screenMain {
		return
	}
	if m.pane == paneComposer {
		m.pane = paneTranscript
	} else {
		m.pane = paneComposer
	}
}

// transcriptFrame is the frame that the transcript is drawn in now.
func (m *model) transcriptFrame() transcript.Frame {
	a := m.areas()
	return transcript.Frame{Width: a.transcript.w, Height: a.transcript.h, Theme: m.th, Now: m.now, Focused: m.pane == paneTranscript}
}

func (m *model) transcriptKey(k tea.KeyPressMsg) tea.Cmd {
	f := m.transcriptFrame()
	id, _ := m.keys.Match(k, keymap.Transcript, keymap.Global)
	switch id {
	case keymap.LineDown:
		m.tr.Scroll(1, f)
	case keymap.LineUp:
		m.tr.Scroll(-1, f)
	case keymap.HalfDown:
		m.tr.Scroll(max(f.Height/2, 1), f)
	case keymap.HalfUp:
		m.tr.Scroll(-max(f.Height/2, 1), f)
	case keymap.ItemDown:
		m.tr.Select(1, f)
	case keymap.ItemUp:
		m.tr.Select(-1, f)
	case keymap.Top:
		m.tr.Home()
	case keymap.Follow:
		m.tr.End()
	case keymap.Expand:
		m.tr.Selected()
		m.tr.Toggle()
	case keymap.CopyItem, keymap.CopyRaw:
		return m.copyItem(id == keymap.CopyRaw)
	case keymap.OpenItem:
		m.openItem()
	case keymap.UseItem:
		if it := m.tr.Selected(); it != nil {
			m.insert(it)
		}
	case keymap.Search:
		m.finding, m.query = true, nil
	case keymap.SearchOn:
		m.find("", 1)
	case keymap.SearchOff:
		m.find("", -1)
	default:
		return m.run(id)
	}
	return nil
}

func (m *model) copyItem(raw bool) tea.Cmd {
	it := m.tr.Selected()
	if it == nil {
		return nil
	}
	if !raw {
		return m.copy(it.Text())
	}
	if len(it.Raw()) == 0 {
		m.say("there is no JSON line for this item")
		return nil
	}
	return m.copy(string(it.Raw()))
}

func (m *model) findKey(k tea.KeyPressMsg) {
	switch k.String() {
	case "enter":
		m.finding = false
		m.find(string(m.query), -1)
	case "esc":
		m.finding = false
	case "backspace":
		if n := len(m.query); n > 0 {
			m.query = m.query[:n-1]
		}
	default:
		if len(m.query) < 100 {
			m.query = append(m.query, []rune(string(safetext.ToLine(k.Text)))...)
		}
	}
}

func (m *model) find(query string, dir int) {
	if !m.tr.Find(strings.TrimSpace(query), dir, m.transcriptFrame()) {
		m.say("no match")
	}
}

// openItem shows the whole of the selected item.
func (m *model) openItem() {
	it := m.tr.Selected()
	if it == nil {
		return
	}
	if it.Fetched() != nil {
		m.push(&fetchedDialog{item: it, keys: m.keys, th: m.th})
		return
	}
	width, lines := -1, []string(nil)
	m.push(&pageDialog{title: "item", keys: m.keys, th: m.th, lines: func(w int) []string {
		if w != width {
			width, lines = w, it.Page(w)
		}
		return lines
	}})
}
