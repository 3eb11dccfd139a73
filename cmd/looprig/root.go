package main

import (
	"github.com/spf13/cobra"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/cli"
	"github.com/looprig/looprig/internal/version"
)

func (c *command) root() *cobra.Command {
	var f cli.RootOptions
	cmd := &cobra.Command{
		Use:   "looprig",
		Short: "A terminal companion for MCP servers and the agents that use them",
		Long: "looprig runs MCP servers, shows what they offer, asks before their tools run, and keeps a\n" +
			"journal and a ledger of all of it. Without a configuration it starts on its own demo server.",
		Example: "  looprig                                          # the interface\n" +
			"  looprig --headless --script examples/first-run.yaml --output json\n" +
			"  looprig call demo add --arg a=2 --arg b=3",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(cmd, args[0])
			}
			return nil
		},
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.RunE = c.do(func(cmd *cobra.Command, _ []string) error { return c.Root(cmd.Context(), f) })
	g := cmd.PersistentFlags()
	g.StringVar(&c.Home, "home", "", "the `DIR` of configuration, pins and journal (default $LOOPRIG_HOME, else ~/.looprig)")
	g.StringVar(&c.MCPConfig, "mcp-config", "", "use this `FILE`'s servers instead of the home's mcp.json")
	g.StringVar(&c.ConfigFile, "config", "", "use this `FILE` instead of the home's config.yaml")
	g.BoolVar(&c.NoColor, "no-color", false, "no colours")
	g.BoolVar(&c.Strict, "strict-mcp", false, "treat every server as required")
	l := cmd.Flags()
	l.BoolVar(&f.Headless, "headless", false, "run without the interface: a script or one prompt")
	l.StringVar(&f.Script, "script", "", "run this `FILE` (- for stdin)")
	l.StringVarP(&f.Prompt, "prompt", "p", "", "one prompt as `TEXT` (- for stdin)")
	l.StringVar(&f.Model, "model", "", "the model: operator, an entry of providers in config.yaml, or PROVIDER/MODEL")
	l.StringVar(&f.Theme, "theme", "", "auto, light, dark, mono or contrast")
	l.StringVar(&f.Resume, "resume", "", "go on with the session `ID` (its beginning is enough)")
	l.BoolVar(&f.Continue, "continue", false, "go on with the session that was used last")
	l.StringVar(&f.ForkTurn, "fork", "", "with --resume or --continue: go on with a copy, up to `TURN` (the last without one)")
	l.Lookup("fork").NoOptDefVal = cli.LastTurn
	l.BoolVar(&f.AcceptDrift, "accept-drift", false, "with --resume or --continue: go on although the configuration has changed, on record")
	l.DurationVar(&f.Timeout, "timeout", 0, "end the run after this time, with exit code 8")
	l.StringArrayVar(&f.Reports, "report", nil, "with a script, write a case for each step: junit=`FILE`, or github (annotations on stderr)")
	l.StringVar(&f.Record, "record", "", "write the session to this new `FILE` when it ends, as a script that does the same again")
	l.BoolVar(&f.Ephemeral, "include-ephemeral", false, "with --output json, the ephemeral events as well")
	c.addRun(cmd)
	c.addTrace(cmd)
	c.addOutput(cmd, "text or json (NDJSON, one event a line)")
	cmd.AddCommand(c.call(), c.read(), c.prompt(), c.rpc(), c.inspect(), c.mcp(), c.models(), c.ledger(), c.policy(), c.sessions(), c.demo(), c.version())
	return cmd
}

func (c *command) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Example: "  looprig version", Args: cobra.NoArgs,
		RunE: c.do(func(*cobra.Command, []string) error {
			_, err := c.Stdout.WriteString(version.Line())
			return err
		}),
	}
}

func (c *command) demo() *cobra.Command {
	addr := ""
	cmd := &cobra.Command{
		Use: "demo-server", Short: "Run the demo MCP server on stdin and stdout, or over HTTP",
		Example: "  looprig demo-server\n  looprig demo-server --http 127.0.0.1:8931   # then: looprig mcp add web --url http://127.0.0.1:8931/mcp",
		Args:    cobra.NoArgs,
	}
	cmd.RunE = c.do(func(cmd *cobra.Command, _ []string) error {
		if addr != "" {
			return c.DemoHTTP(cmd.Context(), addr)
		}
		return compose.DemoServer(cmd.Context())
	})
	cmd.Flags().StringVar(&addr, "http", "", "serve over HTTP on this loopback `ADDR` instead, 127.0.0.1:0 for any port")
	return cmd
}
