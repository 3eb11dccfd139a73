package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/looprig/looprig/compose/exit"
)

func TestEndOfSaysWhatEndedARun(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, stop := context.WithTimeout(t.Context(), 0)
	defer stop()
	for _, c := range []struct {
		ctx  context.Context
		err  error
		code exit.Code
		text string
	}{
		{t.Context(), errors.New("plain"), exit.Internal, "plain"},
		{cancelled, context.Canceled, exit.Interrupted, "interrupted"},
		{cancelled, exit.New(exit.Interrupted, "s.yaml:3: %w", context.Canceled), exit.Interrupted, "interrupted at s.yaml:3"},
		{cancelled, exit.New(exit.Integrity, "damaged"), exit.Integrity, "damaged"},
		{late, fmt.Errorf("s.yaml:4: %w", context.DeadlineExceeded), exit.Limit, "the run's time limit ended it at s.yaml:4"},
	} {
		got := endOf(c.ctx, c.err)
		if exit.Of(got) != c.code || got.Error() != c.text || !errors.Is(got, c.err) {
			t.Errorf("%v became %d, %q", c.err, exit.Of(got), got)
		}
	}
	if endOf(cancelled, nil) != nil {
		t.Error("a run that was done is interrupted")
	}
}
