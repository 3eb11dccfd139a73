package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/looprig/looprig/internal/safetext"
)

// The bounds of a Changes: entries of each list, and bytes of a name in it.
const (
	maxListed     = 64
	maxListedName = 160
)

// Changes tell two generations apart. Entries are "tools/<name>", names cleaned;
// changed ones name the parts: "tools/lookup: description, inputSchema
// /properties/q". A list over its bound ends with how many more there are.
type Changes struct {
	Added, Removed, Changed []string
}

// Diff compares generations; either may be nil.
func Diff(a, b *Generation) Changes {
	type id struct {
		family Family
		key    string
	}
	old := map[id]entry{}
	for _, e := range a.entries() {
		old[id{e.family, e.key}] = e
	}
	var c Changes
	for _, e := range b.entries() {
		was, ok := old[id{e.family, e.key}]
		delete(old, id{e.family, e.key})
		switch {
		case !ok:
			c.Added = append(c.Added, e.String())
		case was.digest != e.digest:
			c.Changed = append(c.Changed, e.String()+": "+strings.Join(parts(was.item, e.item), ", "))
		}
	}
	for _, e := range old {
		c.Removed = append(c.Removed, e.String())
	}
	slices.Sort(c.Removed)
	if a != nil && b != nil && a.Instructions != b.Instructions {
		c.Changed = append(c.Changed, "instructions")
	}
	c.Added, c.Removed, c.Changed = capped(c.Added), capped(c.Removed), capped(c.Changed)
	return c
}

func (e entry) String() string {
	name := safetext.Ident(e.key).String()
	if len(name) > maxListedName {
		name = safetext.ToLineN(name, maxListedName).String()
	}
	return string(e.family) + "/" + name
}

func capped(list []string) []string {
	if len(list) <= maxListed {
		return list
	}
	return append(list[:maxListed:maxListed], fmt.Sprintf("and %d more", len(list)-maxListed))
}

// parts names the members in which two items differ.
func parts(a, b item) []string {
	keys := map[string]bool{}
	for _, m := range a {
		keys[m.key] = true
	}
	for _, m := range b {
		keys[m.key] = true
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		was, _ := a.member(k)
		is, _ := b.member(k)
		if bytes.Equal(was.canonical, is.canonical) {
			continue
		}
		part := safetext.Ident(k).String()
		if at := firstDifference(was.canonical, is.canonical); at != "" {
			part += " " + safetext.ToLineN(at, 160).String()
		}
		out = append(out, part)
	}
	return out
}

// firstDifference is the JSON pointer of the first place in which two canonical
// values differ; "" when they differ as a whole.
func firstDifference(a, b []byte) string {
	var av, bv any
	if decode(a, &av) != nil || decode(b, &bv) != nil {
		return ""
	}
	return difference(av, bv)
}

func decode(raw []byte, v *any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(v)
}

func difference(a, b any) string {
	switch av := a.(type) {
	case map[string]any:
		bv, ok := b.(map[string]any)
		if !ok {
			return ""
		}
		keys := maps.Clone(av)
		maps.Copy(keys, bv)
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			x, inA := av[k]
			y, inB := bv[k]
			if inA && inB && same(x, y) {
				continue
			}
			at := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(k)
			if inA && inB {
				at += difference(x, y)
			}
			return at
		}
	case []any:
		bv, ok := b.([]any)
		if !ok {
			return ""
		}
		for i := range min(len(av), len(bv)) {
			if !same(av[i], bv[i]) {
				return "/" + strconv.Itoa(i) + difference(av[i], bv[i])
			}
		}
		return "/" + strconv.Itoa(min(len(av), len(bv)))
	}
	return ""
}

func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
