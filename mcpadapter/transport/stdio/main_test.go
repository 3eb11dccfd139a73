package stdio

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// playRole turns the test binary into one of the servers of the integration
// tests; it is nil without them.
var playRole func(role string)

const roleEnv = "STDIO_TEST_ROLE"

func TestMain(m *testing.M) {
	if handled, code := HelperMain(os.Args); handled {
		os.Exit(code)
	}
	if role := os.Getenv(roleEnv); role != "" && playRole != nil {
		playRole(role)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		CloseHelper()
		if n := wire.Frames.Used(); n != 0 {
			fmt.Fprintf(os.Stderr, "%d bytes of the budget of all frames were not given back\n", n)
			code = 1
		}
		os.Exit(code)
	}))
}
