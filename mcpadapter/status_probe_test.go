package mcpadapter

import (
	"strings"
	"testing"
)

func TestProbeNoteSaysWhatItIsAbout(t *testing.T) {
	t.Parallel()
	if got := probeNote("no answer"); !strings.Contains(got, "revision") || !strings.HasSuffix(got, "no answer") {
		t.Errorf("the note is %q", got)
	}
}
