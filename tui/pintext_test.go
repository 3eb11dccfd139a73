package tui

import (
	"testing"

	"github.com/looprig/looprig/harness/event"
)

// What was let in once is not called pinned.
func TestWhatWasLetInOnceIsNotCalledPinned(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ  event.Type
		once bool
		want string
	}{
		{event.TypePinAccepted, false, "endpoint pin accepted"},
		{event.TypePinAccepted, true, "endpoint let in once, not pinned"},
		{event.TypePinPending, false, "endpoint pin pending"},
		{event.TypePinRefused, false, "endpoint pin refused"},
	} {
		e := &event.PinChanged{Header: event.Header{Type: c.typ}, Binding: "docs", Layer: "endpoint", Once: c.once}
		if got := pinText(e); got != c.want {
			t.Errorf("%s: %q, want %q", c.typ, got, c.want)
		}
	}
}
