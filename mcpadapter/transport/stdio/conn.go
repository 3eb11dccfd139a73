package stdio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/guardian"
	"github.com/looprig/looprig/mcpadapter/internal/guardian/kin"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// Conn is one running server. It implements wire.Conn. Three goroutines belong
// to it: one waits for the child, one reads stderr, one sees to its end; Close
// awaits them all.
type Conn struct {
	opt          wire.Options
	writeTimeout time.Duration
	grace        time.Duration
	process      *os.Process
	family       kin.Family
	keeper       *guardian.Guardian
	warnings     []string
	withheld     []string

	stdin          *os.File
	stdout, stderr *source
	tail           ring
	noise          atomic.Int64

	readMu  sync.Mutex
	frames  *frameReader
	readErr error

	writeSem chan struct{}
	scratch  []byte

	cause     atomic.Pointer[error] // why the connection failed, if it did
	closing   atomic.Bool
	byCaller  atomic.Bool // Close was called
	closeReq  chan struct{}
	closeOnce sync.Once
	exited    chan struct{} // the child has ended and its state is known
	lastWords chan struct{} // stderr has been read to its end
	done      chan struct{}
	closed    sync.Once

	procMu   sync.Mutex
	reaped   bool
	exitCode int
	signal   string
}

var _ wire.Conn = (*Conn)(nil)

func newConn(t *Transport, opt wire.Options, process *os.Process, family kin.Family, pipes *streams) *Conn {
	c := &Conn{
		opt: opt, writeTimeout: t.config.WriteTimeout, grace: graceOf(opt),
		process: process, family: family, withheld: t.env.withheld,
		stdin:    pipes.parent[0],
		stdout:   &source{file: pipes.parent[1], now: time.Now},
		stderr:   &source{file: pipes.parent[2], now: time.Now},
		writeSem: make(chan struct{}, 1),
		closeReq: make(chan struct{}), exited: make(chan struct{}),
		lastWords: make(chan struct{}), done: make(chan struct{}),
		exitCode: -1,
	}
	c.frames = &frameReader{
		src:        c.stdout,
		limit:      orDefault(opt.FrameBytes, DefaultFrameBytes),
		noiseLimit: orDefault(opt.NoiseLines, DefaultNoiseLines),
		skipBytes:  maxSkipBytes, skipTime: maxSkipTime, now: time.Now,
		onNoise: c.heardNoise, onSkip: c.stdout.limit, share: wire.Share{Done: c.closeReq},
	}
	return c
}

// run starts the connection's goroutines.
func (c *Conn) run() {
	go c.await()
	go c.listen()
	go c.supervise()
}

// Read returns the next frame. Cancelling the context loses nothing. After
// the server is gone it still returns what had arrived, then a
// *wire.LossError; after Close, ErrClosed.
func (c *Conn) Read(ctx context.Context) (wire.Frame, error) {
	c.readMu.Lock()
	defer c.readMu.Unlock()
	switch {
	case c.byCaller.Load():
		return wire.Frame{}, wire.ErrClosed
	case c.readErr != nil:
		return wire.Frame{}, c.readErr
	case c.cause.Load() != nil:
		return wire.Frame{}, c.reason()
	}
	if err := ctx.Err(); err != nil {
		return wire.Frame{}, err
	}
	c.stdout.ctx = ctx
	frame, err := c.frames.next()
	switch {
	case err == nil:
		if c.opt.Trace != nil && frame.Data != nil {
			c.opt.Trace(wire.Inbound, frame.Data)
		}
		return frame, nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return wire.Frame{}, err
	}
	c.frames.share.Release()
	c.readErr = c.endOf(err)
	return wire.Frame{}, c.readErr
}

// endOf turns the end of the stream into what callers see.
func (c *Conn) endOf(err error) error {
	var (
		noise *wire.NoiseError
		end   *wire.FrameEndError
	)
	switch {
	case c.closing.Load():
		return c.reason()
	case errors.As(err, &noise), errors.As(err, &end):
		c.fail(err)
		return err
	case errors.Is(err, io.EOF):
		err = nil
	}
	return c.loss("stream ended", err)
}

// loss waits briefly for news of the process, so that the error names its exit
// and Diagnostics hold its last words, and starts the cleaning up.
func (c *Conn) loss(reason string, cause error) error {
	if c.closing.Load() {
		return c.reason()
	}
	timer := time.NewTimer(settle)
	defer timer.Stop()
	lost := &wire.LossError{Reason: reason, ExitCode: -1, Err: cause}
	select {
	case <-c.exited:
		lost.Reason = "process exited"
		lost.ExitCode, lost.Signal = c.exit()
		select {
		case <-c.lastWords:
		case <-timer.C:
		}
	case <-c.closeReq:
		return c.reason()
	case <-timer.C:
	}
	c.fail(lost)
	return c.reason()
}

// reason is why the connection cannot be used any more.
func (c *Conn) reason() error {
	if cause := c.cause.Load(); cause != nil && !c.byCaller.Load() {
		return *cause
	}
	return wire.ErrClosed
}

// fail ends the connection from the inside.
func (c *Conn) fail(err error) {
	c.cause.CompareAndSwap(nil, &err)
	c.requestClose()
}

func (c *Conn) heardNoise(line []byte, count int) {
	c.noise.Store(int64(count))
	if c.opt.Noise != nil {
		c.opt.Noise(bytes.Clone(line)) // the receiver may keep it
	}
}

// Done is closed when the server has ended and nothing of it is left. Frames
// that had arrived before can still be read until Close.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Diagnostics is a snapshot of what is known about the server.
func (c *Conn) Diagnostics() wire.Diagnostics {
	d := wire.Diagnostics{
		PID: c.process.Pid, ExitCode: -1, NoiseLines: int(c.noise.Load()),
		Warnings: append([]string(nil), c.warnings...), WithheldEnv: append([]string(nil), c.withheld...),
	}
	d.StderrTail, d.StderrDropped = c.tail.snapshot()
	select {
	case <-c.exited:
		d.Exited = true
		d.ExitCode, d.ExitSignal = c.exit()
	default:
	}
	return d
}

func (c *Conn) exit() (code int, signal string) {
	c.procMu.Lock()
	defer c.procMu.Unlock()
	return c.exitCode, c.signal
}

// listen reads stderr to its end.
func (c *Conn) listen() {
	defer close(c.lastWords)
	lines := lineSplitter{emit: func(line []byte) {
		c.tail.add(line)
		if c.opt.Stderr != nil {
			c.opt.Stderr(bytes.Clone(line))
		}
	}}
	lines.copyFrom(c.stderr)
	_ = c.stderr.file.Close()
}
