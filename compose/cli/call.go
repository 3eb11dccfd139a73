package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

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

// CallOptions are the flags of call.
type CallOptions struct {
	Args    []string // k=v pairs
	JSON    string   // all arguments: JSON, @FILE or -
	Query   string
	Save    string
	Timeout time.Duration
}

// Call calls one tool as the operator and prints what came of it.
func (c *CLI) Call(ctx context.Context, binding, name string, f CallOptions) error {
	if err := c.checkOutput(OutputText, OutputResult, OutputJSON); err != nil {
		return err
	}
	if err := c.checkStreams(f); err != nil {
		return err
	}
	query, err := compileQuery(f.Query)
	if err != nil {
		return err
	}
	if f.JSON != "" && len(f.Args) > 0 {
		return exit.New(exit.Usage, "give --arg or --args, not both")
	}
	ctx, cancel, err := limited(ctx, f.Timeout)
	if err != nil {
		return err
	}
	defer cancel()
	raw, err := c.object(ctx, "--args", f.JSON)
	if err != nil {
		return err
	}
	set, err := c.answers(gate.AnswererAnswers, "looprig call", nil)
	if err != nil {
		return err
	}
	opt := c.options(compose.ModeHeadless)
	opt.Only, opt.Answers, opt.Title = binding, set, "call "+binding+" "+name
	save, err := openSave("--save", f.Save)
	if err != nil {
		return err
	}
	err = c.withApp(ctx, opt, false, func(ctx context.Context, a *compose.App) error {
		if err := a.RequireEnabled(binding); err != nil {
			return err
		}
		if err := offered(a, binding, name); err != nil {
			return err
		}
		tools := a.Session.Tools(a.Session.Loops()[0].ID)
		spelling := spellingOf(tools, binding, name)
		args := raw
		if args == nil {
			if args, err = argsOf(tools, spelling, name, f.Args); err != nil {
				return err
			}
		}
		res, err := callOnce(ctx, a, spelling, args)
		if err != nil {
			return err
		}
		if perr := c.printResult(ctx, res, query, save); perr != nil {
			return perr
		}
		return callError(binding, name, res, set.Misfits(), a)
	})
	return errors.Join(err, save.close())
}

// checkStreams refuses flags that would have no effect: with --output json
// stdout is the event stream's alone, and what to save must be said.
func (c *CLI) checkStreams(f CallOptions) error {
	switch {
	case c.Output != OutputJSON:
	case f.Query != "" && f.Save == "":
		return exit.New(exit.Usage, "--query with --output json needs --save FILE: stdout carries the events")
	case f.Query == "" && f.Save != "":
		return exit.New(exit.Usage, "--save with --output json needs --query, which says what to save; '.' is the whole result")
	}
	return nil
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

// object reads a JSON object that is given as it is, as @FILE or as - for
// stdin; nil means that it was not given.
func (c *CLI) object(ctx context.Context, what, text string) (json.RawMessage, error) {
	var src []byte
	var err error
	switch {
	case text == "":
		return nil, nil
	case text == "-" || strings.HasPrefix(text, "@"):
		src, err = c.source(ctx, what, strings.TrimPrefix(text, "@"))
	default:
		src = []byte(text)
	}
	if err != nil {
		return nil, err
	}
	node, err := doc.ParseJSON(what, src)
	if err != nil {
		return nil, exit.New(exit.Usage, "%w", err)
	}
	if node.Kind != doc.Object {
		return nil, exit.New(exit.Usage, "%s: expected an object, found %s", what, node.Kind)
	}
	return src, nil
}

// spellingOf names a tool of a binding for the session. Its name may say the
// binding once more, as a suggestion that was taken over as it stood does.
func spellingOf(set *tool.Set, binding, name string) string {
	pair := binding + " " + name
	if _, err := set.Resolve(pair); err == nil {
		return pair
	}
	if def, err := set.Resolve(name); err == nil && def.Identity.Binding == binding {
		return def.Identity.String()
	}
	return pair
}

// argsOf reads k=v pairs by the tool's schema: a number becomes a number, and
// what the form cannot ask for is taken as JSON.
func argsOf(set *tool.Set, spelling, name string, pairs []string) (json.RawMessage, error) {
	def, err := set.Resolve(spelling)
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

func callOnce(ctx context.Context, a *compose.App, spelling string, args json.RawMessage) (*headless.Result, error) {
	t, err := a.Session.Submit(ctx, session.Input{
		Call:   &session.CallInput{Tool: spelling, Args: args},
		Origin: gate.Answerer{Kind: gate.AnswererScript, ID: "looprig call"},
	})
	if err != nil {
		return nil, a.SubmitFault(err)
	}
	res, err := a.Session.AwaitTurn(ctx, t)
	if err != nil {
		return nil, err
	}
	return headless.FromTurn(res, true), nil
}

func (c *CLI) printResult(ctx context.Context, res *headless.Result, q *headless.Query, save *saveFile) error {
	var out []byte
	var err error
	switch {
	case q != nil:
		out, err = q.Lines(ctx, res)
	case c.Output == OutputResult:
		out, err = headless.Line(res)
	case c.Output == OutputText:
		// What was never sent has no result, and its reason goes to stderr.
		if text := res.Display(); text != "" || res.Outcome == tool.OK {
			out = []byte(safetext.ToBlock(text).String() + "\n")
		}
	default:
		return nil
	}
	if err != nil {
		return exit.New(exit.Usage, "--query: %w", err)
	}
	if save != nil {
		return save.write(out)
	}
	if c.Output == OutputJSON {
		return nil // stdout is the event stream's alone
	}
	_, err = c.Stdout.Write(out)
	return err
}

func callError(binding, name string, res *headless.Result, misfits []answers.Misfit, a *compose.App) error {
	for _, m := range misfits {
		return exit.New(exit.GateRefused, "%s: the answer does not fit and was not sent: %s", m.Rule, m.Reason)
	}
	if res.Outcome == tool.OK {
		return a.RefusedGate()
	}
	code, hint := res.Code(), ""
	var unanswered *exit.Error
	if (code == exit.GateRefused || code == exit.ToolError) && errors.As(a.RefusedGate(), &unanswered) {
		code, hint = unanswered.Code, unanswered.Hint // what the server made of it comes second
	}
	e := exit.New(code, "%s %s ended %s: %s", binding, name, res.Outcome, res.Why())
	e.Binding, e.Class, e.Hint = binding, string(res.Outcome), hint
	return e
}
