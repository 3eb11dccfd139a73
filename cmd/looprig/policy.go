package main

import (
	"github.com/spf13/cobra"

	"github.com/looprig/looprig/compose/cli"
)

func (c *command) policy() *cobra.Command {
	cmd := &cobra.Command{Use: "policy", Short: "Explain and check the rules, list and revoke grants", Example: "  looprig policy explain demo add"}
	return c.group(cmd, c.policyLint(), c.policyExplain(), c.policyGrants(), c.policyRevoke())
}

func (c *command) policyLint() *cobra.Command {
	var connect bool
	cmd := &cobra.Command{
		Use: "lint", Short: "Find rules that can never match and names that nobody has", Example: "  looprig policy lint", Args: takes(),
		Long: "Find rules that can never match, names that nobody has, and what is wrong with an expression. " +
			"Exit code 2 says that a rule can never match.",
		RunE: c.do(func(cmd *cobra.Command, _ []string) error { return c.PolicyLint(cmd.Context(), connect) }),
	}
	c.addPolicyRun(cmd, &connect, "start the servers, to know their tools")
	c.addOutput(cmd, "text or json (NDJSON, one finding a line)")
	return cmd
}

func (c *command) policyExplain() *cobra.Command {
	var f cli.ExplainOptions
	cmd := &cobra.Command{
		Use: "explain BINDING TOOL", Short: "Say what would become of a call, and by which rule",
		Example: "  looprig policy explain demo add --args '{\"a\": 2, \"b\": 3}'", Args: takes("BINDING", "TOOL"),
		Long: "Say what would become of a call, by which rule, and what of every other rule. Nothing is started and nothing called; " +
			"what is not known then is said. The host's own tools have the binding builtin.",
		RunE: c.do(func(cmd *cobra.Command, args []string) error {
			return c.PolicyExplain(cmd.Context(), args[0], args[1], f)
		}),
	}
	cmd.Flags().StringVar(&f.Args, "args", "", "the call's arguments, a JSON `OBJECT`")
	cmd.Flags().StringVar(&f.Loop, "loop", "", "the `LOOP` that calls; the first unless said")
	cmd.Flags().StringVar(&f.By, "by", "model", "who calls: model, person or script")
	c.addPolicyRun(cmd, &f.Connect, "start the server, to know its tool")
	c.addOutput(cmd, "text or json")
	return cmd
}

// addPolicyRun adds what a look at the servers takes.
func (c *command) addPolicyRun(cmd *cobra.Command, connect *bool, says string) {
	cmd.Flags().BoolVar(connect, "connect", false, says)
	c.addRun(cmd)
}

func (c *command) policyGrants() *cobra.Command {
	var session string
	cmd := &cobra.Command{
		Use: "grants", Short: "List what was granted for good, or for a session", Example: "  looprig policy grants", Args: takes(),
		RunE: c.do(func(cmd *cobra.Command, _ []string) error { return c.PolicyGrants(cmd.Context(), session) }),
	}
	cmd.Flags().StringVar(&session, "session", "", "the grants of this `SESSION`")
	c.addOutput(cmd, "text or json (NDJSON, one grant a line)")
	return cmd
}

func (c *command) policyRevoke() *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke GRANT", Short: "Take a grant back", Example: "  looprig policy revoke 01J", Args: takes("GRANT"),
		RunE: c.do(func(cmd *cobra.Command, args []string) error { return c.PolicyRevoke(cmd.Context(), args[0]) }),
	}
	c.addOutput(cmd, "text or json")
	return cmd
}
