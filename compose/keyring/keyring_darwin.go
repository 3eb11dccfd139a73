package keyring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

const (
	securityPath = "/usr/bin/security"
	// notThere is the exit code for an item that does not exist.
	notThere = 44
)

// store is the command that stores an item.
func store(i Item) string {
	return fmt.Sprintf("store it with  security add-generic-password -s %s -a %s -w", i.Service, i.Account)
}

// get asks the program of the system, so that the keychain knows who wants to
// read: a program of another's would be asked about after each update.
func get(ctx context.Context, env []string, item Item, _ time.Duration) (string, error) {
	cmd := exec.CommandContext(ctx, securityPath, "find-generic-password", "-s", item.Service, "-a", item.Account, "-w") //nolint:gosec // a fixed program; Parse bounds its arguments
	var out bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.WaitDelay = env, &out, time.Second
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return strings.TrimSuffix(out.String(), "\n"), nil
	case errors.As(err, &ended) && ended.ExitCode() == notThere:
		return "", missing(item)
	case errors.As(err, &ended):
		return "", fail(Locked, "the keychain does not give the secret of %s (exit code %d of %s): unlock it, or allow the access", item, ended.ExitCode(), securityPath)
	}
	return "", fail(Unavailable, "%s cannot be run: give the key with keyEnv or keyCommand", securityPath)
}
