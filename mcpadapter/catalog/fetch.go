package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// Reasons for which a listing is refused.
var (
	// ErrRepeatedCursor: a page leads back to one that was read already.
	ErrRepeatedCursor = errors.New("the listing repeats a cursor")
	// ErrDuplicateName: two tools of one listing have the same raw name.
	ErrDuplicateName = errors.New("two tools have the same name")
)

// Family is a kind of listing.
type Family = protocol.Family

var allFamilies = []Family{protocol.Tools, protocol.Prompts, protocol.Resources, protocol.Templates}

// Lister reads one page of a listing; cursor "" asks for the first.
type Lister interface {
	List(ctx context.Context, fam protocol.Family, cursor string) (protocol.Page, error)
}

// Request says what to fetch.
type Request struct {
	// Binding is the name that the tools' model-facing names are made of.
	Binding string
	Info    protocol.Info
	// Families to read anew; the others are taken from Prev. Nil reads all that
	// the server advertises.
	Families []Family
	// Prev is the generation before, or nil.
	Prev   *Generation
	Limits Limits
	// Strict tolerates nothing that deviates from the revision.
	Strict bool
	// Tolerances were applied by the caller and are recorded with the others.
	Tolerances []string
	Now        time.Time
	// Refused, when set, is told of a family other than the tools whose listing
	// was refused: what was known of it is kept, and the rest goes on.
	Refused func(fam Family, err error)
}

// familyPages is what was read of one family.
type familyPages struct {
	items       []item
	pageDigests [][sha256.Size]byte
	warnings    []string
}

// Fetch reads the families and builds a generation. changed is false, and the
// result Prev itself, when the digest is Prev's. Errors are *protocol.Error.
func Fetch(ctx context.Context, l Lister, r Request) (g *Generation, changed bool, err error) {
	r.Limits = r.Limits.withDefaults()
	f := &fetcher{l: l, r: r, tolerances: slices.Clone(r.Tolerances)}
	families := map[Family]familyPages{}
	if r.Prev != nil && r.Families != nil {
		for fam, pages := range r.Prev.families {
			families[fam] = pages
		}
	}
	for _, fam := range f.wanted() {
		pages, err := f.family(ctx, fam)
		if err != nil {
			return nil, false, err
		}
		families[fam] = pages
	}
	g, err = build(r, families, f.tolerances)
	if err != nil {
		return nil, false, err
	}
	if r.Prev == nil {
		g.Number = 1
		return g, true, nil
	}
	if g.Digest == r.Prev.Digest {
		return r.Prev, false, nil
	}
	g.Number = r.Prev.Number + 1
	return g, true, nil
}

type fetcher struct {
	l          Lister
	r          Request
	bytes      int
	tolerances []string
}

// wanted lists the families to read, in their fixed order.
func (f *fetcher) wanted() []Family {
	if f.r.Families != nil {
		var out []Family
		for _, fam := range allFamilies {
			if slices.Contains(f.r.Families, fam) {
				out = append(out, fam)
			}
		}
		return out
	}
	var caps map[string]json.RawMessage
	_ = json.Unmarshal(f.r.Info.Capabilities, &caps) // absent or malformed: nothing is advertised
	has := func(key string) bool { v, ok := caps[key]; return ok && string(v) != "null" }
	var out []Family
	if has("tools") {
		out = append(out, protocol.Tools)
	}
	if has("prompts") {
		out = append(out, protocol.Prompts)
	}
	if has("resources") {
		out = append(out, protocol.Resources, protocol.Templates)
	}
	if len(out) == 0 && !f.r.Strict {
		f.tolerances = append(f.tolerances, "undeclared_tools: the server advertises nothing; its tools were asked for all the same")
		out = append(out, protocol.Tools)
	}
	return out
}

// family reads every page of one family. A family whose method does not exist
// is empty; one other than the tools that answers with an error, or with what is
// refused, keeps what was known of it and takes nothing else with it.
func (f *fetcher) family(ctx context.Context, fam Family) (familyPages, error) {
	before := f.bytes
	pages, err := f.pages(ctx, fam)
	var pe *protocol.Error
	if err == nil || !errors.As(err, &pe) {
		return pages, err
	}
	if pe.Class == protocol.ClassRemote && pe.Code == protocol.CodeMethodNotFound {
		return familyPages{}, nil
	}
	if fam == protocol.Tools || !f.mayFail(pe.Class) {
		return familyPages{}, err
	}
	f.bytes = before
	kept := familyPages{}
	if f.r.Prev != nil {
		kept = f.r.Prev.families[fam]
	}
	warning := fmt.Sprintf("what was known of %s is kept: %s", fam, pe.Error())
	if !slices.Contains(kept.warnings, warning) {
		kept.warnings = append(slices.Clone(kept.warnings), warning)
	}
	if f.r.Refused != nil {
		f.r.Refused(fam, err)
	}
	return kept, nil
}

