package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/bindings"
	"github.com/looprig/looprig/tui/catalog"
	"github.com/looprig/looprig/tui/composer"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/status"
	"github.com/looprig/looprig/tui/theme"
	"github.com/looprig/looprig/tui/transcript"
)

// The bounds of what the interface keeps.
const (
	maxNotices = 500
	maxLogs    = 1000
	// toastTime is how long a passing message stays; twice is how long the first
	// of two presses that quit is remembered.
	toastTime = 4 * time.Second
	twice     = 2 * time.Second
	// quietTime is how long the composer must have been left alone before a gate
	// opens above it by itself; postponed is the longest that this puts one off.
	quietTime = 400 * time.Millisecond
	postponed = 5 * time.Second
	// fastTick redraws what changes by itself; slowTick is for ages.
	fastTick = 100 * time.Millisecond
	slowTick = time.Second
)

// screen is what fills the terminal.
type screen uint8

const (
	screenMain screen = iota
	screenBindings
	screenCatalog
)

// pane is where keys go on the main screen.
type pane uint8

const (
	paneComposer pane = iota
	paneTranscript
)

// model is the root. Its methods are split by message family: keys, events,
// gates, changes of bindings.
type model struct {
	o    Options
	ctx  context.Context
	keys *keymap.Map
	th   *theme.Theme
	now  time.Time

	w, h   int
	shown  bool // the host was told of the first frame
	screen screen
	pane   pane
	dark   bool

	tr      *transcript.Transcript
	cp      *composer.Composer
	bind    bindings.Screen
	cat     catalog.Screen
	catalog string // the binding whose catalog is open
	dialogs []dialog

	bindings []integration.Binding
	busy     map[string]string // changes in progress by binding
	forms    map[int]*formDialog
	lastOp   int

	gates     []gate.Envelope
	minimised map[string]int // gates in the queue, by when they were put there
	lastAside int
	aside     map[string]*gateDialog // forms that were put aside, with what is written in them
	answered  map[string]bool

	reader    integration.Reader  // nil when the host has none
	watcher   integration.Watcher // nil when the host has none
	fetches   map[int]fetching
	lastFetch int
	asked     asked
	pause     time.Duration // before suggestions are asked for
	updated   map[resourceKey]int
	catData   *catalog.Data // for this message, once somebody asked

	turns   map[string]turn // running turns by loop
	queued  []queued
	notices []status.Notice
	logs    []logLine
	adopted int // generations adopted since the catalog was looked at
	ended   bool

	toast    toast
	leader   bool
	quitKey  string // the key that quits when it is pressed again
	quitOn   string // what quitKey was before the present key press
	quitAt   time.Time
	stopping bool      // an interrupt was asked for and has not taken effect
	typedAt  time.Time // when the composer last took a key
	waits    bool      // a gate waits for the person to stop typing
	listing  bool      // no key was pressed since the list of models was asked for
	finding  bool      // a search in the transcript is being written
	query    []rune
	ticks    ticks
	result   Result
	quitting bool
}

type turn struct {
	id      string
	started time.Time
	spoke   bool
	user    bool
}

type queued struct{ input, text string }

type toast struct {
	text  string
	until time.Time
}

// newModel builds the root from options whose defaults are in place.
func newModel(ctx context.Context, o Options) (*model, error) {
	keys, err := keymap.New(o.Keys)
	if err != nil {
		return nil, err
	}
	th, err := theme.Choose(o.Theme, true, o.NoColor)
	if err != nil {
		return nil, err
	}
	m := &model{
		o: o, ctx: ctx, keys: keys, th: th, now: o.Clock.Now(), dark: true, w: 80, h: 24,
		tr: transcript.New(), busy: map[string]string{}, forms: map[int]*formDialog{},
		minimised: map[string]int{}, aside: map[string]*gateDialog{}, answered: map[string]bool{}, turns: map[string]turn{},
		bindings: o.Port.Bindings(), gates: o.Session.Gates(),
	}
	m.reader, _ = o.Port.(integration.Reader)
	m.watcher, _ = o.Port.(integration.Watcher)
	m.fetches, m.updated, m.pause = map[int]fetching{}, map[resourceKey]int{}, suggestPause
	m.cp = composer.New(th, o.History, m.complete)
	if o.Session.Operator() {
		m.tr.Note(m.now, "", transcript.Info, firstSteps(m.bindings))
	} else {
		m.tr.Note(m.now, "", transcript.Info, "Type a message; /help lists commands and keys.")
	}
	return m, nil
}

// sessionName is what to call the session; it is clean.
func (m *model) sessionName() string {
	if m.o.Title != "" {
		return string(safetext.ToLineN(m.o.Title, 128))
	}
	return string(safetext.Ident(m.o.Session.ID()))
}

// Init asks for the colour of the background and starts the clock.
func (m *model) Init() tea.Cmd {
	var ask tea.Cmd
	if m.o.Theme == "" || m.o.Theme == theme.Auto || m.o.Theme == theme.HighContrast {
		ask = tea.RequestBackgroundColor
	}
	return tea.Batch(ask, m.tick())
}

// tickMsg is a timer that ran out; n tells it from one that was overtaken.
type tickMsg struct{ n int }

// ticks is the timer that runs.
type ticks struct {
	on, fast bool
	n        int
}

// tick keeps one timer running: a fast one while something on the screen
// changes by itself. A fast one overtakes a slow one.
func (m *model) tick() tea.Cmd {
	fast := m.restless()
	if m.ticks.on && (m.ticks.fast || !fast) {
		return nil
	}
	m.ticks = ticks{on: true, fast: fast, n: m.ticks.n + 1}
	d, n := slowTick, m.ticks.n
	if fast {
		d = fastTick
	}
	return tea.Tick(d, func(time.Time) tea.Msg { return tickMsg{n} })
}

func (m *model) restless() bool {
	g := m.topGate()
	return g != nil && g.Waiting(m.now) || m.toast.text != "" || m.waits
}

// say shows a passing message. Its text must be clean or host-written; it is
// cleaned again.
func (m *model) say(text string) {
	m.toast = toast{text: string(safetext.ToLine(text)), until: m.now.Add(toastTime)}
}

// setTheme draws everything in other colours.
func (m *model) setTheme(th *theme.Theme) {
	m.th = th
	m.cp.SetTheme(th)
	for _, d := range m.dialogs {
		d.setTheme(th)
	}
	for _, f := range m.forms {
		f.setTheme(th)
	}
}

func (m *model) running() bool { return len(m.turns) > 0 }

func (m *model) push(d dialog) { m.dialogs = append(m.dialogs, d) }

func (m *model) pop() {
	if n := len(m.dialogs); n > 0 {
		m.dialogs = m.dialogs[:n-1]
	}
}

func (m *model) top() dialog {
	if n := len(m.dialogs); n > 0 {
		return m.dialogs[n-1]
	}
	return nil
}

// remove takes a dialog off the stack wherever it is.
func (m *model) remove(d dialog) {
	for i, x := range m.dialogs {
		if x == d {
			m.dialogs = append(m.dialogs[:i:i], m.dialogs[i+1:]...)
			return
		}
	}
}
