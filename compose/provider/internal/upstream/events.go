package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
)

// MaxEventBytes bounds one event of a stream.
const MaxEventBytes = 16 << 20

const readBuffer = 32 << 10

// Event is one event of a text/event-stream.
type Event struct {
	Type string
	Data []byte
}

// Streams says whether an answer is an event stream. Endpoints that cannot
// stream answer the same request with a JSON document.
func Streams(resp *http.Response) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Type"))), "text/event-stream")
}

// Whole reads an answer that is no stream.
func Whole(resp *http.Response) ([]byte, error) {
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return raw, nil
}

// Events cuts a text/event-stream into events with data. It ends at the end of
// the stream or with an error; an event that the end tore off is given if it is
// whole as far as it goes, and judged by its reader.
func Events(src io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r := bufio.NewReaderSize(src, readBuffer)
		var ev Event
		var has bool
		for {
			line, err := readLine(r)
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Event{}, err)
				return
			}
			ended := err != nil
			if len(line) > 0 {
				name, value, _ := bytes.Cut(line, []byte(":"))
				value = bytes.TrimPrefix(value, []byte(" "))
				switch string(name) {
				case "data":
					if has {
						ev.Data = append(ev.Data, '\n')
					}
					ev.Data, has = append(ev.Data, value...), true
				case "event":
					ev.Type = string(value)
				}
			}
			if len(ev.Data) > MaxEventBytes {
				yield(Event{}, Broken(fmt.Sprintf("an event of the answer is over the limit of %d bytes", MaxEventBytes)))
				return
			}
			if (len(line) == 0 || ended) && has {
				if !yield(ev, nil) {
					return
				}
			}
			if len(line) == 0 {
				ev, has = Event{}, false
			}
			if ended {
				return
			}
		}
	}
}

// readLine reads to the next LF, CR LF or CR and returns the line without it.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > MaxEventBytes {
			return nil, Broken(fmt.Sprintf("a line of the answer is over the limit of %d bytes", MaxEventBytes))
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		return bytes.TrimSuffix(line, []byte("\r")), err
	}
}
