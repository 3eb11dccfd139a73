package streamhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/looprig/looprig/mcpadapter/internal/httpguard"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// readBody reads a body of at most limit bytes, within the time of one frame.
// over is the body's size, as far as it is known, when it is over the limit or
// finds no room in the share; then nothing is kept.
func readBody(resp *httpguard.Response, limit int, share *wire.Share) (data []byte, over int64, err error) {
	if resp.Length > int64(limit) {
		return nil, resp.Length, nil
	}
	resp.Body.Begin()
	defer resp.Body.End()
	if resp.Length < 0 {
		var pile httpguard.Pile
		if over, err = pile.ReadAll(resp.Body, limit, share); errors.Is(err, io.EOF) {
			return trim(pile.Take()), 0, nil
		}
		return nil, over, err
	}
	if !share.Grow(int(resp.Length)) {
		return nil, resp.Length, nil
	}
	buf := make([]byte, resp.Length)
	n, err := io.ReadFull(resp.Body, buf)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, 0, err
	}
	return trim(buf[:n]), 0, nil
}

// trim drops a byte order mark and white space around a frame.
func trim(data []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(data), []byte("\ufeff")))
}

func idText(id int64) []byte { return strconv.AppendInt(nil, id, 10) }

func sameID(raw []byte, id int64) bool { return string(raw) == strconv.FormatInt(id, 10) }

// took is what an event was.
type took uint8

const (
	tookFrame   took = iota // delivered, or nothing to deliver
	tookAnswer              // delivered, and it answers the request
	tookGarbage             // the one that was too much
	tookNone                // the connection ended
)

// take delivers the frame that an event holds. id is the request whose stream
// it is, 0 for the standing stream.
func (c *Conn) take(ev httpguard.Event, id int64) took {
	frame, answer := wire.Frame{Oversize: ev.Oversize}, false
	switch {
	case ev.Oversize != nil:
		answer = ev.Oversize.Method == "" && sameID(ev.Oversize.ID, id)
	case ev.Data == nil || ev.Type != "message":
		return tookFrame
	default:
		data := trim(ev.Data)
		if !wire.IsFrame(data) {
			if ev.Torn || len(data) == 0 {
				return tookFrame
			}
			return c.heardGarbage()
		}
		frame.Data = data
		raw, method := httpguard.Peek(data)
		answer = method == "" && sameID(raw, id)
	}
	switch {
	case !c.deliver(frame):
		return tookNone
	case answer:
		return tookAnswer
	}
	return tookFrame
}

func (c *Conn) heardGarbage() took {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.garbage++
	if c.garbage > maxGarbage {
		return tookGarbage
	}
	return tookFrame
}

// errorFrame finds a JSON-RPC error in the body behind a status of 400 and more
// that belongs to the request: it carries the request's id, or none. Where it
// carries none, which servers may do that refused a request unread, the id is
// put right, so that the request gets its answer; the error itself stays byte
// for byte.
func errorFrame(body []byte, id int64) []byte {
	m, ok := parseError(body)
	if !ok {
		return nil
	}
	switch own, _ := httpguard.Peek(body); {
	case sameID(own, id):
		return trim(body)
	case !m.idless():
		return nil
	}
	frame := append([]byte(`{"jsonrpc":"2.0","id":`), idText(id)...)
	frame = append(append(frame, `,"error":`...), m.Error...)
	return append(frame, '}')
}

// errorMessage is a JSON-RPC error as far as this package reads it.
type errorMessage struct {
	ID     json.RawMessage `json:"id"`
	Method *string         `json:"method"`
	Error  json.RawMessage `json:"error"`
}

func (m errorMessage) idless() bool { return len(m.ID) == 0 || string(m.ID) == "null" }

func parseError(body []byte) (m errorMessage, ok bool) {
	body = trim(body)
	if len(body) == 0 || len(body) > maxErrorBody || json.Unmarshal(body, &m) != nil {
		return m, false
	}
	return m, m.Method == nil && len(m.Error) > 0 && m.Error[0] == '{'
}
