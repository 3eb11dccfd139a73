package tool

import (
	"sort"
	"strconv"
	"strings"

	"github.com/looprig/looprig/internal/safetext"
)

// Bounds of the search for a tool that was meant.
const (
	// maxSuggestions is how many names an UnknownToolError offers.
	maxSuggestions = 3
	// maxSpelling is the longest spelling, in bytes, that is compared for
	// likeness; the cost of a comparison is quadratic in it.
	maxSpelling = 96
)

// UnknownToolError says that a spelling names no tool, or more than one.
type UnknownToolError struct {
	// Spelling as it was given, raw.
	Spelling string
	// Suggestions are identities of tools that may have been meant, the
	// likeliest first. They hold names that a source chose.
	Suggestions []string
	// Ambiguous says that all Suggestions fit the spelling.
	Ambiguous bool
}

func (e *UnknownToolError) Error() string {
	var b strings.Builder
	if e.Ambiguous {
		b.WriteString("more than one tool is called ")
	} else {
		b.WriteString("no tool is called ")
	}
	b.WriteString(safetext.Ident(e.Spelling).String())
	if len(e.Suggestions) == 0 {
		return b.String()
	}
	if e.Ambiguous {
		b.WriteString(": say ")
	} else {
		b.WriteString("; did you mean ")
	}
	for i, s := range e.Suggestions {
		if i > 0 {
			b.WriteString(" or ")
		}
		b.WriteString(safetext.Ident(s).String())
	}
	if !e.Ambiguous {
		b.WriteString("?")
	}
	return b.String()
}

// Asked names the tool of a call for people: its identity, or, where nobody has the
// tool, what was asked for, quoted, and that there is none.
func Asked(identity, name string) safetext.Line {
	if identity != "" {
		return safetext.Ident(identity)
	}
	none := " (no such tool)"
	if strings.TrimSpace(name) == "" {
		none = " (no tool was named)"
	}
	quoted := safetext.Ident(name).String()
	if !strings.HasPrefix(quoted, `"`) {
		quoted = `"` + quoted + `"`
	}
	return safetext.ToLine(quoted + none)
}

// Resolve finds a tool by any spelling that people use: the model-facing name,
// the identity "mcp:demo:add", "mcp__demo__add", "demo.add", "demo/add",
// "demo add", or the bare name when no other tool has it; a name in quotes is
// read as it is shown, after names that have quotes themselves. It fails with
// *UnknownToolError.
func (s *Set) Resolve(spelling string) (Definition, error) {
	// As it was given first: the spaces of a name are the source's own.
	tidy := strings.Join(strings.Fields(spelling), " ")
	wants := []string{spelling, tidy}
	if plain, ok := unquoted(spelling); ok {
		wants = append(wants, plain)
	}
	for _, want := range wants {
		if d, ok := s.Lookup(want); ok {
			return d, nil
		}
		for _, spell := range spellings {
			found := s.matching(want, spell)
			if len(found) == 1 {
				return s.defs[found[0]], nil
			}
			if len(found) > 1 {
				return Definition{}, &UnknownToolError{Spelling: spelling, Suggestions: s.identities(found), Ambiguous: true}
			}
		}
	}
	return Definition{}, &UnknownToolError{Spelling: spelling, Suggestions: s.suggest(tidy)}
}

// unquoted takes back the quotes that a name is shown in when it holds more than
// plain characters: demo "a b", or "mcp:demo:a b".
func unquoted(spelling string) (string, bool) {
	at := strings.IndexByte(spelling, '"')
	if at < 0 {
		return "", false
	}
	shown := strings.TrimSuffix(strings.TrimSpace(spelling[at:]), safetext.MixedMarker)
	name, err := strconv.Unquote(shown)
	return strings.TrimLeft(spelling[:at], " ") + name, err == nil
}

// spellings are the ways to name a tool, those that say most first.
var spellings = []func(Identity) []string{fullSpellings, pairSpellings, bareSpellings}

func (s *Set) matching(want string, spell func(Identity) []string) []int {
	var found []int
	for i, d := range s.defs {
		for _, have := range spell(d.Identity) {
			if have == want {
				found = append(found, i)
				break
			}
		}
	}
	return found
}

func (s *Set) identities(at []int) []string {
	out := make([]string, 0, len(at))
	for _, i := range at {
		if len(out) == maxSuggestions {
			break
		}
		out = append(out, s.defs[i].Identity.String())
	}
	return out
}

func fullSpellings(id Identity) []string {
	if id.Binding == "" {
		return []string{id.String()}
	}
	return []string{id.String(), id.Source + "__" + id.Binding + "__" + id.Name}
}

func pairSpellings(id Identity) []string {
	if id.Binding == "" {
		return nil
	}
	b, n := id.Binding, id.Name
	return []string{b + "." + n, b + "/" + n, b + " " + n, b + ":" + n, b + "__" + n}
}

func bareSpellings(id Identity) []string { return []string{id.Name} }

// suggest ranks the tools by their likeness to what was given.
func (s *Set) suggest(want string) []string {
	if want == "" || len(want) > maxSpelling {
		return nil
	}
	type candidate struct {
		id   string
		dist int
	}
	var near []candidate
	for _, d := range s.defs {
		best := -1
		for _, spell := range spellings {
			for _, have := range spell(d.Identity) {
				if dist, ok := likeness(want, have); ok && (best < 0 || dist < best) {
					best = dist
				}
			}
		}
		if best >= 0 {
			near = append(near, candidate{d.Identity.String(), best})
		}
	}
	sort.SliceStable(near, func(i, j int) bool { return near[i].dist < near[j].dist })
	var out []string
	for _, c := range near {
		if len(out) == maxSuggestions {
			break
		}
		out = append(out, c.id)
	}
	return out
}

// likeness is the edit distance without regard to case, where it is small for
// the length of what was given.
func likeness(want, have string) (int, bool) {
	most := max(2, len(want)/3)
	if len(want) <= 2 {
		most = 1
	}
	if len(have) > maxSpelling || abs(len(want)-len(have)) > most {
		return 0, false
	}
	dist := editDistance(strings.ToLower(want), strings.ToLower(have))
	return dist, dist <= most
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// editDistance counts the insertions, deletions and substitutions of bytes that
// make a into b.
func editDistance(a, b string) int {
	prev := make([]int, len(b)+1)
	cur := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
		}
		prev, cur = cur, prev
	}
	return prev[len(b)]
}
