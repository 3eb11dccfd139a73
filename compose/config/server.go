// Package config loads what people configure: mcp.json and config.yaml. It is
// strict (unknown and duplicate keys, trailing data and files that others can
// write are refused with their place), expands ${VAR} in values, and knows
// nothing of how servers are run. It must not import the adapter, the session
// or the interface.
package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/looprig/looprig/compose/config/doc"
)

// Upper bounds of durations in server entries.
const (
	MaxStartupTimeout = 10 * time.Minute
	MaxRequestTimeout = 24 * time.Hour
)

// Server is one entry of mcpServers.
type Server struct {
	Name string
	// Source is the file that the entry is in, Pos its place there.
	Source string
	Pos    doc.Pos
	// Entry is the entry's own text, variables not expanded.
	Entry []byte
	// Faults make the entry invalid: it is shown, and fails a run only where it
	// is required or referenced.
	Faults doc.Faults

	Type       string // "stdio", "http", "sse", "builtin"
	Builtin    string // "demo"
	Command    string
	Args       []string
	Cwd        string
	Env        map[string]string
	InheritEnv []string
	SHA256     string
	URL        string
	Headers    map[string]string

	Enabled    bool
	Required   bool
	Scope      string // "session" or "loop"
	Visibility []string
	Loop       string

	Protocol         string
	Compat           string
	Parallel         bool
	StartupTimeout   time.Duration
	RequestTimeout   time.Duration
	ToolAllow        []string
	ToolDeny         []string
	Elicitation      bool
	FreeText         string // "", "allow", "confirm", "refuse"
	TrustAnnotations bool
	Limits           map[string]int
}

// Valid reports whether the entry has no fault.
func (s Server) Valid() bool { return len(s.Faults) == 0 }

var (
	bindingName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)
	sha256Hex   = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)
)

// reserved binding names would be confused with the host's own tools.
var reserved = []string{"builtin", "delegate", "ask_user", "tool_search", "tool_schema", "mcp", "host", "looprig", "all", "none"}

// CheckName says what is wrong with a binding's name, or nil.
func CheckName(name string) error {
	switch {
	case !bindingName.MatchString(name):
		return fmt.Errorf("a name has 1 to 32 of a-z, 0-9, _ and -, and begins with a letter or a digit")
	case strings.Contains(name, "__"):
		return fmt.Errorf("a name may not contain __")
	case strings.HasSuffix(name, "_"):
		return fmt.Errorf("a name may not end in _")
	case slices.Contains(reserved, name):
		return fmt.Errorf("the name %q is reserved", name)
	}
	return nil
}

// ReadServers takes the entries out of an object of servers, in their order.
// Faults of one entry stay with that entry.
func ReadServers(file string, node *doc.Node, path string, env Env) ([]Server, error) {
	top := &doc.Reader{File: file}
	obj := top.Object(node, path)
	var out []Server
	for _, m := range obj.Members() {
		s := readServer(file, m, obj.Path(m.Key), env)
		out = append(out, s)
	}
	return out, top.Err()
}

// ParseServer reads one entry from its JSON. Its faults are the error. With a
// nil env, variables stay as they are written.
func ParseServer(name string, raw []byte, env Env) (Server, error) {
	node, err := doc.ParseJSON("entry", raw)
	if err != nil {
		return Server{}, err
	}
	s := readServer("entry", doc.Member{Key: name, Pos: node.Pos, Value: node}, name, env)
	if !s.Valid() {
		return s, s.Faults
	}
	return s, nil
}

func readServer(file string, m doc.Member, path string, env Env) Server {
	r := &doc.Reader{File: file}
	if env != nil {
		r.Expand = env.Expand
	}
	s := Server{Name: m.Key, Source: file, Pos: m.Pos, Entry: m.Value.Raw, Enabled: true, Elicitation: true}
	if s.Entry == nil {
		s.Entry = m.Value.JSON()
	}
	if err := CheckName(m.Key); err != nil {
		r.Fail(m.Pos, path, "%s", err)
	}
	o := r.Object(m.Value, path)
	s.readKind(o)
	s.readScope(o)
	s.readBehaviour(o)
	o.Done()
	s.Faults = r.Faults()
	return s
}

func (s *Server) readKind(o *doc.Obj) {
	s.Builtin = o.OneOf("builtin", "", "demo")
	s.Command = o.String("command", "")
	s.Args = o.Strings("args")
	s.Cwd = o.String("cwd", "")
	s.Env = o.StringMap("env")
	s.InheritEnv = o.Strings("inheritEnv")
	s.SHA256 = strings.TrimPrefix(o.String("sha256", ""), "sha256:")
	s.URL = o.String("url", "")
	s.Headers = o.StringMap("headers")
	s.Type = o.OneOf("type", s.plainType(), "stdio", "http", "sse", "builtin")
	switch s.Type {
	case "stdio":
		s.checkStdio(o)
	case "http", "sse":
		o.Fail("url", "servers over %s cannot be used by this version; it runs stdio servers", s.Type)
	case "builtin":
		if s.Command != "" || s.URL != "" {
			o.Fail("builtin", "builtin excludes command and url")
		}
	default:
		o.Fail("", "the entry says neither command, url nor builtin")
	}
	if o.Has("oauth") {
		o.Node("oauth")
		o.Fail("oauth", "authorisation cannot be used by this version")
	}
}

