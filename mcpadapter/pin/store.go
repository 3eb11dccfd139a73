package pin

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Bounds of the store.
const (
	maxPins      = 10_000
	maxRefused   = 16 // remembered refusals of one layer of one binding
	maxStoreSize = 16 << 20
	maxText      = 256 // binding, name, who
)

// lockTimeout bounds the wait for another process that changes the file.
const lockTimeout = 5 * time.Second

// State says what was decided about a fingerprint.
type State string

// The states of a pin.
const (
	Accepted State = "accepted"
	Refused  State = "refused"
)

// Verdict is what the store says about a fingerprint.
type Verdict uint8

// The verdicts.
const (
	// Unknown: nothing is pinned for this layer of the binding.
	Unknown Verdict = iota
	// IsAccepted: exactly this fingerprint was accepted.
	IsAccepted
	// IsRefused: this fingerprint was refused, or another one was and nothing is
	// accepted: an edit of what was refused does not make it new.
	IsRefused
	// Changed: another fingerprint is accepted.
	Changed
	// IsDisabled: this fingerprint was accepted, and the binding was disabled since:
	// whatever its entry says, it is not enabled again by anybody else.
	IsDisabled
)

func (v Verdict) String() string {
	return [...]string{"unknown", "accepted", "refused", "changed", "disabled"}[v]
}

// Pin is one decision about one fingerprint.
type Pin struct {
	Binding string `json:"binding"`
	Layer   Layer  `json:"layer"`
	// Name is the tool's name in the tool layer, else empty.
	Name        string    `json:"name,omitempty"`
	Fingerprint string    `json:"fingerprint"`
	State       State     `json:"state"`
	Who         string    `json:"who"`
	When        time.Time `json:"when"`
	// Previous is the accepted fingerprint that this one replaced.
	Previous *Previous `json:"previous,omitempty"`
	// Disabled says who disabled the binding since it was accepted, and when.
	Disabled *Disabled `json:"disabled,omitempty"`
}

// Disabled is a lasting decision to leave a binding alone.
type Disabled struct {
	Who  string    `json:"who"`
	When time.Time `json:"when"`
}

// Previous is an earlier accepted fingerprint.
type Previous struct {
	Fingerprint string    `json:"fingerprint"`
	Who         string    `json:"who"`
	When        time.Time `json:"when"`
}

// Store is the file of pins. Lookups answer from memory as of Open, the last
// change or Reload; changes take the file's lock, read it afresh and replace
// it atomically, so that two processes never lose each other's decisions. It
// is safe for concurrent use.
type Store struct {
	path string
	mu   sync.Mutex
	pins []Pin
}

// Open reads the store at path; a file that does not exist is an empty store
// and is created by the first change. Errors: *FormatError, or what reading
// fails with.
func Open(path string) (*Store, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("pins: %w", err)
	}
	if real, err := filepath.EvalSymlinks(absolute); err == nil {
		absolute = real // replace the file, not a link to it
	}
	s := &Store{path: absolute}
	return s, s.Reload()
}

// Reload reads the file again.
func (s *Store) Reload() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	pins, err := readStore(s.path)
	if err != nil {
		return err
	}
	s.pins = pins
	return nil
}

// Lookup returns the accepted pin of a layer that has no names (launch,
// endpoint, server), or else the newest refused one.
func (s *Store) Lookup(binding string, layer Layer) (Pin, bool) {
	return s.LookupName(binding, layer, "")
}

// LookupName is Lookup for a named item: a tool.
func (s *Store) LookupName(binding string, layer Layer, name string) (Pin, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var best Pin
	found := false
	for _, p := range s.pins {
		if p.Binding != binding || p.Layer != layer || p.Name != name {
			continue
		}
		if p.State == Accepted {
			return p.clone(), true
		}
		if !found || p.When.After(best.When) {
			best, found = p, true
		}
	}
	return best.clone(), found
}

// Check says what was decided about this fingerprint.
func (s *Store) Check(binding string, layer Layer, fingerprint string) Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	verdict, refused := Unknown, false
	for _, p := range s.pins {
		if p.Binding != binding || p.Layer != layer || p.Name != "" {
			continue
		}
		switch {
		case p.Fingerprint == fingerprint && p.State == Accepted && p.Disabled != nil:
			return IsDisabled
		case p.Fingerprint == fingerprint && p.State == Accepted:
			return IsAccepted
		case p.Fingerprint == fingerprint:
			verdict = IsRefused
		case p.State == Accepted && verdict == Unknown:
			verdict = Changed
		case p.State == Refused:
			refused = true
		}
	}
	if verdict == Unknown && refused {
		return IsRefused
	}
	return verdict
}

// Accept records that who accepted exactly this fingerprint. The accepted one
// that it replaces is kept as its Previous; a refusal of it is taken back.
func (s *Store) Accept(binding string, layer Layer, fingerprint, who string, at time.Time) error {
	next := Pin{Binding: binding, Layer: layer, Fingerprint: fingerprint, State: Accepted, Who: who, When: at.UTC()}
	return s.change(next, func(pins []Pin) []Pin {
		kept := pins[:0]
		for _, p := range pins {
			switch same := p.key() == next.key(); {
			case same && p.State == Accepted && p.Fingerprint == fingerprint:
				next.Previous = p.Previous
			case same && p.State == Accepted:
				next.Previous = &Previous{Fingerprint: p.Fingerprint, Who: p.Who, When: p.When}
			case same && p.Fingerprint == fingerprint:
			default:
				kept = append(kept, p)
			}
		}
		return append(kept, next)
	})
}

