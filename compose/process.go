package compose

import (
	"context"
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
