package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// HTTPPath is the path of the endpoint that ServeHTTP serves.
const HTTPPath = "/mcp"

// Bounds of the server over HTTP.
const (
	maxHTTPHeader     = 64 << 10
	httpHeaderTimeout = 10 * time.Second
	httpIdleTimeout   = 5 * time.Minute
	// httpSessionTimeout ends sessions of clients that went away without a
	// word; one that comes back is told to begin anew.
	httpSessionTimeout = time.Hour
	// httpCloseTimeout is how long the sessions may take to end with the server.
	httpCloseTimeout = 2 * time.Second
)

// AddressError says that an address is not one that the demo server listens
// on.
type AddressError struct {
	// Addr is the address as it was given.
	Addr string
	// Reason is host-written.
	Reason string
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("demo: cannot listen on %q: %s", e.Addr, e.Reason)
}

// ServeHTTP serves any number of clients over streamable HTTP on a loopback
// address, such as "127.0.0.1:8080"; port 0 takes a free one. Other addresses
// are refused with an *AddressError: the demo has no authorisation. All
// clients share one catalog and one call log. ready, which may be nil, is
// called once with the endpoint's URL as soon as it can be reached.
//
// It returns the context's error when that ends, after every connection has
// been closed: tools that run then are ended, and waited for 2 s at most.
func ServeHTTP(ctx context.Context, addr string, opt Options, ready func(url string)) error {
	if err := opt.validate(); err != nil {
		return err
	}
	listener, err := listenLoopback(ctx, addr)
	if err != nil {
		return err
	}
	s := newServer(opt)
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s.sdk.AddReceivingMiddleware(endingWith(base))
	web := &http.Server{
		Handler:           s.handler(),
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: httpHeaderTimeout,
		IdleTimeout:       httpIdleTimeout,
		MaxHeaderBytes:    maxHTTPHeader,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(listener) }()
	if ready != nil {
		ready("http://" + listener.Addr().String() + HTTPPath)
	}
	select {
	case <-ctx.Done():
		err = ctx.Err()
	case err = <-ended:
		ended <- err
		err = fmt.Errorf("demo: %w", err)
	}
	// The connections go first: a tool that is ended answers nobody.
	_ = web.Close()
	cancel()
	if end := <-ended; err == nil {
		err = end
	}
	s.closeSessions(httpCloseTimeout)
	return err
}

// endingWith ends what a session runs when the server stops: the SDK ties it to
// its own request, or to nothing.
func endingWith(base context.Context) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(base, cancel)()
			return next(ctx, method, req)
		}
	}
}

// closeSessions closes all sessions at once. What does not end in time is left
// behind.
func (s *server) closeSessions(limit time.Duration) {
	var closing sync.WaitGroup
	for session := range s.sdk.Sessions() {
		closing.Go(func() { _ = session.Close() })
	}
	done := make(chan struct{})
	go func() {
		closing.Wait()
		close(done)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// listenLoopback listens on an address that only this machine reaches.
func listenLoopback(ctx context.Context, addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, &AddressError{Addr: addr, Reason: "it is not HOST:PORT, such as 127.0.0.1:8080"}
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.IsLoopback() {
		return nil, &AddressError{Addr: addr, Reason: "the demo server has no authorisation and is served on " +
			"loopback addresses alone, such as 127.0.0.1:" + port}
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			return nil, &AddressError{Addr: addr, Reason: op.Err.Error()}
		}
		return nil, &AddressError{Addr: addr, Reason: err.Error()}
	}
	return listener, nil
}

// handler serves both eras on one path: sessions up to 2025-11-25, requests
// that stand alone from 2026-07-28 on. Requests of web pages are refused.
func (s *server) handler() http.Handler {
	same := func(*http.Request) *mcp.Server { return s.sdk }
	sessions := mcp.NewStreamableHTTPHandler(same, &mcp.StreamableHTTPOptions{
		EventStore: mcp.NewMemoryEventStore(nil), SessionTimeout: httpSessionTimeout,
	})
	alone := mcp.NewStreamableHTTPHandler(same, &mcp.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true,
	})
	mux := http.NewServeMux()
	mux.HandleFunc(HTTPPath, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("MCP-Protocol-Version") >= modernRevision {
			alone.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	})
	return http.NewCrossOriginProtection().Handler(mux)
}