// Refuse records that who refused exactly this fingerprint. Another one that
// is accepted stays so; the newest 16 refusals are kept.
func (s *Store) Refuse(binding string, layer Layer, fingerprint, who string, at time.Time) error {
	next := Pin{Binding: binding, Layer: layer, Fingerprint: fingerprint, State: Refused, Who: who, When: at.UTC()}
	return s.change(next, func(pins []Pin) []Pin {
		pins = slices.DeleteFunc(pins, func(p Pin) bool {
			return p.key() == next.key() && p.Fingerprint == fingerprint
		})
		return dropOldRefusals(append(pins, next), next.key())
	})
}

// Disable marks what is accepted of a binding: an entry that says that it is
// enabled no longer is reason enough to start it.
func (s *Store) Disable(binding, who string, at time.Time) error {
	return s.mark(binding, &Disabled{Who: who, When: at.UTC()})
}

// Enable takes the mark of Disable away. So does Accept.
func (s *Store) Enable(binding string) error { return s.mark(binding, nil) }

func (s *Store) mark(binding string, d *Disabled) error {
	if d != nil && (!named(d.Who) || d.When.IsZero()) {
		return errors.New("pins: who disabled it is empty, too long or holds control characters")
	}
	if !slices.ContainsFunc(s.List(), func(p Pin) bool { return p.Binding == binding && p.State == Accepted && p.Disabled != d }) {
		return nil
	}
	return s.locked(func(pins []Pin) ([]Pin, error) {
		pins = slices.Clone(pins)
		for i := range pins {
			if pins[i].Binding == binding && pins[i].State == Accepted {
				pins[i].Disabled = d
			}
		}
		return pins, nil
	})
}

func dropOldRefusals(pins []Pin, key pinKey) []Pin {
	refused := 0
	for i := len(pins) - 1; i >= 0; i-- {
		if pins[i].key() != key || pins[i].State != Refused {
			continue
		}
		if refused++; refused > maxRefused {
			pins = slices.Delete(pins, i, i+1)
		}
	}
	return pins
}

// Revoke forgets everything that was decided about a binding's layer; an empty
// layer means all of them. It reports how many pins went.
func (s *Store) Revoke(binding string, layer Layer) (int, error) {
	removed := 0
	err := s.locked(func(pins []Pin) ([]Pin, error) {
		kept := slices.DeleteFunc(slices.Clone(pins), func(p Pin) bool {
			return p.Binding == binding && (layer == "" || p.Layer == layer)
		})
		removed = len(pins) - len(kept)
		return kept, nil
	})
	return removed, err
}

// List returns all pins, sorted by binding, layer, name and time.
func (s *Store) List() []Pin {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Pin, len(s.pins))
	for i, p := range s.pins {
		list[i] = p.clone()
	}
	return list
}

// change validates a new pin and applies it.
func (s *Store) change(next Pin, apply func([]Pin) []Pin) error {
	if err := next.check(); err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	return s.locked(func(pins []Pin) ([]Pin, error) {
		pins = apply(slices.Clone(pins))
		if len(pins) > maxPins {
			return nil, fmt.Errorf("more than %d pins", maxPins)
		}
		return pins, nil
	})
}

// locked runs a change under the file's lock on what the file holds now.
func (s *Store) locked(apply func([]Pin) ([]Pin, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	unlock, err := lockFile(s.path+".lock", lockTimeout)
	if err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	defer unlock()
	pins, err := readStore(s.path)
	if err != nil {
		return err
	}
	if pins, err = apply(pins); err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	slices.SortStableFunc(pins, compare)
	if err := writeStore(s.path, pins); err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	s.pins = pins
	return nil
}

// ErrLocked says that another process held the file's lock for too long.
var ErrLocked = errors.New("another process is changing the pins")

func readStore(path string) ([]Pin, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("pins: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("pins: %s is not a regular file", path)
	case info.Size() > maxStoreSize:
		return nil, fmt.Errorf("pins: %s has %d bytes (limit %d)", path, info.Size(), maxStoreSize)
	}
	if err := checkOwner(path, info); err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("pins: %w", err)
	}
	return decode(path, raw)
}

type pinKey struct {
	binding, name string
	layer         Layer
}

func (p Pin) key() pinKey { return pinKey{p.Binding, p.Name, p.Layer} }

func (p Pin) clone() Pin {
	if p.Previous != nil {
		previous := *p.Previous
		p.Previous = &previous
	}
	if p.Disabled != nil {
		disabled := *p.Disabled
		p.Disabled = &disabled
	}
	return p
}

func compare(a, b Pin) int {
	return cmp.Or(cmp.Compare(a.Binding, b.Binding), cmp.Compare(a.Layer, b.Layer), cmp.Compare(a.Name, b.Name), a.When.Compare(b.When))
}
