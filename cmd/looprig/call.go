package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/answers"
	"github.com/looprig/looprig/compose/config/doc"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/compose/headless"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
)

type callFlags struct {
	args    []string
	json    string
	query   string
	save    string
	timeout time.Duration
}

func callCommand(s *state) *cobra.Command {
	var f callFlags
	cmd := &cobra.Command{
		Use:   "call BINDING TOOL",
		Short: "Call one tool through policy, gates, journal and ledger",
		Example: "  looprig call demo add --arg a=2 --arg b=3\n" +
			"  looprig call demo echo --args '{\"text\":\"hi\"}' --output result --query .structured",
		Args: cobra.ExactArgs(2),
	}
	cmd.RunE = s.do(func(cmd *cobra.Command, args []string) error { return s.call(cmd.Context(), args[0], args[1], f) })
	l := cmd.Flags()
	l.StringArrayVar(&f.args, "arg", nil, "one argument, `k=v`, read by the tool's schema")
	l.StringVar(&f.json, "args", "", "all arguments as `JSON`, @FILE or - for stdin")
	l.StringVar(&f.query, "query", "", "print what this `JQ` expression makes of the result")
	l.StringVar(&f.save, "save", "", "write the output to this `FILE` instead of stdout")
	l.DurationVar(&f.timeout, "timeout", 0, "give up after this time, with exit code 8")
	s.addRun(cmd)
	s.addOutput(cmd, "text, result (one JSON object) or json (NDJSON, one event a line)")
	return cmd
}

func (s *state) call(ctx context.Context, binding, name string, f callFlags) error {
	if err := s.checkOutput(outputText, outputResult, outputJSON); err != nil {
		return err
	}
	query, err := compileQuery(f.query)
	if err != nil {
		return err
	}
	if f.json != "" && len(f.args) > 0 {
		return exit.New(exit.Usage, "give --arg or --args, not both")
	}
	raw, err := s.rawArgs(f.json)
	if err != nil {
		return err
	}
	set, err := s.answers(gate.AnswererAnswers, "looprig call", nil)
	if err != nil {
		return err
	}
	opt := s.options(compose.ModeHeadless)
	opt.Only, opt.Answers, opt.Title = binding, set, "call "+binding+" "+name
	ctx, cancel := limited(ctx, f.timeout)
	defer cancel()
	return s.withApp(ctx, opt, false, func(ctx context.Context, a *compose.App) error {
		args := raw
		if args == nil {
			if args, err = argsOf(a, binding, name, f.args); err != nil {
				return err
			}
		}
		res, err := callOnce(ctx, a, binding, name, args)
		if err != nil {
			return err
		}
		if perr := s.printResult(ctx, res, query, f); perr != nil {
			return perr
		}
		return callError(binding, name, res, set.Misfits(), a)
	})
}

func compileQuery(text string) (*headless.Query, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no query is not an error
	}
	q, err := headless.NewQuery(text)
	if err != nil {
		return nil, exit.New(exit.Usage, "--query: %w", err)
	}
	return q, nil
}

// rawArgs reads --args; nil means that it was not given.
func (s *state) rawArgs(text string) (json.RawMessage, error) {
	var src []byte
	var err error
	switch {
	case text == "":
		return nil, nil
	case text == "-" || strings.HasPrefix(text, "@"):
		src, err = s.source(strings.TrimPrefix(text, "@"))
	default:
		src = []byte(text)
	}
	if err != nil {
		return nil, err
	}
	node, err := doc.ParseJSON("--args", src)
	if err != nil {
		return nil, exit.New(exit.Usage, "%w", err)
	}
	if node.Kind != doc.Object {
		return nil, exit.New(exit.Usage, "--args: expected an object, found %s", node.Kind)
	}
	return src, nil
}

// argsOf reads k=v pairs by the tool's schema: a number becomes a number, and
// what the form cannot ask for is taken as JSON.
func argsOf(a *compose.App, binding, name string, pairs []string) (json.RawMessage, error) {
	set := a.Session.Tools(a.Session.Loops()[0].ID)
	def, err := set.Resolve(binding + " " + name)
	if err != nil {
		return nil, exit.New(exit.Usage, "%w", err)
	}
	schema, err := form.ParseArguments(def.InputSchema, form.Limits{})
	if err != nil {
		return nil, exit.New(exit.Usage, "the arguments of %s must be given with --args: %w", name, err)
	}
	values := map[string]json.RawMessage{}
	for _, pair := range pairs {
		key, text, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, exit.New(exit.Usage, "--arg %q is not k=v", pair)
		}
		if _, twice := values[key]; twice {
			return nil, exit.New(exit.Usage, "--arg %s is given twice", key)
		}
		if values[key], err = argValue(schema, key, text); err != nil {
			return nil, exit.New(exit.Usage, "--arg %s: %w", key, err)
		}
	}
	return json.Marshal(values)
}

func argValue(schema form.Schema, key, text string) (json.RawMessage, error) {
	field, ok := schema.Field(key)
	if !ok {
		if len(schema.Fields) > 0 && !schema.Whole {
			names := make([]string, len(schema.Fields))
			for i, f := range schema.Fields {
				names[i] = f.Name
			}
			return nil, fmt.Errorf("the tool has no such argument%s; it takes %s", doc.DidYouMean(key, names), strings.Join(names, ", "))
		}
		if json.Valid([]byte(text)) {
			return json.RawMessage(text), nil
		}
		return json.Marshal(text)
	}
	return schema.ParseText(field, text)
}

func callOnce(ctx context.Context, a *compose.App, binding, name string, args json.RawMessage) (*headless.Result, error) {
	t, err := a.Session.Submit(ctx, session.Input{
		Call:   &session.CallInput{Tool: binding + " " + name, Args: args},
		Origin: gate.Answerer{Kind: gate.AnswererScript, ID: "looprig call"},
	})
	if err != nil {
		return nil, exit.New(exit.Usage, "%w", err)
	}
	res, err := a.Session.AwaitTurn(ctx, t)
	if err != nil {
		return nil, err
	}
	return headless.FromTurn(res, true), nil
}

func (s *state) printResult(ctx context.Context, res *headless.Result, q *headless.Query, f callFlags) error {
	var out []byte
	var err error
	switch {
	case q != nil:
		out, err = q.Lines(ctx, res)
	case s.output == outputResult:
		out, err = headless.Line(res)
	case s.output == outputText:
		out = []byte(safetext.ToBlock(res.Display()).String() + "\n")
	default:
		return nil
	}
	if err != nil {
		return exit.New(exit.Usage, "--query: %w", err)
	}
	if f.save != "" {
		if err := os.WriteFile(f.save, out, 0o600); err != nil {
			return exit.New(exit.Usage, "--save: %w", err)
		}
		return nil
	}
	if s.output == outputJSON {
		return nil // stdout is the event stream's alone
	}
	_, err = s.stdout.Write(out)
	return err
}

func callError(binding, name string, res *headless.Result, misfits []answers.Misfit, a *compose.App) error {
	for _, m := range misfits {
		return exit.New(exit.GateRefused, "%s: the answer does not fit and was not sent: %s", m.Rule, m.Reason)
	}
	if res.Outcome == tool.OK {
		return a.RefusedGate()
	}
	e := exit.New(headless.CodeOf(res.Outcome), "%s %s ended %s: %s", binding, name, res.Outcome, res.Why())
	e.Binding, e.Class = binding, string(res.Outcome)
	return e
}
