package mcpadapter

import (
	"slices"

	"github.com/looprig/looprig/mcpadapter/client"
)

// Scope says who shares a binding's connection.
type Scope string

// The scopes.
const (
	// ScopeSession is one connection, shared by the loops that Visibility
	// admits. It is the zero Scope's meaning.
	ScopeSession Scope = "session"
	// ScopeLoop is a connection private to the loop Binding.Loop.
	ScopeLoop Scope = "loop"
)

// Binding is a named server definition attached to a scope.
type Binding struct {
	// Name is the identity that people see; see catalog.CheckBindingName.
	Name   string
	Server client.Definition
	Scope  Scope
	// Loop is the owner of a ScopeLoop binding.
	Loop string
	// Visibility selects the loops that may use a ScopeSession binding; the
	// zero Selector admits all.
	Visibility Selector
	// Required bindings stop their owner when they cannot start.
	Required bool
	// Disabled bindings are configured but not run.
	Disabled bool
	// Fault, when set, marks an entry that cannot run at all; it is shown as
	// invalid and its Server is ignored.
	Fault *Fault
}

// Fault says what is wrong with a configured entry.
type Fault struct {
	// Position is "file:line:column".
	Position string
	// Text is host-written.
	Text string
}

// scope is Scope with its zero value resolved.
func (b Binding) scope() Scope {
	if b.Scope == "" {
		return ScopeSession
	}
	return b.Scope
}

// Selector chooses loops. The zero Selector admits all.
type Selector struct {
	restricted bool
	ids        []string
	names      []string
}

// AllLoops admits every loop, delegates included.
func AllLoops() Selector { return Selector{} }

// Loops admits the loops with these ids, and no others.
func Loops(ids ...string) Selector {
	return Selector{restricted: true, ids: slices.Clone(ids)}
}

// Named admits the loops with these names, and no others.
func Named(names ...string) Selector {
	return Selector{restricted: true, names: slices.Clone(names)}
}

// Admits reports whether the loop is selected.
func (s Selector) Admits(loopID, loopName string) bool {
	return !s.restricted || slices.Contains(s.ids, loopID) || slices.Contains(s.names, loopName)
}

// declared lists the selector for the configuration digest.
func (s Selector) declared() []string {
	if !s.restricted {
		return []string{"all"}
	}
	var out []string
	for _, id := range s.ids {
		out = append(out, "id:"+id)
	}
	for _, n := range s.names {
		out = append(out, "name:"+n)
	}
	slices.Sort(out)
	return out
}
