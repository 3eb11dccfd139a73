package schema

import (
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The bounds on patterns. RE2 never backtracks, but one short pattern with
// nested repetitions can compile to millions of instructions, and a class such
// as \pL carries a table of its own.
const (
	maxPatternBytes   = 4 << 10  // one pattern
	maxPatternProgram = 20_000   // instructions of one pattern
	maxProgramTotal   = 200_000  // instructions of all patterns
	maxPatternClasses = 1 << 20  // code points in the tables of all patterns
	maxPatternWork    = 50 << 20 // bytes times instructions in one validation
)

// patternSet holds the patterns of one schema, compiled or given up.
type patternSet struct {
	meter    *meter
	patterns map[string]*pattern
	program  int
	classes  int
}

func newPatternSet(m *meter) *patternSet {
	return &patternSet{meter: m, patterns: map[string]*pattern{}}
}

// pattern is one pattern of a schema. A nil re means that it is left to the
// server.
type pattern struct {
	text  string
	re    *regexp.Regexp
	cost  int // instructions, about
	meter *meter
}

var _ jsonschema.Regexp = (*pattern)(nil)

func (p *pattern) String() string { return p.text }

// MatchString pays for the match in advance: a single one may be long.
func (p *pattern) MatchString(s string) bool {
	if p.re == nil {
		return p.meter.unknownMatches
	}
	p.meter.charge((len(s) + 1) * p.cost)
	return p.re.MatchString(s)
}

// add compiles a pattern and reports whether it can be checked here.
func (ps *patternSet) add(text string) bool { return ps.get(text).re != nil }

func (ps *patternSet) get(text string) *pattern {
	if p, ok := ps.patterns[text]; ok {
		return p
	}
	ps.meter.inTime()
	p := &pattern{text: text, meter: ps.meter}
	ps.patterns[text] = p
	if len(text) > maxPatternBytes {
		return p
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return p
	}
	program, classes := patternSize(tree)
	if program > maxPatternProgram || ps.program+program > maxProgramTotal || ps.classes+classes > maxPatternClasses {
		return p
	}
	ps.program += program
	ps.classes += classes
	if re, err := regexp.Compile(text); err == nil {
		p.re, p.cost = re, program
	}
	return p
}

// engine is the library's view of the set. It never fails: what cannot be
// compiled is left to the server instead.
func (ps *patternSet) engine(text string) (jsonschema.Regexp, error) { return ps.get(text), nil }

// patternSize estimates from above how many instructions a pattern compiles to
// and how many code points its classes list, both saturating.
func patternSize(re *syntax.Regexp) (program, classes int) {
	const most = maxPatternProgram + maxPatternClasses
	program, classes = 1+len(re.Rune), len(re.Rune)
	if re.Op == syntax.OpCharClass {
		program = 1
	}
	for _, sub := range re.Sub {
		p, c := patternSize(sub)
		program, classes = program+p, classes+c
	}
	if re.Op == syntax.OpRepeat {
		times := max(re.Min, re.Max, 1) + 1
		program, classes = program*times, classes*times
	}
	return min(program+1, most), min(classes, most)
}
