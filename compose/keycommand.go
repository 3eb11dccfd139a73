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

	"github.com/looprig/looprig/compose/keyring"
	"github.com/looprig/looprig/internal/safetext"
)

// Bounds of what gives a key.
const (
	keyCommandWait = 30 * time.Second // it may ask its user
	keyKept        = 5 * time.Minute
	maxKeyBytes    = 64 << 10
)

// keySource is where a model's key is had from when it is needed: a program that
// its user configured, or the keyring. What it gave is kept for keyKept; nothing
// of it is ever in an error.
type keySource struct {
	ask func(context.Context) (string, error)

	// turn holds one token: whoever has it may ask and touch the rest.
	turn  chan struct{}
	value string
	until time.Time
}

func newKeySource(ask func(context.Context) (string, error)) *keySource {
	return &keySource{ask: ask, turn: make(chan struct{}, 1)}
}

// key is the key; it waits for an asking that is on its way, no longer than ctx.
func (k *keySource) key(ctx context.Context) (string, error) {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if k.value != "" && time.Now().Before(k.until) {
		return k.value, nil
	}
	value, err := k.ask(ctx)
	if err != nil {
		return "", err
	}
	k.value, k.until = value, time.Now().Add(keyKept)
	return value, nil
}

// newKeyring is a key of the operating system's keyring.
func newKeyring(item keyring.Item, env []string) *keySource {
	return newKeySource(func(ctx context.Context) (string, error) { return keyring.Get(ctx, env, item) })
}

// newKeyCommand is a key that a program prints.
func newKeyCommand(argv, env []string) *keySource {
	c := keyCommand{argv, env}
	return newKeySource(func(ctx context.Context) (string, error) {
		value, err := c.run(ctx)
		if err != nil {
			return "", fmt.Errorf("keyCommand %s: %w", safetext.Ident(filepath.Base(argv[0])), err)
		}
		return value, nil
	})
}

// keyCommand has a program print a model's key.
type keyCommand struct{ argv, env []string }

func (k keyCommand) run(ctx context.Context) (string, error) {
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
	case out.over: // before what the program makes of a pipe that is closed
		return "", fmt.Errorf("it printed more than the %d bytes that a key may have", maxKeyBytes)
	case errors.As(err, &failed):
		return "", fmt.Errorf("it ended with exit code %d: run it yourself to see why", failed.ExitCode())
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("there is no such program")
	case err != nil:
		return "", errors.New("it cannot be run")
	case value == "":
		return "", errors.New("it printed nothing")
	}
	return value, nil
}

// capped is a buffer that refuses more than it may hold.
type capped struct {
	buf  bytes.Buffer
	left int
	over bool // more came
}

func (c *capped) Write(p []byte) (int, error) {
	if len(p) > c.left {
		c.over = true
		return 0, errors.New("too much")
	}
	c.left -= len(p)
	return c.buf.Write(p)
}
