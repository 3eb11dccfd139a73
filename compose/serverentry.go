package compose

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/config/doc"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/shellwords"
)

// serverFromForm turns the form's values into an entry, through the same strict
// reader that reads mcp.json.
// base is the entry that is replaced, or nil: what the form does not ask about
// is kept of it.
func serverFromForm(c integration.Change, base []byte, env config.Env) (config.Server, error) {
	entry, name, err := entryFromForm(c, base)
	if err != nil {
		return config.Server{}, err
	}
	if entry, err = overlay(base, entry); err != nil {
		return config.Server{}, err
	}
	s, err := config.ParseServer(name, entry, env)
	var faults doc.Faults
	if errors.As(err, &faults) {
		return s, fieldErrors(faults)
	}
	return s, err
}

// formFields are the fields of the form in which a person writes the keys of an
// entry.
var formFields = map[string]string{
	"command": fieldCommand, "args": fieldCommand, "cwd": fieldCwd, "env": fieldEnv, "inheritEnv": fieldInherit,
	"sha256": fieldSHA256, "url": fieldURL, "headers": fieldHeaders, "plainHttp": fieldPlain, "scope": fieldScope, "loop": fieldLoop, "visibility": fieldVisibility,
}

// fieldErrors turns the faults of an entry into errors of the form's fields.
func fieldErrors(faults doc.Faults) form.Errors {
	var out form.Errors
	for _, f := range faults {
		_, key, _ := strings.Cut(f.Path, ".")
		key, _, _ = strings.Cut(key, ".")
		key, _, _ = strings.Cut(key, "[")
		out = append(out, &form.FieldError{Field: formFields[key], Message: f.Message})
	}
	return out
}

type serverEntry struct {
	Type       string            `json:"type"`
	Command    string            `json:"command,omitempty"`
	Args       []string          `json:"args,omitempty"`
	Cwd        string            `json:"cwd,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	InheritEnv []string          `json:"inheritEnv,omitempty"`
	SHA256     string            `json:"sha256,omitempty"`
	URL        string            `json:"url,omitempty"`
	Headers    map[string]string `json:"headers,omitempty"`
	PlainHTTP  bool              `json:"plainHttp,omitempty"`
	Required   bool              `json:"required,omitempty"`
	Scope      string            `json:"scope,omitempty"`
	Loop       string            `json:"loop,omitempty"`
	Visibility []string          `json:"visibility,omitempty"`
}

// governed are the keys of an entry that the form decides about.
var governed = []string{
	"type", "builtin", "command", "args", "cwd", "env", "inheritEnv", "sha256", "url", "headers", "plainHttp",
	"required", "scope", "loop", "visibility", "roles",
}

// overlay keeps those members of the replaced entry that the form does not ask
// about, as they are written.
func overlay(base, entry []byte) ([]byte, error) {
	if base == nil {
		return entry, nil
	}
	old, err := doc.ParseJSON("entry", base)
	if err != nil {
		return nil, err
	}
	set, err := doc.ParseJSON("form", entry)
	if err != nil {
		return nil, err
	}
	for _, m := range old.Members {
		if !slices.Contains(governed, m.Key) {
			set.Members = append(set.Members, m)
		}
	}
	return set.JSON(), nil
}

func entryFromForm(c integration.Change, base []byte) ([]byte, string, error) {
	if c.Kind != kindStdio && c.Kind != kindHTTP && c.Kind != kindSSE {
		return nil, "", fmt.Errorf("no kind of server is called %q", c.Kind)
	}
	root, err := doc.ParseJSON("form", c.Values)
	if err != nil {
		return nil, "", err
	}
	r := &doc.Reader{File: "form"}
	o := r.Object(root, "")
	name := o.String(fieldName, c.Binding)
	e := serverEntry{Type: c.Kind, Loop: o.String(fieldLoop, ""), Required: o.Bool(fieldRequired, false)}
	if scope := o.String(fieldScope, "session"); scope != "session" {
		e.Scope = scope
	}
	e.Visibility = split(o, fieldVisibility)
	if c.Kind == kindStdio {
		err = e.takeLaunch(o)
	} else {
		err = e.takeEndpoint(o, base)
	}
	if err != nil {
		return nil, "", err
	}
	o.Done()
	if err := r.Err(); err != nil {
		return nil, "", err
	}
	if err := config.CheckName(name); err != nil {
		return nil, "", form.Errors{{Field: fieldName, Message: err.Error()}}
	}
	raw, err := json.Marshal(e)
	return raw, name, err
}

func (e *serverEntry) takeLaunch(o *doc.Obj) (err error) {
	e.Cwd, e.SHA256, e.InheritEnv = o.String(fieldCwd, ""), o.String(fieldSHA256, ""), split(o, fieldInherit)
	words := split(o, fieldCommand)
	if len(words) == 0 {
		return form.Errors{{Field: fieldCommand, Message: "is empty"}}
	}
	e.Command, e.Args = words[0], words[1:]
	e.Env, err = pairs(o, fieldEnv, nil)
	return err
}

func (e *serverEntry) takeEndpoint(o *doc.Obj, base []byte) (err error) {
	e.URL, e.PlainHTTP = strings.TrimSpace(o.String(fieldURL, "")), o.Bool(fieldPlain, false)
	if e.URL == "" {
		return form.Errors{{Field: fieldURL, Message: "is empty"}}
	}
	var kept map[string]string
	if base != nil {
		if s, err := config.ParseServer("base", base, nil); err == nil {
			kept = s.Headers
		}
	}
	e.Headers, err = pairs(o, fieldHeaders, kept)
	return err
}

// pairs reads NAME=value words. A name alone takes its value from kept.
func pairs(o *doc.Obj, field string, kept map[string]string) (map[string]string, error) {
	var out map[string]string
	for _, kv := range split(o, field) {
		k, v, ok := strings.Cut(kv, "=")
		if !ok {
			v, ok = kept[k]
		}
		if !ok {
			return nil, form.Errors{{Field: field, Message: "write NAME=value, separated by spaces"}}
		}
		if out == nil {
			out = map[string]string{}
		}
		out[k] = v
	}
	return out, nil
}

func split(o *doc.Obj, key string) []string {
	text := o.String(key, "")
	words, err := shellwords.Split(text)
	if err != nil {
		o.Fail(key, "%s", err)
	}
	return words
}

// formValues pre-fills the form from an entry. The values of headers are not
// shown: their names alone stand for them.
func formValues(s config.Server) json.RawMessage {
	v := map[string]any{fieldName: s.Name, fieldScope: firstOf(s.Scope, "session"), fieldRequired: s.Required}
	set := func(key, text string) {
		if text != "" {
			v[key] = text
		}
	}
	if s.Endpoint() {
		v[fieldURL], v[fieldPlain] = s.URL, s.PlainHTTP
		set(fieldHeaders, shellwords.Join(slices.Sorted(maps.Keys(s.Headers))))
	} else {
		var env []string
		for _, k := range slices.Sorted(maps.Keys(s.Env)) {
			env = append(env, k+"="+s.Env[k])
		}
		v[fieldCommand] = shellwords.Join(append([]string{s.Command}, s.Args...))
		set(fieldCwd, s.Cwd)
		set(fieldEnv, shellwords.Join(env))
		set(fieldInherit, shellwords.Join(s.InheritEnv))
		set(fieldSHA256, s.SHA256)
	}
	set(fieldLoop, s.Loop)
	set(fieldVisibility, shellwords.Join(s.Visibility))
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
}
