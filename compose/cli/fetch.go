package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/config/doc"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/compose/headless"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
)

// FetchOptions are the flags of read, prompt and rpc.
type FetchOptions struct {
	Args    []string // k=v pairs of a prompt
	Query   string
	Save    string
	Timeout time.Duration
}

// fetched is what a server gave and how it is printed.
type fetched struct {
	res *headless.Result
	// body is what --save keeps where no query says otherwise: a resource's own
	// bytes.
	body []byte
}

// Read reads one resource and prints it.
func (c *CLI) Read(ctx context.Context, binding, uri string, f FetchOptions) error {
	return c.fetch(ctx, binding, "read "+binding, f, func(ctx context.Context, a *compose.App) (fetched, error) {
		res, err := headless.FetchResource(ctx, a.Port, a.Port, binding, uri)
		if err != nil {
			return fetched{}, err
		}
		out := fetched{res: res}
		if len(res.Content) == 1 {
			b := res.Content[0]
			if out.body = b.Data; len(out.body) == 0 {
				out.body = []byte(b.Text)
			}
		}
		return out, nil
	})
}

// Prompt gets one prompt and prints its messages.
func (c *CLI) Prompt(ctx context.Context, binding, name string, f FetchOptions) error {
	args := map[string]string{}
	for i, kv := range f.Args {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return exit.New(exit.Usage, "--arg number %d is not k=v", i+1)
		}
		if _, twice := args[k]; twice {
			return exit.New(exit.Usage, "--arg %s is given twice", k)
		}
		args[k] = v
	}
	return c.fetch(ctx, binding, "prompt "+binding+" "+name, f, func(ctx context.Context, a *compose.App) (fetched, error) {
		res, err := headless.FetchPrompt(ctx, a.Port, a.Port, binding, name, args)
		return fetched{res: res}, err
	})
}

// fetch runs one binding for one request and prints what came of it: the
// result, and nothing else, on stdout.
func (c *CLI) fetch(ctx context.Context, binding, title string, f FetchOptions, get func(context.Context, *compose.App) (fetched, error)) error {
	if err := c.checkOutput(OutputText, OutputJSON); err != nil {
		return err
	}
	query, err := compileQuery(f.Query)
	if err != nil {
		return err
	}
	ctx, cancel, err := limited(ctx, f.Timeout)
	if err != nil {
		return err
	}
	defer cancel()
	save, err := openSave("--save", f.Save)
	if err != nil {
		return err
	}
	err = c.oneBinding(ctx, binding, title, func(ctx context.Context, a *compose.App, asJSON bool) error {
		got, err := get(ctx, a)
		if err != nil {
			return err
		}
		if err := c.printFetched(ctx, got, query, save, asJSON); err != nil {
			return err
		}
		return fetchError(binding, title, got.res, a)
	})
	return errors.Join(err, save.close())
}

// oneBinding opens a run of one binding whose stdout is the command's own.
func (c *CLI) oneBinding(ctx context.Context, binding, title string, work func(context.Context, *compose.App, bool) error) error {
	set, err := c.answers("answers", "looprig "+title, nil)
	if err != nil {
		return err
	}
	opt := c.options(compose.ModeHeadless)
	opt.Only, opt.Answers, opt.Title = binding, set, title
	asJSON := c.Output == OutputJSON
	c.Output = OutputText // the result is on stdout, not the event stream
	return c.withApp(ctx, opt, false, func(ctx context.Context, a *compose.App) error {
		if err := a.RequireEnabled(binding); err != nil {
			return err
		}
		return work(ctx, a, asJSON)
	})
}

func (c *CLI) printFetched(ctx context.Context, got fetched, q *headless.Query, save *saveFile, asJSON bool) error {
	if got.res.Outcome != tool.OK && q == nil && (!asJSON || save != nil) {
		return nil // what went wrong is on stderr; what a file holds is kept
	}
	var out []byte
	var err error
	switch {
	case q != nil:
		out, err = q.Lines(ctx, got.res)
	case save != nil && got.body != nil:
		out = got.body
	case asJSON:
		out, err = headless.Line(got.res)
	default:
		out = []byte(safetext.ToBlock(got.res.Display()).String() + "\n")
	}
	if err != nil {
		return exit.New(exit.Usage, "--query: %w", err)
	}
	if save != nil {
		return save.write(out)
	}
	_, err = c.Stdout.Write(out)
	return err
}

func fetchError(binding, title string, res *headless.Result, a *compose.App) error {
	if res.Outcome == tool.OK {
		return a.RefusedGate()
	}
	e := exit.New(res.Code(), "%s ended %s: %s", title, res.Outcome, res.Why())
	e.Binding, e.Class = binding, string(res.Outcome)
	return e
}

// RPC sends one raw request and prints the raw result.
func (c *CLI) RPC(ctx context.Context, binding, method, params string, f FetchOptions) error {
	if err := c.checkOutput(OutputText, OutputJSON); err != nil {
		return err
	}
	if err := checkMethod(method); err != nil {
		return err
	}
	ctx, cancel, err := limited(ctx, f.Timeout)
	if err != nil {
		return err
	}
	defer cancel()
	raw, err := c.object(ctx, "PARAMS", params)
	if err != nil {
		return err
	}
	return c.oneBinding(ctx, binding, "rpc "+binding+" "+method, func(ctx context.Context, a *compose.App, asJSON bool) error {
		result, err := a.Manager.Request(ctx, binding, method, raw)
		if err != nil {
			return requestFault(binding, method, err)
		}
		if !asJSON {
			return c.printf("%s\n", safetext.ToBlock(indented(result)))
		}
		_, err = c.Stdout.Write(append(event.Escape(compact(result)), '\n'))
		return err
	})
}

// refusedMethods are no raw requests: a tool is called through policy and gates,
// the handshake is the connection's own.
var refusedMethods = map[string]string{
	"tools/call":           "tools are called through policy, gates and ledger: looprig call BINDING TOOL",
	"initialize":           "the handshake is made by the connection itself",
	"server/discover":      "the handshake is made by the connection itself; looprig inspect BINDING shows what was found",
	"subscriptions/listen": "the connection keeps that stream itself",
}

func checkMethod(method string) error {
	why, refused := refusedMethods[method]
	switch {
	case refused:
	case strings.HasPrefix(method, "notifications/"):
		why = "a notification has no answer to show"
	case method == "" || len(method) > maxMethod || strings.ContainsFunc(method, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		why = "it cannot be the name of a method"
	default:
		return nil
	}
	return exit.New(exit.Usage, "%s is not sent: %s", safetext.Ident(method), why)
}

const maxMethod = 256

// knownMethods are for suggestions alone: servers may have others.
var knownMethods = []string{
	"ping", "tools/list", "prompts/list", "prompts/get", "resources/list", "resources/read", "resources/templates/list",
	"resources/subscribe", "resources/unsubscribe", "completion/complete", "logging/setLevel",
}

// requestFault gives a raw request's failure its exit code.
func requestFault(binding, method string, err error) error {
	res, ok := headless.Failed(err)
	if !ok {
		return err
	}
	text := err.Error()
	if res.Text != "" {
		text += ": " + res.Text // the server's own words
	}
	if !slices.Contains(knownMethods, method) {
		text += doc.DidYouMean(method, knownMethods)
	}
	e := exit.New(res.Code(), "%s", text)
	e.Binding, e.Class = binding, string(res.Outcome)
	return e
}

// indented and compact change the layout of a result and nothing else.
func indented(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}

func compact(raw json.RawMessage) []byte {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return raw
	}
	return out.Bytes()
}
