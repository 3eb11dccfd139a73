package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/internal/safetext"
)

// usageText is what a session's models used, a line for each, "" for nothing.
func usageText(used []event.ModelUsage) string {
	var b strings.Builder
	for _, u := range used {
		fmt.Fprintf(&b, "used by %s%s: %d messages, %d tokens in", safetext.ToLineN(u.Model, 128), purposeText(u), u.Messages, u.Input)
		if u.CacheRead > 0 || u.CacheWrite > 0 {
			fmt.Fprintf(&b, " (%d from a cache, %d into one)", u.CacheRead, u.CacheWrite)
		}
		fmt.Fprintf(&b, ", %d out, %s\n", u.Output, costText(u.Usage))
	}
	return b.String()
}

// purposeText says of what no loop asked for who did.
func purposeText(u event.ModelUsage) string {
	if u.Purpose == event.ForServers {
		return " for servers that asked (sampling)"
	}
	return ""
}

func costText(u event.Usage) string {
	if u.Currency == "" {
		return "no price configured"
	}
	return model.Micro(u.CostMicro).String() + " " + safetext.Ident(u.Currency).String()
}

// showUsage ends the showing of a session with what it used.
func (c *CLI) showUsage(ctx context.Context, store *sqlite.Store, meta journal.Meta) error {
	if c.Output == OutputJSON {
		return nil // every message and session.closed have it
	}
	past, err := session.ReadPast(ctx, store, meta.Session)
	if err != nil {
		return err
	}
	return c.printf("%s", usageText(past.Usage()))
}
