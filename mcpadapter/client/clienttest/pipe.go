package clienttest

import (
	"bufio"
	"context"
	"io"
	"sync"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
	"github.com/looprig/looprig/mcpadapter/transport"
)

// Pipe is a transport to a server that runs in this process: Serve speaks
// newline-delimited JSON-RPC and is run anew for every connection. The real
// protocol works over it, without processes and sockets.
type Pipe struct {
	Serve func(ctx context.Context, in io.Reader, out io.Writer) error
	// Settings are what Declared returns.
	Settings []transport.Setting
}

var _ transport.Transport = Pipe{}

// Kind implements transport.Transport.
func (Pipe) Kind() string { return "stdio" }

// Origin implements transport.Transport.
func (Pipe) Origin() string { return "stdio:pipe" }

// Declared implements transport.Transport.
func (p Pipe) Declared() []transport.Setting { return p.Settings }

// Dialer implements transport.Transport.
func (p Pipe) Dialer() wire.Dialer { return pipeDialer{p} }

type pipeDialer struct{ p Pipe }

func (pipeDialer) Origin() string { return "stdio:pipe" }
func (pipeDialer) Kind() string   { return "stdio" }

// Dial implements wire.Dialer.
func (d pipeDialer) Dial(_ context.Context, opt wire.Options) (wire.Conn, error) {
	toServer, in := io.Pipe()
	fromServer, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	c := &pipeConn{
		trace: opt.Trace, cancel: cancel, in: in, from: fromServer, r: bufio.NewReader(fromServer),
		gone: make(chan struct{}), served: make(chan struct{}),
	}
	go func() {
		defer close(c.served)
		_ = d.p.Serve(ctx, toServer, out) // its end is what a client sees
		_ = out.Close()
		_ = toServer.Close()
		c.end()
	}()
	return c, nil
}

// pipeConn is one connection, one frame a line.
type pipeConn struct {
	trace  func(wire.Direction, []byte)
	cancel context.CancelFunc
	in     *io.PipeWriter
	from   *io.PipeReader
	r      *bufio.Reader
	once   sync.Once
	gone   chan struct{}
	served chan struct{}

	mu     sync.Mutex // one write at a time
	closed bool
}

func (c *pipeConn) end() { c.once.Do(func() { close(c.gone) }) }

// Read implements wire.Conn.
func (c *pipeConn) Read(context.Context) (wire.Frame, error) {
	line, err := c.r.ReadBytes('\n')
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.closed {
			return wire.Frame{}, wire.ErrClosed
		}
		return wire.Frame{}, io.EOF
	}
	line = line[:len(line)-1]
	if c.trace != nil {
		c.trace(wire.Inbound, line)
	}
	return wire.Frame{Data: line}, nil
}

// Write implements wire.Conn.
func (c *pipeConn) Write(_ context.Context, o wire.Outgoing) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trace != nil {
		c.trace(wire.Outbound, o.Frame)
	}
	_, err := c.in.Write(append(o.Frame[:len(o.Frame):len(o.Frame)], '\n'))
	return err
}

// Forget implements wire.Conn.
func (*pipeConn) Forget(int64) {}

// Close implements wire.Conn: it ends the server and waits for it.
func (c *pipeConn) Close() error {
	c.cancel()
	_ = c.in.Close() // a write that waits fails
	_ = c.from.Close()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	<-c.served
	c.end()
	return nil
}

// Done implements wire.Conn.
func (c *pipeConn) Done() <-chan struct{} { return c.gone }

// Diagnostics implements wire.Conn.
func (*pipeConn) Diagnostics() wire.Diagnostics { return wire.Diagnostics{} }
