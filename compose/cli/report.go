package cli

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/compose/headless"
	"github.com/looprig/looprig/compose/report"
)

// reports are what --report asks for: files of JUnit XML and annotations of
// GitHub's on stderr. They are written whatever way the run ends.
type reports struct {
	script *headless.Script
	github bool
	files  []*saveFile
	run    report.Run
	// told says that a step's failure ended the run.
	told bool
}

// openReports opens what the flags name, so that a path that cannot be written
// fails before anything runs.
func openReports(flags []string, script *headless.Script) (*reports, error) {
	r := &reports{script: script, run: report.Run{File: script.File, Began: time.Now()}}
	for _, flag := range flags {
		format, path, _ := strings.Cut(flag, "=")
		switch {
		case flag == "github":
			r.github = true
		case format == "junit" && path != "":
			f, err := openSave("--report", path)
			if err != nil {
				return nil, errors.Join(err, r.close())
			}
			r.files = append(r.files, f)
		default:
			return nil, errors.Join(exit.New(exit.Usage, "--report %q: give junit=FILE or github", flag), r.close())
		}
	}
	return r, nil
}

// ended takes in a step that ended.
func (r *reports) ended(i int, err error, took time.Duration) {
	c := report.Case{Name: title(r.script.Steps[i]), Line: r.script.Steps[i].Line, Status: report.Passed, Took: took}
	if err != nil {
		c.Status, c.Message, c.Code, r.told = report.Errored, err.Error(), exit.Of(err).String(), true
		if exit.Of(err) == exit.Expectation {
			c.Status = report.Failed
		}
	}
	r.run.Cases = append(r.run.Cases, c)
}

// title names a step.
func title(s headless.Step) string {
	for _, what := range []string{s.Text, s.Tool, s.URI, s.Name, s.Binding} {
		if what != "" {
			return string(s.Kind) + " " + what
		}
	}
	return string(s.Kind)
}

// finish writes the reports of a run that ended so.
func (r *reports) finish(c *CLI, err error) error {
	r.run.Took = time.Since(r.run.Began)
	for _, s := range r.script.Steps[len(r.run.Cases):] {
		r.run.Cases = append(r.run.Cases, report.Case{Name: title(s), Line: s.Line, Status: report.Skipped})
	}
	if err != nil && !r.told {
		r.run.Failure, r.run.Code = err.Error(), exit.Of(err).String()
	}
	var out []error
	for _, f := range r.files {
		var b bytes.Buffer
		if err := report.JUnit(&b, r.run); err != nil {
			out = append(out, err)
			continue
		}
		out = append(out, f.write(b.Bytes()))
	}
	if r.github {
		out = append(out, report.GitHub(c.Stderr, r.run))
	}
	return errors.Join(append(out, r.close())...)
}

func (r *reports) close() error {
	var out []error
	for _, f := range r.files {
		out = append(out, f.close())
	}
	return errors.Join(out...)
}
