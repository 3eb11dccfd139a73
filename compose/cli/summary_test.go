package cli

import (
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/event"
)

func TestTheSummaryTellsAPinFromWhatWasLetInOnce(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{false, true} {
		e := &event.PinChanged{Header: event.Header{Type: event.TypePinAccepted}, Binding: "docs", Layer: "endpoint", Fingerprint: "sha256:ab", By: "local", Once: once}
		if got := summary(e); strings.HasSuffix(got, " local (once, not pinned)") != once {
			t.Errorf("once %t: %q", once, got)
		}
	}
}
