package httpguard

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// Body is the body of an answer. One goroutine reads; Close may be called by
// others at any time and makes Read return.
type Body struct {
	ctx        context.Context
	raw        io.ReadCloser
	release    func()
	late       *time.Timer
	timeout    time.Duration
	compressed bool
	decoder    *gzip.Reader
	once       sync.Once
}

// Read decodes as far as p has room: a bomb costs its reader's limit and no
// more.
func (b *Body) Read(p []byte) (int, error) {
	n, err := b.read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = failure(b.ctx, err, true)
	}
	return n, err
}

func (b *Body) read(p []byte) (int, error) {
	if !b.compressed {
		return b.raw.Read(p)
	}
	if b.decoder == nil {
		decoder, err := gzip.NewReader(bufio.NewReader(b.raw))
		if err != nil {
			return 0, err
		}
		b.decoder = decoder
	}
	return b.decoder.Read(p)
}

// Begin starts the time of one frame; when it is over before End, reading
// fails with an *ExchangeError of the kind Slow.
func (b *Body) Begin() { b.late.Reset(b.timeout) }

// End stops the time that Begin started.
func (b *Body) End() { b.late.Stop() }

// Head reads at most n bytes, within the time of one frame, and closes the
// body. What could be read before an error is returned.
func (b *Body) Head(n int) []byte {
	b.Begin()
	head, _ := io.ReadAll(io.LimitReader(b, int64(n)))
	_ = b.Close()
	return head
}

// discardWait bounds how long a body that nobody wants is read for the sake of
// its connection.
const discardWait = time.Second

// Discard reads what little may be left, so that the connection can be used
// again, and closes the body.
func (b *Body) Discard() {
	b.late.Reset(min(discardWait, b.timeout))
	_, _ = io.CopyN(io.Discard, b.raw, errorBodyBytes)
	_ = b.Close()
}

// Close ends the exchange. The connection is kept when the body was read to
// its end.
func (b *Body) Close() error {
	b.once.Do(func() {
		b.late.Stop()
		b.release()
		_ = b.raw.Close()
	})
	return nil
}
