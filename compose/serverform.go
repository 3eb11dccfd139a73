package compose

import (
	"encoding/json"
	"os"

	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/integration"
)

// The kinds of server that can be added with a form.
const (
	kindStdio = "stdio"
	kindHTTP  = "http"
	kindSSE   = "sse"
)

// The names of the add form's fields.
const (
	fieldName       = "name"
	fieldCommand    = "command"
	fieldCwd        = "cwd"
	fieldEnv        = "env"
	fieldInherit    = "inherit_env"
	fieldSHA256     = "sha256"
	fieldURL        = "url"
	fieldHeaders    = "headers"
	fieldPlain      = "plain_http"
	fieldScope      = "scope"
	fieldLoop       = "loop"
	fieldVisibility = "visibility"
	fieldRequired   = "required"
)

func nameField() form.Field {
	low, high := 1, 32
	return form.Field{
		Name: fieldName, Title: "Name", Kind: form.KindText, Required: true, MinLength: &low, MaxLength: &high,
		Pattern: "^[a-z0-9][a-z0-9_-]*$", Description: "small letters, digits, - and _",
	}
}

// scopeFields say whose a server is; every kind has them.
func scopeFields() []form.Field {
	return []form.Field{
		{Name: fieldScope, Title: "Scope", Kind: form.KindChoice, Required: true, Default: json.RawMessage(`"session"`), Options: []form.Option{
			{Value: json.RawMessage(`"session"`), Title: "session: shared by the loops", Label: "session: shared by the loops"},
			{Value: json.RawMessage(`"loop"`), Title: "loop: private to one loop", Label: "loop: private to one loop"},
		}},
		{Name: fieldLoop, Title: "Loop", Kind: form.KindText, Description: "for scope loop"},
		{Name: fieldVisibility, Title: "Visible to", Kind: form.KindText, Description: "names of loops; empty: all"},
		{Name: fieldRequired, Title: "Required", Kind: form.KindBoolean, Default: json.RawMessage("false"), Description: "a failure at the start stops the session"},
	}
}

func sourceKinds() []integration.SourceKind {
	return []integration.SourceKind{
		stdioKind(),
		endpointKind(kindHTTP, "an address (streamable HTTP)"),
		endpointKind(kindSSE, "an address of the older kind (HTTP+SSE)"),
	}
}

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
	fields := []form.Field{
		nameField(),
		{Name: fieldCommand, Title: "Command", Kind: form.KindText, Required: true, MinLength: &one, Description: "with its arguments; quotes as in a shell, nothing is expanded"},
		{Name: fieldCwd, Title: "Directory", Kind: form.KindText, Default: cwd, Description: "absolute; part of what is pinned"},
		{Name: fieldEnv, Title: "Variables", Kind: form.KindText, Description: `NAME=value NAME="a b"; ${VAR} is expanded`},
		{Name: fieldInherit, Title: "Inherited", Kind: form.KindText, Description: "names of variables to pass on"},
		{Name: fieldSHA256, Title: "SHA-256", Kind: form.KindText, Description: "of the executable; empty: not checked"},
	}
	return integration.SourceKind{
		Name: kindStdio, Title: "a program on this machine (stdio)", Form: form.Schema{Title: "Server", Fields: append(fields, scopeFields()...)},
	}
}

func endpointKind(name, title string) integration.SourceKind {
	one := 1
	fields := []form.Field{
		nameField(),
		{Name: fieldURL, Title: "Address", Kind: form.KindText, Required: true, MinLength: &one, Description: "whole, like https://host/mcp; part of what is pinned"},
		{Name: fieldHeaders, Title: "Headers", Kind: form.KindText, Description: `NAME=value NAME="a b"; ${VAR} is expanded; NAME alone keeps its value`},
		{Name: fieldPlain, Title: "Plain HTTP", Kind: form.KindBoolean, Default: json.RawMessage("false"), Description: "allow http:// to another machine, unencrypted"},
	}
	return integration.SourceKind{Name: name, Title: title, Form: form.Schema{Title: "Server", Fields: append(fields, scopeFields()...)}}
}
