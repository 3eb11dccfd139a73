package version

import "testing"

func TestOnlyLooprigIsAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want bool
	}{
		{[]string{"/usr/bin/looprig", "version"}, true},
		{[]string{"looprig-linux-amd64", "version"}, true},
		{[]string{"looprig", "version", "-h"}, false},
		{[]string{"looprig"}, false},
		{[]string{"looprig", "call"}, false},
		{[]string{"/usr/lib/looprig/cli.test", "version"}, false},
	} {
		if got := asked(c.args); got != c.want {
			t.Errorf("%q: %t", c.args, got)
		}
	}
	if Line() != "looprig "+Text()+"\n" {
		t.Errorf("the line is %q", Line())
	}
}
