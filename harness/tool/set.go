package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sort"
)

// Set is an immutable toolset: the tools that one turn runs under.
type Set struct {
	defs   []Definition
	byName map[string]int
	digest string
}

// DuplicateModelNameError says that two tools would answer to one name. The
// incumbent keeps it; the newcomer is refused, nothing is shadowed.
type DuplicateModelNameError struct {
	Name      string
	Incumbent Identity
	Newcomer  Identity
}

func (e *DuplicateModelNameError) Error() string {
	return fmt.Sprintf("two tools would be called %q: %s has the name, %s is withheld", e.Name, e.Incumbent, e.Newcomer)
}

// NewSet joins slots in order. It returns a *DuplicateModelNameError when a
// name of a later slot is taken already.
func NewSet(slots ...[]Definition) (*Set, error) {
	s := &Set{byName: map[string]int{}}
	for _, slot := range slots {
		for _, d := range slot {
			if i, taken := s.byName[d.Name]; taken {
				return nil, &DuplicateModelNameError{Name: d.Name, Incumbent: s.defs[i].Identity, Newcomer: d.Identity}
			}
			s.byName[d.Name] = len(s.defs)
			s.defs = append(s.defs, d)
		}
	}
	s.digest = signature(s.defs)
	return s, nil
}

// signature covers what would make two sets differ for a model or a policy.
func signature(defs []Definition) string {
	lines := make([]string, len(defs))
	for i, d := range defs {
		lines[i] = fmt.Sprintf("%q %q %s %t %s", d.Name, d.Identity.String(), d.Digest, d.Deferred, d.Trust)
	}
	last := ""
	for _, d := range defs {
		if d.Instructions != last { // tools of one source stand together
			last = d.Instructions
			lines = append(lines, fmt.Sprintf("%q %x", d.Identity.Binding, sha256.Sum256([]byte(last))))
		}
	}
	sort.Strings(lines)
	h := sha256.New()
	for _, l := range lines {
		fmt.Fprintf(h, "%d:%s", len(l), l)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Lookup finds a tool by its model-facing name.
func (s *Set) Lookup(name string) (Definition, bool) {
	i, ok := s.byName[name]
	if !ok {
		return Definition{}, false
	}
	return s.defs[i], true
}

// ByIdentity finds a tool by its identity.
func (s *Set) ByIdentity(id Identity) (Definition, bool) {
	for _, d := range s.defs {
		if d.Identity == id {
			return d, true
		}
	}
	return Definition{}, false
}

// Definitions returns the tools in slot order. The slice is a copy.
func (s *Set) Definitions() []Definition { return append([]Definition(nil), s.defs...) }

// Len is the number of tools.
func (s *Set) Len() int { return len(s.defs) }

// Digest identifies the set's contents.
func (s *Set) Digest() string { return s.digest }
