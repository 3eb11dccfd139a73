package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/internal/safetext"
)

func mcpCommand(s *state) *cobra.Command {
	cmd := &cobra.Command{Use: "mcp", Short: "List and change the configured servers", Example: "  looprig mcp list"}
	cmd.AddCommand(mcpListCommand(s), mcpGetCommand(s), mcpAddCommand(s), mcpRemoveCommand(s), mcpSwitchCommand(s, true), mcpSwitchCommand(s, false))
	return cmd
}

// mcpFile loads the file that a command looks at.
func (s *state) mcpFile() (*config.MCPFile, string, error) {
	home, err := compose.Home(s.home, s.lookup())
	if err != nil {
		return nil, "", err
	}
	path := compose.MCPPath(home)
	if s.mcpConfig != "" {
		path = s.mcpConfig
	}
	f, err := config.LoadMCP(path, s.lookup(), s.mcpConfig != "")
	if err != nil {
		return nil, "", exit.New(exit.Usage, "%w", err)
	}
	return f, home, nil
}

func mcpListCommand(s *state) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the servers; nothing is started", Example: "  looprig mcp list --output json", Args: cobra.NoArgs}
	cmd.RunE = s.do(func(*cobra.Command, []string) error {
		if err := s.checkOutput(outputText, outputJSON); err != nil {
			return err
		}
		f, home, err := s.mcpFile()
		if err != nil {
			return err
		}
		pins, err := compose.OpenPins(home)
		if err != nil {
			return err
		}
		for _, srv := range f.Servers {
			if err := s.printServer(srv, pins.State(srv.Name)); err != nil {
				return err
			}
		}
		if len(f.Servers) == 0 && s.output == outputText {
			fmt.Fprintln(s.stderr, "no servers are configured, so looprig uses its demo; add one: looprig mcp add NAME -- COMMAND ARGS…")
		}
		return nil
	})
	s.addOutput(cmd, "text or json (NDJSON, one server a line)")
	return cmd
}

func (s *state) printServer(srv config.Server, pinState string) error {
	status := "enabled"
	switch {
	case !srv.Valid():
		status = "invalid"
	case !srv.Enabled:
		status = "disabled"
	}
	if s.output == outputJSON {
		v := map[string]any{"name": srv.Name, "type": srv.Type, "state": status, "required": srv.Required, "pin": pinState, "command": srv.Command, "args": len(srv.Args)}
		if !srv.Valid() {
			v["fault"] = srv.Faults.Error()
		}
		return s.jsonLine(v)
	}
	// Arguments may hold secrets: the list shows the command and their number.
	what := fmt.Sprintf("%s (%d args)", safetext.Ident(srv.Command), len(srv.Args))
	if srv.Builtin != "" {
		what = "builtin " + srv.Builtin
	}
	_, err := fmt.Fprintf(s.stdout, "%-20s  %-8s  %-9s  %-9s  %s\n", safetext.Ident(srv.Name), status, orDash(srv.Type), pinState, what)
	for _, f := range srv.Faults {
		fmt.Fprintf(s.stdout, "    %s\n", safetext.ToLine(f.Error()))
	}
	return err
}

