package cli

import (
	"testing"

	"github.com/looprig/looprig/harness/event"
)

func TestUsageText(t *testing.T) {
	t.Parallel()
	got := usageText([]event.ModelUsage{
		{Model: "mock", Messages: 2, Usage: event.Usage{Input: 10, CacheRead: 4, Output: 3, CostMicro: 1500, Currency: "EUR"}},
		{Model: "mock", Purpose: event.ForServers, Messages: 1, Usage: event.Usage{Input: 2, Output: 1}},
		{Model: "free\x1b[m", Messages: 1, Usage: event.Usage{Input: 1}},
	})
	want := "used by mock: 2 messages, 10 tokens in (4 from a cache, 0 into one), 3 out, 0.0015 EUR\n" +
		"used by mock for servers that asked (sampling): 1 messages, 2 tokens in, 1 out, no price configured\n" +
		"used by free␛[m: 1 messages, 1 tokens in, 0 out, no price configured\n"
	if got != want {
		t.Errorf("%q", got)
	}
}
