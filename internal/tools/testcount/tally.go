package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// event is one line of `go test -json`.
type event struct {
	Action     string
	Package    string
	ImportPath string
	Test       string
	Output     string
}

// outcome orders the ends of a test: the greater one decides when a test ran twice.
type outcome int

const (
	skipped outcome = iota + 1
	passed
	failed
)

var outcomes = map[string]outcome{"skip": skipped, "pass": passed, "fail": failed}

// tally holds the outcome of every test that ran, by "package test".
type tally map[string]outcome

func (t tally) add(key string, o outcome) { t[key] = max(t[key], o) }

type counts struct{ passed, failed, skipped int }

func (c counts) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.passed, c.failed, c.skipped)
}

func (t tally) counts() counts {
	var c counts
	for _, o := range t {
		switch o {
		case passed:
			c.passed++
		case failed:
			c.failed++
		case skipped:
			c.skipped++
		}
	}
	return c
}

// follow reads events to the end and prints what a person wants to see: one line for
// each package, and the output of tests that failed or were skipped.
func follow(in io.Reader, out io.Writer) (tally, error) {
	f := follower{out: out, tally: tally{}, pending: map[string][]string{}, failures: map[string]int{}}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			f.line(line)
		}
		if errors.Is(err, io.EOF) {
			return f.tally, nil
		}
		if err != nil {
			return f.tally, fmt.Errorf("read the test output: %w", err)
		}
	}
}

type follower struct {
	out      io.Writer
	tally    tally
	pending  map[string][]string // output by "package test"
	failures map[string]int      // failed tests by package
}

func (f *follower) line(line string) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		io.WriteString(f.out, line)
		return
	}
	key := e.Package + " " + e.Test
	switch o := outcomes[e.Action]; {
	case e.Action == "output":
		f.pending[key] = append(f.pending[key], e.Output)
	case e.Action == "build-output":
		io.WriteString(f.out, e.Output)
	case o != 0 && e.Test != "":
		f.tally.add(key, o)
		if o == failed {
			f.failures[e.Package]++
		}
		f.flush(key, o != passed)
	case o != 0:
		if o == failed && f.failures[e.Package] == 0 {
			f.tally.add(key, failed)
		}
		f.endPackage(e.Package, o)
	}
}

// endPackage prints the package's own output, and that of tests it left unfinished.
func (f *follower) endPackage(pkg string, o outcome) {
	for key := range f.pending {
		if o == failed && strings.HasPrefix(key, pkg+" ") && key != pkg+" " {
			f.flush(key, true)
		}
	}
	f.flush(pkg+" ", true)
}

func (f *follower) flush(key string, show bool) {
	for _, text := range f.pending[key] {
		noise := strings.HasPrefix(text, "=== ") || text == "PASS\n" || strings.HasPrefix(text, "? ")
		if show && !noise {
			io.WriteString(f.out, text)
		}
	}
	delete(f.pending, key)
}

// record is one line of a counts file.
type record struct {
	Test    string  `json:"test"`
	Outcome outcome `json:"outcome"`
}

func (t tally) appendTo(file string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(f)
	for test, o := range t {
		err = errors.Join(err, enc.Encode(record{test, o}))
	}
	return errors.Join(err, f.Close())
}

func readTally(file string) (tally, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t := tally{}
	for dec := json.NewDecoder(f); ; {
		var r record
		if err := dec.Decode(&r); errors.Is(err, io.EOF) {
			return t, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		t.add(r.Test, r.Outcome)
	}
}
