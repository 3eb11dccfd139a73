package stdio

import "github.com/looprig/looprig/mcpadapter/internal/guardian"

// HelperMain must be the first call of a program that starts servers, with
// os.Args: before flags, configuration and logging. When looprig is killed,
// the helper that it turns the program into ends the servers that are left.
// handled says that this process was the helper and is to exit with exitCode.
// A program that never calls it starts servers without a helper and says so in
// their warnings.
func HelperMain(args []string) (handled bool, exitCode int) { return guardian.Main(args) }

// CloseHelper ends the helper in an orderly way, for programs and tests that
// account for their children. A program that just exits needs no call: the
// helper notices and leaves.
func CloseHelper() {
	if keeper := guardian.Running(); keeper != nil {
		keeper.Close()
	}
}
