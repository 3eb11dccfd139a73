package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/internal/safetext"
)

// shownModels is how many models of an endpoint the text names.
const shownModels = 6

// Models lists where models are, what they are called, and why the rest of the
// known places has none.
func (c *CLI) Models(ctx context.Context) error {
	if err := c.checkOutput(OutputText, OutputJSON); err != nil {
		return err
	}
	list, err := compose.ListModels(ctx, c.options(compose.ModeHeadless))
	if err != nil {
		return err
	}
	for _, e := range list.Endpoints {
		if c.Output == OutputJSON {
			err = c.jsonLine(modelLine(e))
		} else {
			err = c.printf("%s", modelText(e))
		}
		if err != nil {
			return err
		}
	}
	if list.WantedFault != nil {
		return list.WantedFault
	}
	if c.Output == OutputJSON {
		return nil
	}
	return c.printf("\n%s\n", inUse(list))
}

func modelLine(e compose.ModelEndpoint) map[string]any {
	models := make([]map[string]any, len(e.Models))
	for i, m := range e.Models {
		models[i] = map[string]any{"id": m.ID}
		if i < len(e.Contexts) {
			models[i]["context_tokens"], models[i]["context_source"] = e.Contexts[i].Tokens, e.Contexts[i].Source
		}
	}
	v := map[string]any{
		"name": e.Name, "kind": string(e.Kind), "base_url": e.BaseURL, "source": e.Source,
		"reachable": e.Reachable, "used": e.Used, "models": models,
	}
	if e.Reason != "" {
		v["reason"] = safetext.ToLine(e.Reason)
	}
	return v
}

func modelText(e compose.ModelEndpoint) string {
	mark, state := " ", "no"
	if e.Used {
		mark = "*"
	}
	if e.Reachable {
		state = "reachable"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %-16s  %-9s  %-16s  %s\n", mark, safetext.Ident(e.Name), state, e.Kind, safetext.ToLine(orDash(e.BaseURL)))
	if e.Reason != "" {
		fmt.Fprintf(&b, "    %s\n", safetext.ToLine(e.Reason))
	}
	for i, m := range e.Models {
		if i == shownModels {
			fmt.Fprintf(&b, "    and %d more: --output json\n", len(e.Models)-i)
			break
		}
		fmt.Fprintf(&b, "    %s/%s%s\n", safetext.Ident(e.Name), safetext.ToLine(m.ID), contextText(e, i))
	}
	return b.String()
}

// contextText says how large a model's context is, and where that is from.
func contextText(e compose.ModelEndpoint, i int) string {
	if i >= len(e.Contexts) {
		return ""
	}
	return fmt.Sprintf("  (context %d tokens, %s)", e.Contexts[i].Tokens, e.Contexts[i].Source)
}

// inUse says what a session's model is.
func inUse(l compose.ModelList) string {
	if l.Wanted != "" {
		return fmt.Sprintf("A session's model is %s, from %s.", safetext.ToLine(l.Wanted), safetext.ToLine(l.Source))
	}
	for _, e := range l.Endpoints {
		if e.Used {
			return fmt.Sprintf("A session that names no model has one of %s: the first key or server that was found.", safetext.Ident(e.Name))
		}
	}
	return "There is no model: set a key, start a model server, or name one in config.yaml. Until then you choose the calls."
}

// scriptModel refuses a model for a script, which names its own.
func scriptModel(f RootOptions) error {
	if f.Script == "" || f.Model == "" || f.Model == "operator" {
		return nil
	}
	return exit.New(exit.Usage, "--model %s: a script names its model itself", f.Model).WithHint("write model: %s into %s", f.Model, f.Script)
}
