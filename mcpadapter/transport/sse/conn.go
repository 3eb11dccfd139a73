package sse

import (
	"context"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/httpguard"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// Limits of a connection.
const (
	// DefaultFrameBytes bounds one frame where the caller names no limit.
	DefaultFrameBytes = 16 << 20
	// DefaultNoiseEvents bounds the events that are not JSON where the caller
	// names no limit.
	DefaultNoiseEvents = 1000
	// MaxPosts bounds the posts that are under way or wait to be.
	MaxPosts = 64
	// inboxFrames are held for a Read that is late.
	inboxFrames = 16
	maxWarnings = 8
)

// Conn is one connection. It implements wire.Conn. Its goroutines read the
// stream, hand out posts, send each of them and see to the end; Close awaits
// them all.
type Conn struct {
	opt           wire.Options
	limit         int
	noiseLimit    int
	headerTimeout time.Duration
	writeTimeout  time.Duration
	client        *httpguard.Client
	endpoint      *url.URL
	body          *httpguard.Body
	events        *httpguard.Events

	life context.Context // of everything that the connection does
	end  context.CancelFunc
	work sync.WaitGroup

	inbox chan wire.Frame
	queue chan *post

	cause     atomic.Pointer[error] // why the connection failed, if it did
	lost      chan struct{}         // closed when cause is set and the reader is through
	lostOnce  sync.Once
	byCaller  atomic.Bool
	closeReq  chan struct{}
	closeOnce sync.Once
	done      chan struct{}

	mu       sync.Mutex
	posts    map[int64]*post // requests under way
	noise    int
	warnings []string
}

var _ wire.Conn = (*Conn)(nil)

func newConn(t *Transport, opt wire.Options, client *httpguard.Client, life context.Context, end context.CancelFunc) *Conn {
	return &Conn{
		opt: opt, limit: orDefault(opt.FrameBytes, DefaultFrameBytes), noiseLimit: orDefault(opt.NoiseLines, DefaultNoiseEvents),
		headerTimeout: t.headerTimeout, writeTimeout: t.writeTimeout,
		client: client, life: life, end: end,
		inbox: make(chan wire.Frame, inboxFrames), queue: make(chan *post, MaxPosts),
		lost: make(chan struct{}), closeReq: make(chan struct{}), done: make(chan struct{}),
		posts: map[int64]*post{},
	}
}

func orDefault(n, standard int) int {
	if n <= 0 {
		return standard
	}
	return n
}

// run starts the connection's goroutines.
func (c *Conn) run() {
	c.work.Go(c.listen)
	c.work.Go(c.send)
	go c.supervise()
}

// supervise ends everything once the connection is lost or to be closed.
func (c *Conn) supervise() {
	select {
	case <-c.lost:
	case <-c.closeReq:
	}
	c.end()
	_ = c.body.Close()
	c.client.Close()
	c.work.Wait()
	close(c.done)
}

// fail ends the connection with a cause; the first one counts.
func (c *Conn) fail(cause error) {
	c.cause.CompareAndSwap(nil, &cause)
	c.lostOnce.Do(func() { close(c.lost) })
}

// Read returns the next frame. Cancelling the context loses nothing. After the
// server is gone it still returns what had arrived, then a *wire.LossError or
// *wire.NoiseError; after Close, ErrClosed.
func (c *Conn) Read(ctx context.Context) (wire.Frame, error) {
	if c.byCaller.Load() {
		return wire.Frame{}, wire.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return wire.Frame{}, err
	}
	select {
	case frame := <-c.inbox:
		return c.seen(frame), nil
	case <-c.closeReq:
		return wire.Frame{}, wire.ErrClosed
	case <-ctx.Done():
		return wire.Frame{}, ctx.Err()
	case <-c.lost:
	}
	select {
	case frame := <-c.inbox:
		return c.seen(frame), nil
	default:
		return wire.Frame{}, *c.cause.Load()
	}
}

// seen shows an inbound frame to the trace.
func (c *Conn) seen(frame wire.Frame) wire.Frame {
	if c.opt.Trace != nil && frame.Data != nil {
		c.opt.Trace(wire.Inbound, frame.Data)
	}
	return frame
}

// push hands a frame to Read; it reports whether it could.
func (c *Conn) push(frame wire.Frame) bool {
	select {
	case c.inbox <- frame:
		return true
	case <-c.life.Done():
		return false
	}
}

// Close ends the connection. It is bounded by what cancelling takes.
func (c *Conn) Close() error {
	c.byCaller.Store(true)
	c.closeOnce.Do(func() { close(c.closeReq) })
	<-c.done
	return nil
}

// Done is closed when the connection is finished.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Diagnostics says what is known of the peer: there is no process.
func (c *Conn) Diagnostics() wire.Diagnostics {
	c.mu.Lock()
	defer c.mu.Unlock()
	return wire.Diagnostics{NoiseLines: c.noise, Warnings: slices.Clone(c.warnings)}
}

// warn keeps a host-written remark.
func (c *Conn) warn(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.warnings) < maxWarnings && !slices.Contains(c.warnings, text) {
		c.warnings = append(c.warnings, text)
	}
}
