package protocol

import (
	"bufio"
	"context"
	"io"
	"sync"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// pipeConn is a wire.Conn over two pipes, one frame a line.
type pipeConn struct {
	r    *bufio.Reader
	in   *io.PipeReader
	mu   sync.Mutex
	out  *io.PipeWriter
	once sync.Once
	gone chan struct{}
	stop func()
}

func newPipeConn(in *io.PipeReader, out *io.PipeWriter, stop func()) *pipeConn {
	return &pipeConn{r: bufio.NewReader(in), in: in, out: out, gone: make(chan struct{}), stop: stop}
}

func (c *pipeConn) Read(context.Context) (wire.Frame, error) {
	line, err := c.r.ReadBytes('\n')
	if err != nil {
		return wire.Frame{}, io.EOF
	}
	return wire.Frame{Data: line[:len(line)-1]}, nil
}

func (c *pipeConn) Write(_ context.Context, o wire.Outgoing) error {
	frame := o.Frame
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.out.Write(append(frame[:len(frame):len(frame)], '\n'))
	return err
}

func (c *pipeConn) Forget(int64) {}

func (c *pipeConn) Close() error {
	c.once.Do(func() {
		close(c.gone)
		_ = c.in.Close()
		_ = c.out.Close()
		c.stop()
	})
	return nil
}

func (c *pipeConn) Done() <-chan struct{}         { return c.gone }
func (c *pipeConn) Diagnostics() wire.Diagnostics { return wire.Diagnostics{} }
