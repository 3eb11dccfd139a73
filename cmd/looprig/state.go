package main

import (
	"errors"
	"io"
	"os"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/answers"
	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/gate"
)

// state is what the commands share: the process's streams and the global flags.
type state struct {
	env           []string
	stdin, stdout *os.File
	stderr        io.Writer
	home          string
	mcpConfig     string
	configFile    string
	noColor       bool
	output        string
	answersFile   string
	tofu, strict  bool
	allow, deny   []string
	started       bool // a command began to run: errors are its own
	machine       bool // stderr ends with a line of JSON
}

func (s *state) lookup() config.Env { return config.EnvOf(s.env) }

func (s *state) options(mode string) compose.Options {
	return compose.Options{
		Home: s.home, Env: s.env, Stdout: s.stdout, Stderr: s.stderr, Version: versionText(), Mode: mode,
		MCPConfig: s.mcpConfig, ConfigFile: s.configFile, Tofu: s.tofu, Strict: s.strict,
		Policy: config.Policy{Allow: patterns(s.allow), Deny: patterns(s.deny)},
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
func (s *state) answers(kind gate.AnswererKind, id string, own []answers.Rule) (*answers.Set, error) {
	set := answers.New(kind, id, own)
	if s.answersFile == "" {
		return set, nil
	}
	rules, def, err := answers.Load(s.answersFile)
	if err != nil {
		return nil, exit.New(exit.Usage, "%w", err)
	}
	set.Add(rules)
	set.SetFallback(def)
	return set, nil
}

// report is the one place where a failure is printed.
func (s *state) report(_ io.Writer, _ fang.Styles, err error) {
	var e *exit.Error
	if !errors.As(err, &e) && !s.started {
		err = exit.New(exit.Usage, "%w", err).WithHint("looprig --help lists the commands, looprig COMMAND --help their flags")
	}
	exit.Report(s.stderr, err, s.machine)
}

// codeOf is the exit code of a command; what cobra refuses is usage.
func codeOf(err error) exit.Code {
	var e *exit.Error
	if errors.As(err, &e) {
		return e.Code
	}
	if !ran {
		return exit.Usage
	}
	return exit.Internal
}

// ran says that a command's own code was reached.
var ran bool

// do wraps a command's body.
func (s *state) do(body func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s.started, ran = true, true
		s.machine = s.output == outputJSON
		return body(cmd, args)
	}
}

// The values of --output.
const (
	outputText   = "text"
	outputJSON   = "json"
	outputResult = "result"
)

func (s *state) checkOutput(allowed ...string) error {
	for _, a := range allowed {
		if s.output == a {
			return nil
		}
	}
	return exit.New(exit.Usage, "--output %q is not one of %v", s.output, allowed)
}

func (s *state) addOutput(cmd *cobra.Command, choices string) {
	cmd.Flags().StringVar(&s.output, "output", outputText, "what stdout carries: "+choices)
}

// addRun adds the flags of commands that run servers without a person.
func (s *state) addRun(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.answersFile, "answers", "", "answer gates from this `FILE`")
	f.BoolVar(&s.tofu, "tofu", false, "accept launches that were never pinned, on record")
	f.StringArrayVar(&s.allow, "allow", nil, "allow tools that match this `GLOB` (mcp:binding:tool)")
	f.StringArrayVar(&s.deny, "deny", nil, "deny tools that match this `GLOB`")
}
