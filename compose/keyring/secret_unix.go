//go:build unix && !darwin

package keyring

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/looprig/looprig/internal/safetext"
)

// The names of the Secret Service.
const (
	secretsName  = "org.freedesktop.secrets"
	secretsPath  = dbus.ObjectPath("/org/freedesktop/secrets")
	serviceFace  = "org.freedesktop.Secret.Service."
	itemFace     = "org.freedesktop.Secret.Item."
	promptFace   = "org.freedesktop.Secret.Prompt"
	noPrompt     = dbus.ObjectPath("/")
	maxSignals   = 16
	unknownName  = "org.freedesktop.DBus.Error.ServiceUnknown"
	notStartable = "org.freedesktop.DBus.Error.Spawn.ServiceNotFound"
)

// store is the command that stores an item.
func store(i Item) string {
	return fmt.Sprintf("store it with  secret-tool store --label=looprig service %s username %s", i.Service, i.Account)
}

// secrets is the Secret Service behind one connection.
type secrets struct {
	conn *dbus.Conn
	wait time.Duration // for one answer
}

func get(ctx context.Context, env []string, item Item, wait time.Duration) (string, error) {
	path, err := address(env)
	if err != nil {
		return "", err
	}
	conn, err := connect(ctx, path, wait)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	s := secrets{conn, wait}
	at, err := s.find(ctx, item)
	if err != nil {
		return "", err
	}
	return s.secret(ctx, at)
}

// call asks one object and puts what it answers into the results.
func (s secrets) call(ctx context.Context, at dbus.ObjectPath, method string, args []any, results ...any) error {
	limited, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	err := s.conn.Object(secretsName, at).CallWithContext(limited, method, 0, args...).Store(results...)
	var refused dbus.Error
	switch {
	case err == nil:
		return nil
	case limited.Err() != nil:
		return fail(TimedOut, "the keyring did not answer within %s: see why it hangs, or give the key with keyEnv or keyCommand", s.wait)
	case errors.As(err, &refused) && (refused.Name == unknownName || refused.Name == notStartable):
		return fail(Unavailable, "no keyring is running: start one such as GNOME Keyring, KWallet or KeePassXC, or give the key with keyEnv or keyCommand")
	case errors.As(err, &refused):
		return fail(Failed, "the keyring refuses: %s", safetext.Ident(refused.Name))
	}
	return fail(Failed, "the keyring answers with something else than a Secret Service does")
}

// find is the item's place. It is unlocked, by a person if need be.
func (s secrets) find(ctx context.Context, item Item) (dbus.ObjectPath, error) {
	var open, locked []dbus.ObjectPath
	want := map[string]string{"service": item.Service, "username": item.Account}
	err := s.call(ctx, secretsPath, serviceFace+"SearchItems", []any{want}, &open, &locked)
	switch {
	case err != nil:
		return "", err
	case len(open) > 0:
		return open[0], nil
	case len(locked) > 0:
		return locked[0], s.unlock(ctx, locked[0])
	}
	return "", missing(item)
}

func (s secrets) unlock(ctx context.Context, at dbus.ObjectPath) error {
	var done []dbus.ObjectPath
	var prompt dbus.ObjectPath
	if err := s.call(ctx, secretsPath, serviceFace+"Unlock", []any{[]dbus.ObjectPath{at}}, &done, &prompt); err != nil {
		return err
	}
	if prompt == noPrompt {
		if len(done) == 0 {
			return fail(Locked, "the keyring is locked: unlock it and try again")
		}
		return nil
	}
	return s.prompt(ctx, prompt)
}

// prompt has the keyring ask the person in front of it, and waits for the answer
// as long as ctx lets it.
func (s secrets) prompt(ctx context.Context, at dbus.ObjectPath) error {
	heard := make(chan *dbus.Signal, maxSignals)
	s.conn.Signal(heard)
	if err := s.conn.AddMatchSignalContext(ctx, dbus.WithMatchObjectPath(at), dbus.WithMatchInterface(promptFace)); err != nil {
		return fail(Failed, "the keyring is locked and its question cannot be followed")
	}
	if err := s.call(ctx, at, promptFace+".Prompt", []any{""}); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return fail(Locked, "the keyring is locked and nobody unlocked it: unlock it and try again")
		case sig, ok := <-heard:
			if !ok {
				return fail(Failed, "the session bus closed the connection")
			}
			if sig.Path != at || sig.Name != promptFace+".Completed" || len(sig.Body) == 0 {
				continue
			}
			if dismissed, isBool := sig.Body[0].(bool); !isBool || dismissed {
				return fail(Locked, "the keyring stays locked: its question was dismissed")
			}
			return nil
		}
	}
}

// secret reads an item. It travels in the clear over the bus, which is a socket
// of this user's.
func (s secrets) secret(ctx context.Context, at dbus.ObjectPath) (string, error) {
	var none dbus.Variant
	var session dbus.ObjectPath
	if err := s.call(ctx, secretsPath, serviceFace+"OpenSession", []any{"plain", dbus.MakeVariant("")}, &none, &session); err != nil {
		return "", err
	}
	var found struct {
		Session           dbus.ObjectPath
		Parameters, Value []byte
		ContentType       string
	}
	if err := s.call(ctx, at, itemFace+"GetSecret", []any{session}, &found); err != nil {
		return "", err
	}
	return string(found.Value), nil
}
