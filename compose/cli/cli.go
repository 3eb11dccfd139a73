// Package cli holds the bodies of the commands: what they print, what they
// refuse and with which exit code. The command line itself (names, flags, help)
// is cmd/looprig's; everything that runs is compose's.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/answers"
	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/gate"
)

// CLI is one invocation: the process's streams and the flags that several
// commands share.
type CLI struct {
	Env           []string
	Stdin, Stdout *os.File
	Stderr        io.Writer
	Version       string

	Home       string
	MCPConfig  string
	ConfigFile string
	NoColor    bool
	Strict     bool
	// Output is what stdout carries: one of the Output constants.
	Output string
	// AnswersFile, Tofu, Allow and Deny belong to commands that run servers
	// without a person.
	AnswersFile string
	Tofu        bool
	Allow, Deny []string
	// TraceFile, when set, takes the protocol messages of the run.
	TraceFile string
}

// The values of CLI.Output.
const (
	OutputText   = "text"
	OutputJSON   = "json"
	OutputResult = "result"
)

func (c *CLI) env() config.Env { return config.EnvOf(c.Env) }

func (c *CLI) options(mode string) compose.Options {
	return compose.Options{
		Home: c.Home, Env: c.Env, Stdout: c.Stdout, Stderr: c.Stderr, Version: c.Version, Mode: mode,
		MCPConfig: c.MCPConfig, ConfigFile: c.ConfigFile, Tofu: c.Tofu, Strict: c.Strict,
		Policy: config.Policy{Allow: patterns(c.Allow), Deny: patterns(c.Deny)},
	}
}

func patterns(globs []string) []config.Rule {
	out := make([]config.Rule, len(globs))
	for i, g := range globs {
		out[i] = config.Rule{Tool: g}
	}
	return out
}

// answers loads the answers file of a headless run; without one nothing is
// answered.
func (c *CLI) answers(kind gate.AnswererKind, id string, own []answers.Rule) (*answers.Set, error) {
	set := answers.New(kind, id, own)
	if c.AnswersFile == "" {
		return set, nil
	}
	rules, def, err := answers.Load(c.AnswersFile)
	if err != nil {
		return nil, exit.New(exit.Usage, "%w", err)
	}
	set.Add(rules)
	set.SetFallback(def)
	return set, nil
}

func (c *CLI) checkOutput(allowed ...string) error {
	if slices.Contains(allowed, c.Output) {
		return nil
	}
	return exit.New(exit.Usage, "--output %q is not one of %s", c.Output, strings.Join(allowed, ", "))
}

// maxInput bounds what is read from stdin or an argument file.
const maxInput = 4 << 20

// source reads a file, or stdin for "-". Pipes and devices are welcome, but a
// writer that never comes or never ends does not outlive the context: the read
// is then abandoned to the end of the process.
func (c *CLI) source(ctx context.Context, flag, path string) ([]byte, error) {
	type result struct {
		src []byte
		err error
	}
	got := make(chan result, 1)
	go func() {
		src, err := c.read(path)
		got <- result{src, err}
	}()
	where := path
	if path == "-" {
		where = "stdin"
	}
	select {
	case <-ctx.Done():
		return nil, endOf(ctx, fmt.Errorf("reading %s: %w", where, ctx.Err()))
	case r := <-got:
		switch {
		case r.err != nil:
			return nil, exit.New(exit.Usage, "%s: %w", flag, r.err)
		case len(r.src) > maxInput:
			return nil, exit.New(exit.Usage, "%s: %s is over the limit of %d bytes", flag, where, maxInput)
		}
		return r.src, nil
	}
}

func (c *CLI) read(path string) ([]byte, error) {
	if path == "" {
		return nil, errors.New("no file is named")
	}
	if path == "-" {
		return io.ReadAll(io.LimitReader(c.Stdin, maxInput+1))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	src, err := io.ReadAll(io.LimitReader(f, maxInput+1))
	return src, errors.Join(err, f.Close())
}

// limited gives a run its time; none is no limit.
func limited(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc, error) {
	if d < 0 {
		return nil, nil, exit.New(exit.Usage, "--timeout %s is negative: leave it out for no limit", d)
	}
	if d == 0 {
		ctx, cancel := context.WithCancel(ctx)
		return ctx, cancel, nil
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	return ctx, cancel, nil
}

// endOf finds the real reason of a failure once a context has ended.
func endOf(ctx context.Context, err error) error {
	var crashed *exit.Error
	switch {
	case errors.As(context.Cause(ctx), &crashed):
		return crashed
	case err == nil || exit.Of(err) == exit.Integrity:
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return ended(exit.Limit, "the run's time limit ended it", err)
	case errors.Is(ctx.Err(), context.Canceled):
		return ended(exit.Interrupted, "interrupted", err)
	}
	return err
}

// ended says what ended a run and what it was at; that a context ended goes
// without saying.
func ended(code exit.Code, what string, err error) error {
	at := err.Error()
	for _, noise := range []error{context.Canceled, context.DeadlineExceeded} {
		at = strings.TrimSuffix(strings.TrimSuffix(at, noise.Error()), ": ")
	}
	if at != "" {
		what += " at " + at
	}
	e := exit.New(code, "%s", what)
	e.Err = err
	return e
}

// printf writes to stdout; a stdout that cannot be written is an error.
func (c *CLI) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(c.Stdout, format, args...)
	return err
}
