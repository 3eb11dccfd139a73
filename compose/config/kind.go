package config

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/looprig/looprig/compose/config/doc"
)

// readKind takes what says how the server is reached. literal says that
// variables stay as they are written, so that values cannot be judged.
func (s *Server) readKind(o *doc.Obj, literal bool) {
	s.Builtin = o.OneOf("builtin", "", "demo")
	s.Command = o.String("command", "")
	s.Args = o.Strings("args")
	s.Cwd = o.String("cwd", "")
	s.Env = o.StringMap("env")
	s.InheritEnv = o.Strings("inheritEnv")
	s.SHA256 = strings.TrimPrefix(o.String("sha256", ""), "sha256:")
	s.URL = o.String("url", "")
	s.Headers = o.StringMap("headers")
	s.PlainHTTP = o.Bool("plainHttp", false)
	s.Type = o.OneOf("type", s.plainType(), "stdio", "http", "sse", "builtin")
	switch s.Type {
	case "stdio":
		s.checkStdio(o)
	case "http", "sse":
		s.checkEndpoint(o, literal)
	case "builtin":
		if s.Builtin == "" {
			o.Fail("type", "a built-in server is named: \"builtin\": \"demo\"")
		}
		if s.Command != "" || s.URL != "" {
			o.Fail("builtin", "builtin excludes command and url")
		}
	default:
		o.Fail("", "the entry says neither command, url nor builtin")
	}
	if o.Has("oauth") {
		o.Node("oauth")
		o.Fail("oauth", "authorisation with OAuth cannot be used by this version: take a header, \"headers\": {\"Authorization\": \"Bearer ${TOKEN}\"}")
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
	for _, key := range []string{"url", "headers", "plainHttp"} {
		if o.Has(key) {
			o.Fail(key, "%s does not belong to a stdio server", key)
		}
	}
	if s.Cwd != "" && !filepath.IsAbs(s.Cwd) {
		o.Fail("cwd", "cwd must be an absolute path")
	}
	if s.SHA256 != "" && !sha256Hex().MatchString(s.SHA256) {
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
