package report_test

import (
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/compose/report"
)

func run() report.Run {
	return report.Run{
		File: "a,b:c.yaml", Began: time.Unix(1_800_000_000, 0), Took: 1500 * time.Millisecond,
		Cases: []report.Case{
			{Name: "user add <two>", Line: 4, Status: report.Passed, Took: time.Second},
			{Name: "call x", Line: 7, Status: report.Failed, Code: "expectation_failed", Message: "expected .a: 100% \x1b[2J\u202e ]]> &\nnext"},
			{Name: "sleep", Line: 9, Status: report.Skipped},
		},
	}
}

func TestJUnitIsWellFormedAndClean(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	r := run()
	r.Failure, r.Code = "a server was not there", "unreachable"
	if err := report.JUnit(&b, r); err != nil {
		t.Fatal(err)
	}
	var back struct {
		Suite struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Errors   int `xml:"errors,attr"`
			Skipped  int `xml:"skipped,attr"`
			Cases    []struct {
				Name    string  `xml:"name,attr"`
				Line    int     `xml:"line,attr"`
				Failure *string `xml:"failure"`
				Error   *string `xml:"error"`
				Skipped *string `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(b.String()), &back); err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	s := back.Suite
	if s.Tests != 4 || s.Failures != 1 || s.Errors != 1 || s.Skipped != 1 || len(s.Cases) != 4 {
		t.Fatalf("%+v", s)
	}
	if s.Cases[0].Name != "user add <two>" || s.Cases[1].Line != 7 || s.Cases[1].Failure == nil || s.Cases[2].Skipped == nil || s.Cases[3].Error == nil {
		t.Errorf("%+v", s.Cases)
	}
	if !strings.Contains(*s.Cases[1].Failure, "100%") || !strings.Contains(*s.Cases[1].Failure, "]]>") {
		t.Errorf("the message is %q", *s.Cases[1].Failure)
	}
	if strings.ContainsAny(b.String(), "\x1b\u202e") {
		t.Errorf("raw characters:\n%q", b.String())
	}
}

func TestGitHubAnnotatesWhatDidNotPass(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := report.GitHub(&b, run()); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	if strings.Count(got, "\n") != 1 || strings.Contains(got, "\x1b") {
		t.Errorf("not one clean line: %q", got)
	}
	if !strings.HasPrefix(got, "::error file=a%2Cb%3Ac.yaml,line=7,title=call x::expected .a: 100%25") || !strings.Contains(got, "%0Anext") {
		t.Errorf("got %q", got)
	}
}

func TestAMessageIsBounded(t *testing.T) {
	t.Parallel()
	r := run()
	r.Cases[1].Message = strings.Repeat("x", 3*report.MaxMessage)
	var b strings.Builder
	if err := report.GitHub(&b, r); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 2*report.MaxMessage || !strings.Contains(b.String(), "bytes more") {
		t.Errorf("%d bytes", b.Len())
	}
}
