// Command testcount runs `go test`, shows what it prints, and keeps count.
//
//	testcount -sum FILE go test ./...   run, and add the outcomes to FILE
//	testcount -total FILE               print "N passed, N failed, N skipped"
//
// Several runs may add to one file: a test that ran more than once (with and without
// the race detector, say) counts once, as failed if it ever failed, else as passed if
// it ever passed. A package that fails without a failing test (it does not build, or
// it crashed) counts as one failed test. The exit code is that of the go command;
// -total exits 1 when anything failed or nothing ran.
//
// The command imports the standard library alone.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
)

const usage = "usage: testcount -sum FILE go test ARG…  |  testcount -total FILE"

func main() {
	code, err := run(os.Args[1:], os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testcount:", err)
	}
	os.Exit(code)
}

func run(args []string, stdout, stderr io.Writer) (int, error) {
	flags := flag.NewFlagSet("testcount", flag.ContinueOnError)
	flags.SetOutput(stderr)
	sum := flags.String("sum", "", "run the command that follows and add its outcomes to this `file`")
	total := flags.String("total", "", "print the totals of this `file`")
	if err := flags.Parse(args); err != nil {
		return 2, nil // the flag package has said why
	}
	switch {
	case *total != "" && flags.NArg() == 0:
		return printTotal(*total, stdout)
	case *sum != "" && flags.NArg() >= 2:
		return runTests(*sum, flags.Args(), stdout, stderr)
	}
	return 2, errors.New(usage)
}

func printTotal(file string, stdout io.Writer) (int, error) {
	t, err := readTally(file)
	if err != nil {
		return 1, err
	}
	c := t.counts()
	fmt.Fprintln(stdout, c)
	if c.failed > 0 || c.passed == 0 {
		return 1, nil
	}
	return 0, nil
}

// runTests runs `go test` with -json behind the verb.
func runTests(file string, args []string, stdout, stderr io.Writer) (int, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	args = slices.Insert(slices.Clone(args), 2, "-json")
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // running it is the job
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	t, readErr := follow(out, stdout)
	waitErr := cmd.Wait()
	if err := errors.Join(readErr, t.appendTo(file)); err != nil {
		return 1, err
	}
	var exit *exec.ExitError
	if errors.As(waitErr, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode(), nil
	}
	if waitErr != nil {
		return 1, waitErr
	}
	return 0, nil
}
