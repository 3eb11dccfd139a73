package cli

import (
	"bytes"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/compose/headless"
)

func TestReportsAreWrittenHoweverARunEnds(t *testing.T) {
	t.Parallel()
	script := &headless.Script{File: "s.yaml", Steps: []headless.Step{
		{Kind: headless.StepCall, Tool: "mcp__demo__add", Line: 4},
		{Kind: headless.StepUser, Text: "and then", Line: 6},
		{Kind: headless.StepSleep, Line: 8},
	}}
	expectation := exit.New(exit.Expectation, "s.yaml:6: expected .a")
	for name, c := range map[string]struct {
		steps int
		last  error // of the last step that ran
		end   error // of the run
		want  string
	}{
		"green":         {steps: 3, want: "tests=3 failures=0 errors=0 skipped=0"},
		"expectation":   {steps: 2, last: expectation, end: expectation, want: "tests=3 failures=1 errors=0 skipped=1"},
		"never started": {end: exit.New(exit.Unreachable, "no server"), want: "tests=4 failures=0 errors=1 skipped=3"},
		"interrupted":   {steps: 1, end: exit.New(exit.Interrupted, "stopped"), want: "tests=4 failures=0 errors=1 skipped=2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "out.xml")
			r, err := openReports([]string{"junit=" + path}, script)
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.steps {
				var err error
				if i == c.steps-1 {
					err = c.last
				}
				r.ended(i, err, time.Second)
			}
			if err := r.finish(&CLI{}, c.end); err != nil {
				t.Fatal(err)
			}
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Suite struct {
					Attrs []xml.Attr `xml:",any,attr"`
				} `xml:"testsuite"`
			}
			if err := xml.Unmarshal(raw, &got); err != nil {
				t.Fatal(err)
			}
			var counts []string
			for _, a := range got.Suite.Attrs {
				switch a.Name.Local {
				case "tests", "failures", "errors", "skipped":
					counts = append(counts, a.Name.Local+"="+a.Value)
				}
			}
			if s := strings.Join(counts, " "); s != c.want {
				t.Errorf("%s, want %s\n%s", s, c.want, raw)
			}
			if !bytes.Contains(raw, []byte("and then")) {
				t.Errorf("a step has no name:\n%s", raw)
			}
		})
	}
}

func TestWrongReportsAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, flag := range []string{"xml", "junit", "junit=", "github=x", "junit=" + filepath.Join(dir, "none", "x")} {
		if _, err := openReports([]string{"junit=" + filepath.Join(dir, "left"), flag}, &headless.Script{}); exit.Of(err) != exit.Usage {
			t.Errorf("%q gave %v", flag, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "left")); !os.IsNotExist(err) {
			t.Errorf("%q left an empty report", flag)
		}
	}
}
