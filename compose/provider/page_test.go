package provider

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page on compatibility says something of every kind and feature, and the
// tests that it names exist.
func TestCompatibilityPage(t *testing.T) {
	t.Parallel()
	const root = "../.."
	raw, err := os.ReadFile(filepath.Join(root, "docs", "compatibility.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(raw), "## Model providers\n")
	if !ok {
		t.Fatal("the page says nothing of model providers")
	}
	tests := testNames(t, root)
	for _, name := range regexp.MustCompile(`\bTest[A-Z]\w*`).FindAllString(section, -1) {
		if !tests[name] {
			t.Errorf("there is no test %s", name)
		}
	}
	var columns []string
	rows := 0
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| ---") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if columns == nil {
			columns = cells
			continue
		}
		rows++
		if len(cells) != len(columns) || !strings.Contains(cells[len(cells)-1], "`Test") {
			t.Errorf("%s has %d cells of %d, or no evidence", cells[0], len(cells), len(columns))
		}
		for i, c := range cells {
			if c == "" {
				t.Errorf("%s: nothing of %s", cells[0], columns[i])
			}
		}
	}
	for i, kind := range Kinds() {
		if len(columns) != len(Kinds())+2 || columns[i+1] != string(kind) {
			t.Fatalf("the columns are %q", columns)
		}
	}
	if rows < 12 {
		t.Errorf("%d features", rows)
	}
}

// testNames are the tests of the module.
func testNames(t *testing.T, root string) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	out := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(src, -1) {
			out[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
