package tool

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func described(binding, name, title, description string) Definition {
	d := def(binding, name)
	d.Title, d.Description = title, description
	return d
}

func found(x *Index, query string, limit int) []string {
	best, _ := x.Search(query, limit)
	out := make([]string, len(best))
	for i, m := range best {
		out[i] = m.Definition.Identity.String()
	}
	return out
}

func shop() *Index {
	return NewIndex([]Definition{
		described("github", "list_issues", "", "List the issues of a repository."),
		described("github", "create_issue", "Create issue", "Create a new issue in a repository."),
		described("github", "createPullRequest", "", "Open a pull request."),
		described("github", "reissue_token", "", "Give out a token again."),
		described("files", "read_file", "Read a file", "Read the whole of a file.\nSecond line."),
		described("files", "write_file", "", "Write a file; creates it where there is none."),
		described("mail", "send", "", "Send a message about anything: an issue, a file."),
		described("db", "query", "SQL query", ""),
	})
}

func TestSearchRanks(t *testing.T) {
	t.Parallel()
	x := shop()
	for query, want := range map[string][]string{
		// Both words of the name beat one; an exact word beats a substring, a name a description.
		"create issue":        {"mcp:github:create_issue", "mcp:github:createPullRequest", "mcp:github:list_issues"},
		"issue":               {"mcp:github:create_issue", "mcp:github:list_issues", "mcp:github:reissue_token", "mcp:mail:send"},
		"issues":              {"mcp:github:create_issue", "mcp:github:list_issues", "mcp:github:reissue_token", "mcp:mail:send"},
		"pull request":        {"mcp:github:createPullRequest"},
		"PullRequest":         {"mcp:github:createPullRequest"},
		"send":                {"mcp:mail:send"},
		"mail":                {"mcp:mail:send"},
		"files.read_file":     {"mcp:files:read_file"},
		"mcp__db__query":      {"mcp:db:query"},
		"sql":                 {"mcp:db:query"},
		"wri":                 {"mcp:files:write_file"},
		"read the whole file": {"mcp:files:read_file"},
	} {
		if got := found(x, query, len(want)); !slices.Equal(got, want) {
			t.Errorf("%q finds %v, want %v", query, got, want)
		}
	}
	for _, nothing := range []string{"zebra", "q x", "—"} {
		if best, total := x.Search(nothing, 5); nothing != "—" && (len(best) != 0 || total != 0) {
			t.Errorf("%q finds %v", nothing, best)
		}
	}
}

func TestSearchBounds(t *testing.T) {
	t.Parallel()
	x := shop()
	if got, total := x.Search("", 3); len(got) != 3 || total != 8 || got[0].Definition.Identity.Name != "list_issues" {
		t.Errorf("everything: %v of %d", got, total)
	}
	if got, total := x.Search("issue", 1); len(got) != 1 || total != 4 {
		t.Errorf("%d of %d", len(got), total)
	}
	for _, limit := range []int{0, -1} {
		if got, _ := x.Search("issue", limit); len(got) != 0 {
			t.Errorf("limit %d gives %d", limit, len(got))
		}
	}
	if got, total := NewIndex(nil).Search("issue", 3); len(got) != 0 || total != 0 {
		t.Error("an empty index finds something")
	}
	if got := found(x, strings.Repeat("zebra ", 1000)+"issue", 3); len(got) != 0 {
		t.Errorf("a word beyond the bound is looked for: %v", got)
	}
}

func TestSummaryIsOneCleanLine(t *testing.T) {
	t.Parallel()
	d := described("a", "b", "Title", "  First\x1b[2J line\u202e \nsecond")
	if got := Summary(d); strings.ContainsAny(got, "\x1b\n\u202e") || !strings.HasPrefix(got, "First") || strings.Contains(got, "second") {
		t.Errorf("%q", got)
	}
	d.Description = " \n "
	if got := Summary(d); got != "Title" {
		t.Errorf("%q", got)
	}
	d.Description = strings.Repeat("long ", 1000)
	if got := Summary(d); len(got) > 2*summaryBytes || !strings.Contains(got, "bytes") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

// The order of the result depends on nothing but the definitions and the query.
func TestSearchIsDeterministic(t *testing.T) {
	t.Parallel()
	var defs []Definition
	for i := range 300 {
		defs = append(defs, described(fmt.Sprintf("b%d", i%7), fmt.Sprintf("get_thing_%03d", i), "", "Get the thing, or list things."))
	}
	want := found(NewIndex(defs), "list thing", 50)
	slices.Reverse(defs)
	for range 5 {
		if got := found(NewIndex(defs), "list thing", 50); !slices.Equal(got, want) {
			t.Fatalf("%v\n%v", got, want)
		}
	}
}

func TestLargeIndex(t *testing.T) {
	t.Parallel()
	var defs []Definition
	for i := range 10_000 {
		defs = append(defs, described("b", fmt.Sprintf("tool_%d_w%d", i, i%97), "", strings.Repeat(fmt.Sprintf("word%d ", i), 100)))
	}
	began := time.Now()
	x := NewIndex(defs)
	if got := found(x, "tool 4242", 1); !slices.Equal(got, []string{"mcp:b:tool_4242_w71"}) {
		t.Errorf("%v", got)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("10,000 tools take %v", took)
	}
}

func FuzzIndex(f *testing.F) {
	f.Add("create_issue", "Create an issue", "issue")
	f.Add("\xff\x80", "İSTANBUL ſ s", "\u0130")
	f.Add(strings.Repeat("é", 100), "", strings.Repeat("é", 100))
	f.Fuzz(func(t *testing.T, name, description, query string) {
		x := NewIndex([]Definition{described("b", name, "", description), described("b", "other", "", "")})
		best, total := x.Search(query, 5)
		if len(best) > total || total > 2 {
			t.Fatalf("%d of %d", len(best), total)
		}
		for _, m := range best {
			if !utf8.ValidString(m.Summary) || strings.ContainsAny(m.Summary, "\n\x1b") {
				t.Fatalf("%q", m.Summary)
			}
		}
	})
}
