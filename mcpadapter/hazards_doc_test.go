package mcpadapter

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// hazardPackages are the directories of the packages that docs/hazards.md names.
var hazardPackages = map[string]string{
	"mcpadapter": ".", "catalog": "catalog", "client": "client", "pin": "pin",
	"protocol": "internal/protocol", "tap": "internal/protocol/tap", "wire": "internal/wire", "httpguard": "internal/httpguard",
	"acceptance": "internal/acceptance", "stdio": "transport/stdio", "streamhttp": "transport/streamhttp", "sse": "transport/sse",
	"schema": "../harness/schema",
}

// Every row of the table of hazards names tests, and each of them is there.
func TestEveryHazardHasItsTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/hazards.md")
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	source := func(pkg string) string {
		if text, ok := sources[pkg]; ok {
			return text
		}
		files, err := filepath.Glob(filepath.Join(hazardPackages[pkg], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(b)
		}
		sources[pkg] = all.String()
		return sources[pkg]
	}
	named := regexp.MustCompile("`([a-z]+)\\.(Test[A-Za-z0-9]+)(?:/([^`]+))?`")
	numbers, rows := map[string]bool{}, 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| #") || strings.HasPrefix(line, "| ---") || strings.HasPrefix(line, "| the server") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		first := strings.TrimSpace(cells[0])
		if regexp.MustCompile(`^\d+$`).MatchString(first) {
			numbers[first] = true
		}
		tests := named.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(tests) == 0 && first != "28" && first != "29" {
			t.Errorf("no test: %s", line)
		}
		for _, m := range named.FindAllStringSubmatch(line, -1) {
			pkg, name, sub := m[1], m[2], m[3]
			if hazardPackages[pkg] == "" {
				t.Errorf("%s is no known package", pkg)
				continue
			}
			if !strings.Contains(source(pkg), "\nfunc "+name+"(t *testing.T) {") {
				t.Errorf("%s.%s does not exist", pkg, name)
			}
			if sub != "" && !strings.Contains(source(pkg), fmt.Sprintf("%q", sub)) {
				t.Errorf("%s.%s has no case %s", pkg, name, sub)
			}
		}
	}
	for i := 1; i <= 35; i++ {
		if !numbers[fmt.Sprint(i)] {
			t.Errorf("fault %d is missing", i)
		}
	}
	if rows < 70 {
		t.Errorf("only %d rows were read", rows)
	}
}
