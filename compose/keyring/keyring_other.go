//go:build !unix && !windows

package keyring

import (
	"context"
	"time"
)

func store(Item) string { return "give the key with keyEnv or keyCommand" }

func get(context.Context, []string, Item, time.Duration) (string, error) {
	return "", fail(Unavailable, "there is no keyring on this system: give the key with keyEnv or keyCommand")
}
