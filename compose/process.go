package compose

import (
	"context"
	"errors"
	"os"

	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/mcpadapter/demo"
	"github.com/looprig/looprig/mcpadapter/transport/stdio"
)

// HelperMain must be the first call of the program, with os.Args: it turns the
// process into the guardian of another one's servers when it was started as
// that. handled says that it was, and is to exit with code.
func HelperMain(args []string) (handled bool, code int) { return stdio.HelperMain(args) }

// DemoServer serves the demo on stdin and stdout until its input ends.
func DemoServer(ctx context.Context) error {
	if err := demo.Run(ctx, os.Stdin, os.Stdout); err != nil && ctx.Err() == nil {
		return exit.New(exit.Internal, "demo server: %w", err)
	}
	return nil
}

// DemoHTTP serves the demo over HTTP on a loopback address until ctx ends. ready
// is told the address of its endpoint once it can be reached.
func DemoHTTP(ctx context.Context, addr, version string, ready func(url string)) error {
	err := demo.ServeHTTP(ctx, addr, demo.Options{Version: version}, ready)
	var bad *demo.AddressError
	switch {
	case errors.As(err, &bad):
		return exit.New(exit.Usage, "--http: %w", err)
	case err != nil && ctx.Err() == nil:
		return exit.New(exit.Unreachable, "demo server: %w", err)
	}
	return nil
}
