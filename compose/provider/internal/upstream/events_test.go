package upstream

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/model"
)

func collect(src io.Reader) (out []Event, err error) {
	for ev, e := range Events(src) {
		if e != nil {
			return out, e
		}
		out = append(out, Event{ev.Type, slices.Clone(ev.Data)})
	}
	return out, nil
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]Event{
		"data: a\n\n": {{"", []byte("a")}},
		": comment\nevent: x\ndata: a\ndata:b\n\n\n": {{"x", []byte("a\nb")}},
		"event: x\n\ndata: a\r\n\r\ndata: b":         {{"", []byte("a")}, {"", []byte("b")}},
		"id: 1\nretry: 2\n\n":                        nil,
		"data\n\n":                                   {{"", nil}},
	} {
		got, err := collect(strings.NewReader(in))
		if err != nil || !slices.EqualFunc(got, want, func(a, b Event) bool { return a.Type == b.Type && bytes.Equal(a.Data, b.Data) }) {
			t.Errorf("%q: %q %v", in, got, err)
		}
	}
}

// An endless line and an endless event end at the bound.
func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	for what, unit := range map[string]string{"line": strings.Repeat("x", 1<<20), "event": "data: " + strings.Repeat("x", 1<<20) + "\n"} {
		src := &endless{unit: []byte(unit)}
		_, err := collect(src)
		if failed, ok := errors.AsType[*model.Error](err); !ok || failed.Code != "stream_broken" || src.given > 2*MaxEventBytes {
			t.Errorf("%s: %v after %d bytes", what, err, src.given)
		}
	}
}

type endless struct {
	unit  []byte
	at    int
	given int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.unit[e.at:])
	e.at, e.given = (e.at+n)%len(e.unit), e.given+n
	return n, nil
}

// FuzzEvents: however a stream is cut into reads, its events are the same, and
// none of them has more data than came in.
func FuzzEvents(f *testing.F) {
	for _, s := range []string{"data: a\n\n", "event: x\r\ndata: {\"a\":1}\r\n\r\n", "data: [DONE]", ":\n\n\n", "data:\ndata:\n\n"} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, n int) {
		whole, err := collect(bytes.NewReader(in))
		if err != nil {
			t.Skip("the whole input is refused: there is nothing to compare with")
		}
		cut, err := collect(&short{bytes.NewReader(in), 1 + max(n, -n)%64})
		if err != nil || !slices.EqualFunc(whole, cut, func(a, b Event) bool { return a.Type == b.Type && bytes.Equal(a.Data, b.Data) }) {
			t.Fatalf("whole %q, cut %q, %v", whole, cut, err)
		}
		size := 0
		for _, ev := range whole {
			size += len(ev.Data)
		}
		if size > len(in) {
			t.Fatalf("%d bytes of data out of %d", size, len(in))
		}
	})
}

type short struct {
	src io.Reader
	n   int
}

func (s *short) Read(p []byte) (int, error) { return s.src.Read(p[:min(len(p), s.n)]) }
