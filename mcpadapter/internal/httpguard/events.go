package httpguard

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// Limits of an event stream.
const (
	// MaxEventID bounds the id of an event; a longer one counts as none.
	MaxEventID = 1 << 10
	// MaxEventType bounds the type of an event; a longer one is cut.
	MaxEventType = 64
	// maxFieldName is longer than any field that means something.
	maxFieldName = 8
	// maxSkipBytes bounds how far the end of an event over the limit is looked
	// for.
	maxSkipBytes = 256 << 20
	// maxRetry bounds what a stream may ask to wait.
	maxRetryDigits = 9
	eventBuffer    = 32 << 10
	// keptData is what the data buffer may keep between two events.
	keptData = 64 << 10
)

// Event is one event of a stream, or what came of one.
type Event struct {
	// Type is the event's type, "message" where the stream names none.
	Type string
	// ID is the event's own id, raw and at most MaxEventID long; HasID says that
	// it has one, which may be empty.
	ID    string
	HasID bool
	// Retry is how long the stream asks to wait before it is opened again;
	// HasRetry says that it did.
	Retry    time.Duration
	HasRetry bool
	// Data is the joined data, nil for an event without any (which only tells an
	// id or a retry time). It is the caller's to keep.
	Data []byte
	// Oversize reports data over the limit, which was skipped. Data is nil then.
	Oversize *wire.Oversize
	// Torn says that the stream ended before the empty line that ends an event.
	Torn bool
}

// Events cuts a text/event-stream into events. Memory is bounded by the limit
// of an event's data; lines that end in CR, LF or both, comments, a byte order
// mark and unknown fields are as the standard says. It is used by one
// goroutine.
type Events struct {
	src   io.Reader
	limit int
	skip  int64
	// begin and end, when set, enclose the time of one event's data.
	begin, end func()

	buf        []byte
	read, fill int
	failed     error
	marked     bool // the byte order mark is behind us or absent
	mark       int  // bytes of the mark that were seen
	wasCR      bool

	line  lineState
	name  []byte
	value []byte // of a field that is not data

	event   Event
	data    Pile
	hasData bool
	size    int64
	over    bool
	crowded bool // over what all frames may hold together
	share   wire.Share
	members members
	any     bool // the event has a field
}

// lineState is where in a line the reader stands.
type lineState uint8

const (
	lineStart lineState = iota
	lineName
	lineSpace // behind the colon
	lineValue
	lineData // the value of a data field
	lineSkip // a comment or an unknown field
)

// NewEvents reads events from src; an event's data may have at most limit
// bytes.
func NewEvents(src io.Reader, limit int) *Events {
	e := &Events{src: src, limit: limit, skip: maxSkipBytes, buf: make([]byte, eventBuffer)}
	if b, ok := src.(*Body); ok {
		e.begin, e.end = b.Begin, b.End
	}
	return e
}

// Next returns the next event that carries data, an id or a retry time. At the
// end of the stream the error is io.EOF; one that was torn off by the end is
// returned before it.
func (e *Events) Next() (Event, error) {
	if e.size == 0 {
		e.share.Release() // the event before is dealt with
	}
	for {
		for e.read < e.fill {
			b := e.buf[e.read]
			if e.line == lineData && b != '\n' && b != '\r' {
				e.read += e.takeData(e.buf[e.read:e.fill])
				continue
			}
			e.read++
			if ev, ok := e.take(b); ok {
				return ev, nil
			}
		}
		if e.size > int64(e.limit)+e.skip {
			id, method := e.members.result()
			if method != "" {
				id = nil // a request of the server answers nothing
			}
			e.failed = &wire.FrameEndError{ID: id, Skipped: e.size, Limit: int64(e.limit) + e.skip, Frame: e.limit}
		}
		if e.failed != nil {
			return e.atEnd()
		}
		e.read = 0
		e.fill, e.failed = e.src.Read(e.buf)
	}
}

// Release gives back what the last event holds of the budget of all frames. It
// is called when nothing more is read.
func (e *Events) Release() { e.share.Release() }

// atEnd hands out what the end of the stream tore off, once.
func (e *Events) atEnd() (Event, error) {
	if errors.Is(e.failed, io.EOF) {
		if e.line != lineStart {
			e.endLine()
		}
		if ev, ok := e.dispatch(); ok {
			ev.Torn = true
			return ev, nil
		}
	}
	e.stopClock()
	return Event{}, e.failed
}

// take consumes one byte that is not inside data.
func (e *Events) take(b byte) (Event, bool) {
	if !e.marked && e.takeMark(b) {
		return Event{}, false
	}
	if b == '\n' && e.wasCR {
		e.wasCR = false
		return Event{}, false
	}
	e.wasCR = b == '\r'
	if b == '\n' || b == '\r' {
		if e.line == lineStart {
			return e.dispatch()
		}
		e.endLine()
		return Event{}, false
	}
	e.inLine(b)
	return Event{}, false
}

