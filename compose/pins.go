package compose

import (
	"errors"
	"time"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/mcpadapter/pin"
	"github.com/looprig/looprig/mcpadapter/transport/stdio"
)

// PinnedBy names the operator in pins that a command sets.
const PinnedBy = "looprig mcp add"

// Pins is the home's store of pins, for commands that look at it.
type Pins struct{ store *pin.Store }

// OpenPins reads a home's pins.
func OpenPins(home string) (Pins, error) {
	s, err := pin.Open(PinsPath(home))
	if err != nil {
		return Pins{}, exit.New(exit.Usage, "%w", err)
	}
	return Pins{s}, nil
}

// State says in a word what is pinned of a server's launch or endpoint as it is
// now: "builtin", "pinned", "changed", "refused", "unpinned", "disabled before", or
// "missing" for a program that cannot be found.
func (p Pins) State(s config.Server, env []string) string {
	if s.Builtin != "" {
		return "builtin"
	}
	if !s.Valid() {
		return "-"
	}
	fp, err := Describe(s, env)
	if err != nil {
		return "missing"
	}
	state := p.Check(s.Name, fp)
	if state == stateDisabled && !s.Enabled {
		return "pinned" // as its entry says
	}
	return state
}

// stateDisabled is said of what was disabled and is enabled by its entry alone.
const stateDisabled = "disabled before"

// Check is State for a fingerprint that is known.
func (p Pins) Check(name string, fp pin.Fingerprint) string {
	switch verdict, _ := check(p.store, name, fp); verdict {
	case pin.IsAccepted:
		return "pinned"
	case pin.IsDisabled:
		return stateDisabled
	case pin.IsRefused:
		return "refused"
	case pin.Changed:
		return "changed"
	case pin.Unknown:
	}
	return "unpinned"
}

// Switch keeps that a server was disabled, or enabled again, apart from its entry.
func (p Pins) Switch(name, by string, on bool) error {
	if on {
		return p.store.Enable(name)
	}
	return p.store.Disable(name, by, time.Now())
}

// Accepted is the fingerprint that is pinned where a server now has another one,
// with who accepted it and when.
func (p Pins) Accepted(name string, fp pin.Fingerprint) (fingerprint, who string, when time.Time, ok bool) {
	for _, layer := range []pin.Layer{fp.Kind, otherLayer(fp.Kind)} {
		if known, ok := p.store.Lookup(name, layer); ok && known.State == pin.Accepted {
			return known.Fingerprint, known.Who, known.When, true
		}
	}
	return "", "", time.Time{}, false
}

// Describe is the fingerprint of what a server would run or where it is, with
// every line of it. Nothing is started and nothing contacted.
func Describe(s config.Server, env []string) (pin.Fingerprint, error) {
	if s.Endpoint() {
		return pin.Endpoint(addressOf(s))
	}
	a := &App{opt: Options{Env: env}}
	cfg, err := a.launch(s)
	if err != nil {
		return pin.Fingerprint{}, err
	}
	t, err := stdio.New(cfg)
	if err != nil {
		return pin.Fingerprint{}, err
	}
	return pin.Launch(t)
}

// AddServer writes an entry into the home's mcp.json and pins its launch or
// endpoint. An existing name is an error: replacing is its own verb.
func AddServer(home string, s config.Server, env []string) error {
	fp, err := Describe(s, env)
	if err != nil {
		return exit.New(exit.Usage, "%s: %w", s.Name, err)
	}
	pins, err := OpenPins(home)
	if err != nil {
		return err
	}
	if err := makeHome(home); err != nil {
		return err
	}
	taken := false
	err = EditMCP(MCPPath(home), config.EnvOf(env), func(f *config.MCPFile) error {
		if _, there := f.Raw(s.Name); there {
			taken = true
			return existence("add", s.Name)
		}
		f.Set(s.Name, s.Entry)
		return nil
	})
	var e *exit.Error
	if taken && errors.As(err, &e) {
		return e.WithHint("looprig mcp remove %s takes that one out; in the interface, F2 and r replace it", s.Name)
	}
	if err != nil {
		return err
	}
	if err := pins.store.Accept(s.Name, fp.Kind, fp.Digest, PinnedBy, time.Now()); err != nil {
		return exit.New(exit.Internal, "the server was added, but its pin was not kept: %w", err)
	}
	return nil
}
