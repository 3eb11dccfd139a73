package cli

import (
	"fmt"
	"strings"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/tool"
)

// summary is one event for people; the caller cleans it.
func summary(e event.Event) string {
	switch v := e.(type) {
	case *event.SessionStarted:
		return v.App + ", " + v.Mode + ", model " + v.Model
	case *event.SessionClosed:
		return fmt.Sprintf("exit code %d, %s; %d calls, %d outcomes, %d indeterminate", v.ExitCode, v.Reason, v.Coverage.Calls, v.Coverage.Outcomes, v.Coverage.Indeterminate)
	case *event.SessionRestored:
		return fmt.Sprintf("%s, %s, %d turns before; outcome unknown: %s; %d gates open again, %d withdrawn", v.App, v.Mode, v.Turns, orNone(v.Indeterminate), v.Reinstalled, v.Withdrawn)
	case *event.ConfigDrift:
		return fmt.Sprintf("%s by %s: %d fields", v.Decision, v.By, len(v.Fields))
	case *event.HistoryCompacted:
		if v.Summary == "" {
			return fmt.Sprintf("%d messages left out, %d kept, %d → %d tokens: %s", v.Replaced, v.Kept, v.Before, v.After, v.Reason)
		}
		return fmt.Sprintf("%d messages replaced, %d kept, %d → %d tokens", v.Replaced, v.Kept, v.Before, v.After)
	case *event.ModelChanged:
		return v.From + " → " + v.To + " by " + v.By
	case *event.GrantChanged:
		return v.Op + " " + v.Scope + " " + v.Tool + " by " + v.By
	case *event.TurnInterrupted:
		return v.Turn + ": by " + v.By
	case *event.LoopClosed:
		return v.Reason
	case *event.ToolsetAdopted:
		return fmt.Sprintf("%s generation %d, %d tools", v.Source, v.Generation, v.Tools)
	case *event.TurnStarted:
		return v.Turn + " " + v.Kind + " by " + v.Origin + ": " + v.Text
	case *event.TurnCompleted:
		return v.Turn + ": " + v.Text
	case *event.TurnFailed:
		return v.Turn + ": " + v.Code + ": " + v.Reason
	case *event.MessageCompleted:
		return string(v.Role) + ": " + content.PlainText(v.Content)
	case *event.ToolRequested:
		return v.Call + " " + named(v.Tool, v.ModelName) + " " + string(v.Args)
	case *event.ToolStarted:
		return v.Call + " " + v.Tool + " by rule " + v.Decision.Rule
	case *event.ToolCompleted:
		return v.Call + " " + named(v.Tool, v.ModelName) + " " + string(v.Outcome) + " " + v.Reason
	case *event.GateOpened:
		return v.ID + " " + string(v.Kind) + ": " + v.Prompt.Title
	case *event.GateResolved:
		return v.Gate + " " + string(v.Kind) + ": " + string(v.Response.Action) + ", " + string(v.Reason) + " " + v.Detail
	case *event.BindingChanged:
		return v.Binding + " " + v.Previous + " → " + v.State + " " + v.Code + " " + v.Text
	case *event.CatalogCandidate:
		return catalogSummary(v.CatalogChange)
	case *event.CatalogAdopted:
		return catalogSummary(v.CatalogChange)
	case *event.CatalogRejected:
		return v.Binding + ": " + v.Class + ": " + v.Reason
	case *event.BindingReconfigured:
		return v.Binding + " " + v.Op + " by " + v.By
	case *event.Notice:
		return v.Binding + " " + v.Level + " " + v.Code + ": " + v.Text
	case *event.PinChanged:
		once := ""
		if v.Once {
			once = " (once, not pinned)"
		}
		return v.Binding + " " + v.Layer + " " + v.Fingerprint + " " + v.By + once
	case *event.Expectation:
		return fmt.Sprintf("line %d %t: %s %s", v.Line, v.OK, v.Expression, v.Reason)
	}
	return ""
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

func catalogSummary(c event.CatalogChange) string {
	return fmt.Sprintf("%s gen %d → %d: %d tools, +%d -%d ~%d", c.Binding, c.From, c.Generation, c.Tools, len(c.Added), len(c.Removed), len(c.Changed))
}

// named is a call's tool, or what was asked for where there is none.
func named(identity, name string) string {
	if identity != "" {
		return identity
	}
	return tool.Asked("", name).String()
}
