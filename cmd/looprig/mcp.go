package main

import (
	"github.com/spf13/cobra"

	"github.com/looprig/looprig/compose/cli"
)

func (c *command) mcp() *cobra.Command {
	cmd := &cobra.Command{Use: "mcp", Short: "List and change the configured servers", Example: "  looprig mcp list"}
	list := &cobra.Command{
		Use: "list", Short: "List the servers; nothing is started", Example: "  looprig mcp list --output json", Args: takes(),
		RunE: c.do(func(*cobra.Command, []string) error { return c.MCPList() }),
	}
	c.addOutput(list, "text or json (NDJSON, one server a line)")
	get := &cobra.Command{
		Use: "get NAME", Short: "Show one server's entry, and what it runs or where it is", Example: "  looprig mcp get files", Args: takes("NAME"),
		RunE: c.do(func(_ *cobra.Command, args []string) error { return c.MCPGet(args[0]) }),
	}
	remove := &cobra.Command{
		Use: "remove NAME", Short: "Remove a server from the home's mcp.json; its pin is kept", Example: "  looprig mcp remove files", Args: takes("NAME"),
		RunE: c.do(func(_ *cobra.Command, args []string) error { return c.MCPRemove(args[0]) }),
	}
	enable := &cobra.Command{
		Use: "enable NAME", Short: "Enable a server", Example: "  looprig mcp enable files", Args: takes("NAME"),
		RunE: c.do(func(_ *cobra.Command, args []string) error { return c.MCPSwitch(args[0], true) }),
	}
	disable := &cobra.Command{
		Use: "disable NAME", Short: "Disable a server", Example: "  looprig mcp disable files", Args: takes("NAME"),
		RunE: c.do(func(_ *cobra.Command, args []string) error { return c.MCPSwitch(args[0], false) }),
	}
	return c.group(cmd, list, get, c.mcpAdd(), remove, enable, disable)
}

func (c *command) mcpAdd() *cobra.Command {
	var f cli.MCPAddOptions
	cmd := &cobra.Command{
		Use: "add NAME (-- COMMAND [ARGS…] | --url URL)", Short: "Add a server to the home's mcp.json and pin its launch or endpoint",
		Example: "  looprig mcp add files -- npx -y @modelcontextprotocol/server-filesystem /tmp\n" +
			"  looprig mcp add issues --url https://mcp.example.com/mcp --header 'Authorization=Bearer ${ISSUES_TOKEN}'",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return takes("NAME")(cmd, args)
			}
			return nil
		},
	}
	cmd.RunE = c.do(func(_ *cobra.Command, args []string) error {
		if len(args) == 1 {
			args = append(args, "")
		}
		return c.MCPAdd(args[0], args[1], args[2:], f)
	})
	l := cmd.Flags()
	l.StringArrayVar(&f.Env, "env", nil, "a variable for the server, `NAME=value` (${VAR} is expanded at each start)")
	l.StringArrayVar(&f.Inherit, "inherit-env", nil, "the `NAME` of a variable to pass on")
	l.StringVar(&f.Cwd, "cwd", "", "the server's working `DIR`, absolute")
	l.StringVar(&f.SHA256, "sha256", "", "the executable's SHA-256, checked at each start")
	l.StringVar(&f.URL, "url", "", "the server's address, `URL`, instead of a command")
	l.StringArrayVar(&f.Headers, "header", nil, "a header for every request, `NAME=value` (${VAR} is expanded at each start)")
	l.StringVar(&f.Transport, "transport", "", "http (the default) or sse, for --url")
	l.BoolVar(&f.Plain, "plain-http", false, "let --url be http:// to another machine, unencrypted")
	l.BoolVar(&f.Required, "required", false, "a failure at the start stops the session")
	return cmd
}
