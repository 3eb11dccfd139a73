package cli

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/exit"
)

// MCPAddOptions are the flags of mcp add. Env to SHA256 belong to a command,
// URL to Plain to an address.
type MCPAddOptions struct {
	Env       []string // NAME=value
	Inherit   []string
	Cwd       string
	SHA256    string
	URL       string
	Headers   []string // NAME=value
	Transport string   // "", "http" or "sse"
	Plain     bool
	Required  bool
}

// MCPAdd adds a server to the home's mcp.json and pins its launch or endpoint.
// Nothing is started and nothing contacted.
func (c *CLI) MCPAdd(name, command string, args []string, f MCPAddOptions) error {
	if c.MCPConfig != "" {
		return exit.New(exit.Usage, "mcp add writes the home's mcp.json; it cannot be used with --mcp-config")
	}
	var entry map[string]any
	var err error
	switch {
	case f.URL != "" && command != "":
		return exit.New(exit.Usage, "give a command or --url, not both")
	case f.URL != "":
		entry, err = f.endpoint()
	case command == "":
		return exit.New(exit.Usage, "what should %q run? looprig mcp add %s -- COMMAND ARGS…, or --url URL", name, name)
	default:
		entry, err = f.launch(command, args)
	}
	if err != nil {
		return err
	}
	if f.Required {
		entry["required"] = true
	}
	raw, err := json.Marshal(entry)
	if err != nil {
		return exit.New(exit.Internal, "%w", err)
	}
	srv, err := config.ParseServer(name, raw, c.env())
	if err != nil {
		e := exit.New(exit.Usage, "%w", err)
		if strings.Contains(err.Error(), `"plainHttp"`) {
			e.Hint = "here that is --plain-http"
		}
		return e
	}
	home, err := compose.Home(c.Home, c.env())
	if err != nil {
		return err
	}
	if err := compose.AddServer(home, srv, c.Env); err != nil {
		return err
	}
	what := "launch"
	if srv.Endpoint() {
		what = "endpoint"
	}
	if err := c.printf("added %s and pinned its %s:\n", name, what); err != nil {
		return err
	}
	return c.printSubject(home, srv)
}

func (f MCPAddOptions) launch(command string, args []string) (map[string]any, error) {
	if len(f.Headers) > 0 || f.Transport != "" || f.Plain {
		return nil, exit.New(exit.Usage, "--header, --transport and --plain-http belong to --url")
	}
	if f.Cwd == "" {
		// The directory is part of a launch: written down, the launch is the same
		// from everywhere.
		dir, err := os.Getwd()
		if err != nil {
			return nil, exit.New(exit.Usage, "the working directory is gone: give --cwd: %w", err)
		}
		f.Cwd = dir
	}
	entry := map[string]any{"type": "stdio", "command": command}
	if len(args) > 0 {
		entry["args"] = args
	}
	env, err := namedValues("--env", f.Env)
	if err != nil {
		return nil, err
	}
	if len(env) > 0 {
		entry["env"] = env
	}
	if len(f.Inherit) > 0 {
		entry["inheritEnv"] = f.Inherit
	}
	for key, v := range map[string]string{"cwd": f.Cwd, "sha256": f.SHA256} {
		if v != "" {
			entry[key] = v
		}
	}
	return entry, nil
}

func (f MCPAddOptions) endpoint() (map[string]any, error) {
	if len(f.Env) > 0 || len(f.Inherit) > 0 || f.Cwd != "" || f.SHA256 != "" {
		return nil, exit.New(exit.Usage, "--env, --inherit-env, --cwd and --sha256 belong to a command, not to --url")
	}
	kind := f.Transport
	switch kind {
	case "":
		kind = "http"
	case "http", "sse":
	default:
		return nil, exit.New(exit.Usage, "--transport %q is not one of http, sse", kind)
	}
	entry := map[string]any{"type": kind, "url": f.URL}
	headers, err := namedValues("--header", f.Headers)
	if err != nil {
		return nil, err
	}
	if len(headers) > 0 {
		entry["headers"] = headers
	}
	if f.Plain {
		entry["plainHttp"] = true
	}
	return entry, nil
}

// namedValues reads NAME=value flags. A value may be a secret: no error repeats
// what could be one.
func namedValues(flag string, list []string) (map[string]string, error) {
	out := map[string]string{}
	for i, kv := range list {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" || strings.ContainsAny(k, ": ") {
			return nil, exit.New(exit.Usage, "%s number %d is not NAME=value", flag, i+1)
		}
		if _, twice := out[k]; twice {
			return nil, exit.New(exit.Usage, "%s %s is given twice", flag, k)
		}
		out[k] = v
	}
	return out, nil
}

func headerNames(srv config.Server) []string {
	return slices.AppendSeq([]string{}, slices.Values(slices.Sorted(maps.Keys(srv.Headers))))
}
