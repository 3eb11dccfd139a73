package cli

import (
	"context"
	"fmt"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/exit"
)

// DemoHTTP serves the demo over HTTP and prints its address on stdout, which is
// all that is printed there.
func (c *CLI) DemoHTTP(ctx context.Context, addr string) error {
	var told error
	err := compose.DemoHTTP(ctx, addr, c.Version, func(url string) {
		told = c.printf("%s\n", url)
		fmt.Fprintf(c.Stderr, "looprig: the demo server is at %s; ctrl+c ends it\n", url)
	})
	if err == nil && told != nil {
		return exit.New(exit.Internal, "the address cannot be written: %w", told)
	}
	return err
}
