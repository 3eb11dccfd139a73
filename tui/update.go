package tui

import (
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/markdown"
	"github.com/looprig/looprig/tui/theme"
	"github.com/looprig/looprig/tui/transcript"
)

// The results of commands.
type (
	submittedMsg struct {
		text  string
		fetch int // what was read for it
		err   error
	}
	interruptedMsg struct{ err error }
	docMsg         struct {
		item *transcript.Item
		doc  markdown.Doc
	}
	copiedMsg struct {
		text, how string
		err       error
	}
	quitMsg  struct{ signal string }
	crashMsg struct{ err *CrashError }
)

// Update handles a message. Every message may change what is due: the next
// gate, the next tick.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.now, m.catData = m.o.Clock.Now(), nil
	cmd := m.handle(msg)
	m.catData = nil
	if m.quitting {
		return m, tea.Quit
	}
	m.settle()
	m.checkAsked()
	return m, tea.Batch(cmd, m.tick())
}

// drawn is how long the first frame takes to reach the terminal once its size
// is known: the renderer flushes sixty times a second.
const drawn = 40 * time.Millisecond

// tellShown tells the host, once, that the first frame is out.
func (m *model) tellShown() tea.Cmd {
	if m.shown || m.o.Shown == nil {
		return nil
	}
	m.shown = true
	return tea.Tick(drawn, func(time.Time) tea.Msg {
		m.o.Shown()
		return nil
	})
}

func (m *model) handle(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
		return m.tellShown()
	case tea.ModeReportMsg:
		m.counts(msg)
	case tea.BackgroundColorMsg:
		m.background(msg.IsDark())
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		return m.paste(msg.Content)
	case tickMsg:
		if msg.n == m.ticks.n {
			m.ticks.on = false
			m.passed()
		}
	case eventsMsg:
		return m.events(msg)
	case quitMsg:
		m.quit(Result{Reason: ReasonSignal, Signal: msg.signal})
	case crashMsg:
		m.quit(Result{Reason: ReasonCrash})
	default:
		return m.done(msg)
	}
	return nil
}

// done handles the results of commands.
func (m *model) done(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case submittedMsg:
		m.endFetch(msg.fetch)
		if msg.err != nil {
			m.say("not sent: " + msg.err.Error())
			if m.cp.Empty() {
				m.cp.Set(msg.text)
			}
		}
	case interruptedMsg:
		if msg.err != nil {
			m.stopping = false
			m.say("not interrupted: " + msg.err.Error())
		}
	case docMsg:
		m.tr.SetDoc(msg.item, msg.doc)
	case copiedMsg:
		return m.copied(msg)
	case sessionsMsg:
		m.sessionsListed(msg)
	case gateDoneMsg:
		m.gateDone(msg)
	case callFormMsg:
		return m.callForm(msg)
	case previewMsg:
		m.previewed(msg)
	case appliedMsg:
		m.applied(msg)
	case editorMsg:
		return m.editor(msg)
	case fetchMsg:
		m.fetched(msg)
	case suggestDueMsg:
		return m.suggestDue(msg)
	case suggestedMsg:
		m.suggested(msg)
	case watchedMsg:
		m.watched(msg)
	case grantsMsg:
		m.grantsListed(msg)
	case modelsMsg, modelSetMsg, compactedMsg:
		m.contextDone(msg)
	}
	return nil
}

// passed is called when time has passed.
func (m *model) passed() {
	if m.toast.text != "" && !m.now.Before(m.toast.until) {
		m.toast = toast{}
	}
	if m.screen == screenBindings || len(m.busy) > 0 || m.transient() {
		m.bindings = m.o.Port.Bindings()
	}
}

// transient reports a binding whose state will change soon.
func (m *model) transient() bool {
	for _, b := range m.bindings {
		if theme.GroupOf(b.State) == theme.GroupBusy {
			return true
		}
	}
	return false
}

func (m *model) background(dark bool) {
	m.dark = dark
	if th, err := theme.Choose(m.o.Theme, dark, m.o.NoColor); err == nil {
		m.setTheme(th)
	}
}

