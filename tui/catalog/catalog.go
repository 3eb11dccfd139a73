// Package catalog shows what a binding offers, kind by kind: tools, prompts,
// resources and templates, with description, schema, hints and digest, and what
// changed between two generations. It draws generations that are in memory and
// returns what a person asked for; it calls, reads and changes nothing.
package catalog

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/list"
	"github.com/looprig/looprig/tui/theme"
)

const (
	wide     = 100
	maxQuery = 100
	// maxText bounds what is laid out of one description or schema, in bytes.
	maxText = 256 << 10
)

// The kinds of item, as integration.Item.Kind has them, in the order of the tabs.
const (
	Tool     = "tool"
	Prompt   = "prompt"
	Resource = "resource"
	Template = "template"
)

var kinds = []string{Tool, Prompt, Resource, Template}

// Data is what the screen shows. Binding is the name that was asked for.
type Data struct {
	Binding string
	// Catalog is the generation that is shown, nil when there is none; Newest is
	// the newest one that is kept.
	Catalog *integration.Catalog
	Newest  uint64
	// Before is the generation to compare with, nil when no older one is kept.
	Before *integration.Catalog
	// Deferred are the model-facing names of tools that a model has to search for.
	Deferred map[string]bool
	// Watched are the resources whose changes are reported, Updated how often each
	// changed since it was last read.
	Watched map[string]bool
	Updated map[string]int
}

// Screen is the state of the screen. It is not safe for concurrent use.
type Screen struct {
	kind       string // "" until the person chose one
	at         int
	query      []rune
	filtering  bool
	detail     bool
	comparing  bool
	generation uint64 // 0 is the newest
	pager      list.Pager
	cache      struct {
		key   string
		width int
		th    *theme.Theme
		lines []string
	}
	changes struct {
		of, with *integration.Catalog
		list     []change
	}
}

// Action is what a key press asks for. Item is the one under the cursor for the
// actions that need one.
type Action struct {
	ID   keymap.ID
	Item integration.Item
}

// Reset starts at the top, for another binding.
func (s *Screen) Reset() { *s = Screen{} }

// Generation is the generation that the person wants to see; 0 is the newest.
func (s *Screen) Generation() uint64 { return s.generation }

// Comparing reports that the person wants to see what changed.
func (s *Screen) Comparing() bool { return s.comparing }

// Show goes to a kind.
func (s *Screen) Show(kind string) { s.kind, s.at, s.detail, s.pager = kind, 0, false, list.Pager{} }

// matching are the items that the filter leaves, removed ones included while
// generations are compared.
func (s *Screen) matching(d Data) []integration.Item {
	if d.Catalog == nil {
		return nil
	}
	all := d.Catalog.Items
	if s.comparing {
		all = s.compared(d)
	}
	if len(s.query) == 0 {
		return all
	}
	q := strings.ToLower(string(s.query))
	var out []integration.Item
	for _, it := range all {
		if strings.Contains(strings.ToLower(it.Name+" "+it.Title+" "+it.Description), q) {
			out = append(out, it)
		}
	}
	return out
}

// counts is how many items of each kind the filter leaves.
func counts(items []integration.Item) map[string]int {
	n := map[string]int{}
	for _, it := range items {
		n[it.Kind]++
	}
	return n
}

// shown is the kind that is shown: the one that was chosen, or the first that has
// something.
func (s *Screen) shown(items []integration.Item) string {
	if s.kind != "" {
		return s.kind
	}
	n := counts(items)
	for _, k := range kinds {
		if n[k] > 0 {
			return k
		}
	}
	return Tool
}

func (s *Screen) found(d Data) []integration.Item {
	items := s.matching(d)
	kind := s.shown(items)
	var out []integration.Item
	for _, it := range items {
		if it.Kind == kind {
			out = append(out, it)
		}
	}
	return out
}

// Selected is the item under the cursor.
func (s *Screen) Selected(d Data) (integration.Item, bool) {
	found := s.found(d)
	if len(found) == 0 {
		return integration.Item{}, false
	}
	s.at = min(max(s.at, 0), len(found)-1)
	return found[s.at], true
}

// Key handles a key press.
func (s *Screen) Key(k tea.KeyPressMsg, keys *keymap.Map, d Data) Action {
	if s.filtering {
		s.filterKey(k)
		return Action{}
	}
	id, _ := keys.Match(k, keymap.Catalog, keymap.Global)
	it, any := s.Selected(d)
	switch id {
	case keymap.CatalogFilter:
		s.filtering, s.detail = true, false
	case keymap.CatalogDetail:
		s.detail = !s.detail && any
		s.pager = list.Pager{}
	case keymap.CatalogKindOn:
		s.turn(d, 1)
	case keymap.CatalogKindBack:
		s.turn(d, -1)
	case keymap.CatalogCompare:
		s.comparing = !s.comparing
		s.pager = list.Pager{}
	case keymap.CatalogOlder, keymap.CatalogNewer:
		s.step(d, id == keymap.CatalogOlder)
	case keymap.CatalogUse, keymap.CatalogWatch, keymap.CatalogRaw, keymap.CatalogCopy:
		if any {
			return Action{ID: id, Item: it}
		}
	case keymap.Back:
		return s.back()
	case "":
		s.moveKey(k, keys, d)
	default:
		return Action{ID: id}
	}
	return Action{}
}

func (s *Screen) back() Action {
	switch {
	case s.detail:
		s.detail = false
	case len(s.query) > 0:
		s.query = nil
	case s.comparing:
		s.comparing = false
	case s.generation != 0:
		s.generation = 0
	default:
		return Action{ID: keymap.Back}
	}
	return Action{}
}

// turn goes to the next kind, or the one before.
func (s *Screen) turn(d Data, by int) {
	now := s.shown(s.matching(d))
	for i, k := range kinds {
		if k == now {
			s.Show(kinds[(i+by+len(kinds))%len(kinds)])
			return
		}
	}
}

// step goes to an older or a newer generation that is kept.
func (s *Screen) step(d Data, older bool) {
	switch {
	case d.Catalog == nil:
	case older && d.Before != nil:
		s.generation = d.Before.Generation
	case !older && d.Catalog.Generation+1 < d.Newest:
		s.generation = d.Catalog.Generation + 1
	case !older:
		s.generation = 0
	}
}

func (s *Screen) filterKey(k tea.KeyPressMsg) {
	switch k.String() {
	case "enter":
		s.filtering = false
	case "esc":
		s.filtering, s.query = false, nil
	case "backspace":
		if n := len(s.query); n > 0 {
			s.query = s.query[:n-1]
		}
	default:
		s.Paste(k.Text)
	}
	s.at = 0
}

// Paste adds to the filter while it is written.
func (s *Screen) Paste(text string) {
	if s.filtering {
		s.query = append(s.query, []rune(string(safetext.ToLine(text)))...)
		s.query = s.query[:min(len(s.query), maxQuery)]
	}
}

func (s *Screen) moveKey(k tea.KeyPressMsg, keys *keymap.Map, d Data) {
	if s.detail {
		s.pager.Key(k, keys)
		return
	}
	n := len(s.found(d))
	at := s.at
	switch k.String() {
	case "up", "k":
		at--
	case "down", "j":
		at++
	case "pgup":
		at -= 10
	case "pgdown":
		at += 10
	case "home", "g":
		at = 0
	case "end", "G":
		at = n - 1
	default:
		s.pager.Key(k, keys)
		return
	}
	s.at = min(max(at, 0), max(n-1, 0))
	s.pager = list.Pager{}
}
