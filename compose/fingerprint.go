package compose

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/session"
)

// literal stands for a value of an entry that is written out where a secret may
// be.
const literal = "literal"

// fingerprint is what the session depends on. It covers the files and the
// servers of the run; rules of the command line and of a script are given for
// the run at hand, and are not part of it. What an entry declares is covered
// whole, values that may be secret included, by a keyed digest; variables count
// by their names alone, so that a token that is renewed is no change.
func (a *App) fingerprint(entries []entry, loops []session.LoopConfig) event.Fingerprint {
	var f event.Fingerprint
	add := func(severity event.Severity, field, value string) {
		f = append(f, event.FingerprintField{Field: field, Value: value, Severity: severity})
	}
	for _, l := range loops {
		add(event.SeverityWarn, session.ModelField(l.Name), l.Model.Info().Name)
		add(event.SeverityWarn, "loops."+l.Name+".system", digestOf(l.System))
	}
	for _, l := range a.conf.Loops {
		if rules := plain(l.Policy); !unset(rules) {
			add(event.SeverityBreak, "loops."+l.Name+".policy", digestOf(rules))
		}
		l.System, l.Model, l.Policy = "", "", config.Policy{}
		add(event.SeverityBreak, "loops."+l.Name+".delegation", digestOf(plain(l)))
	}
	add(event.SeverityBreak, "policy", digestOf(plain(a.conf.Policy)))
	for _, e := range entries {
		declared := declaredEntry(e.server)
		add(event.SeverityWarn, bindingField(e.server.Name), a.bindingDigest(e.server, declared))
		if trust := trustOf(declared); len(trust) > 0 {
			add(event.SeverityBreak, "bindings."+e.server.Name+".trust", digestOf(trust))
		}
	}
	slices.SortFunc(f, func(x, y event.FingerprintField) int { return cmp.Compare(x.Field, y.Field) })
	return f
}

func bindingField(name string) string { return "bindings." + name }

// bindingDigest covers an entry as it is written. A session whose record has the
// digest of a version before, which left out literal values and had no key,
// keeps it: that is no change of the configuration.
func (a *App) bindingDigest(s config.Server, declared map[string]any) string {
	whole, err := json.Marshal(entryOf(s))
	if err != nil {
		return "unknown"
	}
	digest := keyedDigest(a.digestKey, s.Name, whole)
	if a.past == nil {
		return digest
	}
	old := digestOf(declared)
	for _, f := range a.past.Drift(event.Fingerprint{{Field: bindingField(s.Name), Value: digest, Severity: event.SeverityWarn}}) {
		if f.Field == bindingField(s.Name) && f.Was == old {
			return old
		}
	}
	return digest
}

// entryOf is an entry as it is written, variables not expanded.
func entryOf(s config.Server) map[string]any {
	var out map[string]any
	if json.Unmarshal(s.Entry, &out) != nil || out == nil {
		return map[string]any{"entry": string(s.Entry)}
	}
	return out
}

// digestOf names a value by its canonical JSON: keys are sorted.
func digestOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "unknown"
	}
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// plain is a part of the configuration without the places in its file and
// without what it does not set: a key that a later version knows is no change.
func plain(v any) any {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var out any
	if json.Unmarshal(b, &out) != nil {
		return nil
	}
	return withoutPlaces(out)
}

func withoutPlaces(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "Pos")
		for k, x := range v {
			if v[k] = withoutPlaces(x); unset(v[k]) {
				delete(v, k)
			}
		}
	case []any:
		for i, x := range v {
			v[i] = withoutPlaces(x)
		}
	}
	return v
}

func unset(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// declaredEntry is an entry without the literal values of its environment and
// headers.
func declaredEntry(s config.Server) map[string]any {
	out := entryOf(s)
	for _, key := range []string{"env", "headers"} {
		values, ok := out[key].(map[string]any)
		if !ok {
			continue
		}
		for name, v := range values {
			if text, ok := v.(string); ok && !strings.Contains(text, "${") {
				values[name] = literal
			}
		}
	}
	return out
}

// trustOf are the keys of an entry that say what a server may do unasked.
func trustOf(entry map[string]any) map[string]any {
	out := map[string]any{}
	for _, key := range []string{"trustAnnotations", "sampling", "capabilities", "elicitation", "sha256", "visibility", "roles", "scope", "loop"} {
		if v, ok := entry[key]; ok {
			out[key] = v
		}
	}
	return out
}
