package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/compose/headless"
)

// trace is the file of --trace, or nil. It is opened before anything is started,
// so that a path that cannot be written costs nothing.
type trace struct {
	f *os.File
	w *headless.Writer
}

func openTrace(path string) (*trace, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // no path is not an error
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, exit.New(exit.Usage, "--trace: %w", err)
	}
	return &trace{f: f}, nil
}

// follow begins to write the protocol messages of a run whose servers have not
// been started yet.
func (t *trace) follow(a *compose.App, stop context.CancelCauseFunc) (err error) {
	if t == nil {
		return nil
	}
	a.Manager.PublishTrace(true)
	t.w, err = headless.WriteTrace(a.Session, t.f, func(err error) {
		stop(exit.New(exit.Internal, "--trace: the run was ended: %w", err))
	})
	return err
}

// wait waits until all of it is written.
func (t *trace) wait(ctx context.Context) error {
	if t == nil || t.w == nil {
		return nil
	}
	return t.w.Wait(ctx)
}

func (t *trace) close(c *CLI) error {
	if t == nil {
		return nil
	}
	if t.w != nil && t.w.Dropped() > 0 {
		fmt.Fprintf(c.Stderr, "looprig: the trace lacks %d messages, which came faster than they could be written\n", t.w.Dropped())
	}
	if err := t.f.Close(); err != nil {
		return exit.New(exit.Internal, "--trace: %w", err)
	}
	return nil
}
