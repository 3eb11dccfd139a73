package tool

import (
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/looprig/looprig/internal/safetext"
)

// Bounds of an Index.
const (
	// maxIndexed is how much of one text is indexed, in bytes.
	maxIndexed = 4 << 10
	// maxWord is the longest word that is indexed; longer ones are cut.
	maxWord = 64
	// MaxQuery is the longest query that Search looks at, in bytes.
	MaxQuery = 400
	// summaryBytes bounds a Match's Summary.
	summaryBytes = 160
)

// Index finds tools by words. It is immutable: it belongs to the definitions
// that it was made of, so that it can never be older than they are. It is safe
// for concurrent use.
type Index struct {
	defs  []Definition
	words []string         // sorted
	at    map[string][]hit // by word
}

// Match is one tool that a search found.
type Match struct {
	Definition Definition
	// Summary is the first line of the description, or the title, clean and
	// short.
	Summary string
	Score   int
}

// field is where a word stands; the better places have the higher bits.
type field uint8

const (
	inDescription field = 1 << iota
	inTitle
	inBinding
	inName
)

type hit struct {
	tool  int
	where field
}

// scores of a word by where it stands and how it fits.
var scores = []struct {
	where                    field
	exact, beginning, inside int
}{
	{inName, 100, 60, 25},
	{inBinding, 50, 25, 8},
	{inTitle, 40, 20, 8},
	{inDescription, 15, 8, 3},
}

// NewIndex indexes definitions by the words of their names, bindings, titles
// and descriptions.
func NewIndex(defs []Definition) *Index {
	x := &Index{defs: slices.Clone(defs), at: map[string][]hit{}}
	for i, d := range x.defs {
		x.add(i, inName, d.Identity.Name)
		x.add(i, inBinding, d.Identity.Binding)
		x.add(i, inTitle, d.Title)
		x.add(i, inDescription, d.Description)
	}
	for w := range x.at {
		x.words = append(x.words, w)
	}
	slices.Sort(x.words)
	return x
}

func (x *Index) add(i int, where field, text string) {
	for _, w := range words(text, maxIndexed) {
		hits := x.at[w]
		if n := len(hits); n > 0 && hits[n-1].tool == i {
			hits[n-1].where |= where
			continue
		}
		x.at[w] = append(hits, hit{i, where})
	}
}

// Search returns the best limit tools for a query, and how many match at all.
// A tool that the whole query spells comes first; then what matters is how many
// of the words match, how well, where, and how rare they are. Equal tools are
// ordered by name. A query without words matches every tool, in their order.
func (x *Index) Search(query string, limit int) (best []Match, total int) {
	if len(query) > MaxQuery {
		query = query[:MaxQuery]
	}
	asked := words(query, MaxQuery)
	if len(asked) == 0 {
		total = len(x.defs)
		for i := range min(max(limit, 0), total) {
			best = append(best, x.match(i, 0))
		}
		return best, total
	}
	sum, seen := make([]int, len(x.defs)), make([]int, len(x.defs))
	for _, w := range asked {
		x.score(w, sum, seen)
	}
	for i, s := range sum {
		if x.spells(i, query) {
			s, seen[i] = s+10_000, len(asked)
		}
		if s > 0 {
			best = append(best, Match{Definition: x.defs[i], Score: s * seen[i] / len(asked)})
		}
	}
	slices.SortStableFunc(best, func(a, b Match) int {
		if a.Score != b.Score {
			return b.Score - a.Score
		}
		return strings.Compare(a.Definition.Name, b.Definition.Name)
	})
	total = len(best)
	best = best[:min(max(limit, 0), total)]
	for i := range best {
		best[i].Summary = Summary(best[i].Definition)
	}
	return best, total
}

func (x *Index) match(i, score int) Match {
	return Match{Definition: x.defs[i], Summary: Summary(x.defs[i]), Score: score}
}

// spells reports that a query is one of the spellings of a tool.
func (x *Index) spells(i int, query string) bool {
	want := strings.Join(strings.Fields(query), " ")
	if strings.EqualFold(x.defs[i].Name, want) {
		return true
	}
	for _, spell := range spellings {
		for _, have := range spell(x.defs[i].Identity) {
			if strings.EqualFold(have, want) {
				return true
			}
		}
	}
	return false
}

// score adds what one word of the query is worth for each tool.
func (x *Index) score(asked string, sum, seen []int) {
	found := map[int]int{}
	for _, w := range x.words {
		fits := fit(asked, w)
		if fits == 0 {
			continue
		}
		for _, h := range x.at[w] {
			found[h.tool] = max(found[h.tool], worth(h.where, fits))
		}
	}
	if len(found) == 0 {
		return
	}
	rare := 1 + bits.Len(uint(len(x.defs)/len(found))) // a logarithm, in whole numbers on every machine
	for i, n := range found {
		sum[i] += n * rare
		seen[i]++
	}
}

// The ways in which a word of a query fits an indexed one.
const (
	fitsInside = iota + 1
	fitsBeginning
	fitsExactly
)

func fit(asked, word string) int {
	switch {
	case asked == word:
		return fitsExactly
	case len(asked) >= 2 && strings.HasPrefix(word, asked):
		return fitsBeginning
	case len(asked) >= 3 && strings.Contains(word, asked):
		return fitsInside
	}
	return 0
}

// worth is the score of the best place where a word stands.
func worth(where field, fits int) int {
	for _, s := range scores {
		if where&s.where == 0 {
			continue
		}
		switch fits {
		case fitsExactly:
			return s.exact
		case fitsBeginning:
			return s.beginning
		default:
			return s.inside
		}
	}
	return 0
}

// words splits a text into distinct lower-case words, in order: at everything
// that is neither letter nor digit, between a small letter and a capital, and
// without the s of a plural.
func words(text string, limit int) []string {
	text = text[:min(len(text), limit)]
	var out []string
	seen := map[string]bool{}
	take := func(w string) {
		w = singular(strings.ToLower(cutWord(w)))
		if w != "" && !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	start, last := -1, ' '
	for i, r := range text {
		switch {
		case r == utf8.RuneError, !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r):
			if start >= 0 {
				take(text[start:i])
			}
			start = -1
		case start < 0:
			start = i
		case unicode.IsUpper(r) && (unicode.IsLower(last) || unicode.IsDigit(last)):
			take(text[start:i])
			start = i
		}
		last = r
	}
	if start >= 0 {
		take(text[start:])
	}
	return out
}

func cutWord(w string) string {
	if len(w) <= maxWord {
		return w
	}
	n := maxWord
	for n > 0 && !utf8.RuneStart(w[n]) {
		n--
	}
	return w[:n]
}

func singular(w string) string {
	if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
		return w[:len(w)-1]
	}
	return w
}

// Summary is one clean, short line about a tool: the first line of its
// description, or its title.
func Summary(d Definition) string {
	for _, text := range []string{d.Description, d.Title} {
		first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		if first = strings.TrimSpace(first); first != "" {
			return safetext.ToLineN(first, summaryBytes).String()
		}
	}
	return ""
}
