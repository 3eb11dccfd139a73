package compose

import (
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

// State says in a word what is pinned of a server's launch as it is now:
// "builtin", "pinned", "changed", "refused", "unpinned", or "missing" for a
// program that cannot be found.
func (p Pins) State(s config.Server, env []string) string {
	if s.Builtin != "" {
		return "builtin"
	}
	if !s.Valid() {
		return "-"
	}
	fp, err := DescribeLaunch(s, env)
	if err != nil {
		return "missing"
	}
	return p.Check(s.Name, fp.Digest)
}

// Check is State for a launch whose fingerprint is known.
func (p Pins) Check(name, fingerprint string) string {
	switch p.store.Check(name, pin.LayerLaunch, fingerprint) {
	case pin.IsAccepted:
		return "pinned"
	case pin.IsRefused:
		return "refused"
	case pin.Changed:
		return "changed"
	case pin.Unknown:
	}
	return "unpinned"
}

// Accepted is the fingerprint that is pinned of a server's launch, with who
// accepted it and when.
func (p Pins) Accepted(name string) (fingerprint, who string, when time.Time, ok bool) {
	known, ok := p.store.Lookup(name, pin.LayerLaunch)
	if !ok || known.State != pin.Accepted {
		return "", "", time.Time{}, false
	}
	return known.Fingerprint, known.Who, known.When, true
}

// DescribeLaunch is the fingerprint of what a server would run, with every line
// of it.
func DescribeLaunch(s config.Server, env []string) (pin.Fingerprint, error) {
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

// AddServer writes an entry into the home's mcp.json and pins its launch. An
// existing name is an error: replacing is its own verb.
func AddServer(home string, s config.Server, env []string) error {
	fp, err := DescribeLaunch(s, env)
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
	err = EditMCP(MCPPath(home), config.EnvOf(env), func(f *config.MCPFile) error {
		if _, there := f.Raw(s.Name); there {
			return existence("add", s.Name)
		}
		f.Set(s.Name, s.Entry)
		return nil
	})
	if err != nil {
		return err
	}
	if err := pins.store.Accept(s.Name, pin.LayerLaunch, fp.Digest, PinnedBy, time.Now()); err != nil {
		return exit.New(exit.Internal, "the server was added, but its pin was not kept: %w", err)
	}
	return nil
}