func mcpGetCommand(s *state) *cobra.Command {
	cmd := &cobra.Command{Use: "get NAME", Short: "Show one server's whole entry and launch", Example: "  looprig mcp get docs", Args: cobra.ExactArgs(1)}
	cmd.RunE = s.do(func(_ *cobra.Command, args []string) error {
		f, home, err := s.mcpFile()
		if err != nil {
			return err
		}
		srv, err := lookup(f, args[0])
		if err != nil {
			return err
		}
		fmt.Fprintf(s.stdout, "%s\n", safetext.ToBlock(string(srv.Entry)))
		for _, fault := range srv.Faults {
			fmt.Fprintf(s.stdout, "fault        %s\n", safetext.ToLine(fault.Error()))
		}
		if !srv.Valid() || srv.Builtin != "" {
			return nil
		}
		return s.printLaunch(home, srv)
	})
	return cmd
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

func (s *state) printLaunch(home string, srv config.Server) error {
	pins, err := compose.OpenPins(home)
	if err != nil {
		return err
	}
	l, err := compose.DescribeLaunch(srv, s.env)
	if err != nil {
		return exit.New(exit.Usage, "%s: %w", srv.Name, err)
	}
	for _, line := range l.Lines {
		fmt.Fprintf(s.stdout, "%-12s %s\n", line.Label, safetext.ToLineN(line.Value, 1<<20))
	}
	if l.Mutable != "" {
		fmt.Fprintf(s.stdout, "%-12s %s\n", "warning", safetext.ToLine(l.Mutable))
	}
	_, err = fmt.Fprintf(s.stdout, "%-12s %s (%s)\n", "fingerprint", l.Digest, pins.State(srv.Name))
	return err
}

type addFlags struct {
	env      []string
	inherit  []string
	cwd      string
	sha256   string
	required bool
}

func mcpAddCommand(s *state) *cobra.Command {
	var f addFlags
	cmd := &cobra.Command{
		Use: "add NAME -- COMMAND [ARGS…]", Short: "Add a server to the home's mcp.json and pin its launch",
		Example: "  looprig mcp add files -- npx -y @modelcontextprotocol/server-filesystem /tmp",
		Args:    cobra.MinimumNArgs(1),
	}
	cmd.RunE = s.do(func(cmd *cobra.Command, args []string) error {
		if s.mcpConfig != "" {
			return exit.New(exit.Usage, "mcp add writes the home's mcp.json; it cannot be used with --mcp-config")
		}
		if len(args) < 2 {
			return exit.New(exit.Usage, "what should %q run? looprig mcp add %s -- COMMAND ARGS…", args[0], args[0])
		}
		return s.mcpAdd(args[0], args[1], args[2:], f)
	})
	l := cmd.Flags()
	l.StringArrayVar(&f.env, "env", nil, "a variable for the server, `NAME=value` (${VAR} is expanded at each start)")
	l.StringArrayVar(&f.inherit, "inherit-env", nil, "the `NAME` of a variable to pass on")
	l.StringVar(&f.cwd, "cwd", "", "the server's working `DIR`, absolute")
	l.StringVar(&f.sha256, "sha256", "", "the executable's SHA-256, checked at each start")
	l.BoolVar(&f.required, "required", false, "a failure at the start stops the session")
	return cmd
}

func (s *state) mcpAdd(name, command string, args []string, f addFlags) error {
	entry := map[string]any{"type": "stdio", "command": command}
	if len(args) > 0 {
		entry["args"] = args
	}
	if len(f.env) > 0 {
		env := map[string]string{}
		for _, kv := range f.env {
			k, v, ok := strings.Cut(kv, "=")
			if !ok {
				return exit.New(exit.Usage, "--env %q is not NAME=value", kv)
			}
			env[k] = v
		}
		entry["env"] = env
	}
	if len(f.inherit) > 0 {
		entry["inheritEnv"] = f.inherit
	}
	for key, v := range map[string]string{"cwd": f.cwd, "sha256": f.sha256} {
		if v != "" {
			entry[key] = v
		}
	}
	if f.required {
		entry["required"] = true
	}
	raw, err := json.Marshal(entry)
	if err != nil {
		return exit.New(exit.Internal, "%w", err)
	}
	srv, err := config.ParseServer(name, raw, s.lookup())
	if err != nil {
		return exit.New(exit.Usage, "%w", err)
	}
	home, err := compose.Home(s.home, s.lookup())
	if err != nil {
		return err
	}
	if err := compose.AddServer(home, srv, s.env); err != nil {
		return err
	}
	fmt.Fprintf(s.stdout, "added %s and pinned its launch:\n", name)
	return s.printLaunch(home, srv)
}

func mcpRemoveCommand(s *state) *cobra.Command {
	cmd := &cobra.Command{Use: "remove NAME", Short: "Remove a server from the home's mcp.json; its pin is kept", Example: "  looprig mcp remove files", Args: cobra.ExactArgs(1)}
	cmd.RunE = s.do(func(_ *cobra.Command, args []string) error {
		return s.edit(args[0], "removed", func(f *config.MCPFile) error {
			f.Remove(args[0])
			return nil
		})
	})
	return cmd
}

func mcpSwitchCommand(s *state, on bool) *cobra.Command {
	verb, done := "disable", "disabled"
	if on {
		verb, done = "enable", "enabled"
	}
	cmd := &cobra.Command{Use: verb + " NAME", Short: strings.ToUpper(verb[:1]) + verb[1:] + " a server", Example: "  looprig mcp " + verb + " files", Args: cobra.ExactArgs(1)}
	cmd.RunE = s.do(func(_ *cobra.Command, args []string) error {
		return s.edit(args[0], done, func(f *config.MCPFile) error { return f.SetEnabled(args[0], on) })
	})
	return cmd
}

func (s *state) edit(name, done string, change func(*config.MCPFile) error) error {
	if s.mcpConfig != "" {
		return exit.New(exit.Usage, "a file given with --mcp-config is never written")
	}
	home, err := compose.Home(s.home, s.lookup())
	if err != nil {
		return err
	}
	err = compose.EditMCP(compose.MCPPath(home), s.lookup(), func(f *config.MCPFile) error {
		if _, err := lookup(f, name); err != nil {
			return err
		}
		return change(f)
	})
	if err == nil {
		fmt.Fprintf(s.stdout, "%s %s\n", done, name)
	}
	return err
}
