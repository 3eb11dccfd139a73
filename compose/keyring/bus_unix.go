//go:build unix && !darwin

package keyring

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

// address is the socket of the session's bus: the first of
// DBUS_SESSION_BUS_ADDRESS that is one, else the usual place below
// XDG_RUNTIME_DIR. No bus is started, and none of another kind is used: an
// address can name a program as well.
func address(env []string) (string, error) {
	if list := lookup(env, "DBUS_SESSION_BUS_ADDRESS"); list != "" {
		for one := range strings.SplitSeq(list, ";") {
			rest, ok := strings.CutPrefix(one, "unix:")
			if !ok {
				continue
			}
			for pair := range strings.SplitSeq(rest, ",") {
				key, value, _ := strings.Cut(pair, "=")
				path, err := dbus.UnescapeBusAddressValue(value)
				switch {
				case err != nil || path == "":
				case key == "path":
					return path, nil
				case key == "abstract":
					return "@" + path, nil
				}
			}
		}
		return "", fail(Unavailable, "DBUS_SESSION_BUS_ADDRESS names no socket, so the keyring cannot be reached")
	}
	if dir := lookup(env, "XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		path := filepath.Join(dir, "bus")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fail(Unavailable, "there is no session bus here (DBUS_SESSION_BUS_ADDRESS is not set), so there is no keyring: give the key with keyEnv or keyCommand")
}

func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(env[i], "="); ok && k == name {
			return v
		}
	}
	return ""
}

// connect joins the bus. The connection ends with ctx, or when it is closed.
func connect(ctx context.Context, path string, wait time.Duration) (*dbus.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var d net.Dialer
	raw, err := d.DialContext(limited, "unix", path)
	if err != nil {
		return nil, fail(Unavailable, "nobody listens on the session bus, so the keyring cannot be reached")
	}
	// The handshake takes no context: closing what it reads from ends it.
	stop := context.AfterFunc(limited, func() { _ = raw.Close() })
	// Without its own kind of transport no file descriptors are taken.
	conn, err := dbus.NewConn(raw, dbus.WithContext(ctx))
	if err != nil {
		_ = raw.Close()
		return nil, fail(Failed, "the session bus cannot be spoken to")
	}
	err = conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Geteuid()))})
	if err == nil {
		err = conn.Hello()
	}
	switch late := !stop(); {
	case late:
		_ = conn.Close()
		return nil, fail(TimedOut, "the session bus did not answer within %s: see why it hangs, or give the key with keyEnv or keyCommand", wait)
	case err != nil:
		_ = conn.Close()
		return nil, fail(Unavailable, "the session bus does not let this program in")
	}
	return conn, nil
}
