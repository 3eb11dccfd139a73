// Package demo is the embedded demo server: a small MCP server, served over a
// pair of byte streams, that shows everything an interface has to handle. Its
// tools cover plain and structured results, progress, failure, the three kinds
// of elicitation, sampling, large results and a catalog that changes; it has
// prompts, resources with a template and subscriptions, completions and log
// messages as well.
//
// Invariants: it is deterministic (same requests, same answers), needs no
// network and no file, and meets both eras of the protocol: up to 2025-11-25
// through initialize, with elicitation and sampling as server-initiated
// requests, and 2026-07-28 through server/discover, with both as
// input_required results and list_changed on subscriptions/listen.
//
// It is built on the MCP SDK, of which nothing shows in the exported API. It
// must not import any other package of this module but internal ones.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Name is the name that the server reports of itself.
const Name = "looprig-demo"

const instructions = `A demo server. Start with add, then try ask-name (a form), ask-url (a link), ` +
	`slow (progress; can be cancelled), fail (an error) and evolve (the catalog changes). ` +
	`The resource demo://readme describes every tool.`

// MaxDelay bounds Options.Delay.
const MaxDelay = time.Minute

// Options configure a demo server. The zero value is the usual one.
type Options struct {
	// Delay is waited before every tool call is served, at most MaxDelay. It
	// shows how an interface behaves with a slow server.
	Delay time.Duration
	// PageSize is the number of items in one page of a listing; 0 puts each
	// listing into one page.
	PageSize int
	// Version is reported as the server's version; "" means "1".
	Version string
}

func (o Options) validate() error {
	switch {
	case o.Delay < 0 || o.Delay > MaxDelay:
		return fmt.Errorf("demo: delay %s is not within 0 and %s", o.Delay, MaxDelay)
	case o.PageSize < 0:
		return fmt.Errorf("demo: page size %d is negative", o.PageSize)
	}
	return nil
}

// Run serves one client with the default options; see Serve.
func Run(ctx context.Context, in io.Reader, out io.Writer) error {
	return Serve(ctx, in, out, Options{})
}

// Serve serves one client that speaks newline-delimited JSON-RPC on in and
// out, until in ends (the result is nil) or ctx is cancelled (the result is
// the context's error). On return in has been closed when it is an io.Closer;
// a reader that is none, and whose Read never returns, keeps one goroutine.
func Serve(ctx context.Context, in io.Reader, out io.Writer, opt Options) error {
	if err := opt.validate(); err != nil {
		return err
	}
	s := newServer(opt)
	err := s.sdk.Run(ctx, &mcp.IOTransport{Reader: readCloser(in), Writer: nopWriteCloser{out}})
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("demo: %w", err)
}

// server is one running demo. Its tools keep what little state they have here.
type server struct {
	sdk *mcp.Server
	opt Options
	// sleep waits unless the context ends first; tests replace it.
	sleep func(context.Context, time.Duration) error

	mu sync.Mutex

	urls    int      // links handed out so far
	log     []string // what demo://log shows, oldest first
	dropped int      // lines that fell out of log

	evolving  sync.Mutex    // guards edition and the changes of the catalog
	edition   int           // of the catalog; evolve raises it
	announced chan struct{} // a tools list_changed went out
}

func newServer(opt Options) *server {
	version := opt.Version
	if version == "" {
		version = "1"
	}
	s := &server{opt: opt, sleep: sleep, edition: 1, announced: make(chan struct{}, 1)}
	s.sdk = mcp.NewServer(&mcp.Implementation{
		Name:        Name,
		Title:       "Demo server",
		Description: "A server to learn and test with.",
		Version:     version,
	}, &mcp.ServerOptions{
		Instructions:       instructions,
		PageSize:           opt.PageSize,
		CompletionHandler:  s.complete,
		SubscribeHandler:   s.subscribe,
		UnsubscribeHandler: s.unsubscribe,
	})
	s.sdk.AddSendingMiddleware(s.watchSending)
	s.addTools()
	s.addQuestions()
	s.addSampling()
	s.addEvolution()
	s.addPrompts()
	s.addResources()
	return s
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func readCloser(r io.Reader) io.ReadCloser {
	if rc, ok := r.(io.ReadCloser); ok {
		return rc
	}
	return io.NopCloser(r)
}

// nopWriteCloser keeps the server from closing a stream that others may still
// write to.
type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }
