package compose

import (
	"strings"
	"testing"

	"github.com/looprig/looprig/compose/config"
)

// A launch that nobody changed may be another one where it is called from.
func TestAChangedLaunchNamesWhatItLeavesToThePlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command, cwd string
		dir, path    bool
	}{
		{"python3", "", true, true}, {"python3", "/srv", false, true}, {"/usr/bin/python3", "", true, false},
		{`bin\x.exe`, "/srv", false, false}, {"py\x1b[2J", "/srv", false, true},
	} {
		got := elsewhere(config.Server{Command: c.command, Cwd: c.cwd})
		if strings.Contains(got, `names no "cwd"`) != c.dir || strings.Contains(got, "looked up on PATH") != c.path || strings.ContainsRune(got, 0x1b) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
