// Package transporttest is the contract of wire.Conn as a test suite: what
// every transport promises, played against the server of the fixture scenario
// "contract". It knows no transport; a Kit brings one.
//
// It is for tests alone and must import nothing of this module but wire,
// fixture's names and the sealed transport type.
package transporttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
	"github.com/looprig/looprig/mcpadapter/transport"
)

// Scenario is the fixture scenario that a Kit's server plays.
const Scenario = "contract"

// wait bounds every step of the suite.
const wait = 15 * time.Second

// Server is one running server and the way to it.
type Server struct {
	Transport transport.Transport
	// Kill makes the server go away without a word; nil where a connection has
	// a server of its own, which its tool die ends.
	Kill func()
	// Canaries are texts of the configuration that must not show anywhere.
	Canaries []string
}

// Kit is one transport under one revision.
type Kit struct {
	// Revision is what the client offers: 2026-07-28 is stateless.
	Revision string
	// Aside says that what the server sends on the way to an answer takes
	// another way, so that the answer may overtake it or it may be lost.
	Aside bool
	// Start starts a server for one test; it cleans up by itself.
	Start func(t *testing.T) Server
}

func (k Kit) modern() bool { return k.Revision >= "2026-07-28" }

// session is a connection that has shaken hands.
type session struct {
	wire.Conn
	t    *testing.T
	kit  Kit
	mu   sync.Mutex
	next int64
	// aside are the frames that came before the one that was waited for.
	aside []wire.Frame
}

// dial connects and shakes hands.
func (k Kit) dial(t *testing.T, s Server, opt wire.Options) *session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	conn, err := s.Transport.Dialer().Dial(ctx, opt)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	c := &session{Conn: conn, t: t, kit: k}
	t.Cleanup(func() { c.closes() })
	if k.modern() {
		c.result(c.send("server/discover", "", "{}"))
		return c
	}
	c.result(c.send("initialize", "", `{"protocolVersion":`+quote(k.Revision)+`,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}`))
	c.put(wire.Outgoing{
		Frame:  []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`),
		Method: "notifications/initialized", Revision: k.Revision,
	})
	return c
}

// closes closes the connection and checks that this takes no longer than it
// may.
func (c *session) closes() {
	c.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- c.Close() }()
	select {
	case err := <-ended:
		_ = err // how it closes is the transport's own matter
	case <-time.After(wait):
		c.t.Error("Close does not return")
	}
}

func (c *session) put(out wire.Outgoing) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	if err := c.Write(ctx, out); err != nil {
		c.t.Fatalf("write: %v", err)
	}
}

// outgoing makes a request with members for its params.
func (c *session) outgoing(method, name, params string) wire.Outgoing {
	c.mu.Lock()
	c.next++
	id := c.next
	c.mu.Unlock()
	if c.kit.modern() {
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":` + quote(c.kit.Revision) +
			`,"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		if rest := strings.TrimPrefix(params, "{"); rest != "}" {
			meta += ","
		}
		params = "{" + meta + strings.TrimPrefix(params, "{")
	}
	return wire.Outgoing{
		Frame: []byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)),
		ID:    id, Method: method, Name: name, Revision: c.kit.Revision,
	}
}

// send sends a request and returns its id.
func (c *session) send(method, name, params string) int64 {
	c.t.Helper()
	out := c.outgoing(method, name, params)
	c.put(out)
	return out.ID
}

// call calls a tool and returns the request's id.
func (c *session) call(tool, args string) int64 {
	c.t.Helper()
	return c.send("tools/call", tool, `{"name":`+quote(tool)+`,"arguments":`+args+`}`)
}

func (c *session) read() (wire.Frame, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	return c.Read(ctx)
}

// envelope is what the suite looks at in a frame.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Params struct {
		Data json.RawMessage `json:"data"`
	} `json:"params"`
}

func open(data []byte) envelope {
	var e envelope
	_ = json.Unmarshal(data, &e)
	return e
}

// answers tells whether a frame is what became of a request.
func answers(f wire.Frame, id int64) bool {
	raw := []byte(fmt.Sprint(id))
	switch {
	case f.Data != nil:
		e := open(f.Data)
		return e.Method == "" && bytes.Equal(e.ID, raw)
	case f.Failure != nil:
		return f.Failure.ID == id
	}
	return bytes.Equal(f.Oversize.ID, raw)
}

// outcome reads until the frame that tells what became of a request.
func (c *session) outcome(id int64) wire.Frame {
	c.t.Helper()
	for i, f := range c.aside {
		if answers(f, id) {
			c.aside = append(c.aside[:i], c.aside[i+1:]...)
			return f
		}
	}
	for {
		f, err := c.read()
		if err != nil {
			c.t.Fatalf("reading the answer to %d: %v", id, err)
		}
		if answers(f, id) {
			c.Forget(id)
			return f
		}
		c.aside = append(c.aside, f)
	}
}

// result is the answer to a request, which must be one.
func (c *session) result(id int64) json.RawMessage {
	c.t.Helper()
	f := c.outcome(id)
	if f.Data == nil {
		c.t.Fatalf("request %d came to %+v", id, f)
	}
	e := open(f.Data)
	if e.Result == nil {
		c.t.Fatalf("request %d was answered with %.300s", id, f.Data)
	}
	return e.Result
}

// echo calls echo and checks what comes back.
func (c *session) echo(text string) {
	c.t.Helper()
	c.checkEcho(c.result(c.call("echo", `{"text":`+quote(text)+`}`)), text)
}

func (c *session) checkEcho(result json.RawMessage, text string) {
	c.t.Helper()
	var r struct {
		Structured struct {
			Text string `json:"text"`
		} `json:"structuredContent"`
	}
	if err := json.Unmarshal(result, &r); err != nil || r.Structured.Text != text {
		c.t.Fatalf("echo gave %.200s, %v; want %.200q", result, err, text)
	}
}

// isLoss tells whether an error says that the server went away.
func isLoss(err error) bool {
	var loss *wire.LossError
	return errors.As(err, &loss)
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string always marshals
	return string(b)
}
