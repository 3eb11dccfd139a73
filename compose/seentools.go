package compose

import (
	"context"
	"slices"
	"strings"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/journal"
)

// Bounds of looking for what is known of servers that are not started.
const (
	maxSeenSessions = 20
	maxSeenRecords  = 5000 // of one session; what a longer one has is not known
)

// seen is what one session's journal tells of a server's tools.
type seen struct {
	generation uint64
	tools      map[string]bool
	whole      bool
}

// SeenTools are the raw names of the tools that servers had when they were last
// started, by binding, out of the newest sessions' journals. A server whose tools
// are not told there whole is left out: its tools are not known.
func SeenTools(ctx context.Context, store journal.Store) (map[string][]string, error) {
	out := map[string][]string{}
	metas, err := store.List(ctx, journal.Query{Limit: maxSeenSessions})
	if err != nil {
		return nil, err
	}
	met := map[string]bool{} // in a newer session, told whole or not
	for _, m := range metas {
		known, err := seenIn(ctx, store, m)
		if err != nil {
			return nil, err
		}
		for name, s := range known {
			if !met[name] && s.whole {
				out[name] = []string{}
				for t := range s.tools {
					out[name] = append(out[name], t)
				}
				slices.Sort(out[name])
			}
			met[name] = true
		}
	}
	return out, nil
}

func seenIn(ctx context.Context, store journal.Store, m journal.Meta) (map[string]*seen, error) {
	out := map[string]*seen{}
	n := 0
	for rec, err := range store.Read(ctx, m.Session, 1) {
		if err != nil {
			return nil, err
		}
		if n++; n > maxSeenRecords {
			for _, s := range out {
				s.whole = false
			}
			break
		}
		if rec.Type != string(event.TypeCatalogCandidate) {
			continue
		}
		e, err := event.Decode(rec.Line)
		if c, ok := e.(*event.CatalogCandidate); ok && err == nil {
			if out[c.Binding] == nil {
				out[c.Binding] = &seen{}
			}
			out[c.Binding].apply(c.CatalogChange)
		}
	}
	return out, nil
}

// apply follows a change of a catalog. Its lists are for people: they may be cut,
// and a name that is not plain is written otherwise.
func (s *seen) apply(c event.CatalogChange) {
	if c.From == 0 {
		*s = seen{tools: map[string]bool{}, whole: true}
	}
	s.whole = s.whole && s.generation == c.From
	s.generation = c.Generation
	if !s.whole {
		return
	}
	for _, name := range c.Removed {
		if tool, ok := strings.CutPrefix(name, "tools/"); ok {
			delete(s.tools, tool)
		}
	}
	for _, name := range c.Added {
		if tool, ok := strings.CutPrefix(name, "tools/"); ok {
			s.tools[tool] = true
			s.whole = s.whole && !strings.HasPrefix(tool, `"`)
		}
	}
	s.whole = s.whole && len(s.tools) == c.Tools
}
