package cli

import (
	"context"
	"maps"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/harness/integration"
)

// catalogs starts the servers, or the one that is named, and gives their tools
// to see.
func (c *CLI) catalogs(ctx context.Context, only string, see func(binding string, items []integration.Item)) error {
	set, err := c.answers("answers", "looprig policy", nil)
	if err != nil {
		return err
	}
	opt := c.options(compose.ModeHeadless)
	opt.Only, opt.Answers, opt.Title = only, set, "policy"
	output := c.Output
	c.Output = OutputText // what is found is the result here, not the event stream
	defer func() { c.Output = output }()
	return c.withApp(ctx, opt, false, func(_ context.Context, a *compose.App) error {
		for _, b := range a.Port.Bindings() {
			if cat, ok := a.Port.Catalog(b.Name, 0); ok {
				see(b.Name, cat.Items)
			}
		}
		return nil
	})
}

// learnTools fills in the names of tools: as servers were last seen with them, or,
// with connect, as they have them now.
func (c *CLI) learnTools(ctx context.Context, v *compose.PolicyView, connect bool) error {
	if connect {
		now, err := c.knownTools(ctx)
		maps.Copy(v.Known.Tools, now)
		return err
	}
	store, ok, err := c.openReadOnly(ctx)
	if !ok || err != nil {
		return err
	}
	defer func() { _ = store.Close() }() // nothing was written
	last, err := compose.SeenTools(ctx, store)
	if err != nil {
		return c.integrity(err)
	}
	for name, tools := range last {
		if _, known := v.Known.Tools[name]; !known {
			v.Known.Tools[name] = tools
		}
	}
	return nil
}

func (c *CLI) knownTools(ctx context.Context) (map[string][]string, error) {
	out := map[string][]string{}
	err := c.catalogs(ctx, "", func(binding string, items []integration.Item) {
		names := []string{}
		for _, it := range items {
			if it.Kind == kindTool {
				names = append(names, it.Name)
			}
		}
		out[binding] = names
	})
	return out, err
}
