//go:build integration

package streamhttp

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// overTLS puts a TLS server with HTTP/2 before the rig's.
func overTLS(t *testing.T, inner http.Handler, trusted bool) (base string, roots *x509.CertPool, server *httptest.Server) {
	t.Helper()
	s := httptest.NewUnstartedServer(inner)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	roots = x509.NewCertPool()
	if trusted {
		roots.AddCert(s.Certificate())
	}
	return s.URL, roots, s
}

// TestHTTP2: requests share a connection there, so that one which is forgotten,
// or which the server breaks off, leaves the others alone.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	var open atomic.Int64
	handler := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		var id int64
		_, _ = fmt.Sscanf(string(body), `{"jsonrpc":"2.0","id":%d`, &id)
		a := &asked{w: w, r: req, ID: id}
		if req.ProtoMajor != 2 {
			t.Errorf("over %s", req.Proto)
		}
		switch id {
		case 2, 4:
			open.Add(1)
			defer open.Add(-1)
			a.events(": open\n\n")
			a.wait()
		case 3:
			panic(http.ErrAbortHandler)
		case 5:
			a.events(`data: {"jsonrpc":"2.0"`)
			panic(http.ErrAbortHandler)
		default:
			a.answer()
		}
	})
	base, roots, server := overTLS(t, handler, true)
	r := newRig(t, func(*asked) bool { return false }, func(c *Config, _ *wire.Options) { c.URL, c.RootCAs = base, roots })
	r.call(2)
	eventually(t, "the first stream is open", func() bool { return open.Load() == 1 })
	r.call(3)
	var lost *wire.LossError
	if f := r.failure(3); !errors.As(f.Err, &lost) || !f.Sent {
		t.Errorf("%v", f.Err)
	}
	r.call(5)
	if f := r.failure(5); !errors.As(f.Err, &lost) || !f.Sent {
		t.Errorf("%v", f.Err)
	}
	r.alive(6)
	if open.Load() != 1 {
		t.Error("the first stream was closed")
	}
	r.conn.Forget(2)
	eventually(t, "the forgotten stream is closed", func() bool { return open.Load() == 0 })
	r.alive(7)
	if key := r.tr.TLSKey(); len(key) != 64 {
		t.Errorf("TLS key %q", key)
	}
	r.call(4)
	eventually(t, "another stream is open", func() bool { return open.Load() == 1 })
	server.CloseClientConnections()
	if f := r.failure(4); !errors.As(f.Err, &lost) || !f.Sent {
		t.Errorf("%v", f.Err)
	}
	r.alive(8) // on a connection of its own
}

func TestUntrustedCertificate(t *testing.T) {
	t.Parallel()
	base, roots, _ := overTLS(t, http.NotFoundHandler(), false)
	r := newRig(t, func(*asked) bool { return false }, func(c *Config, _ *wire.Options) { c.URL, c.RootCAs = base, roots })
	r.call(2)
	var guard *wire.GuardError
	if f := r.failure(2); !errors.As(f.Err, &guard) || !strings.Contains(guard.Reason, "certificate") {
		t.Errorf("%v", f.Err)
	}
}
