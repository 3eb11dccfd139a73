// Command looprig is a terminal companion for people who work with MCP servers
// through an agent. The files here hold names, flags and help; what the
// commands do is in compose.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/cli"
)

// version is set by the linker for releases.
var version = ""

func main() {
	if handled, code := compose.HelperMain(os.Args); handled {
		os.Exit(code)
	}
	// The commonest question is answered without building the command tree.
	if len(os.Args) == 2 && (os.Args[1] == "version" || os.Args[1] == "--version") {
		if printVersion(os.Stdout) != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(run())
}

func run() int {
	// A reader of stdout that goes away is an error of writing, and the journal is
	// closed after it; it does not kill the process.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	c := &command{args: os.Args[1:], CLI: &cli.CLI{
		Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Version: versionText(),
	}}
	if err := c.execute(ctx, c.root()); err != nil {
		c.report(err)
		return int(c.code(err))
	}
	return 0
}

func printVersion(w io.Writer) error {
	_, err := fmt.Fprintln(w, "looprig "+versionText())
	return err
}

// versionText is the linker's version, or what the build recorded.
func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