func (s *Server) plainType() string {
	switch {
	case s.Builtin != "":
		return "builtin"
	case s.Command != "":
		return "stdio"
	case s.URL != "":
		return "http"
	}
	return ""
}

func (s *Server) checkStdio(o *doc.Obj) {
	if s.Command == "" {
		o.Fail("command", "a stdio server needs a command")
	}
	if s.URL != "" || len(s.Headers) > 0 {
		o.Fail("url", "url and headers do not belong to a stdio server")
	}
	if s.Cwd != "" && !filepath.IsAbs(s.Cwd) {
		o.Fail("cwd", "cwd must be an absolute path")
	}
	if s.SHA256 != "" && !sha256Hex.MatchString(s.SHA256) {
		o.Fail("sha256", "expected 64 hexadecimal digits")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			o.Fail("env", "%q cannot be the name of a variable", name)
		}
	}
	for _, name := range s.InheritEnv {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			o.Fail("inheritEnv", "%q cannot be the name of a variable", name)
		}
	}
}

func (s *Server) readScope(o *doc.Obj) {
	s.Enabled = o.Bool("enabled", true)
	s.Required = o.Bool("required", false)
	s.Scope = o.OneOf("scope", "session", "session", "loop")
	s.Loop = o.String("loop", "")
	s.Visibility = o.Strings("visibility")
	if o.Has("roles") {
		if o.Has("visibility") {
			o.Fail("roles", "roles is another name of visibility: give one of them")
		}
		s.Visibility = o.Strings("roles")
	} else {
		o.Node("roles")
	}
	switch {
	case s.Scope == "loop" && s.Loop == "":
		o.Fail("scope", "a binding of scope loop names its loop")
	case s.Scope == "session" && s.Loop != "":
		o.Fail("loop", "loop belongs to a binding of scope loop")
	case s.Scope == "loop" && s.Visibility != nil:
		o.Fail("visibility", "a binding of scope loop is seen by its loop alone")
	}
}

func (s *Server) readBehaviour(o *doc.Obj) {
	if o.OneOf("discovery", "auto", "auto", "eager", "lazy") == "lazy" {
		o.Fail("discovery", "lazy discovery cannot be used by this version")
	}
	s.Protocol = o.OneOf("protocol", "auto", "auto", "2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
	s.Compat = o.OneOf("compat", "default", "strict", "default", "legacy")
	s.Parallel = o.Bool("parallel", false)
	s.StartupTimeout = o.Duration("startupTimeout", 0, MaxStartupTimeout)
	s.RequestTimeout = o.Duration("requestTimeout", 0, MaxRequestTimeout)
	tools := o.Sub("tools")
	s.ToolAllow, s.ToolDeny = tools.Strings("allow"), tools.Strings("deny")
	tools.Done()
	caps := o.Sub("capabilities")
	s.Elicitation = caps.Bool("elicitation", true)
	if caps.Bool("sampling", false) {
		caps.Fail("sampling", "sampling cannot be used by this version")
	}
	if roots := caps.Strings("roots"); len(roots) > 0 {
		caps.Fail("roots", "roots cannot be used by this version")
	}
	caps.Done()
	elicit := o.Sub("elicitation")
	s.FreeText = elicit.OneOf("freeText", "", "allow", "confirm", "refuse")
	elicit.Done()
	if o.Has("sampling") {
		o.Node("sampling")
		o.Fail("sampling", "sampling cannot be used by this version")
	}
	s.TrustAnnotations = o.Bool("trustAnnotations", false)
	if o.Has("logLevel") {
		o.Node("logLevel")
		o.Fail("logLevel", "the log level of a server cannot be set by this version")
	}
	limits := o.Sub("limits")
	for _, m := range limits.Members() {
		if _, known := LimitMax[m.Key]; !known {
			limits.Fail(m.Key, "unknown limit%s", doc.DidYouMean(m.Key, slices.Sorted(maps.Keys(LimitMax))))
			continue
		}
		if s.Limits == nil {
			s.Limits = map[string]int{}
		}
		s.Limits[m.Key] = limits.Int(m.Key, 0, 1, LimitMax[m.Key])
	}
}

// LimitMax are the settings below limits, with the most that each may be.
var LimitMax = map[string]int{
	"frameBytes": 256 << 20, "noiseLines": 1_000_000, "jsonDepth": 1000,
	"tools": 100_000, "prompts": 100_000, "resources": 1_000_000, "templates": 100_000, "pages": 10_000,
	"cursorBytes": 64 << 10, "pageBytes": 256 << 20, "catalogBytes": 256 << 20,
	"schemaBytes": 16 << 20, "schemaDepth": 256, "schemaNodes": 1_000_000,
	"nameBytes": 64 << 10, "titleBytes": 64 << 10, "descriptionBytes": 1 << 20, "instructionsBytes": 1 << 20,
	"argumentBytes": 64 << 20, "textBytes": 64 << 20, "structuredBytes": 64 << 20,
	"binaryItemBytes": 256 << 20, "binaryItems": 1000, "binaryBytes": 256 << 20, "blocks": 10_000,
	"logBytes":           1 << 20,
	"elicitMessageBytes": 64 << 10, "elicitSchemaBytes": 256 << 10, "elicitFields": 256, "elicitOptions": 1000,
	"elicitValueBytes": 1 << 20, "elicitPending": 64,
	"queuedNotifications": 100_000, "concurrentRequests": 64,
}
