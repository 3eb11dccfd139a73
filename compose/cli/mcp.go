package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/internal/safetext"
)

// mcpFile loads the file that a command looks at.
func (c *CLI) mcpFile() (*config.MCPFile, string, error) {
	home, err := compose.Home(c.Home, c.env())
	if err != nil {
		return nil, "", err
	}
	path := compose.MCPPath(home)
	if c.MCPConfig != "" {
		path = c.MCPConfig
	}
	f, err := config.LoadMCP(path, c.env(), c.MCPConfig != "")
	if err != nil {
		return nil, "", exit.New(exit.Usage, "%w", err)
	}
	return f, home, nil
}

func (c *CLI) printServer(srv config.Server, pinState string) error {
	status := "enabled"
	switch {
	case !srv.Valid():
		status = "invalid"
	case !srv.Enabled:
		status = "disabled"
	}
	if c.Output == OutputJSON {
		v := map[string]any{"name": srv.Name, "type": srv.Type, "state": status, "required": srv.Required, "pin": pinState, "command": srv.Command, "args": len(srv.Args)}
		if !srv.Valid() {
			v["fault"] = srv.Faults.Error()
		}
		return c.jsonLine(v)
	}
	// Arguments may hold secrets: the list shows the command and their number.
	what := fmt.Sprintf("%s (%d args)", safetext.Ident(srv.Command), len(srv.Args))
	if srv.Builtin != "" {
		what = "builtin " + srv.Builtin
	}
	_, err := fmt.Fprintf(c.Stdout, "%-20s  %-8s  %-9s  %-9s  %s\n", safetext.Ident(srv.Name), status, orDash(srv.Type), pinState, what)
	for _, f := range srv.Faults {
		fmt.Fprintf(c.Stdout, "    %s\n", safetext.ToLine(f.Error()))
	}
	return err
}

func lookup(f *config.MCPFile, name string) (config.Server, error) {
	var names []string
	for _, srv := range f.Servers {
		if srv.Name == name {
			return srv, nil
		}
		names = append(names, srv.Name)
	}
	return config.Server{}, exit.New(exit.Usage, "%s has no server %q; it has: %s", f.Path, name, firstNonEmpty(strings.Join(names, ", ")))
}

func (c *CLI) printLaunch(home string, srv config.Server) error {
	pins, err := compose.OpenPins(home)
	if err != nil {
		return err
	}
	l, err := compose.DescribeLaunch(srv, c.Env)
	if err != nil {
		return exit.New(exit.Usage, "%s: %w", srv.Name, err)
	}
	for _, line := range l.Lines {
		fmt.Fprintf(c.Stdout, "%-12s %s\n", line.Label, safetext.ToLineN(line.Value, 1<<20))
	}
	state := pins.Check(srv.Name, l.Digest)
	if err := c.printf("%-12s %s (%s)\n", "fingerprint", l.Digest, state); err != nil || state != "changed" {
		return err
	}
	old, who, when, _ := pins.Accepted(srv.Name)
	return c.printf("%-12s %s, by %s on %s\n", "accepted was", old, safetext.ToLine(who), when.Local().Format("2006-01-02 15:04"))
}

// MCPAddOptions are the flags of mcp add.
type MCPAddOptions struct {
	Env      []string // NAME=value
	Inherit  []string
	Cwd      string
	SHA256   string
	Required bool
}

// MCPList lists the configured servers; nothing is started.
func (c *CLI) MCPList() error {
	if err := c.checkOutput(OutputText, OutputJSON); err != nil {
		return err
	}
	f, home, err := c.mcpFile()
	if err != nil {
		return err
	}
	pins, err := compose.OpenPins(home)
	if err != nil {
		return err
	}
	for _, srv := range f.Servers {
		if err := c.printServer(srv, pins.State(srv, c.Env)); err != nil {
			return err
		}
	}
	if len(f.Servers) == 0 && c.Output == OutputText {
		fmt.Fprintln(c.Stderr, "no servers are configured, so looprig uses its demo; add one: looprig mcp add NAME -- COMMAND ARGS…")
	}
	return nil
}

// MCPGet shows one server's whole entry and launch.
func (c *CLI) MCPGet(name string) error {
	f, home, err := c.mcpFile()
	if err != nil {
		return err
	}
	srv, err := lookup(f, name)
	if err != nil {
		return err
	}
	if err := c.printf("%s\n", safetext.ToBlock(string(srv.Entry))); err != nil {
		return err
	}
	for _, fault := range srv.Faults {
		if err := c.printf("fault        %s\n", safetext.ToLine(fault.Error())); err != nil {
			return err
		}
	}
	if !srv.Valid() || srv.Builtin != "" {
		return nil
	}
	return c.printLaunch(home, srv)
}

// MCPRemove removes a server from the home's mcp.json; its pin is kept.
func (c *CLI) MCPRemove(name string) error {
	return c.edit(name, "removed", func(f *config.MCPFile) error {
		f.Remove(name)
		return nil
	})
}

// MCPSwitch enables or disables a server in the home's mcp.json.
func (c *CLI) MCPSwitch(name string, on bool) error {
	done := "disabled"
	if on {
		done = "enabled"
	}
	return c.edit(name, done, func(f *config.MCPFile) error { return f.SetEnabled(name, on) })
}

// MCPAdd adds a server to the home's mcp.json and pins its launch.
func (c *CLI) MCPAdd(name, command string, args []string, f MCPAddOptions) error {
	if c.MCPConfig != "" {
		return exit.New(exit.Usage, "mcp add writes the home's mcp.json; it cannot be used with --mcp-config")
	}
	if command == "" {
		return exit.New(exit.Usage, "what should %q run? looprig mcp add %s -- COMMAND ARGS…", name, name)
	}
	if f.Cwd == "" {
		// The directory is part of a launch: written down, the launch is the same
		// from everywhere.
		dir, err := os.Getwd()
		if err != nil {
			return exit.New(exit.Usage, "the working directory is gone: give --cwd: %w", err)
		}
		f.Cwd = dir
	}
	entry := map[string]any{"type": "stdio", "command": command}
	if len(args) > 0 {
		entry["args"] = args
	}
	if len(f.Env) > 0 {
		env := map[string]string{}
		for _, kv := range f.Env {
			k, v, ok := strings.Cut(kv, "=")
			if !ok {
				return exit.New(exit.Usage, "--env %q is not NAME=value", kv)
			}
			env[k] = v
		}
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
	if f.Required {
		entry["required"] = true
	}
	raw, err := json.Marshal(entry)
	if err != nil {
		return exit.New(exit.Internal, "%w", err)
	}
	srv, err := config.ParseServer(name, raw, c.env())
	if err != nil {
		return exit.New(exit.Usage, "%w", err)
	}
	home, err := compose.Home(c.Home, c.env())
	if err != nil {
		return err
	}
	if err := compose.AddServer(home, srv, c.Env); err != nil {
		return err
	}
	if err := c.printf("added %s and pinned its launch:\n", name); err != nil {
		return err
	}
	return c.printLaunch(home, srv)
}

func (c *CLI) edit(name, done string, change func(*config.MCPFile) error) error {
	if c.MCPConfig != "" {
		return exit.New(exit.Usage, "a file given with --mcp-config is never written")
	}
	home, err := compose.Home(c.Home, c.env())
	if err != nil {
		return err
	}
	err = compose.EditMCP(compose.MCPPath(home), c.env(), func(f *config.MCPFile) error {
		if _, err := lookup(f, name); err != nil {
			return err
		}
		return change(f)
	})
	if err != nil {
		return err
	}
	return c.printf("%s %s\n", done, name)
}
