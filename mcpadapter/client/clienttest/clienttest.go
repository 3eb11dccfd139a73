// Package clienttest is an MCP server without a wire: a transport and a
// connector whose sessions a test drives directly. It is meant for tests of the
// adapter and must not be used elsewhere.
package clienttest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
	"github.com/looprig/looprig/mcpadapter/transport"
)

// Server is one fake server; every Connect makes a session of it. Its exported
// fields are set before it is used; its methods are safe for concurrent use.
type Server struct {
	// Info is what sessions report; without capabilities it offers all
	// families.
	Info protocol.Info
	// OnConnect, when set, decides on the nth attempt (from 1).
	OnConnect func(ctx context.Context, n int, opt protocol.Options) error
	// OnList, when set, answers instead of the items that were set.
	OnList func(ctx context.Context, fam protocol.Family, cursor string) (protocol.Page, error)
	// OnCall answers tool calls.
	OnCall func(ctx context.Context, req protocol.CallRequest) (*protocol.Result, error)
	// OnRead, OnPrompt and OnComplete answer those requests.
	OnRead     func(ctx context.Context, uri string) (json.RawMessage, error)
	OnPrompt   func(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error)
	OnComplete func(ctx context.Context, req protocol.CompleteRequest) (protocol.Completion, error)
	// OnSubscribe decides on subscriptions.
	OnSubscribe func(ctx context.Context, uri string) error
	// OnPing answers pings.
	OnPing func(ctx context.Context) error
	// OnClose holds up the closing of a session.
	OnClose func()

	mu       sync.Mutex
	items    map[protocol.Family][]json.RawMessage
	connects int
	lists    map[protocol.Family]int
	calls    []string
	sessions []*Session
}

// Set makes a family's listing.
func (s *Server) Set(fam protocol.Family, items ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.items == nil {
		s.items = map[protocol.Family][]json.RawMessage{}
	}
	var list []json.RawMessage
	for _, it := range items {
		list = append(list, json.RawMessage(it))
	}
	s.items[fam] = list
}

// Tools sets tools without properties, by name.
func (s *Server) Tools(names ...string) {
	var items []string
	for _, n := range names {
		name, _ := json.Marshal(n)
		items = append(items, `{"name":`+string(name)+`,"inputSchema":{"type":"object"}}`)
	}
	s.Set(protocol.Tools, items...)
}

// Connects counts the attempts to connect.
func (s *Server) Connects() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connects
}

// Lists counts the listings of a family.
func (s *Server) Lists(fam protocol.Family) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists[fam]
}

// Calls lists the tools that were called, in order.
func (s *Server) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.calls...)
}

// Open counts the sessions that are not closed.
func (s *Server) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, x := range s.sessions {
		select {
		case <-x.closed:
		default:
			n++
		}
	}
	return n
}

// Last is the newest session, nil before the first.
func (s *Server) Last() *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sessions) == 0 {
		return nil
	}
	return s.sessions[len(s.sessions)-1]
}

// Connect is the client.Connector of the server.
func (s *Server) Connect(ctx context.Context, opt protocol.Options) (client.Session, error) {
	s.mu.Lock()
	s.connects++
	n := s.connects
	s.mu.Unlock()
	if s.OnConnect != nil {
		if err := s.OnConnect(ctx, n, opt); err != nil {
			return nil, err
		}
	}
	x := &Session{server: s, Options: opt, done: make(chan struct{}), closed: make(chan struct{})}
	s.mu.Lock()
	s.sessions = append(s.sessions, x)
	s.mu.Unlock()
	return x, nil
}

// Session is one fake session.
type Session struct {
	// Options are what the client connected with; its handlers are how a test
	// plays the server.
	Options protocol.Options

	server   *Server
	requests []string
	mu       sync.Mutex
	err      error
	done     chan struct{}
	closed   chan struct{}
}

var _ client.Session = (*Session)(nil)

// Lose ends the session as if the peer had gone away.
func (x *Session) Lose(reason string) {
	x.Fail(&protocol.Error{Class: protocol.ClassLost, Op: "session", Message: reason, Sent: true})
}

// Fail ends the session with an error.
func (x *Session) Fail(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err == nil {
		x.err = err
		close(x.done)
	}
}

// Info implements client.Session.
func (x *Session) Info() protocol.Info {
	info := x.server.Info
	if info.Capabilities == nil {
		info.Capabilities = json.RawMessage(`{"tools":{},"prompts":{},"resources":{}}`)
	}
	return info
}

// List implements client.Session.
func (x *Session) List(ctx context.Context, fam protocol.Family, cursor string) (protocol.Page, error) {
	s := x.server
	s.mu.Lock()
	if s.lists == nil {
		s.lists = map[protocol.Family]int{}
	}
	s.lists[fam]++
	items := s.items[fam]
	s.mu.Unlock()
	if s.OnList != nil {
		return s.OnList(ctx, fam, cursor)
	}
	return protocol.Page{Items: items}, nil
}

