package stdio

import (
	"os"
	"testing"

	"go.uber.org/goleak"
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
		os.Exit(code)
	}))
}
