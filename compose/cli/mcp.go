package cli

import (
	"fmt"
	"strings"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/config/doc"
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
		v := map[string]any{"name": srv.Name, "type": srv.Type, "state": status, "required": srv.Required, "pin": pinState}
		if srv.Endpoint() {
			v["origin"], v["headers"] = compose.OriginOf(srv), headerNames(srv)
		} else {
			v["command"], v["args"] = srv.Command, len(srv.Args)
		}
		if !srv.Valid() {
			v["fault"] = srv.Faults.Error()
		}
		return c.jsonLine(v)
	}
	// Arguments, paths and headers may hold secrets: the list shows the command
	// or origin and how many there are.
	what := fmt.Sprintf("%s (%d args)", safetext.Ident(srv.Command), len(srv.Args))
	switch {
	case srv.Builtin != "":
		what = "builtin " + srv.Builtin
	case srv.Endpoint():
		what = fmt.Sprintf("%s (%d headers)", safetext.Ident(compose.OriginOf(srv)), len(srv.Headers))
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
	return config.Server{}, exit.New(exit.Usage, "%s has no server %q%s; it has: %s", f.Path, name, doc.DidYouMean(name, names), firstNonEmpty(strings.Join(names, ", ")))
}

func (c *CLI) printSubject(home string, srv config.Server) error {
	pins, err := compose.OpenPins(home)
	if err != nil {
		return err
	}
	l, err := compose.Describe(srv, c.Env)
	if err != nil {
		return exit.New(exit.Usage, "%s: %w", srv.Name, err)
	}
	for _, line := range l.Lines {
		if line.Replaces() {
			continue // the address itself is here
		}
		fmt.Fprintf(c.Stdout, "%-12s %s\n", line.Label, safetext.ToLineN(line.Value, 1<<20))
	}
	if srv.Endpoint() {
		for _, w := range l.Warnings {
			fmt.Fprintf(c.Stdout, "%-12s %s\n", "warning", safetext.ToLine(w))
		}
	}
	state := pins.Check(srv.Name, l)
	if err := c.printf("%-12s %s (%s)\n", "fingerprint", l.Digest, state); err != nil || state != "changed" {
		return err
	}
	old, who, when, _ := pins.Accepted(srv.Name, l)
	return c.printf("%-12s %s, by %s on %s\n", "accepted was", old, safetext.ToLine(who), when.Local().Format("2006-01-02 15:04"))
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
		fmt.Fprintln(c.Stderr, "no servers are configured, so looprig uses its demo; add one: looprig mcp add NAME -- COMMAND ARGS…, or looprig mcp add NAME --url URL")
	}
	return nil
}

// MCPGet shows one server's entry and what it runs or where it is.
func (c *CLI) MCPGet(name string) error {
	f, home, err := c.mcpFile()
	if err != nil {
		return err
	}
	srv, err := lookup(f, name)
	if err != nil {
		return err
	}
	if err := c.printf("%s\n", safetext.ToBlock(shownEntry(srv))); err != nil {
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
	return c.printSubject(home, srv)
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
	return c.edit(name, done, func(f *config.MCPFile) error {
		home, err := compose.Home(c.Home, c.env())
		if err != nil {
			return err
		}
		pins, err := compose.OpenPins(home)
		if err != nil {
			return err
		}
		// Whoever edits the entry does not undo this: it is kept beside the pin.
		if err := pins.Switch(name, "looprig mcp", on); err != nil {
			return err
		}
		return f.SetEnabled(name, on)
	})
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