// CallTool implements client.Session: it ends with the session or its context,
// as a real one does.
func (x *Session) CallTool(ctx context.Context, req protocol.CallRequest) (*protocol.Result, error) {
	s := x.server
	s.mu.Lock()
	s.calls = append(s.calls, req.Name)
	s.mu.Unlock()
	if req.Attempt != nil {
		req.Attempt(1)
	}
	if s.OnCall == nil {
		return &protocol.Result{Raw: json.RawMessage(`{"content":[]}`)}, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		r   *protocol.Result
		err error
	}
	out := make(chan answer, 1)
	go func() {
		r, err := s.OnCall(ctx, req)
		out <- answer{r, err}
	}()
	select {
	case a := <-out:
		return a.r, a.err
	case <-x.done:
		cancel()
		<-out
		return nil, x.Err()
	case <-ctx.Done():
		<-out
		return nil, &protocol.Error{Class: protocol.ClassCancelled, Op: "tools/call", Message: "cancelled", Sent: true, Err: ctx.Err()}
	}
}

// Request implements client.Session.
func (x *Session) Request(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
	return json.Marshal(map[string]string{"method": method})
}

// ReadResource implements client.Session.
func (x *Session) ReadResource(ctx context.Context, uri string) (json.RawMessage, error) {
	x.note("resources/read " + uri)
	if f := x.server.OnRead; f != nil {
		return f(ctx, uri)
	}
	return json.Marshal(map[string]string{"uri": uri})
}

// GetPrompt implements client.Session.
func (x *Session) GetPrompt(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	x.note("prompts/get " + name + " " + string(args))
	if f := x.server.OnPrompt; f != nil {
		return f(ctx, name, args)
	}
	return json.Marshal(map[string]string{"name": name})
}

// Complete implements client.Session.
func (x *Session) Complete(ctx context.Context, req protocol.CompleteRequest) (protocol.Completion, error) {
	x.note("completion/complete " + req.Prompt + req.Template + " " + req.Argument)
	if f := x.server.OnComplete; f != nil {
		return f(ctx, req)
	}
	return protocol.Completion{}, nil
}

// Subscribe implements client.Session.
func (x *Session) Subscribe(ctx context.Context, uri string) error {
	x.note("resources/subscribe " + uri)
	if f := x.server.OnSubscribe; f != nil {
		return f(ctx, uri)
	}
	return nil
}

// SubscribeAll implements client.Session: OnSubscribe is asked for each.
func (x *Session) SubscribeAll(ctx context.Context, uris []string) []error {
	x.note("subscribe all " + strings.Join(uris, " "))
	out := make([]error, len(uris))
	if f := x.server.OnSubscribe; f != nil {
		for i, uri := range uris {
			out[i] = f(ctx, uri)
		}
	}
	return out
}

// Unsubscribe implements client.Session.
func (x *Session) Unsubscribe(_ context.Context, uri string) error {
	x.note("resources/unsubscribe " + uri)
	return nil
}

// SetRoots implements client.Session.
func (x *Session) SetRoots(_ context.Context, roots []protocol.Root) error {
	text := "roots"
	for _, r := range roots {
		text += " " + r.URI
	}
	x.note(text)
	return nil
}

// SetLogLevel implements client.Session.
func (x *Session) SetLogLevel(_ context.Context, level string) error {
	x.note("logging/setLevel " + level)
	return nil
}

// Requests lists the requests of the session beside listings and tool calls, in
// order.
func (x *Session) Requests() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append([]string(nil), x.requests...)
}

func (x *Session) note(request string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.requests = append(x.requests, request)
}

// Notify implements client.Session.
func (x *Session) Notify(context.Context, string, json.RawMessage) error { return nil }

// Ping implements client.Session.
func (x *Session) Ping(ctx context.Context) error {
	if x.server.OnPing != nil {
		return x.server.OnPing(ctx)
	}
	return nil
}

// Close implements client.Session.
func (x *Session) Close() error {
	if x.server.OnClose != nil {
		x.server.OnClose()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err == nil {
		x.err = &protocol.Error{Class: protocol.ClassClosed, Op: "session", Message: "closed", Sent: true}
		close(x.done)
	}
	select {
	case <-x.closed:
	default:
		close(x.closed)
	}
	return nil
}

// Done implements client.Session.
func (x *Session) Done() <-chan struct{} { return x.done }

// Err implements client.Session.
func (x *Session) Err() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.err
}

// Diagnostics implements client.Session.
func (x *Session) Diagnostics() wire.Diagnostics { return wire.Diagnostics{PID: 1} }

// Transport is a transport that only a fake connector can use.
type Transport struct {
	// Settings are what Declared returns.
	Settings []transport.Setting
}

var _ transport.Transport = Transport{}

// Kind implements transport.Transport.
func (Transport) Kind() string { return "stdio" }

// Origin implements transport.Transport.
func (Transport) Origin() string { return "stdio:fake" }

// Declared implements transport.Transport.
func (t Transport) Declared() []transport.Setting { return t.Settings }

// Dialer implements transport.Transport.
func (Transport) Dialer() wire.Dialer { return noDialer{} }

type noDialer struct{}

var errNoWire = errors.New("a fake transport has no wire")

func (noDialer) Dial(context.Context, wire.Options) (wire.Conn, error) { return nil, errNoWire }
func (noDialer) Origin() string                                        { return "stdio:fake" }
func (noDialer) Kind() string                                          { return "stdio" }
