package compose

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/looprig/looprig/internal/safetext"
)

// Bounds of a program that prints a key.
const (
	keyCommandWait = 30 * time.Second // it may ask its user
	keyCommandKept = 5 * time.Minute
	maxKeyBytes    = 64 << 10
)

// keyCommand has a program print a model's key, as its user configured. What it
// printed is kept for keyCommandKept; nothing of it is ever in an error.
type keyCommand struct {
	argv []string
	env  []string

	// turn holds one token: whoever has it may run the program and touch the rest.
	turn  chan struct{}
	value string
	until time.Time
}

func newKeyCommand(argv, env []string) *keyCommand {
	return &keyCommand{argv: argv, env: env, turn: make(chan struct{}, 1)}
}

// key is the key; it waits for a run that is on its way, no longer than ctx.
func (k *keyCommand) key(ctx context.Context) (string, error) {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if k.value != "" && time.Now().Before(k.until) {
		return k.value, nil
	}
	value, err := k.run(ctx)
	if err != nil {
		return "", fmt.Errorf("keyCommand %s: %w", safetext.Ident(filepath.Base(k.argv[0])), err)
	}
	k.value, k.until = value, time.Now().Add(keyCommandKept)
	return value, nil
}

func (k *keyCommand) run(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, keyCommandWait)
	defer cancel()
	out := &capped{left: maxKeyBytes}
	cmd := exec.CommandContext(ctx, k.argv[0], k.argv[1:]...) //nolint:gosec // the user's own configuration names it
	cmd.Env, cmd.Stdout, cmd.WaitDelay = k.env, out, time.Second
	err := cmd.Run()
	value := strings.TrimSpace(out.buf.String())
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("no key within %s", keyCommandWait)
	case errors.As(err, &failed):
		return "", fmt.Errorf("it ended with exit code %d: run it yourself to see why", failed.ExitCode())
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("there is no such program")
	case err != nil:
		return "", errors.New("it cannot be run, or printed more than a key")
	case value == "":
		return "", errors.New("it printed nothing")
	}
	return value, nil
}

// capped is a buffer that refuses more than it may hold.
type capped struct {
	buf  bytes.Buffer
	left int
}

func (c *capped) Write(p []byte) (int, error) {
	if len(p) > c.left {
		return 0, errors.New("too much")
	}
	c.left -= len(p)
	return c.buf.Write(p)
}
