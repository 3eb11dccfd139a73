package theme

import (
	"fmt"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/tool"
)

// The symbols of states; each stands beside a word.
const (
	SymbolReady = "●"
	SymbolBusy  = "◐"
	SymbolWarn  = "⚠"
	SymbolOff   = "○"
	SymbolBad   = "✗"
	SymbolGood  = "✔"
)

// Group says which of the five counts of the header a state belongs to.
type Group uint8

// The groups, in the order of the header.
const (
	GroupReady Group = iota
	GroupBusy
	GroupWarn
	GroupBad
	GroupOff
)

// Groups lists the groups.
func Groups() []Group { return []Group{GroupReady, GroupBusy, GroupWarn, GroupBad, GroupOff} }

// Symbol is the group's symbol.
func (g Group) Symbol() string {
	return [...]string{SymbolReady, SymbolBusy, SymbolWarn, SymbolBad, SymbolOff}[g]
}

// Word is the group's word.
func (g Group) Word() string {
	return [...]string{"ready", "busy", "attention", "failed", "off"}[g]
}

// Style is the group's style.
func (t *Theme) Style(g Group) lipgloss.Style {
	return [...]lipgloss.Style{t.Good, t.Busy, t.Warn, t.Bad, t.Muted}[g]
}

// GroupOf sorts a state.
func GroupOf(s integration.State) Group {
	switch s {
	case integration.StateReady:
		return GroupReady
	case integration.StateStarting, integration.StateDiscovering, integration.StateReconnecting,
		integration.StateRetiring, integration.StateClosing:
		return GroupBusy
	case integration.StateUntrusted, integration.StateAuthenticating, integration.StateDegraded:
		return GroupWarn
	case integration.StateInvalid, integration.StateFailed:
		return GroupBad
	case integration.StateConfigured, integration.StateDisabled, integration.StateClosed:
		return GroupOff
	}
	return GroupOff
}

// StateWord is what to call a binding's state, with the wait for the next try
// where one is planned.
func StateWord(b integration.Binding, now time.Time) string {
	if b.NextTry != nil {
		if d := b.NextTry.Sub(now); d > 0 {
			return fmt.Sprintf("again in %d s", int((d+time.Second-1)/time.Second))
		}
		if b.State == integration.StateReconnecting {
			return "trying"
		}
	}
	switch b.State {
	case integration.StateStarting:
		return "starting…"
	case integration.StateDiscovering:
		return "listing…"
	case integration.StateAuthenticating:
		return "sign-in…"
	case integration.StateReconnecting:
		return "retrying…"
	case integration.StateRetiring:
		return "retiring…"
	case integration.StateClosing:
		return "closing…"
	default:
	}
	return string(b.State)
}

// Outcome is the symbol, word and style of a call's outcome.
func (t *Theme) Outcome(o tool.Outcome) (symbol, word string, style lipgloss.Style) {
	switch o {
	case tool.OK:
		return SymbolGood, "ok", t.Good
	case tool.ToolError:
		return SymbolBad, "tool error", t.Bad
	case tool.InvalidArguments:
		return SymbolBad, "invalid arguments", t.Warn
	case tool.Denied:
		return SymbolBad, "denied", t.Warn
	case tool.Unavailable:
		return SymbolBad, "unavailable", t.Bad
	case tool.SchemaChanged:
		return SymbolWarn, "definition changed", t.Warn
	case tool.Cancelled:
		return SymbolOff, "cancelled", t.Muted
	case tool.Timeout:
		return SymbolBad, "timed out", t.Bad
	case tool.OverLimit:
		return SymbolBad, "over limit", t.Bad
	case tool.Indeterminate:
		return SymbolWarn, "outcome unknown", t.Bad
	case tool.Failed:
		return SymbolBad, "failed", t.Bad
	}
	return SymbolWarn, "unknown outcome", t.Warn
}

// Short writes a duration in a few cells: "40 ms", "1.9 s", "12m", "3h", "5d".
func Short(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// Age is Short in whole units.
func Age(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	}
	return Short(d)
}
