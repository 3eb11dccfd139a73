package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// announceWait bounds the wait of evolve for its list_changed to go out. A
// modern client that does not listen gets none, and waits this long.
const announceWait = 250 * time.Millisecond

// table is what lookup knows.
var table = map[string]string{
	"adoption":   "Installing a new set of tools on a loop while it is idle.",
	"binding":    "A named server, attached to a scope.",
	"catalog":    "What a server offers: tools, prompts, resources, templates.",
	"gate":       "A question that only somebody outside the loop may answer.",
	"generation": "One numbered, immutable snapshot of a catalog.",
	"ledger":     "The chained record of decisions and calls.",
	"pin":        "An accepted fingerprint of a program or a tool.",
	"turn":       "One input of the user, up to the final answer.",
}

type lookupIn struct {
	Key   string `json:"key"`
	Limit int    `json:"limit"`
}

type evolveOut struct {
	Edition int      `json:"edition"`
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
	Changed []string `json:"changed"`
}

func (s *server) addEvolution() {
	register(s, &mcp.Tool{
		Name: "evolve", Title: "Evolve", Description: "Changes this server's own catalog: lookup changes, greet comes or goes.",
		InputSchema: json.RawMessage(noArguments), OutputSchema: json.RawMessage(evolveSchema),
		Annotations: &mcp.ToolAnnotations{DestructiveHint: no(), OpenWorldHint: no()},
	}, s.evolve)
	s.addLookup(1)
}

// addLookup adds lookup as it is in an edition: the first has only a key,
// every later one a limit too, whose bound grows.
func (s *server) addLookup(edition int) {
	description := "Looks a word up in a small glossary."
	limit := ""
	if edition > 1 {
		description = fmt.Sprintf("Looks a word up in a small glossary (edition %d).", edition)
		limit = fmt.Sprintf(`,"limit":{"type":"integer","title":"Limit","description":"The most characters to return.",`+
			`"minimum":1,"maximum":%d,"default":%[1]d}`, 100*edition)
	}
	words := slices.Sorted(maps.Keys(table))
	examples, _ := json.Marshal(words[:2])
	register(s, &mcp.Tool{
		Name: "lookup", Title: "Look up", Description: description,
		InputSchema: json.RawMessage(`{"type":"object","properties":{` +
			`"key":{"type":"string","title":"Word","description":"The word to look up.","minLength":1,"maxLength":100,` +
			`"examples":` + string(examples) + `}` + limit + `},"required":["key"],"additionalProperties":false}`),
		Annotations: harmless(),
	}, lookup)
}

func lookup(_ context.Context, _ *mcp.CallToolRequest, in lookupIn) (*mcp.CallToolResult, any, error) {
	found, ok := table[strings.ToLower(in.Key)]
	if !ok {
		return nil, nil, fmt.Errorf("%q is not in the glossary; it has: %s", in.Key,
			strings.Join(slices.Sorted(maps.Keys(table)), ", "))
	}
	if in.Limit > 0 && len(found) > in.Limit {
		return text("%s… (%d of %d characters)", found[:in.Limit], in.Limit, len(found)), nil, nil
	}
	return text("%s", found), nil, nil
}

func (s *server) evolve(ctx context.Context, _ *mcp.CallToolRequest, _ noIn) (*mcp.CallToolResult, evolveOut, error) {
	out := s.nextEdition()
	s.awaitAnnouncement(ctx)
	said := fmt.Sprintf("the catalog is now edition %d: changed lookup (description, input schema)", out.Edition)
	if len(out.Added) > 0 {
		said += ", added greet"
	}
	if len(out.Removed) > 0 {
		said += ", removed greet"
	}
	return text("%s", said), out, nil
}

// nextEdition changes the catalog. Two calls at once are served one after the
// other, so that each reports its own edition.
func (s *server) nextEdition() evolveOut {
	s.evolving.Lock()
	defer s.evolving.Unlock()
	select { // what an earlier change announced does not count
	case <-s.announced:
	default:
	}
	s.edition++
	out := evolveOut{Edition: s.edition, Added: []string{}, Removed: []string{}, Changed: []string{"lookup"}}
	s.addLookup(s.edition)
	if s.edition%2 == 0 {
		s.addGreet()
		out.Added = append(out.Added, "greet")
	} else {
		s.sdk.RemoveTools("greet")
		out.Removed = append(out.Removed, "greet")
	}
	return out
}

// awaitAnnouncement lets list_changed overtake the result, so that a client
// knows of the change before the next call of the same turn.
func (s *server) awaitAnnouncement(ctx context.Context) {
	t := time.NewTimer(announceWait)
	defer t.Stop()
	select {
	case <-s.announced:
	case <-t.C:
	case <-ctx.Done():
	}
}

func (s *server) addGreet() {
	register(s, &mcp.Tool{
		Name: "greet", Title: "Greet", Description: "Greets somebody. It is there in every second edition of the catalog.",
		InputSchema: json.RawMessage(greetSchema), Annotations: harmless(),
	}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Who string `json:"who"`
	}) (*mcp.CallToolResult, any, error) {
		return text("Hello, %s!", in.Who), nil, nil
	})
}
