package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
)

// InspectOptions are the flags of inspect.
type InspectOptions struct {
	Kind   string // "", "tools", "prompts", "resources", "templates"
	Schema bool
}

// Inspect shows what one binding, or each, offers.
func (c *CLI) Inspect(ctx context.Context, binding string, f InspectOptions) error {
	if err := c.checkOutput(OutputText, OutputJSON); err != nil {
		return err
	}
	switch f.Kind {
	case "", "tools", "prompts", "resources", "templates":
	default:
		return exit.New(exit.Usage, "--kind %q is not one of tools, prompts, resources, templates", f.Kind)
	}
	set, err := c.answers("answers", "looprig inspect", nil)
	if err != nil {
		return err
	}
	opt := c.options(compose.ModeHeadless)
	opt.Only, opt.Answers, opt.Title = binding, set, strings.TrimSpace("inspect "+binding)
	asJSON := c.Output == OutputJSON
	// The items are the result here, not the event stream.
	c.Output = OutputText
	return c.withApp(ctx, opt, false, func(_ context.Context, a *compose.App) error {
		for _, b := range a.Port.Bindings() {
			if err := c.printBinding(a, b, f, asJSON); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *CLI) printBinding(a *compose.App, b integration.Binding, f InspectOptions, asJSON bool) error {
	cat, _ := a.Port.Catalog(b.Name, 0)
	if asJSON {
		return c.bindingJSON(b, cat, f)
	}
	return c.showBinding(b, cat, f)
}

func (c *CLI) showBinding(b integration.Binding, cat integration.Catalog, f InspectOptions) error {
	server := ""
	if b.ServerName != "" {
		server = fmt.Sprintf("  server %s %s", safetext.Ident(b.ServerName), safetext.Ident(b.ServerVersion))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s  %s  generation %d  revision %s%s%s\n", b.Name, b.State, b.Generation, orDash(b.Revision), server, cost(b))
	if b.Kind == "http" || b.Kind == "sse" {
		fmt.Fprintf(&out, "  %s %s\n", b.Kind, safetext.ToLine(b.Origin))
	}
	if b.Reason != "" {
		fmt.Fprintf(&out, "  %s\n", safetext.ToLine(b.Reason))
	}
	for _, w := range b.Warnings {
		fmt.Fprintf(&out, "  warning: %s\n", safetext.ToLineN(w, 1024))
	}
	for _, t := range b.Tolerances {
		fmt.Fprintf(&out, "  tolerated: %s\n", safetext.ToLineN(t, 1024))
	}
	for _, item := range cat.Items {
		if !selected(item, f.Kind) {
			continue
		}
		fmt.Fprintf(&out, "  %-8s %s", item.Kind, safetext.Ident(item.Name))
		if item.Tokens > 0 {
			fmt.Fprintf(&out, "  (%d tokens)", item.Tokens)
		}
		if d := firstLine(item.Description); d != "" {
			fmt.Fprintf(&out, "  %s", safetext.ToLineN(d, 400))
		}
		fmt.Fprintln(&out)
		if item.Withheld != "" {
			fmt.Fprintf(&out, "           withheld: %s\n", safetext.ToLine(item.Withheld))
		}
		if f.Schema && len(item.InputSchema) > 0 {
			fmt.Fprintf(&out, "           %s\n", safetext.ToLineN(string(item.InputSchema), 1<<20))
		}
	}
	return c.printf("%s", out.String())
}

// cost is what a binding's tools take of a model's context, and how many of them
// it has to search for.
func cost(b integration.Binding) string {
	if b.Tokens == 0 && b.Deferred == 0 {
		return ""
	}
	out := fmt.Sprintf("  %d tokens", b.Tokens)
	if b.Deferred > 0 {
		out += fmt.Sprintf(", %d tools deferred", b.Deferred)
	}
	return out
}

func (c *CLI) bindingJSON(b integration.Binding, cat integration.Catalog, f InspectOptions) error {
	if err := c.jsonLine(map[string]any{"binding": b}); err != nil {
		return err
	}
	for _, item := range cat.Items {
		if !selected(item, f.Kind) {
			continue
		}
		if !f.Schema {
			item.InputSchema, item.OutputSchema = nil, nil
		}
		if err := c.jsonLine(map[string]any{"binding": b.Name, "item": item}); err != nil {
			return err
		}
	}
	return nil
}

func (c *CLI) jsonLine(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return exit.New(exit.Internal, "%w", err)
	}
	_, err = c.Stdout.Write(append(event.Escape(line), '\n'))
	return err
}

func selected(item integration.Item, kind string) bool {
	return kind == "" || item.Kind == strings.TrimSuffix(kind, "s")
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
