package headless

import (
	"context"
	"errors"
	"testing"
)

func TestTheEndOfTheOutputIsGivenUpWhenAsked(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	stuck := &Writer{done: make(chan struct{})}
	if err := stuck.Wait(ended); !errors.Is(err, ErrUnread) {
		t.Errorf("a writer that is stuck: %v", err)
	}
	failed := errors.New("gone")
	written := &Writer{done: make(chan struct{}), err: failed}
	close(written.done)
	for range 50 { // whichever case the choice falls on
		if err := written.Wait(ended); !errors.Is(err, failed) {
			t.Fatalf("a writer that had ended: %v", err)
		}
	}
}
