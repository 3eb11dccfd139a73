package config_test

import (
	"strings"
	"testing"

	"github.com/looprig/looprig/compose/config"
)

func TestLimitsAndPrices(t *testing.T) {
	t.Parallel()
	c, err := config.LoadConfig(write(t, "config.yaml", `
limits: {steps: 3, toolCalls: 5, parallelCalls: 2, delegateDepth: 1, delegates: 4, queuedInputs: 6, deferShare: 10}
providers:
  anthropic:
    models:
      claude-x: {contextTokens: 500000, price: {currency: USD, input: 3.00, output: "15", cacheRead: 0.075}}
      claude-y: {}
`), env, true)
	if err != nil {
		t.Fatal(err)
	}
	if want := (config.Limits{Steps: 3, ToolCalls: 5, ParallelCalls: 2, DelegateDepth: 1, Delegates: 4, QueuedInputs: 6, DeferShare: 10}); c.Limits != want {
		t.Errorf("limits are %+v", c.Limits)
	}
	m := c.Providers[0].Described("claude-x")
	if p := m.Price; m.ContextTokens != 500000 || p == nil || p.Currency != "USD" || p.Input != 3_000_000 || p.Output != 15_000_000 || *p.CacheRead != 75_000 || p.CacheWrite != nil {
		t.Errorf("claude-x is %+v, price %+v", m, m.Price)
	}
	if m := c.Providers[0].Described("claude-y"); m.Price != nil || m.ContextTokens != 0 {
		t.Errorf("claude-y is %+v", m)
	}
	for text, want := range map[string]string{
		"limits:\n  steps: 0\n":     "config.yaml:2:10: limits.steps: expected a whole number from 1 to 10000, found 0",
		"limits: {step: 3}\n":       `did you mean "steps"?`,
		"limits: {deferShare: 101}": "from 1 to 100",
		"limits: {toolCalls: many}": "expected a number",
		"providers: {anthropic: {models: {a: {price: {currency: USD, input: 1}}}}}":              "price: needs output",
		"providers: {anthropic: {models: {a: {price: {input: 1, output: 2}}}}}":                  "three capital letters",
		"providers: {anthropic: {models: {a: {price: {currency: USD, input: 1e3, output: 2}}}}}": "is no amount",
		"providers: {anthropic: {models: {a: {price: {currency: USD, input: -1, output: 2}}}}}":  "is no amount",
		"providers: {anthropic: {models: {a: {prices: {}}}}}":                                    `prices: unknown key`,
		"providers: {anthropic: {models: {a b: {}}}}":                                            "printable ASCII",
	} {
		if _, err := config.LoadConfig(write(t, "config.yaml", text), env, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
