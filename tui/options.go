package tui

import (
	"os"
	"time"
)

// Options is what Run needs. Session, Events, Port, Stdin and Stdout are
// required.
type Options struct {
	Session Session
	Events  Events
	Port    Bindings
	// Opener may be nil: addresses are then shown and copied through the
	// terminal.
	Opener Opener
	// Sessions may be nil: there are then none to go on with.
	Sessions Sessions
	// Context may be nil: the model can then not be changed.
	Context Context
	// Loops may be nil: there is then one loop.
	Loops Loops
	// Grants may be nil: nothing is listed and revoked then.
	Grants Grants
	// Clock may be nil for the system's clock.
	Clock Clock

	// Stdin and Stdout are the terminal.
	Stdin, Stdout *os.File
	// Env is the environment as KEY=value, for the terminal's type and the
	// editor; nil means the process's own.
	Env []string

	// Theme is one of theme.Names(); "" means "auto".
	Theme string
	// NoColor leaves out every colour, whatever the theme.
	NoColor bool
	// Keys changes key bindings: action id to keys. An unknown action or a clash
	// makes Run fail before the terminal is touched.
	Keys map[string][]string

	// Title is what to call the session, of the host or the person; it is
	// cleaned before it is shown.
	Title string
	// Operator names the person in answers ("local").
	Operator string
	// History is earlier input, oldest first.
	History []string
	// SaveTarget is the file that keyboard changes are kept in, shortened for
	// people; "" means that changes last for this session only.
	SaveTarget string
	// Shown, when set, is called once, from a command, when the first frame has
	// been drawn: work that would compete with it can begin.
	Shown func()
	// TempDir holds the text that is edited with ctrl+o; "" means the system's.
	TempDir string
}

// Result is how the interface ended.
type Result struct {
	// Reason is "quit", "signal", "cancelled" or "crash".
	Reason string
	// Signal names the signal for Reason "signal".
	Signal string
	// History is the input of this run, oldest first.
	History []string
	// Next, when set, is the session that the person wants to go on with.
	Next *Next
}

// The reasons of a Result.
const (
	ReasonQuit      = "quit"
	ReasonSignal    = "signal"
	ReasonCancelled = "cancelled"
	ReasonCrash     = "crash"
)

// CrashError is a panic somewhere in the interface. The terminal has been
// restored by the time that Run returns it. Value and Stack are cleaned.
type CrashError struct {
	Value string
	Stack string
}

func (e *CrashError) Error() string { return "interface crashed: " + e.Value }

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }
