package compose

import (
	"context"
	"strings"
	"testing"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/provider"
	"github.com/looprig/looprig/harness/model"
)

func TestContextSizes(t *testing.T) {
	t.Parallel()
	m := newModels(&config.Config{Providers: []config.Provider{{
		Name: "mine", Kind: "openai-chat", BaseURL: "http://127.0.0.1:1/v1", Model: "a", ContextTokens: 9000,
		Models: []config.ProviderModel{{Name: "b", ContextTokens: 5000, Price: &model.Price{Currency: "USD", Input: 1, Output: 2}}},
	}, {Name: "other", Kind: "openai-chat", BaseURL: "http://127.0.0.1:1/v1", Model: "z"}}}, Options{Locals: []provider.Local{}})
	for _, c := range []struct {
		name   string
		listed int
		tokens int
		source string
	}{
		{"mine/b", 7000, 5000, windowConfigured},
		{"mine/c", 7000, 9000, windowConfigured},
		{"other/z", 7000, 7000, windowListed},
		{"other/z", 0, defaultWindow, windowAssumed},
		{"other/vendor/Claude-Sonnet-4-5", 0, 200_000, windowKnown},
		{"other/gpt-4.1-mini", 0, 1_047_576, windowKnown},
		{"other/gpt-4-0613", 0, 8192, windowKnown},
	} {
		head, id, _ := strings.Cut(c.name, "/")
		cfg := provider.Config{Name: c.name, Model: id}
		if head == "mine" {
			cfg.ContextTokens = 9000
		}
		if tokens, source := m.window(cfg, c.listed); tokens != c.tokens || source != c.source {
			t.Errorf("%s: %d, %s", c.name, tokens, source)
		}
	}
	for name, priced := range map[string]bool{"mine/b": true, "mine": false} {
		client, err := m.named(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		if info := client.Info(); (info.Price != nil) != priced || info.ContextTokens == 0 {
			t.Errorf("%s is %+v", name, info)
		}
		if _, ok := client.(model.ToolChecker); !ok {
			t.Errorf("%s checks no tools", name)
		}
	}
}

// Longer names come first, or the shorter would hide them.
func TestKnownWindowsHideNothing(t *testing.T) {
	t.Parallel()
	for i, k := range knownWindows {
		for _, before := range knownWindows[:i] {
			if strings.HasPrefix(k.prefix, before.prefix) {
				t.Errorf("%s is hidden by %s", k.prefix, before.prefix)
			}
		}
	}
}
