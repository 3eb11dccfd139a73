package streamhttp

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if n := wire.Frames.Used(); n != 0 {
			fmt.Fprintf(os.Stderr, "%d bytes of the budget of all frames were not given back\n", n)
			code = 1
		}
		os.Exit(code)
	}))
}
