package config

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Env looks up environment variables. It stands in for the process's own, so
// that nothing here reads a global.
type Env func(name string) (string, bool)

// EnvOf makes an Env from a list of "NAME=value" entries; later ones win.
func EnvOf(environ []string) Env {
	m := make(map[string]string, len(environ))
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok {
			m[name] = value
		}
	}
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([^}]*)\}`) })

var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// Expand replaces ${VAR} and ${VAR:-default}. A variable that is not set and
// has no default is an error; there is no other substitution.
func (e Env) Expand(s string) (string, error) {
	var fault error
	out := variable().ReplaceAllStringFunc(s, func(m string) string {
		name, def, hasDef := strings.Cut(m[2:len(m)-1], ":-")
		if !variableName().MatchString(name) {
			fault = fmt.Errorf("%s is not a variable: write ${NAME} or ${NAME:-default}", m)
			return m
		}
		if v, ok := e(name); ok && (v != "" || !hasDef) {
			return v
		}
		if hasDef {
			return def
		}
		fault = fmt.Errorf("the variable %s is not set: set it, or write ${%s:-default}", name, name)
		return m
	})
	return out, fault
}
