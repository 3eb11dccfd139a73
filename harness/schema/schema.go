// Package schema compiles JSON Schemas that a server wrote and validates
// instances against them, without trusting either.
//
// Every bound is checked before the work it bounds: bytes, JSON depth, nodes
// after expansion of references, time. A schema that would need the network
// or the file system, that refers to itself without descending into the
// instance, or that has duplicate keys is refused with a typed [Error].
// Numbers are never turned into floating point.
//
// The package is the only importer of a JSON Schema library; it must import
// nothing of the adapter, the interface or the session.
package schema

import (
	"slices"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The defaults of [Limits].
const (
	DefaultBytes        = 256 << 10
	DefaultDepth        = 32
	DefaultNodes        = 10_000
	DefaultJSONDepth    = 64
	DefaultCompileTime  = time.Second
	DefaultValidateTime = 250 * time.Millisecond
)

// Limits bounds one schema and the work that it may cause. A zero field means
// the default.
type Limits struct {
	// Bytes is the largest schema accepted.
	Bytes int
	// Depth is how deeply schemas may nest inside each other, as written.
	Depth int
	// Nodes is how many schemas and enumerated values there may be once every
	// reference is replaced by what it points to. A reference back into a
	// recursive type counts once.
	Nodes int
	// JSONDepth is how deeply objects and arrays may nest, in schemas and in
	// instances.
	JSONDepth int
	// CompileTime bounds reading a schema and compiling its patterns; what the
	// library does after that is bounded by the counts above.
	CompileTime time.Duration
	// ValidateTime bounds one validation, whatever the schema and the instance.
	ValidateTime time.Duration
}

func (l Limits) withDefaults() Limits {
	l.Bytes = orDefault(l.Bytes, DefaultBytes)
	l.Depth = orDefault(l.Depth, DefaultDepth)
	l.Nodes = orDefault(l.Nodes, DefaultNodes)
	l.JSONDepth = orDefault(l.JSONDepth, DefaultJSONDepth)
	l.CompileTime = orDefault(l.CompileTime, DefaultCompileTime)
	l.ValidateTime = orDefault(l.ValidateTime, DefaultValidateTime)
	return l
}

func orDefault[T int | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

// Schema is a compiled schema. It does not change and may be used by several
// goroutines at once; validations of one Schema run one after the other, each
// bounded by [Limits].ValidateTime.
type Schema struct {
	raw       []byte
	lim       Limits
	unchecked []string

	mu   sync.Mutex // held during a validation: the meter belongs to one
	root *jsonschema.Schema
	met  *meter
}

// Raw returns a copy of the bytes that were compiled.
func (s *Schema) Raw() []byte { return slices.Clone(s.raw) }

// Unchecked returns JSON pointers to the keywords that are left to the server
// because they cannot be checked here, such as a pattern with look-ahead.
func (s *Schema) Unchecked() []string { return slices.Clone(s.unchecked) }