// counts follows the renderer, which counts clusters as soon as the terminal says
// that it knows them. All that was laid out by the other count is laid out anew.
func (m *model) counts(msg tea.ModeReportMsg) {
	if msg.Mode != ansi.ModeUnicodeCore {
		return
	}
	known := msg.Value == ansi.ModeReset || msg.Value == ansi.ModeSet || msg.Value == ansi.ModePermanentlySet
	if known && cells.CountClusters(true) {
		th := *m.th
		m.setTheme(&th)
	}
}

func (m *model) quit(r Result) {
	if !m.quitting {
		m.quitting, m.result = true, r
		m.result.History = m.cp.History()
	}
}

// paste goes to whatever has the focus. It never submits.
func (m *model) paste(text string) tea.Cmd {
	switch d := m.top().(type) {
	case nil:
		m.pasteScreen(text)
	case *formDialog:
		d.paste(text, m.now)
		return m.suggest(d)
	default:
		d.paste(text, m.now)
	}
	return nil
}

func (m *model) pasteScreen(text string) {
	switch {
	case m.screen == screenBindings:
		m.bind.Paste(text)
	case m.screen == screenCatalog:
		m.cat.Paste(text)
	case m.finding:
		m.query = append(m.query, []rune(text)...)[:min(len(m.query)+len([]rune(text)), 100)]
	default:
		m.pane = paneComposer
		if why := m.cp.Paste(text); why != "" {
			m.say(why)
		}
	}
}

// copy puts text on a clipboard, in a command.
func (m *model) copy(text string) tea.Cmd {
	opener := m.o.Opener
	return func() tea.Msg {
		if opener == nil {
			return copiedMsg{text: text, err: ErrUseTerminal}
		}
		how, err := opener.Copy(text)
		return copiedMsg{text: text, how: how, err: err}
	}
}

func (m *model) copied(msg copiedMsg) tea.Cmd {
	switch {
	case errors.Is(msg.err, ErrUseTerminal):
		m.say("copied through the terminal (OSC 52), if it allows that")
		return tea.SetClipboard(msg.text)
	case msg.err != nil:
		m.say("not copied: " + msg.err.Error())
	default:
		m.say("copied to " + msg.how)
	}
	return nil
}

// run does an action by its id, as from the palette. A disabled one says why.
func (m *model) run(id keymap.ID) tea.Cmd {
	if a, ok := m.keys.Action(id); ok && a.Disabled != "" {
		m.say(a.Title + ": " + a.Disabled)
		return nil
	}
	switch id {
	case keymap.Interrupt:
		return m.ctrlC()
	case keymap.Suspend:
		return tea.Suspend
	case keymap.Redraw:
		return tea.ClearScreen
	case keymap.Palette:
		m.openPalette()
	case keymap.Help, "transcript.help", "bindings.help", "catalog.help":
		m.openHelp()
	case keymap.LeaderKey:
		m.leader = true
	case keymap.OpenMain:
		m.screen = screenMain
	case keymap.OpenBindings, "leader.bindings":
		m.openBindings("")
	case keymap.OpenCatalog, "leader.catalog":
		m.openCatalog("")
	case keymap.OpenGate, "leader.gate":
		m.openOldestGate()
	case keymap.OpenSessions, "leader.sessions":
		return m.openSessions("")
	case keymap.OpenNotices, "leader.notices":
		m.openNotices()
	case keymap.NextPane:
		m.nextPane()
	case keymap.Editor:
		return m.startEditor()
	case keymap.Quit:
		m.quit(Result{Reason: ReasonQuit})
	case keymap.Back:
		return m.back()
	case keymap.GetPrompt:
		m.openItems(pickPrompt)
	case keymap.ReadResource:
		m.openItems(pickResource)
	case keymap.BindingAdd, keymap.BindingToggle, keymap.BindingReplace, keymap.BindingRemove, keymap.BindingReconnect, keymap.BindingCatalog:
		b, _ := m.bind.Selected(m.bindingData())
		return m.bindingAction(id, b.Name)
	default:
	}
	return nil
}
