package stdio

import (
	"bytes"
	"errors"
	"io"
	"os"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// Bounds of the frame reader.
const (
	// DefaultFrameBytes bounds one frame where the caller names no limit.
	DefaultFrameBytes = 16 << 20
	// DefaultNoiseLines bounds the lines that are not JSON where the caller
	// names no limit.
	DefaultNoiseLines = 1000
	// maxSkipBytes and maxSkipTime bound how far the end of a frame over the
	// limit is looked for.
	maxSkipBytes = 256 << 20
	maxSkipTime  = 30 * time.Second

	readBuffer = 64 << 10
)

// frameReader cuts a byte stream into newline-delimited frames. Memory stays
// bounded by the limit while reading: a line that grows over it is dropped and
// skipped to its end. What is not one JSON object or array is noise. It is
// used by one goroutine.
//
// An error of the source that is no end (a cancelled context) loses nothing:
// the next call goes on where this one stopped.
type frameReader struct {
	src        io.Reader
	limit      int
	noiseLimit int
	skipBytes  int64
	skipTime   time.Duration
	now        func() time.Time
	// onNoise receives each skipped line, cut to wire.MaxStderrLine.
	onNoise func(line []byte, count int)
	// onSkip announces until when a skip may last; zero when it is over.
	onSkip func(until time.Time)

	buf        []byte
	read, fill int
	line       []byte // the current line so far, where it spans buffers
	size       int64  // its bytes so far
	over       bool   // it is over the limit; line holds its first bytes
	crowded    bool   // it is over what all frames may hold together
	share      wire.Share
	members    memberScanner
	skipUntil  time.Time
	noise      int
	failed     error
	ended      bool
}

// next returns the next frame. Noise and blank lines are passed over.
func (r *frameReader) next() (wire.Frame, error) {
	if r.size == 0 {
		r.share.Release() // the frame before is dealt with
	}
	for {
		if r.failed != nil {
			return wire.Frame{}, r.failed
		}
		if r.read == r.fill {
			if err := r.refill(); err != nil {
				return wire.Frame{}, err
			}
			continue
		}
		chunk := r.buf[r.read:r.fill]
		end := bytes.IndexByte(chunk, '\n')
		if end < 0 {
			r.read = r.fill
			r.keep(chunk)
			continue
		}
		r.read += end + 1
		if frame, ok := r.finish(chunk[:end]); ok {
			return frame, nil
		}
	}
}

// refill reads more bytes. The end of the stream ends the last line as well.
func (r *frameReader) refill() error {
	if r.ended {
		r.failed = io.EOF
		return nil
	}
	if r.over && !r.now().Before(r.skipUntil) {
		end := r.endless()
		end.Waited = r.skipTime
		return r.fail(end)
	}
	if r.buf == nil {
		r.buf = make([]byte, readBuffer)
	}
	n, err := r.src.Read(r.buf)
	r.read, r.fill = 0, n
	switch {
	case n > 0 || err == nil:
		return nil
	case errors.Is(err, io.EOF):
		r.ended = true
		if r.size > 0 {
			r.buf[0], r.fill = '\n', 1
		}
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded) && r.over:
		return nil // the check above decides
	}
	return err
}

func (r *frameReader) fail(err error) error {
	r.failed = err
	return err
}

// endless is the failure of a frame over the limit whose end does not come.
func (r *frameReader) endless() *wire.FrameEndError {
	id, method := r.members.result()
	if method != "" {
		id = nil // a request of the server answers nothing
	}
	return &wire.FrameEndError{ID: id, Skipped: r.size, Limit: r.skipBytes, Frame: r.limit}
}

// keep adds a piece that is not yet the end of its line.
func (r *frameReader) keep(piece []byte) {
	r.size += int64(len(piece))
	if r.over {
		r.skip(piece)
		if r.size > r.skipBytes {
			r.failed = r.endless()
		}
		return
	}
	if r.size > int64(r.limit) {
		r.startSkip(piece)
		return
	}
	if !r.grow(len(piece)) {
		r.crowded = true
		r.startSkip(piece)
		return
	}
	r.line = append(r.line, piece...)
}

