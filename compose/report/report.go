// Package report writes what came of a script for the systems that run it: JUnit
// XML, with a case for each step, and annotations of GitHub's workflow commands.
// It knows steps by name and place alone and must not import the session, the
// runner or an adapter. What a server or a model wrote is cleaned before it gets
// into a report.
package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/looprig/looprig/internal/safetext"
)

// Status is how a step ended.
type Status string

// The statuses.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"  // an expectation did not hold
	Errored Status = "errored" // the step could not be done as it says
	Skipped Status = "skipped" // a step before it ended the run
)

// MaxMessage bounds the message of a case, in bytes.
const MaxMessage = 16 << 10

// Case is one step.
type Case struct {
	Name   string // "call mcp__demo__add"
	Line   int
	Status Status
	// Message and Code of what did not pass, raw: "expectation_failed".
	Message, Code string
	Took          time.Duration
}

// Run is a whole script.
type Run struct {
	File  string
	Began time.Time
	Took  time.Duration
	Cases []Case
	// Failure is what ended the run beside its steps: a server that was not
	// there, a reply that was never asked for. "" for none.
	Failure, Code string
}

// count counts the cases of a status, with the run's own failure as an error.
func (r Run) count(s Status) int {
	n := 0
	for _, c := range r.all() {
		if c.Status == s {
			n++
		}
	}
	return n
}

// all are the cases, and one for what is no step's.
func (r Run) all() []Case {
	if r.Failure == "" {
		return r.Cases
	}
	return append(r.Cases[:len(r.Cases):len(r.Cases)], Case{Name: "the run", Status: Errored, Message: r.Failure, Code: r.Code})
}

type suites struct {
	XMLName xml.Name `xml:"testsuites"`
	Suites  []suite  `xml:"testsuite"`
}

type suite struct {
	Name      string     `xml:"name,attr"`
	Tests     int        `xml:"tests,attr"`
	Failures  int        `xml:"failures,attr"`
	Errors    int        `xml:"errors,attr"`
	Skipped   int        `xml:"skipped,attr"`
	Time      string     `xml:"time,attr"`
	Timestamp string     `xml:"timestamp,attr"`
	Cases     []testcase `xml:"testcase"`
}

type testcase struct {
	Name      string    `xml:"name,attr"`
	Classname string    `xml:"classname,attr"`
	File      string    `xml:"file,attr"`
	Line      int       `xml:"line,attr,omitempty"`
	Time      string    `xml:"time,attr"`
	Failure   *trouble  `xml:"failure,omitempty"`
	Error     *trouble  `xml:"error,omitempty"`
	Skipped   *struct{} `xml:"skipped,omitempty"`
}

type trouble struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit writes the run as JUnit XML.
func JUnit(w io.Writer, r Run) error {
	file := line(r.File)
	s := suite{
		Name: file, Tests: len(r.all()), Failures: r.count(Failed), Errors: r.count(Errored), Skipped: r.count(Skipped),
		Time: seconds(r.Took), Timestamp: r.Began.UTC().Format("2006-01-02T15:04:05"),
	}
	for _, c := range r.all() {
		t := testcase{Name: line(c.Name), Classname: file, File: file, Line: c.Line, Time: seconds(c.Took)}
		switch c.Status {
		case Failed:
			t.Failure = c.trouble()
		case Errored:
			t.Error = c.trouble()
		case Skipped:
			t.Skipped = &struct{}{}
		case Passed:
		}
		s.Cases = append(s.Cases, t)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(suites{Suites: []suite{s}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (c Case) trouble() *trouble {
	text := safetext.ToBlock(cut(c.Message)).String()
	return &trouble{Message: line(c.Message), Type: line(c.Code), Text: text}
}

// GitHub writes an annotation for each step that did not pass.
func GitHub(w io.Writer, r Run) error {
	for _, c := range r.all() {
		if c.Status != Failed && c.Status != Errored {
			continue
		}
		place := "file=" + property(line(r.File))
		if c.Line > 0 {
			place += fmt.Sprintf(",line=%d", c.Line)
		}
		_, err := fmt.Fprintf(w, "::error %s,title=%s::%s\n", place, property(line(c.Name)), data(safetext.ToBlock(cut(c.Message)).String()))
		if err != nil {
			return err
		}
	}
	return nil
}

// data and property escape the two places of a workflow command, in which a
// percent sign begins an escape and a line's end ends the command.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s))
}

func line(s string) string { return safetext.ToLine(cut(s)).String() }

// cut shortens a message and says so.
func cut(s string) string {
	if len(s) <= MaxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:MaxMessage], "") + fmt.Sprintf(" … (%d bytes more)", len(s)-MaxMessage)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
