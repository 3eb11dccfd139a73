// Command looprig is a terminal companion for people who work with MCP servers
// through an agent. Each subcommand is one small file here: flags in, compose
// out.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"charm.land/fang/v2"

	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/mcpadapter/transport/stdio"
)

// version is set by the linker for releases.
var version = ""

func main() {
	if handled, code := stdio.HelperMain(os.Args); handled {
		os.Exit(code)
	}
	// The commonest question is answered without building the command tree.
	if len(os.Args) == 2 && (os.Args[1] == "version" || os.Args[1] == "--version") {
		fmt.Println("looprig " + versionText())
		return
	}
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	s := &state{env: os.Environ(), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	root := rootCommand(s)
	err := fang.Execute(ctx, root,
		fang.WithVersion(versionText()), fang.WithoutVersion(), fang.WithoutManpage(),
		fang.WithErrorHandler(s.report),
	)
	if err == nil {
		return int(exit.OK)
	}
	return int(codeOf(err))
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
