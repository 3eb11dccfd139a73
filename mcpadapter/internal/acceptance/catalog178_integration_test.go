//go:build integration && linux

package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const (
	catalogTools = 178
	// bytesPerToken is how tokens are reckoned where no model counts them.
	bytesPerToken = 4
	// The share of the searches that must find their tool among so many first.
	wantFound = 0.9
	firstFew  = 5
	// dearer is how often the tools of the first request must cost more without
	// deferral.
	dearer = 10
)

// lines are a file's lines that say something.
func lines(t *testing.T, path string) []string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// definition makes a tool of a line of testdata/catalog178.txt.
func definition(t *testing.T, line string) (tool string) {
	t.Helper()
	parts := strings.Split(line, "|")
	if len(parts) != 3 {
		t.Fatalf("%q has no three parts", line)
	}
	properties, required := map[string]any{}, []string{}
	for _, p := range strings.Fields(parts[2]) {
		name := strings.TrimRight(p, "!#?[]{}")
		property := map[string]any{"type": "string", "description": strings.ReplaceAll(name, "_", " ") + " of the request"}
		switch mark := p[len(name):]; {
		case strings.HasPrefix(mark, "#"):
			property["type"] = "integer"
		case strings.HasPrefix(mark, "?"):
			property["type"] = "boolean"
		case strings.HasPrefix(mark, "[]"):
			property["type"], property["items"] = "array", map[string]string{"type": "string"}
		case strings.HasPrefix(mark, "{}"):
			property["type"], property["additionalProperties"] = "object", true
		}
		if strings.HasSuffix(p, "!") {
			required = append(required, name)
		}
		properties[name] = property
	}
	raw, err := json.Marshal(map[string]any{
		"name": strings.TrimSpace(parts[0]), "description": strings.TrimSpace(parts[1]),
		"inputSchema": map[string]any{"type": "object", "properties": properties, "required": required},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// search is a line of testdata/catalog178-queries.txt.
type search struct{ query, want string }

func searches(t *testing.T) []search {
	t.Helper()
	var out []search
	for _, line := range lines(t, "testdata/catalog178-queries.txt") {
		query, want, ok := strings.Cut(line, "|")
		if !ok {
			t.Fatalf("%q means no tool", line)
		}
		out = append(out, search{strings.TrimSpace(query), "mcp__office__" + strings.TrimSpace(want)})
	}
	return out
}

// What 178 tools cost at the first request, with and without deferral, as the
// requests are sent; and that a model which has to search for them finds them.
func TestCatalogOf178(t *testing.T) {
	t.Parallel()
	var tools []string
	for _, line := range lines(t, "testdata/catalog178.txt") {
		tools = append(tools, definition(t, line))
	}
	if len(tools) != catalogTools {
		t.Fatalf("%d tools", len(tools))
	}
	script, err := json.Marshal(map[string]any{"catalogs": map[string]any{"first": map[string]any{"tools": tools}}})
	if err != nil {
		t.Fatal(err)
	}
	cost := map[string]int{}
	for _, discovery := range []string{"eager", "lazy", "auto"} {
		w := newWorld(t)
		find := searches(t)
		b := newBrain(t, func(a asked) thought {
			if discovery != "lazy" || len(a.results()) > 0 {
				return thought{text: "done"}
			}
			var say thought
			for i, s := range find {
				args, _ := json.Marshal(map[string]any{"query": s.query, "limit": firstFew})
				say.calls = append(say.calls, toolUse{fmt.Sprint("q", i), "tool_search", string(args)})
			}
			return say
		})
		w.seed("config.yaml", b.config())
		w.seed("mcp.json", fmt.Sprintf(`{"mcpServers":{"office":{"command":%q,"args":["--script",%q],"discovery":%q}}}`, w.fake, w.write("office.json", string(script)), discovery))
		w.run("--headless", "-p", "find what you need", "--tofu").want(0)
		asks := b.asked()
		first := asks[0]
		cost[discovery] = len(first.RawTools) / bytesPerToken
		t.Logf("%s: %d tools of %d bytes, about %d tokens; the whole first request has %d bytes",
			discovery, len(first.Tools), len(first.RawTools), cost[discovery], len(first.body))
		given, finds := 0, false // the host may have tools of its own as well
		for _, d := range first.Tools {
			if strings.HasPrefix(d.Function.Name, "mcp__office__") {
				given++
			}
			finds = finds || d.Function.Name == "tool_search"
		}
		if want := map[string]int{"eager": catalogTools}[discovery]; given != want || finds != (want == 0) {
			t.Errorf("%s: the first request has %d tools of the server, want %d; a search: %t", discovery, given, want, finds)
		}
		if discovery == "lazy" {
			if len(asks) != 2 {
				t.Fatalf("asked %d times", len(asks))
			}
			checkFound(t, find, asks[1].results())
		}
	}
	if cost["eager"] < dearer*cost["lazy"] {
		t.Errorf("deferral saves too little: %v tokens", cost)
	}
}

// checkFound holds what tool_search answered to the tools that were meant.
func checkFound(t *testing.T, find []search, results map[string]string) {
	t.Helper()
	found := 0
	for i, s := range find {
		var names []string
		for line := range strings.Lines(results[fmt.Sprint("q", i)]) {
			if item, listed := strings.CutPrefix(line, "- "); listed {
				name, _, _ := strings.Cut(strings.TrimSpace(item), ":")
				names = append(names, name)
			}
		}
		rank := slices.Index(names, s.want)
		if rank >= 0 && rank < firstFew {
			found++
		}
		t.Logf("%s: %s is at %d of %s", s.query, s.want, rank+1, strings.Join(names, " "))
	}
	if share := float64(found) / float64(len(find)); len(find) != 20 || share < wantFound {
		t.Errorf("%d of %d searches found their tool among the first %d", found, len(find), firstFew)
	}
}