// mayFail reports the failures of a listing that concern it alone.
func (f *fetcher) mayFail(class protocol.Class) bool {
	switch class {
	case protocol.ClassRemote:
		return true
	case protocol.ClassOverLimit, protocol.ClassCatalog, protocol.ClassMalformed, protocol.ClassUnsupported, protocol.ClassProtocol:
		return !f.r.Strict
	default:
		return false
	}
}

func (f *fetcher) pages(ctx context.Context, fam Family) (familyPages, error) {
	var out familyPages
	nulls := 0
	seen := map[string]bool{}
	cursor := ""
	for n := 1; ; n++ {
		if n > f.r.Limits.Pages {
			return out, overLimit(fam, "too many pages", n, f.r.Limits.Pages, "limits.pages")
		}
		page, err := f.l.List(ctx, fam, cursor)
		if err != nil {
			return out, err
		}
		nulls += page.NullItems
		if err := f.take(fam, page, &out, &nulls); err != nil {
			return out, err
		}
		cursor = page.NextCursor
		if cursor == "" {
			break
		}
		if len(cursor) > f.r.Limits.CursorBytes {
			return out, overLimit(fam, "a cursor is too long", len(cursor), f.r.Limits.CursorBytes, "limits.cursorBytes")
		}
		if seen[cursor] {
			return out, refused(fam, protocol.ClassCatalog, ErrRepeatedCursor)
		}
		seen[cursor] = true
	}
	if nulls > 0 {
		out.warnings = append(out.warnings, fmt.Sprintf("%d null entries in the listing of %s were dropped", nulls, fam))
	}
	return out, nil
}

// take adds one page's items.
func (f *fetcher) take(fam Family, page protocol.Page, out *familyPages, nulls *int) error {
	lim := f.r.Limits
	size := len(page.Raw)
	if size == 0 {
		for _, raw := range page.Items {
			size += len(raw)
		}
	}
	if size > lim.PageBytes {
		return overLimit(fam, "a page is too large", size, lim.PageBytes, "limits.pageBytes")
	}
	if f.bytes += size; f.bytes > lim.CatalogBytes {
		return overLimit(fam, "the catalog is too large", f.bytes, lim.CatalogBytes, "limits.catalogBytes")
	}
	max, setting := lim.count(fam)
	if total := len(out.items) + len(page.Items); total > max {
		return overLimit(fam, "too many entries", total, max, setting)
	}
	h := newHash(domainPages)
	for _, raw := range page.Items {
		h.frame(raw)
		if string(raw) == "null" {
			*nulls++
			continue
		}
		it, err := parseItem(raw)
		if err != nil {
			return refused(fam, protocol.ClassMalformed, err)
		}
		out.items = append(out.items, it)
	}
	out.pageDigests = append(out.pageDigests, [sha256.Size]byte(h.h.Sum(nil)))
	return nil
}

func (l Limits) count(fam Family) (max int, setting string) {
	switch fam {
	case protocol.Prompts:
		return l.Prompts, "limits.prompts"
	case protocol.Resources:
		return l.Resources, "limits.resources"
	case protocol.Templates:
		return l.Templates, "limits.templates"
	default:
		return l.Tools, "limits.tools"
	}
}

func op(fam Family) string {
	if fam == protocol.Templates {
		return "resources/templates/list"
	}
	return string(fam) + "/list"
}

func overLimit(fam Family, what string, size, limit int, setting string) error {
	return &protocol.Error{
		Class: protocol.ClassOverLimit, Op: op(fam), Message: what,
		Limit: int64(limit), Size: int64(size), Setting: setting,
	}
}

func refused(fam Family, class protocol.Class, err error) error {
	return &protocol.Error{Class: class, Op: op(fam), Message: "the listing was refused: " + err.Error(), Err: err}
}
