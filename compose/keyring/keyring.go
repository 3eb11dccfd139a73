// Package keyring reads a secret from the keyring of the operating system: the
// Secret Service of a Linux or BSD desktop (GNOME Keyring, KWallet, KeePassXC),
// the keychain of macOS, the credentials of Windows. It stores and changes
// nothing. See ADR 11 for how it came about.
//
// Every wait is bounded and heeds its context: a bus that hangs and a question
// that nobody answers end in an error. No error has anything of a secret in it.
// It must not import anything of this module but safetext.
package keyring

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// CallWait bounds each exchange with the keyring in which nobody is asked.
	CallWait = 5 * time.Second
	// Wait bounds a lookup, the time included that a person takes to unlock the
	// keyring.
	Wait = 30 * time.Second
	// MaxNameBytes bounds each half of an Item.
	MaxNameBytes = 128
	maxSecret    = 64 << 10
)

// Item names a secret.
type Item struct {
	// Service is what the secret is for, Account whose it is. Both are letters,
	// digits and a few signs, so that commands can be shown that need no quotes.
	Service, Account string
}

// Parse reads an Item that is written SERVICE/ACCOUNT; the last slash parts the
// two.
func Parse(s string) (Item, error) {
	at := strings.LastIndexByte(s, '/')
	if at < 0 {
		return Item{}, errors.New("is SERVICE/ACCOUNT, as the secret was stored")
	}
	i := Item{s[:at], s[at+1:]}
	for _, half := range []string{i.Service, i.Account} {
		if half == "" || len(half) > MaxNameBytes || strings.ContainsFunc(half, odd) {
			return Item{}, fmt.Errorf("is SERVICE/ACCOUNT, each of 1 to %d letters, digits and signs of . _ @ + : / -", MaxNameBytes)
		}
	}
	if i.Service[0] == '-' || i.Account[0] == '-' {
		return Item{}, errors.New("is SERVICE/ACCOUNT, of which none begins with a dash")
	}
	return i, nil
}

func odd(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !letter && !strings.ContainsRune("._@+:/-", r)
}

// String is the Item as Parse reads it.
func (i Item) String() string { return i.Service + "/" + i.Account }

// The codes of an Error.
const (
	Unavailable = "unavailable" // there is no keyring here
	NotFound    = "not_found"
	Locked      = "locked" // and nobody unlocked it
	TimedOut    = "timeout"
	Failed      = "failed"
)

// Error is a lookup that failed. It says what to do.
type Error struct {
	// Code is one of the codes of this package.
	Code string
	// Reason is host-written.
	Reason string
}

func (e *Error) Error() string { return e.Reason }

func fail(code, format string, args ...any) *Error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

// Get is the secret of an item. env has the form of os.Environ and says where
// the session's bus is. It fails with an *Error, and with the cause of ctx where
// that ended.
func Get(ctx context.Context, env []string, item Item) (string, error) {
	return look(ctx, env, item, waits{CallWait, Wait})
}

// waits are the bounds of a lookup: of one exchange, and of the whole.
type waits struct{ call, whole time.Duration }

func look(ctx context.Context, env []string, item Item, w waits) (string, error) {
	limited, cancel := context.WithTimeout(ctx, w.whole)
	defer cancel()
	value, err := get(limited, env, item, w.call)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case limited.Err() != nil:
		return "", fail(TimedOut, "the keyring gave no answer within %s: unlock it, or see why it hangs", w.whole)
	case err != nil:
		return "", err
	case len(value) > maxSecret:
		return "", fail(Failed, "what the keyring has under %s is no key: it has more than %d bytes", item, maxSecret)
	case strings.TrimSpace(value) == "":
		return "", fail(NotFound, "what the keyring has under %s is empty: %s", item, store(item))
	}
	return value, nil
}

// missing is an item that is not there.
func missing(item Item) *Error {
	return fail(NotFound, "the keyring has nothing under %s: %s", item, store(item))
}
