// Command looprig is a terminal companion for people who work with MCP servers
// through an agent. The files here hold names, flags and help; what the
// commands do is in compose.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/cli"
	"github.com/looprig/looprig/internal/version"
)

func main() {
	if handled, code := compose.HelperMain(os.Args); handled {
		os.Exit(code)
	}
	os.Exit(run())
}

func run() int {
	collectLater()

	// A reader of stdout that goes away is an error of writing, and the journal is
	// closed after it; it does not kill the process.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), cli.EndSignals()...)
	defer stop()
	c := &command{args: os.Args[1:], CLI: &cli.CLI{
		Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Version: version.Text(),
	}}
	if err := c.execute(ctx, c.root()); err != nil {
		c.report(err)
		return int(c.code(err))
	}
	return 0
}
