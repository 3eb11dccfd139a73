package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/internal/safetext"
)

// ModelField is the field of a fingerprint that has a loop's model.
func ModelField(loop string) string { return "loops." + loop + ".model" }

// bindingField begins the fields of a binding's declaration.
const bindingField = "bindings."

// ConfigMismatchError says that a session would go on under a configuration that
// is not the one that it was left with. Nothing is damaged: an operator decides.
type ConfigMismatchError struct {
	Session string
	Fields  []event.DriftField
}

func (e *ConfigMismatchError) Error() string {
	lines := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		lines[i] = DriftLine(f)
	}
	return "the configuration is not the one that session " + e.Session + " was left with: " + strings.Join(lines, "; ")
}

// DriftLine is one changed field for people.
func DriftLine(f event.DriftField) string {
	field, was, is := safetext.ToLine(f.Field), short(f.Was), short(f.Is)
	switch {
	case f.Was == "":
		return fmt.Sprintf("%s (%s): added, %s", field, f.Severity, is)
	case f.Is == "":
		return fmt.Sprintf("%s (%s): removed, it was %s", field, f.Severity, was)
	}
	return fmt.Sprintf("%s (%s): was %s, is %s", field, f.Severity, was, is)
}

// short cuts digests, which people compare and do not read.
func short(v string) string {
	const hex = 12
	v = safetext.ToLine(v).String()
	for _, kind := range []string{"sha256:", "hmac-sha256:"} {
		if shown := len(kind) + hex; strings.HasPrefix(v, kind) && len(v) > shown {
			return v[:shown] + "…"
		}
	}
	return v
}

// compareFingerprints lists what changed, by field. A session that was made
// without a fingerprint has nothing to compare.
func compareFingerprints(was, is event.Fingerprint) []event.DriftField {
	if len(was) == 0 || len(is) == 0 {
		return nil
	}
	var out []event.DriftField
	for _, f := range was {
		i := slices.IndexFunc(is, func(x event.FingerprintField) bool { return x.Field == f.Field })
		switch {
		case i < 0:
			out = append(out, event.DriftField{Field: f.Field, Was: f.Value, Severity: f.Severity})
		case is[i].Value != f.Value:
			out = append(out, event.DriftField{Field: f.Field, Was: f.Value, Is: is[i].Value, Severity: worse(f.Severity, is[i].Severity)})
		}
	}
	for _, f := range is {
		if !slices.ContainsFunc(was, func(x event.FingerprintField) bool { return x.Field == f.Field }) {
			out = append(out, event.DriftField{Field: f.Field, Is: f.Value, Severity: f.Severity})
		}
	}
	slices.SortFunc(out, func(a, b event.DriftField) int { return strings.Compare(a.Field, b.Field) })
	return out
}

var severities = []event.Severity{event.SeverityInfo, event.SeverityWarn, event.SeverityBreak}

func worse(a, b event.Severity) event.Severity {
	if slices.Index(severities, b) > slices.Index(severities, a) {
		return b
	}
	return a
}

// drift is what somebody has to decide on before the session goes on. What an
// operator changed in the session itself, and saved, is no difference.
func (p *past) drift(is event.Fingerprint) []event.DriftField {
	return slices.DeleteFunc(compareFingerprints(p.Fingerprint, is), func(f event.DriftField) bool {
		if f.Severity == event.SeverityInfo {
			return true
		}
		name, ok := strings.CutPrefix(f.Field, bindingField)
		if !ok {
			return false
		}
		name, _, _ = strings.Cut(name, ".")
		return slices.Contains(p.Reconfigured, name)
	})
}
