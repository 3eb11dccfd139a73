package holder_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/journal/holder"
)

func TestAliveIsDeniedOnlyWhereItIsSure(t *testing.T) {
	t.Parallel()
	self := holder.Self()
	if !holder.Alive(self) {
		t.Fatalf("%s is not alive", self)
	}
	parts := strings.Split(self, ":")
	if runtime.GOOS != "linux" {
		t.Skip("this platform does not tell when a process began")
	}
	boot, space, _ := strings.Cut(parts[2], ".")
	for name, want := range map[string]bool{
		"holder-a":      true,
		parts[0] + ":1": true,
		"elsewhere:" + strings.Join(parts[1:], ":"):                               true,
		fmt.Sprintf("%s:%s:%s:%s0", parts[0], parts[1], parts[2], parts[3]):       false, // its number was given again
		fmt.Sprintf("%s:99999999:%s:%s", parts[0], parts[2], parts[3]):            false,
		fmt.Sprintf("%s:%s:0%s.%s:%s", parts[0], parts[1], boot, space, parts[3]): false, // another boot
		fmt.Sprintf("%s:99999999:%s.0%s:%s", parts[0], boot, space, parts[3]):     true,  // another container
	} {
		if holder.Alive(name) != want {
			t.Errorf("Alive(%s) is %v", name, !want)
		}
	}
}
