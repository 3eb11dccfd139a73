//go:build integration

package streamhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// patience bounds every wait of these tests.
const patience = 20 * time.Second

// quickTiming keeps the order of the waits and shortens them.
var quickTiming = timing{
	backoff: 5 * time.Millisecond, maxBackoff: 40 * time.Millisecond, settled: time.Second,
	minRetry: time.Millisecond, aside: 200 * time.Millisecond, standing: 500 * time.Millisecond, goodbye: 200 * time.Millisecond,
}

// asked is one request as a test's server sees it.
type asked struct {
	w    http.ResponseWriter
	r    *http.Request
	ID   int64
	Meth string
	Body string
}

func (a *asked) json(status int, format string, args ...any) {
	a.w.Header().Set("Content-Type", "application/json")
	a.w.WriteHeader(status)
	fmt.Fprintf(a.w, format, args...)
}

func (a *asked) answer() { a.json(200, `{"jsonrpc":"2.0","id":%d,"result":{}}`, a.ID) }

// events begins an event stream.
func (a *asked) events(text string) {
	a.w.Header().Set("Content-Type", "text/event-stream")
	a.send(text)
}

func (a *asked) send(text string) {
	_, _ = io.WriteString(a.w, text)
	a.w.(http.Flusher).Flush()
}

func (a *asked) wait() { <-a.r.Context().Done() }

// rig is a raw server, without the SDK, and a connection to it.
type rig struct {
	t    *testing.T
	url  string
	tr   *Transport
	conn *Conn
	mu   sync.Mutex
	log  []string
}

// handler decides on what is sent; false leaves it to the rig, which speaks
// 2025-11-25 with the session "s1".
type handler func(a *asked) bool

func newRig(t *testing.T, h handler, change func(*Config, *wire.Options)) *rig {
	t.Helper()
	r := &rig{t: t}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		var m struct {
			ID     int64
			Method string
		}
		_ = json.Unmarshal(body, &m)
		a := &asked{w: w, r: req, ID: m.ID, Meth: m.Method, Body: string(body)}
		r.mu.Lock()
		r.log = append(r.log, strings.TrimSpace(req.Method+" "+m.Method+" "+req.Header.Get("Mcp-Session-Id")+" "+req.Header.Get("Last-Event-Id")))
		r.mu.Unlock()
		if h(a) {
			return
		}
		switch {
		case req.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case m.Method == methodInitialize:
			w.Header().Set("Mcp-Session-Id", "s1")
			a.answer()
		case m.ID == 0:
			w.WriteHeader(http.StatusAccepted)
		default:
			a.answer()
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	r.url = server.URL
	config, opt := Config{URL: server.URL + "/mcp", HostEnv: []string{}}, wire.Options{}
	if change != nil {
		change(&config, &opt)
	}
	var err error
	if r.tr, err = New(config); err != nil {
		t.Fatal(err)
	}
	r.tr.timing = quickTiming
	conn, err := r.tr.Dial(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	r.conn = conn.(*Conn)
	t.Cleanup(func() { _ = conn.Close() })
	return r
}

func (r *rig) write(out wire.Outgoing) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return r.conn.Write(ctx, out)
}

// request sends a request of a revision.
func (r *rig) request(id int64, method, revision string) {
	r.t.Helper()
	frame := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q}`, id, method)
	if err := r.write(wire.Outgoing{Frame: []byte(frame), ID: id, Method: method, Revision: revision}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) call(id int64) { r.t.Helper(); r.request(id, "tools/call", "2025-11-25") }

// handshake initialises with a session.
func (r *rig) handshake() {
	r.t.Helper()
	r.request(1, methodInitialize, "2025-11-25")
	r.wantAnswer(1)
	if err := r.write(wire.Outgoing{Frame: []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), Method: methodInitialized, Revision: "2025-11-25"}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) read() (wire.Frame, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return r.conn.Read(ctx)
}

func (r *rig) frame() wire.Frame {
	r.t.Helper()
	f, err := r.read()
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}

func (r *rig) wantData(want string) {
	r.t.Helper()
	if f := r.frame(); string(f.Data) != want {
		r.t.Fatalf("got %.200s, %+v, %v; want %s", f.Data, f.Oversize, f.Failure, want)
	}
}

func (r *rig) wantAnswer(id int64) {
	r.t.Helper()
	r.wantData(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, id))
}

// failure reads the failure of a request.
func (r *rig) failure(id int64) *wire.Failure {
	r.t.Helper()
	f := r.frame()
	if f.Failure == nil || f.Failure.ID != id {
		r.t.Fatalf("got %.200s %+v %+v, want a failure of %d", f.Data, f.Oversize, f.Failure, id)
	}
	return f.Failure
}

// wantLoss reads the end of the connection.
func (r *rig) wantLoss(reason string) {
	r.t.Helper()
	_, err := r.read()
	var lost *wire.LossError
	if !errors.As(err, &lost) || lost.Reason != reason || lost.ExitCode != -1 {
		r.t.Fatalf("got %v, want the loss %q", err, reason)
	}
	select {
	case <-r.conn.Done():
	case <-time.After(patience):
		r.t.Fatal("the connection did not end")
	}
}

// alive shows that the connection still serves requests.
func (r *rig) alive(id int64) {
	r.t.Helper()
	r.request(id, "ping", "2025-11-25")
	r.wantAnswer(id)
}

func (r *rig) seen(want string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, line := range r.log {
		if line == want {
			n++
		}
	}
	return n
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}
