package stdio

import (
	"bytes"
	"context"
	"errors"
	"os"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// maxScratch bounds the buffer that is kept between writes.
const maxScratch = 64 << 10

// Write sends one frame. A context that ends before the first byte was taken
// ends the write; later the frame is finished, because half of one would spoil
// the stream. A server that does not read for the write timeout loses the
// connection with a *wire.LossError.
func (c *Conn) Write(ctx context.Context, out wire.Outgoing) error {
	select {
	case c.writeSem <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.closeReq:
		return c.reason()
	}
	defer func() { <-c.writeSem }()
	if err := c.writable(ctx); err != nil {
		return err
	}
	line := c.asLine(out.Frame)
	if c.opt.Trace != nil {
		c.opt.Trace(wire.Outbound, line[:len(line)-1])
	}
	return c.writeLine(ctx, line)
}

// Forget does nothing: a pipe holds nothing for a request.
func (c *Conn) Forget(int64) {}

// writable refuses what cannot arrive any more.
func (c *Conn) writable(ctx context.Context) error {
	if c.closing.Load() {
		return c.reason()
	}
	select {
	case <-c.exited:
		return c.loss("process exited", nil)
	default:
		return ctx.Err()
	}
}

// asLine copies a frame and ends it with a newline. A line break inside valid
// JSON is white space, so it becomes a space.
func (c *Conn) asLine(frame []byte) []byte {
	line := c.scratch[:0]
	if cap(line) < len(frame)+1 {
		line = make([]byte, 0, len(frame)+1)
	}
	if cap(line) <= maxScratch {
		c.scratch = line
	}
	line = append(line, frame...)
	for _, b := range []byte{'\n', '\r'} {
		for i := bytes.IndexByte(line, b); i >= 0; i = bytes.IndexByte(line, b) {
			line[i] = ' '
		}
	}
	return append(line, '\n')
}

func (c *Conn) writeLine(ctx context.Context, line []byte) error {
	deadline := time.Now().Add(c.writeTimeout)
	_ = c.stdin.SetWriteDeadline(deadline)
	if ctx.Done() != nil {
		release := context.AfterFunc(ctx, func() { _ = c.stdin.SetWriteDeadline(time.Unix(1, 0)) })
		defer release()
	}
	sent := 0
	for {
		n, err := c.stdin.Write(line[sent:])
		sent += n
		switch {
		case err == nil:
			return nil
		case c.closing.Load():
			return c.reason()
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return c.loss("its input is closed", withoutPath(err))
		case sent == 0 && ctx.Err() != nil:
			return ctx.Err()
		case !time.Now().Before(deadline):
			lost := &wire.LossError{Reason: "write timed out", ExitCode: -1, Err: os.ErrDeadlineExceeded}
			c.fail(lost)
			return lost
		}
		_ = c.stdin.SetWriteDeadline(deadline)
	}
}

// withoutPath keeps the cause and drops the name that os gives to a pipe.
func withoutPath(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
