package stdio

import (
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// drainBytes bounds what is still read after the child is gone: the capacity
// of the largest pipe. A grandchild that holds the other end open and keeps
// writing gets no further.
const drainBytes = 1 << 20

// settle is how long the end of a stream waits for news of the process, and
// the end of the process for the last lines of stderr.
const settle = 250 * time.Millisecond

// source reads one of the child's streams so that a blocked read can be
// interrupted: by a context, by Close, and by the end of the child while
// somebody else still holds the other end.
type source struct {
	file *os.File
	now  func() time.Time

	// Flags are set before the interruption, and looked at after the deadline
	// has been lifted, so none is missed.
	gone    atomic.Bool // the child has ended: take what is there, wait for nothing
	closing atomic.Bool // the reader is to stop
	discard atomic.Bool // closing, but the stream is still being emptied

	// The reader's own: ctx, where there is one, is that of the frame that it waits
	// for.
	ctx       context.Context
	skipUntil time.Time
	draining  bool
	drained   int
}

// interrupt wakes a blocked read; set a flag first. Where pipes know no
// deadlines it cannot.
func (s *source) interrupt() { _ = s.file.SetReadDeadline(time.Unix(1, 0)) }

// childGone makes the stream end when it is empty.
func (s *source) childGone() {
	s.gone.Store(true)
	if errors.Is(s.file.SetReadDeadline(time.Unix(1, 0)), os.ErrNoDeadline) {
		time.AfterFunc(settle, func() { _ = s.file.Close() })
	}
}

// Read implements io.Reader for the one reading goroutine. It ends with ctx.
func (s *source) Read(p []byte) (int, error) {
	if s.ctx != nil && s.ctx.Done() != nil {
		defer context.AfterFunc(s.ctx, s.interrupt)()
	}
	for {
		if s.draining {
			return s.drain(p)
		}
		n, err := s.file.Read(p)
		if n > 0 {
			return n, nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return 0, ended(err)
		}
		_ = s.file.SetReadDeadline(s.skipUntil)
		switch {
		case s.gone.Load():
			s.draining = true
		case s.closing.Load() && !s.discard.Load():
			return 0, wire.ErrClosed
		case s.ctx != nil && s.ctx.Err() != nil:
			return 0, s.ctx.Err()
		case !s.skipUntil.IsZero() && !s.now().Before(s.skipUntil):
			return 0, os.ErrDeadlineExceeded
		}
	}
}

// drain takes what is in the pipe without waiting.
func (s *source) drain(p []byte) (int, error) {
	left := drainBytes - s.drained
	if left <= 0 {
		return 0, io.EOF
	}
	n, err := readNow(s.file, p[:min(len(p), left)])
	s.drained += n
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, ended(err)
}

// limit announces until when the current read may last; zero lifts the limit.
func (s *source) limit(until time.Time) {
	s.skipUntil = until
	_ = s.file.SetReadDeadline(until)
	if s.gone.Load() || s.closing.Load() {
		s.interrupt()
	}
}

// ended folds the ways in which a stream ends into io.EOF.
func ended(err error) error {
	if err == nil || errors.Is(err, os.ErrClosed) {
		return io.EOF
	}
	return err
}
