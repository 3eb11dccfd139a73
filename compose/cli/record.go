package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/compose/record"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/internal/safetext"
)

const recordFlag = "--record"

// openRecording checks that a recording can be written to path, before anything
// runs, and gives what writes it; nil for no path. A file that holds something is
// never written over: it may be a script that somebody has gone on with.
func (c *CLI) openRecording(path string) (func(record.Recording) error, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // no path is not an error
	}
	if err := vacant(path); err != nil {
		return nil, err
	}
	probe, err := os.CreateTemp(filepath.Dir(path), ".looprig-*")
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		return nil, exit.New(exit.Usage, "%s: %w", recordFlag, err)
	}
	return func(rec record.Recording) error { return c.writeRecording(path, rec) }, nil
}

// vacant is an error unless path is free, or an empty file.
func vacant(path string) error {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return exit.New(exit.Usage, "%s: %w", recordFlag, err)
	case !st.Mode().IsRegular():
		return exit.New(exit.Usage, "%s: %s is not a file that a script could be written to", recordFlag, path)
	case st.Size() > 0:
		return exit.New(exit.Usage, "%s: %s exists, and is not written over", recordFlag, path).WithHint("take another name, or remove it first")
	}
	return nil
}

// writeRecording writes a recording at once and whole, and says what it lacks.
func (c *CLI) writeRecording(path string, rec record.Recording) error {
	if len(rec.Text) == 0 {
		c.sayNotes(rec.Notes)
		_, err := fmt.Fprintf(c.Stderr, "looprig: %s was not written\n", safetext.ToLine(path))
		return err
	}
	err := vacant(path)
	if err == nil && len(rec.Text) > maxInput {
		err = exit.New(exit.Internal, "%s: the script has %d bytes, and one of more than %d is not taken", recordFlag, len(rec.Text), maxInput)
	}
	if err != nil {
		return err
	}
	if err := config.WriteAtomic(path, rec.Text); err != nil {
		return exit.New(exit.Internal, "%s: %w", recordFlag, err)
	}
	c.sayNotes(rec.Notes)
	_, err = fmt.Fprintf(c.Stderr, "looprig: recorded %d steps and %d answers in %s\n", rec.Steps, rec.Answers, safetext.ToLine(path))
	return err
}

func (c *CLI) sayNotes(notes []string) {
	for _, n := range notes {
		_, _ = fmt.Fprintf(c.Stderr, "looprig: recording: %s\n", safetext.ToLine(n)) // the file says it too
	}
}

// SessionsScript prints a session of before as a script. Its servers are those
// of the home that the script then runs in: how they were defined is not on
// record.
func (c *CLI) SessionsScript(ctx context.Context, prefix string) error {
	return c.withSession(ctx, prefix, func(store *sqlite.Store, meta journal.Meta) error {
		rec, err := compose.RecordSession(ctx, store, meta.Session, 1, record.Options{Version: c.Version})
		if err != nil {
			return err
		}
		c.sayNotes(rec.Notes)
		if len(rec.Text) == 0 {
			return exit.New(exit.Usage, "session %s has nothing that a script can do again", safetext.Ident(meta.Session))
		}
		if _, err := c.Stdout.Write(rec.Text); err != nil {
			return exit.New(exit.Internal, "the script cannot be written: %w", err)
		}
		return nil
	})
}
