package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/mcpadapter/demo"
)

func versionCommand(s *state) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Example: "  looprig version", Args: cobra.NoArgs,
		RunE: s.do(func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(s.stdout, "looprig "+versionText())
			return err
		}),
	}
}

func demoCommand(s *state) *cobra.Command {
	return &cobra.Command{
		Use: "demo-server", Short: "Run the demo MCP server on stdin and stdout", Example: "  looprig demo-server",
		Args: cobra.NoArgs,
		RunE: s.do(func(cmd *cobra.Command, _ []string) error {
			if err := demo.Run(cmd.Context(), os.Stdin, os.Stdout); err != nil && cmd.Context().Err() == nil {
				return exit.New(exit.Internal, "demo server: %w", err)
			}
			return nil
		}),
	}
}