// grow makes room without ever holding more than the limit. It is false when all
// frames that are being read together leave none.
func (r *frameReader) grow(n int) bool {
	need := len(r.line) + n
	if need <= cap(r.line) {
		return true
	}
	size := max(need, min(2*cap(r.line), r.limit))
	if !r.share.Grow(size) {
		return false
	}
	larger := make([]byte, len(r.line), size)
	copy(larger, r.line)
	r.line = larger
	return true
}

// startSkip gives the collected bytes up but for the first few.
func (r *frameReader) startSkip(piece []byte) {
	collected := r.line
	r.line, r.over = make([]byte, 0, headBytes), true
	r.members = memberScanner{}
	if len(collected) == 0 {
		piece = bytes.TrimPrefix(piece, byteOrderMark)
	}
	r.skip(bytes.TrimPrefix(collected, byteOrderMark))
	r.skip(piece)
	r.share.Release()
	r.skipUntil = r.now().Add(r.skipTime)
	if r.onSkip != nil {
		r.onSkip(r.skipUntil)
	}
}

// skip keeps the first bytes of a frame over the limit and looks through the
// rest for the request that it answers.
func (r *frameReader) skip(piece []byte) {
	r.members.write(piece)
	r.line = append(r.line, piece[:min(len(piece), headBytes-len(r.line))]...)
}

// finish ends a line with its last piece and reports whether it is a frame.
func (r *frameReader) finish(last []byte) (wire.Frame, bool) {
	whole, inBuffer := last, true
	if r.size > 0 || len(last) > r.limit {
		r.keep(last)
		whole, inBuffer = r.line, false
		if r.failed != nil {
			return wire.Frame{}, false
		}
	}
	over, crowded, size := r.over, r.crowded, r.size
	r.line, r.size, r.over, r.crowded = nil, 0, false, false
	if over {
		return r.finishOver(whole, size, crowded)
	}
	text := trimLine(whole)
	if len(text) == 0 {
		return wire.Frame{}, false
	}
	if !looksLikeJSON(text) || !isJSON(text) {
		r.countNoise(text)
		return wire.Frame{}, false
	}
	if inBuffer {
		text = bytes.Clone(text)
	}
	return wire.Frame{Data: text}, true
}

// finishOver reports a frame over the limit, or counts it when it never looked
// like one.
func (r *frameReader) finishOver(head []byte, size int64, crowded bool) (wire.Frame, bool) {
	if r.onSkip != nil {
		r.onSkip(time.Time{})
	}
	head = trimLine(head)
	if !looksLikeJSON(head) {
		r.countNoise(head)
		return wire.Frame{}, false
	}
	id, method := r.members.result()
	return wire.Frame{Oversize: &wire.Oversize{ID: id, Method: method, Size: size, Limit: r.limit, Crowded: crowded}}, true
}

func (r *frameReader) countNoise(line []byte) {
	r.noise++
	if r.onNoise != nil {
		r.onNoise(line[:min(len(line), wire.MaxStderrLine)], r.noise)
	}
	if r.noise > r.noiseLimit {
		r.failed = &wire.NoiseError{Lines: r.noise, Limit: r.noiseLimit}
	}
}

// byteOrderMark is what some programs put before their first line.
var byteOrderMark = []byte("\ufeff")

// trimLine drops a byte order mark and the white space around a line, the
// carriage return of CRLF included.
func trimLine(line []byte) []byte {
	line = bytes.TrimPrefix(bytes.Trim(line, " \t\r"), byteOrderMark)
	return bytes.Trim(line, " \t\r")
}

// looksLikeJSON reports whether a trimmed line starts as an object or array,
// which every JSON-RPC message and batch does.
func looksLikeJSON(line []byte) bool {
	return len(line) > 0 && (line[0] == '{' || line[0] == '[')
}
