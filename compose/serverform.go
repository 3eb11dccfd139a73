package compose

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/config/doc"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/shellwords"
)

const kindStdio = "stdio"

// The names of the add form's fields.
const (
	fieldName       = "name"
	fieldCommand    = "command"
	fieldCwd        = "cwd"
	fieldEnv        = "env"
	fieldInherit    = "inherit_env"
	fieldSHA256     = "sha256"
	fieldScope      = "scope"
	fieldLoop       = "loop"
	fieldVisibility = "visibility"
	fieldRequired   = "required"
)

func stdioKind() integration.SourceKind {
	one := 1
	// The directory is part of a launch: what is added here is written down with
	// the directory of now, so that it is the same launch from everywhere.
	var cwd json.RawMessage
	if dir, err := os.Getwd(); err == nil {
		if raw, err := json.Marshal(dir); err == nil {
			cwd = raw
		}
	}
	max := 32
	return integration.SourceKind{Name: kindStdio, Title: "a program on this machine (stdio)", Form: form.Schema{
		Title: "Server",
		Fields: []form.Field{
			{Name: fieldName, Title: "Name", Kind: form.KindText, Required: true, MinLength: &one, MaxLength: &max, Pattern: "^[a-z0-9][a-z0-9_-]*$", Description: "small letters, digits, - and _"},
			{Name: fieldCommand, Title: "Command", Kind: form.KindText, Required: true, MinLength: &one, Description: "with its arguments; quotes as in a shell, nothing is expanded"},
			{Name: fieldCwd, Title: "Directory", Kind: form.KindText, Default: cwd, Description: "absolute; part of what is pinned"},
			{Name: fieldEnv, Title: "Variables", Kind: form.KindText, Description: `NAME=value NAME="a b"; ${VAR} is expanded`},
			{Name: fieldInherit, Title: "Inherited", Kind: form.KindText, Description: "names of variables to pass on"},
			{Name: fieldSHA256, Title: "SHA-256", Kind: form.KindText, Description: "of the executable; empty: not checked"},
			{Name: fieldScope, Title: "Scope", Kind: form.KindChoice, Required: true, Default: json.RawMessage(`"session"`), Options: []form.Option{
				{Value: json.RawMessage(`"session"`), Title: "session: shared by the loops", Label: "session: shared by the loops"},
				{Value: json.RawMessage(`"loop"`), Title: "loop: private to one loop", Label: "loop: private to one loop"},
			}},
			{Name: fieldLoop, Title: "Loop", Kind: form.KindText, Description: "for scope loop"},
			{Name: fieldVisibility, Title: "Visible to", Kind: form.KindText, Description: "names of loops; empty: all"},
			{Name: fieldRequired, Title: "Required", Kind: form.KindBoolean, Default: json.RawMessage("false"), Description: "a failure at the start stops the session"},
		},
	}}
}

// serverFromForm turns the form's values into an entry, through the same strict
// reader that reads mcp.json.
func serverFromForm(c integration.Change, env config.Env) (config.Server, error) {
	entry, name, err := entryFromForm(c)
	if err != nil {
		return config.Server{}, err
	}
	s, err := config.ParseServer(name, entry, env)
	var faults doc.Faults
	if errors.As(err, &faults) {
		return s, fieldErrors(faults)
	}
	return s, err
}

// fieldErrors turns the faults of an entry into errors of the form's fields.
func fieldErrors(faults doc.Faults) form.Errors {
	fields := map[string]string{
		"command": fieldCommand, "args": fieldCommand, "cwd": fieldCwd, "env": fieldEnv, "inheritEnv": fieldInherit,
		"sha256": fieldSHA256, "scope": fieldScope, "loop": fieldLoop, "visibility": fieldVisibility,
	}
	var out form.Errors
	for _, f := range faults {
		_, key, _ := strings.Cut(f.Path, ".")
		key, _, _ = strings.Cut(key, ".")
		key, _, _ = strings.Cut(key, "[")
		out = append(out, &form.FieldError{Field: fields[key], Message: f.Message})
	}
	return out
}

type serverEntry struct {
	Type       string            `json:"type"`
	Command    string            `json:"command"`
	Args       []string          `json:"args,omitempty"`
	Cwd        string            `json:"cwd,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	InheritEnv []string          `json:"inheritEnv,omitempty"`
	SHA256     string            `json:"sha256,omitempty"`
	Required   bool              `json:"required,omitempty"`
	Scope      string            `json:"scope,omitempty"`
	Loop       string            `json:"loop,omitempty"`
	Visibility []string          `json:"visibility,omitempty"`
}

func entryFromForm(c integration.Change) (json.RawMessage, string, error) {
	if c.Kind != kindStdio {
		return nil, "", fmt.Errorf("no kind of server is called %q", c.Kind)
	}
	root, err := doc.ParseJSON("form", c.Values)
	if err != nil {
		return nil, "", err
	}
	r := &doc.Reader{File: "form"}
	o := r.Object(root, "")
	name := o.String(fieldName, c.Binding)
	e := serverEntry{
		Type: kindStdio, Cwd: o.String(fieldCwd, ""), SHA256: o.String(fieldSHA256, ""),
		Loop: o.String(fieldLoop, ""), Required: o.Bool(fieldRequired, false),
	}
	if scope := o.String(fieldScope, "session"); scope != "session" {
		e.Scope = scope
	}
	words := split(o, fieldCommand)
	if len(words) > 0 {
		e.Command, e.Args = words[0], words[1:]
	}
	for _, kv := range split(o, fieldEnv) {
		k, v, ok := strings.Cut(kv, "=")
		if !ok {
			return nil, "", form.Errors{{Field: fieldEnv, Message: "write NAME=value, separated by spaces"}}
		}
		if e.Env == nil {
			e.Env = map[string]string{}
		}
		e.Env[k] = v
	}
	e.InheritEnv, e.Visibility = split(o, fieldInherit), split(o, fieldVisibility)
	o.Done()
	if err := r.Err(); err != nil {
		return nil, "", err
	}
	if err := config.CheckName(name); err != nil {
		return nil, "", form.Errors{{Field: fieldName, Message: err.Error()}}
	}
	if len(words) == 0 {
		return nil, "", form.Errors{{Field: fieldCommand, Message: "is empty"}}
	}
	raw, err := json.Marshal(e)
	return raw, name, err
}

func split(o *doc.Obj, key string) []string {
	text := o.String(key, "")
	words, err := shellwords.Split(text)
	if err != nil {
		o.Fail(key, "%s", err)
	}
	return words
}

// formValues pre-fills the form from an entry.
func formValues(s config.Server) json.RawMessage {
	v := map[string]any{
		fieldName: s.Name, fieldCommand: shellwords.Join(append([]string{s.Command}, s.Args...)),
		fieldScope: firstOf(s.Scope, "session"), fieldRequired: s.Required,
	}
	set := func(key, text string) {
		if text != "" {
			v[key] = text
		}
	}
	var env []string
	for _, k := range slices.Sorted(maps.Keys(s.Env)) {
		env = append(env, k+"="+s.Env[k])
	}
	set(fieldCwd, s.Cwd)
	set(fieldEnv, shellwords.Join(env))
	set(fieldInherit, shellwords.Join(s.InheritEnv))
	set(fieldSHA256, s.SHA256)
	set(fieldLoop, s.Loop)
	set(fieldVisibility, shellwords.Join(s.Visibility))
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
}
