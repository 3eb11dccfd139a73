package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
)

type inspectFlags struct {
	kind   string
	schema bool
}

func inspectCommand(s *state) *cobra.Command {
	var f inspectFlags
	cmd := &cobra.Command{
		Use: "inspect [BINDING]", Short: "Show what servers offer",
		Example: "  looprig inspect demo --kind tools --schema\n  looprig inspect --output json",
		Args:    cobra.MaximumNArgs(1),
	}
	cmd.RunE = s.do(func(cmd *cobra.Command, args []string) error {
		binding := ""
		if len(args) == 1 {
			binding = args[0]
		}
		return s.inspect(cmd.Context(), binding, f)
	})
	cmd.Flags().StringVar(&f.kind, "kind", "", "only tools, prompts, resources or templates")
	cmd.Flags().BoolVar(&f.schema, "schema", false, "with the input schemas")
	s.addRun(cmd)
	s.addOutput(cmd, "text or json (NDJSON, one item a line)")
	return cmd
}

func (s *state) inspect(ctx context.Context, binding string, f inspectFlags) error {
	if err := s.checkOutput(outputText, outputJSON); err != nil {
		return err
	}
	switch f.kind {
	case "", "tools", "prompts", "resources", "templates":
	default:
		return exit.New(exit.Usage, "--kind %q is not one of tools, prompts, resources, templates", f.kind)
	}
	set, err := s.answers("answers", "looprig inspect", nil)
	if err != nil {
		return err
	}
	opt := s.options(compose.ModeHeadless)
	opt.Only, opt.Answers, opt.Title = binding, set, strings.TrimSpace("inspect "+binding)
	asJSON := s.output == outputJSON
	// The items are the result here, not the event stream.
	s.output = outputText
	return s.withApp(ctx, opt, false, func(_ context.Context, a *compose.App) error {
		for _, b := range a.Port.Bindings() {
			if err := s.printBinding(a, b, f, asJSON); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *state) printBinding(a *compose.App, b integration.Binding, f inspectFlags, asJSON bool) error {
	cat, _ := a.Port.Catalog(b.Name, 0)
	if asJSON {
		return s.bindingJSON(b, cat, f)
	}
	server := ""
	if b.ServerName != "" {
		server = fmt.Sprintf("  server %s %s", safetext.Ident(b.ServerName), safetext.Ident(b.ServerVersion))
	}
	fmt.Fprintf(s.stdout, "%s  %s  generation %d  revision %s%s\n", b.Name, b.State, b.Generation, orDash(b.Revision), server)
	if b.Reason != "" {
		fmt.Fprintf(s.stdout, "  %s\n", safetext.ToLine(b.Reason))
	}
	for _, item := range cat.Items {
		if !selected(item, f.kind) {
			continue
		}
		fmt.Fprintf(s.stdout, "  %-8s %s", item.Kind, safetext.Ident(item.Name))
		if d := firstLine(item.Description); d != "" {
			fmt.Fprintf(s.stdout, "  %s", safetext.ToLineN(d, 400))
		}
		fmt.Fprintln(s.stdout)
		if item.Withheld != "" {
			fmt.Fprintf(s.stdout, "           withheld: %s\n", safetext.ToLine(item.Withheld))
		}
		if f.schema && len(item.InputSchema) > 0 {
			fmt.Fprintf(s.stdout, "           %s\n", safetext.ToLineN(string(item.InputSchema), 1<<20))
		}
	}
	return nil
}

func (s *state) bindingJSON(b integration.Binding, cat integration.Catalog, f inspectFlags) error {
	if err := s.jsonLine(map[string]any{"binding": b}); err != nil {
		return err
	}
	for _, item := range cat.Items {
		if !selected(item, f.kind) {
			continue
		}
		if !f.schema {
			item.InputSchema, item.OutputSchema = nil, nil
		}
		if err := s.jsonLine(map[string]any{"binding": b.Name, "item": item}); err != nil {
			return err
		}
	}
	return nil
}

func (s *state) jsonLine(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return exit.New(exit.Internal, "%w", err)
	}
	_, err = s.stdout.Write(append(event.Escape(line), '\n'))
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
