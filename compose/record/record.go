// Package record makes a script of a session: the durable events go in, a script
// of version 1 comes out, which does the same again without a person. It is a
// function of the events and of how the servers were defined. What no script can
// do again is left out and said, each time.
//
// A script holds what was typed, what the model said, the arguments of calls and
// the answers to questions as they were given. It never holds a value of a
// server's environment or headers.
//
// The package must not import the session, an adapter or an interface, and reads
// no file.
package record

import (
	"fmt"
	"slices"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/harness/event"
)

// Bounds of a recording.
const (
	// MaxSteps is what a script may have; what comes after is left out.
	MaxSteps = 10_000
	// MaxAnswers likewise.
	MaxAnswers = 10_000
	// MaxNotes bounds what is said of what was left out; further ones are counted.
	MaxNotes = 50
	// maxExpected bounds a text that a step expects again, in bytes.
	maxExpected = 4 << 10
)

// Server is how a binding was defined.
type Server struct {
	Name string
	// Entry is its entry as it is written, variables not expanded.
	Entry []byte
	// File is the mcp.json that has the entry, "" for a script's and for what
	// was added in the session.
	File string
	// Fingerprint of its launch or address, "" where it has none.
	Fingerprint string
}

// Definition is an addition or replacement that was made in the session.
type Definition struct {
	Op string // "add" or "replace"
	Server
}

// Options are what the events do not say.
type Options struct {
	// Version of the program, for the header.
	Version string
	// Servers are the bindings that the session began with, nil where they are
	// not known: the script then takes those of its home.
	Servers []Server
	// Definitions are those of the session, in order.
	Definitions []Definition
	// Policy holds the rules that were given with the run, not those of
	// config.yaml.
	Policy config.Policy
	// Loops are those that were given with the run, not those of config.yaml.
	Loops []config.Loop
	// Body gives the text that a content block refers to by its digest; nil where
	// there is none.
	Body func(id string) ([]byte, error)
}

// Recording is a script that was made.
type Recording struct {
	Text           []byte
	Steps, Answers int
	// Notes say what the script does not have, and what it needs, host-written.
	Notes []string
}

// Recorder takes the events of one session in their order. It is for one
// goroutine.
type Recorder struct {
	o       Options
	session string
	began   string // the day
	// attended says that a person was there.
	attended bool
	loops    map[string]loop
	first    string // the loop that turns go to unless they say
	turns    map[string]*turn
	order    []*turn // by their beginning
	calls    map[string]*turn
	items    []item
	gates    []*question
	open     map[string]*question
	defs     []Definition
	states   map[string]string
	// generations that the loops have adopted of each binding, and those that a
	// step has waited for.
	have, waited map[string]uint64
	changes      map[string]*change // the last of each binding, until it has settled
	notes        []string
	unsaid       int
}

type loop struct {
	name string // that replies are kept under
	call string // that started a delegate
}

// New makes a recorder.
func New(o Options) *Recorder {
	return &Recorder{
		o: o, loops: map[string]loop{}, turns: map[string]*turn{}, calls: map[string]*turn{}, open: map[string]*question{},
		defs: slices.Clone(o.Definitions), states: map[string]string{}, have: map[string]uint64{}, waited: map[string]uint64{},
		changes: map[string]*change{},
	}
}

// note says something of the recording, once.
func (r *Recorder) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	switch {
	case slices.Contains(r.notes, text):
	case len(r.notes) == MaxNotes:
		r.unsaid++
	default:
		r.notes = append(r.notes, text)
	}
}

// Add takes the next event.
func (r *Recorder) Add(e event.Event) {
	switch e := e.(type) {
	case *event.SessionStarted:
		r.start(e)
	case *event.SessionRestored:
		r.restored(e)
	case *event.LoopStarted:
		r.loop(e)
	case *event.TurnStarted:
		r.turnStarted(e)
	case *event.TurnCompleted:
		r.turnEnded(e.Header, "", e.Text)
	case *event.TurnFailed:
		r.turnEnded(e.Header, e.Code, "")
	case *event.TurnInterrupted:
		r.turnEnded(e.Header, interrupted, "")
	case *event.MessageCompleted:
		r.message(e)
	case *event.ToolRequested:
		r.requested(e)
	case *event.ToolCompleted:
		r.completed(e)
	case *event.GateOpened:
		r.asked(e)
	case *event.GateResolved:
		r.answered(e)
	default:
		r.addBinding(e)
	}
}

func (r *Recorder) addBinding(e event.Event) {
	switch e := e.(type) {
	case *event.ToolsetAdopted:
		if r.loops[e.Loop].call != "" {
			return // a delegate's: it may be of servers that only it has
		}
		for _, b := range e.Bindings {
			r.have[b.Binding] = max(r.have[b.Binding], b.Generation)
		}
	case *event.BindingChanged:
		r.changed(e)
	case *event.BindingReconfigured:
		r.reconfigured(e)
	case *event.FetchCompleted:
		r.fetched(e)
	case *event.HistoryCompacted:
		r.note("the history of loop %s was compacted, which a script does not do", ident(e.Loop))
	case *event.ModelChanged:
		r.note("loop %s went on with another model, %s: the replies of both are replayed", ident(e.Loop), ident(e.To))
	case *event.GrantChanged:
		if e.Op == "revoked" {
			r.note("the grant of %s was taken back, which a script does not do", ident(e.Tool))
		}
	}
}

func (r *Recorder) start(e *event.SessionStarted) {
	r.session, r.attended = e.Session, e.Mode == "interactive"
	r.began = e.Time.UTC().Format("2006-01-02")
	if e.Parent != "" {
		r.note("the session is a fork of %s, and what came before it is not here", ident(e.Parent))
	}
}

// restored begins a recording in the middle of a session, or goes on with one.
func (r *Recorder) restored(e *event.SessionRestored) {
	if r.session == "" {
		r.session, r.began = e.Session, e.Time.UTC().Format("2006-01-02")
		if e.Turns > 0 {
			r.note("the session went on from %d turns before, which are not here", e.Turns)
		}
	} else {
		r.note("the session was left and gone on with; the script does all of it in one run")
	}
	r.attended = r.attended || e.Mode == "interactive"
	r.states, r.open = map[string]string{}, map[string]*question{}
	r.changes = map[string]*change{}
}

func (r *Recorder) loop(e *event.LoopStarted) {
	l := loop{name: e.Loop, call: e.Call}
	if e.Agent != "" {
		l.name = e.Agent
	}
	r.loops[e.Loop] = l
	if r.first == "" {
		r.first = e.Loop
	}
}

// loopName is the name that a loop's replies are kept under.
func (r *Recorder) loopName(id string) string {
	if l, ok := r.loops[id]; ok {
		return l.name
	}
	if r.first == "" {
		r.first = id // a recording that began in the middle
	}
	return id
}
