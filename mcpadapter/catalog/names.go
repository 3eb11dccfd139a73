package catalog

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The bounds of model-facing names, in bytes.
const (
	MaxModelName = 64
	// cutModelName is what a shortened name keeps before "_" and the hash.
	cutModelName  = 55
	nameHashBytes = 4
	namePrefix    = "mcp__"
)

var bindingName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`) })

// reserved are names that would be taken for a part of the host.
var reserved = []string{
	"all", "ask_user", "assistant", "builtin", "delegate", "harness", "host", "looprig", "loop", "mcp", "model",
	"none", "operator", "scripted", "session", "system", "tool_schema", "tool_search", "user",
}

// NameError says why a binding cannot have a name.
type NameError struct{ Name, Reason string }

func (e *NameError) Error() string {
	return fmt.Sprintf("%q cannot name a binding: %s", e.Name, e.Reason)
}

// CheckBindingName says whether a binding may be called name; it fails with
// *NameError.
func CheckBindingName(name string) error {
	shown := name
	if len(shown) > MaxModelName {
		shown = shown[:MaxModelName]
	}
	switch {
	case !bindingName().MatchString(name):
		return &NameError{shown, "a name is 1 to 32 of a-z, 0-9, _ and -, and begins with a letter or digit"}
	case strings.Contains(name, "__"):
		return &NameError{shown, `it contains "__"`}
	case strings.HasSuffix(name, "_"):
		return &NameError{shown, `it ends in "_"`}
	case slices.Contains(reserved, name):
		return &NameError{shown, "it is reserved"}
	}
	return nil
}

// ReservedNames lists the names that no binding may have.
func ReservedNames() []string { return slices.Clone(reserved) }

// plainName is the name of a tool that needs no change.
func plainName(binding, raw string) string { return namePrefix + binding + "__" + raw }

// ModelNames gives each raw tool name of a binding its model-facing name:
// mcp__<binding>__<tool> where that is at most MaxModelName bytes of A-Z, a-z,
// 0-9, _ and -; else what is left of it with a hash of the raw name. Every
// member of a clash gets its hash. A name that clashes even so is "". The result
// does not depend on the order of raws, which must be distinct.
func ModelNames(binding string, raws []string) []string {
	names := make([]string, len(raws))
	hashed := make([]bool, len(raws))
	for i, raw := range raws {
		names[i] = plainName(binding, mapped(raw))
		if names[i] != plainName(binding, raw) || len(names[i]) > MaxModelName {
			names[i], hashed[i] = hashedName(binding, raw), true
		}
	}
	for {
		clash := clashes(names)
		again := false
		for i := range names {
			if clash[names[i]] && !hashed[i] {
				names[i], hashed[i] = hashedName(binding, raws[i]), true
				again = true
			}
		}
		if again {
			continue
		}
		for i := range names {
			if clash[names[i]] {
				names[i] = ""
			}
		}
		return names
	}
}

// clashes tells which names occur more than once.
func clashes(names []string) map[string]bool {
	out := make(map[string]bool, len(names))
	for _, n := range names {
		_, seen := out[n]
		out[n] = seen
	}
	return out
}

func mapped(raw string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, raw)
}

func hashedName(binding, raw string) string {
	h := newHash(domainName)
	h.frame([]byte(binding))
	h.frame([]byte(raw))
	base := plainName(binding, mapped(raw))
	if len(base) > cutModelName {
		base = base[:cutModelName]
	}
	return base + "_" + hex.EncodeToString(h.h.Sum(nil)[:nameHashBytes])
}
