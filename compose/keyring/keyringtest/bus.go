//go:build unix && !darwin

package keyringtest

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/godbus/dbus/v5"
)

const (
	secretsPath = dbus.ObjectPath("/org/freedesktop/secrets")
	itemPath    = dbus.ObjectPath("/org/freedesktop/secrets/collection/login/1")
	promptPath  = dbus.ObjectPath("/org/freedesktop/secrets/prompt/1")
	face        = "org.freedesktop.Secret."
)

// Bus is a session bus with a Secret Service on it that has one secret. It takes
// one connection.
type Bus struct {
	// Service and Account name the secret.
	Service, Account, Secret string
	// Locked has a person unlock it first, who dismisses that where Dismissed.
	Locked, Dismissed bool
	// Silent is the method that is not answered; Everything is the handshake.
	Silent string
	// Refuse is the name of the error that a search is answered with.
	Refuse string

	conn *dbus.Conn
	hold chan struct{}
}

// Everything is Bus.Silent of a bus that takes a connection and says nothing.
const Everything = "everything"

func (b *Bus) wait(method string) {
	if b.Silent == method {
		<-b.hold
	}
}

type bus struct{ *Bus }

func (bus) Hello() (string, *dbus.Error) { return ":1.1", nil }

func (bus) AddMatch(string) *dbus.Error { return nil }

type service struct{ *Bus }

func (s service) SearchItems(want map[string]string) (open, locked []dbus.ObjectPath, refused *dbus.Error) {
	s.wait("SearchItems")
	switch {
	case s.Refuse != "":
		return nil, nil, dbus.NewError(s.Refuse, []any{"\x1b[31m" + s.Secret})
	case want["service"] != s.Service || want["username"] != s.Account:
		return nil, nil, nil
	case s.Locked:
		return nil, []dbus.ObjectPath{itemPath}, nil
	}
	return []dbus.ObjectPath{itemPath}, nil, nil
}

func (service) Unlock([]dbus.ObjectPath) (done []dbus.ObjectPath, prompt dbus.ObjectPath, refused *dbus.Error) {
	return nil, promptPath, nil
}

func (service) OpenSession(string, dbus.Variant) (out dbus.Variant, session dbus.ObjectPath, refused *dbus.Error) {
	return dbus.MakeVariant(""), "/org/freedesktop/secrets/session/1", nil
}

type prompter struct{ *Bus }

func (p prompter) Prompt(string) *dbus.Error {
	if p.Silent == "Prompt" {
		return nil // nobody is in front of it
	}
	_ = p.conn.Emit("/elsewhere", face+"Prompt.Completed", true, dbus.MakeVariant(""))
	_ = p.conn.Emit(promptPath, face+"Prompt.Completed", p.Dismissed, dbus.MakeVariant(""))
	return nil
}

type stored struct{ *Bus }

// value is a secret as it travels.
type value struct {
	Session           dbus.ObjectPath
	Parameters, Value []byte
	ContentType       string
}

func (s stored) GetSecret(session dbus.ObjectPath) (value, *dbus.Error) {
	s.wait("GetSecret")
	return value{session, nil, []byte(s.Secret), "text/plain"}, nil
}

// welcomed is the daemon's end of a connection: the handshake of the library,
// which knows the client's part alone, is answered here, that of the client is
// swallowed.
type welcomed struct {
	net.Conn
	answers io.Reader
	mu      sync.Mutex
	begun   bool
}

func (w *welcomed) Read(p []byte) (int, error) {
	if n, err := w.answers.Read(p); err == nil {
		return n, nil
	}
	return w.Conn.Read(p)
}

func (w *welcomed) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun {
		return w.Conn.Write(p)
	}
	w.begun = strings.HasPrefix(string(p), "BEGIN")
	return len(p), nil
}

// greet is the daemon's part of the handshake.
func greet(c net.Conn) error {
	var line strings.Builder
	one := make([]byte, 1)
	for {
		if _, err := c.Read(one); err != nil {
			return err
		}
		if line.WriteByte(one[0]); one[0] != '\n' {
			continue
		}
		switch said := strings.Trim(line.String(), "\x00\r\n"); {
		case said == "AUTH":
			_, _ = io.WriteString(c, "REJECTED EXTERNAL\r\n")
		case said == "BEGIN":
			return nil
		case strings.HasPrefix(said, "AUTH EXTERNAL"), strings.HasPrefix(said, "DATA"):
			_, _ = io.WriteString(c, "OK 0123456789abcdef0123456789abcdef\r\n")
		}
		line.Reset()
	}
}

// Sit starts the bus and returns the environment of a program that is to use it,
// in the form of os.Environ. It ends with the test.
func (b *Bus) Sit(t testing.TB) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bus")
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	b.hold = make(chan struct{})
	var served sync.WaitGroup
	served.Go(func() {
		raw, err := l.Accept()
		if err != nil {
			return
		}
		defer raw.Close()
		if b.Silent == Everything {
			<-b.hold
			return
		}
		if err := greet(raw); err != nil {
			return
		}
		conn, err := dbus.NewConn(&welcomed{Conn: raw, answers: strings.NewReader("REJECTED EXTERNAL\r\nOK 0\r\n")})
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		b.conn = conn
		for _, e := range []struct {
			v    any
			at   dbus.ObjectPath
			face string
		}{
			{bus{b}, "/org/freedesktop/DBus", "org.freedesktop.DBus"},
			{service{b}, secretsPath, face + "Service"},
			{stored{b}, itemPath, face + "Item"},
			{prompter{b}, promptPath, face + "Prompt"},
		} {
			if err := conn.Export(e.v, e.at, e.face); err != nil {
				t.Error(err)
			}
		}
		if err := conn.Auth([]dbus.Auth{dbus.AuthExternal("0")}); err != nil {
			t.Error(err)
			return
		}
		<-b.hold
	})
	t.Cleanup(func() {
		close(b.hold)
		_ = l.Close()
		served.Wait()
	})
	return []string{"DBUS_SESSION_BUS_ADDRESS=tcp:host=localhost,port=1;unix:path=" + path + ",guid=x"}
}