// takeMark drops the byte order mark before the stream.
func (e *Events) takeMark(b byte) bool {
	const mark = "\xef\xbb\xbf"
	if b == mark[e.mark] {
		e.mark++
		e.marked = e.mark == len(mark)
		return true
	}
	e.marked = true
	for i := range e.mark { // it was none: the bytes belong to the first line
		e.inLine(mark[i])
	}
	return false
}

func (e *Events) inLine(b byte) {
	switch e.line {
	case lineStart:
		e.name, e.value = e.name[:0], e.value[:0]
		if b == ':' {
			e.line = lineSkip
			return
		}
		e.line = lineName
		e.name = append(e.name, b)
	case lineName:
		switch {
		case b == ':':
			e.line = lineSpace
		case len(e.name) < maxFieldName:
			e.name = append(e.name, b)
		default:
			e.line = lineSkip
		}
	case lineSpace:
		e.startValue()
		if b != ' ' {
			e.inValue(b)
		}
	case lineValue, lineData:
		e.inValue(b)
	case lineSkip:
	}
}

// startValue is called behind a field's colon.
func (e *Events) startValue() {
	switch string(e.name) {
	case "data":
		e.startData()
		e.line = lineData
	case "id", "event", "retry":
		e.line = lineValue
	default:
		e.line = lineSkip
	}
}

func (e *Events) inValue(b byte) {
	switch e.line {
	case lineData:
		e.takeData([]byte{b})
	case lineValue:
		if len(e.value) <= MaxEventID {
			e.value = append(e.value, b)
		}
	default: // a field that means nothing
	}
}

// startData begins one data line.
func (e *Events) startData() {
	if !e.hasData {
		e.hasData = true
		if e.begin != nil {
			e.begin()
		}
		return
	}
	e.keep([]byte{'\n'})
}

// takeData consumes data up to the end of the line and says how many bytes.
func (e *Events) takeData(chunk []byte) int {
	if n := bytes.IndexByte(chunk, '\n'); n >= 0 {
		chunk = chunk[:n]
	}
	if n := bytes.IndexByte(chunk, '\r'); n >= 0 {
		chunk = chunk[:n]
	}
	e.wasCR = false
	e.keep(chunk)
	return len(chunk)
}

// keep adds to the event's data; over the limit only the id and the method are
// looked for.
func (e *Events) keep(chunk []byte) {
	e.size += int64(len(chunk))
	if !e.over {
		all := e.data.Len() + len(chunk)
		e.crowded = all <= e.limit && !e.share.Grow(all)
		if all > e.limit || e.crowded {
			e.over = true
			e.members = members{}
			e.data.drain(e.members.write)
			e.share.Release()
		}
	}
	if e.over {
		e.members.write(chunk)
		return
	}
	_, _ = e.data.Write(chunk)
}

// endLine applies the field of a line that is complete.
func (e *Events) endLine() {
	if e.line == lineName || e.line == lineSpace {
		e.startValue() // a field without a value
	}
	if e.line == lineValue {
		e.field(string(e.value))
	}
	e.line = lineStart
}

func (e *Events) field(value string) {
	switch string(e.name) {
	case "event":
		e.event.Type = value[:min(len(value), MaxEventType)]
	case "id":
		if len(value) <= MaxEventID && printableID(value) {
			e.event.ID, e.event.HasID, e.any = value, true, true
		}
	case "retry":
		if ms, err := strconv.ParseUint(value, 10, 64); err == nil && len(value) <= maxRetryDigits {
			e.event.Retry, e.event.HasRetry, e.any = time.Duration(ms)*time.Millisecond, true, true
		}
	}
}

// printableID says whether an id can be sent back in a header. The standard
// drops those with a NUL; with other control characters none can be sent.
func printableID(id string) bool { return validValue(id) }

// dispatch ends an event; false says that it told nothing.
func (e *Events) dispatch() (Event, bool) {
	ev, told := e.event, e.any || e.hasData
	if ev.Type == "" {
		ev.Type = "message"
	}
	if e.hasData {
		e.stopClock()
		if e.over {
			id, method := e.members.result()
			ev.Oversize = &wire.Oversize{ID: id, Method: method, Size: e.size, Limit: e.limit, Crowded: e.crowded}
		} else {
			ev.Data = e.data.Take()
		}
	}
	e.event = Event{}
	e.hasData, e.any, e.over, e.crowded, e.size = false, false, false, false, 0
	return ev, told
}

func (e *Events) stopClock() {
	if e.hasData && e.end != nil {
		e.end()
	}
}
