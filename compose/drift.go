package compose

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/session"
)

// driftClass is the class of a session whose configuration has changed.
const driftClass = "config_drift"

// DriftText lists the changed fields for people, one a line.
func DriftText(e *session.ConfigMismatchError) string {
	var b strings.Builder
	fmt.Fprintf(&b, "the configuration is not the one that session %s was left with:\n", e.Session)
	for _, f := range e.Fields {
		fmt.Fprintf(&b, "  %s\n", session.DriftLine(f))
	}
	return b.String()
}

// driftFault is a refusal to go on. It is no damage, and not called so.
func driftFault(e *session.ConfigMismatchError) error {
	out := exit.New(exit.Usage, "%s", strings.TrimSuffix(DriftText(e), "\n"))
	out.Class, out.Err = driftClass, e
	return out.WithHint("to go on under the configuration of now, say so with --accept-drift; the decision is put on record")
}

// decideDrift asks once about a set of changed fields, and remembers the answer.
type decideDrift struct {
	resume  *Resume
	by      string
	decided []event.DriftField
	accept  bool
}

func (d *decideDrift) decide(ctx context.Context, e *session.ConfigMismatchError) (bool, string) {
	switch {
	case d.resume.AcceptDrift:
		return true, d.by + " (--accept-drift)"
	case d.resume.Decide == nil:
		return false, "default"
	}
	if d.decided == nil || !slices.Equal(d.decided, e.Fields) {
		d.decided, d.accept = e.Fields, d.resume.Decide(ctx, e)
	}
	return d.accept, d.by
}
