// Package config loads what people configure: mcp.json and config.yaml. It is
// strict (unknown and duplicate keys, trailing data and files that others can
// write are refused with their place), expands ${VAR} in values, and knows
// nothing of how servers are run. It must not import the adapter, the session
// or the interface.
package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
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
	// PlainHTTP lets an address without TLS be one that is not on this machine.
	PlainHTTP bool

	Enabled    bool
	Required   bool
	Scope      string // "session" or "loop"
	Visibility []string
	Loop       string

	Protocol       string
	Compat         string
	Parallel       bool
	StartupTimeout time.Duration
	RequestTimeout time.Duration
	ToolAllow      []string
	ToolDeny       []string
	Discovery      string // "auto", "eager", "lazy"
	Elicitation    bool
	FreeText       string // "", "allow", "confirm", "refuse"
	// Sampling says that the server may ask the model; SamplingPolicy bounds it.
	Sampling       bool
	SamplingPolicy SamplingPolicy
	// Roots are the folders and files that the server is told of: absolute, clean.
	Roots            []string
	LogLevel         string // "" or one of the protocol's eight
	TrustAnnotations bool
	Limits           map[string]int
}

// SamplingPolicy is an entry's object "sampling". Zero values mean default.
type SamplingPolicy struct {
	Model       string // "" is the session's
	Approve     string // "", "ask", "reply", "auto"
	TokenBudget int
	MaxTokens   int
	Depth       int
	Concurrency int
	Tools       bool
}

// Endpoint reports whether the server is reached by an address.
func (s Server) Endpoint() bool { return s.Type == "http" || s.Type == "sse" }

// Valid reports whether the entry has no fault.
func (s Server) Valid() bool { return len(s.Faults) == 0 }

var (
	bindingName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`) })
	sha256Hex   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-fA-F]{64}$`) })
)

// reserved binding names would be confused with the host's own tools.
var reserved = []string{"builtin", "delegate", "ask_user", "tool_search", "tool_schema", "mcp", "host", "looprig", "all", "none"}

// CheckName says what is wrong with a binding's name, or nil.
func CheckName(name string) error {
	switch {
	case !bindingName().MatchString(name):
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
	s.readKind(o, env == nil)
	s.readScope(o)
	s.readBehaviour(o, env == nil)
	o.Done()
	s.Faults = r.Faults()
	return s
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
