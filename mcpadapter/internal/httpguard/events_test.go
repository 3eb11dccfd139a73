package httpguard

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// drain renders what a stream holds, one string an event.
func drain(e *Events) (out []string, err error) {
	for {
		ev, err := e.Next()
		if err != nil {
			return out, err
		}
		text := ev.Type
		if ev.HasID {
			text += " id=" + ev.ID
		}
		if ev.HasRetry {
			text += " retry=" + ev.Retry.String()
		}
		switch {
		case ev.Oversize != nil:
			text += fmt.Sprintf(" over id=%s method=%s size=%d", ev.Oversize.ID, ev.Oversize.Method, ev.Oversize.Size)
		case ev.Data != nil:
			text += " " + string(ev.Data)
		}
		if ev.Torn {
			text += " torn"
		}
		out = append(out, text)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	at := `{"id":3,"x":"` + strings.Repeat("y", 49) + `"}` // 64 bytes
	long := strings.Repeat("z", 400)
	cases := []struct {
		name, in string
		want     []string
	}{
		{"plain", "data: {}\n\ndata:[1]\n\n", []string{"message {}", "message [1]"}},
		{"crlf", "event: a\r\ndata: x\r\n\r\ndata: y\r\n\r\n", []string{"a x", "message y"}},
		{"cr", "data: x\rdata: y\r\rdata: z\r\r", []string{"message x\ny", "message z"}},
		{"mixed ends", "data: x\r\ndata: y\n\r\ndata: z\r\n\n", []string{"message x\ny", "message z"}},
		{"byte order mark", "\ufeffdata: x\n\n", []string{"message x"}},
		{"half a mark", "\xef\xbbdata: x\n\ndata: y\n\n", []string{"message y"}},
		{"comments", ": hello\n:\n\n:data: no\ndata: x\n: in between\n\n", []string{"message x"}},
		{"one space is dropped", "data:  x \n\n", []string{"message  x "}},
		{"no value", "data\ndata:\n\n", []string{"message \n"}},
		{"empty data", "data:\n\n", []string{"message "}},
		{"id and retry alone", "id: 7\nretry: 1500\n\n", []string{"message id=7 retry=1.5s"}},
		{"an id is reset", "id\ndata: x\n\n", []string{"message id= x"}},
		{"bad id, bad retry", "id: a\x00b\nretry: -1\nretry: 1e3\nretry: 12345678901\ndata: x\n\n", []string{"message x"}},
		{"long id", "id: " + strings.Repeat("i", MaxEventID+1) + "\ndata: x\n\n", []string{"message x"}},
		{"unknown fields", "datax: 1\nDATA: 2\nfoo\n" + strings.Repeat("n", 5000) + ": v\ndata: x\n\n", []string{"message x"}},
		{"type without data", "event: ping\n\ndata: x\n\n", []string{"message x"}},
		{"torn", "data: x\n\ndata: {}", []string{"message x", "message {} torn"}},
		{"torn behind its line", "data: {}\n", []string{"message {} torn"}},
		{"at the limit", "data: " + at + "\n\n", []string{"message " + at}},
		{"one over", "data: " + at + " \n\ndata: x\n\n", []string{"message over id=3 method= size=65", "message x"}},
		{"over, id last", "event: e\nid: 5\ndata: {\"result\":{\"id\":1,\"t\":\"" + long + "\\\"}\"},\ndata: \"id\":\"q\"}\n\n",
			[]string{`e id=5 over id="q" method= size=439`}},
		{"over, a request", `data: {"method":"a/b","params":"` + long + `","id":9}` + "\n\n", []string{"message over id=9 method=a/b size=435"}},
		{"over, a batch", `data: [{"id":1,"x":"` + long + "\"}]\n\n", []string{"message over id= method= size=417"}},
	}
	for _, c := range cases {
		for _, src := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in)), iotest.DataErrReader(strings.NewReader(c.in))} {
			got, err := drain(NewEvents(src, 64))
			if !errors.Is(err, io.EOF) || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) {
				t.Errorf("%s (%T): %q, %v; want %q", c.name, src, got, err, c.want)
			}
		}
	}
}

// TestTornByError: what an error cut off is not handed out.
func TestTornByError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	got, err := drain(NewEvents(io.MultiReader(strings.NewReader("data: x\n\ndata: {}\n"), iotest.ErrReader(broken)), 64))
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Fatalf("%q, %v", got, err)
	}
}

// endless yields one byte for ever behind a first text.
type endless struct {
	first string
	b     byte
	taken int64
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.first)
	e.first = e.first[n:]
	for i := n; i < len(p); i++ {
		p[i] = e.b
	}
	e.taken += int64(len(p))
	return len(p), nil
}

func TestEndlessEventIsBounded(t *testing.T) {
	t.Parallel()
	src := &endless{first: `data: {"id":1,"x":"`, b: 'x'}
	e := NewEvents(src, 1<<16)
	e.skip = 1 << 20
	_, err := e.Next()
	var end *wire.FrameEndError
	if !errors.As(err, &end) || string(end.ID) != "1" || end.Frame != 1<<16 || end.Limit != 1<<16+1<<20 || src.taken > 2<<20 || e.data.Len() != 0 {
		t.Fatalf("%v after %d bytes, %d kept", err, src.taken, e.data.Len())
	}
	if _, again := e.Next(); !errors.As(again, &end) {
		t.Fatalf("the failure does not last: %v", again)
	}
}

// An event within its limit finds no room beside what others hold; the next one
// does, when they are done.
func TestCrowdedEventIsSkipped(t *testing.T) {
	t.Parallel()
	b := wire.NewBudget(1<<20, time.Millisecond)
	other := wire.Share{Of: b}
	if !other.Grow(1 << 20) {
		t.Fatal("nobody else is there")
	}
	one := `data: {"id":7,"x":"` + strings.Repeat("x", 1<<20) + "\"}\n\n"
	e := NewEvents(strings.NewReader(one+"data: {}\n\n"+one), 2<<20)
	e.share.Of = b
	ev, err := e.Next()
	if o := ev.Oversize; err != nil || o == nil || !o.Crowded || string(o.ID) != "7" || o.Size > int64(o.Limit) {
		t.Fatalf("%+v %v", ev, err)
	}
	other.Release()
	if ev, err := e.Next(); err != nil || string(ev.Data) != "{}" {
		t.Errorf("%+v %v", ev, err)
	}
	if ev, err := e.Next(); err != nil || len(ev.Data) <= 1<<20 || b.Used() == 0 {
		t.Errorf("%d bytes, %v, %d held", len(ev.Data), err, b.Used())
	}
	if _, _ = e.Next(); b.Used() != 0 {
		t.Errorf("%d are held at the end", b.Used())
	}
}

// TestClockRunsWithinData: the time of a frame starts with its first data and
// not with a comment, and ends with it.
func TestClockRunsWithinData(t *testing.T) {
	t.Parallel()
	var log []string
	e := NewEvents(strings.NewReader(": a\n\nid: 1\n\ndata: x\ndata: y\n\n"), 64)
	e.begin, e.end = func() { log = append(log, "begin") }, func() { log = append(log, "end") }
	if _, err := drain(e); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if fmt.Sprint(log) != "[begin end]" {
		t.Fatal(log)
	}
}

// FuzzEvents compares the reader with a plain reading of the standard on whole
// lines.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{"data: {}\n\n", "\ufeffid: 1\r\ndata: a\r\rdata\n:c\n\n", "retry: 10\nevent: e\ndata:" + strings.Repeat("x", 80) + "\n\n", "data: {\"id\":4,\"a\":[{\"id\":5}]" + strings.Repeat(" ", 70) + "}\n\n", "\xef\xbbdata: x\n\n"} {
		f.Add([]byte(seed), uint64(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		const limit = 64
		chunks := rand.New(rand.NewPCG(seed, seed))
		src := &ragged{b: in, next: func() int { return 1 + chunks.IntN(50) }}
		got, err := drain(NewEvents(src, limit))
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		want, _ := drain2(string(in), limit)
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Fatalf("%q:\n got %q\nwant %q", in, got, want)
		}
	})
}

type ragged struct {
	b    []byte
	next func() int
}

func (r *ragged) Read(p []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.next())], r.b)
	r.b = r.b[n:]
	return n, nil
}

// drain2 is the standard in plain words: normalise the ends of lines, split,
// judge each line.
func drain2(in string, limit int) (out []string, err error) {
	const mark = "\ufeff"
	if len(in) < len(mark) && strings.HasPrefix(mark, in) {
		in = "" // a mark that never ended
	}
	in = strings.TrimPrefix(in, mark)
	in = strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(in, "\n")
	var text, kind, id, retry string
	var data []string
	emit := func(torn bool) {
		if kind == "" {
			kind = "message"
		}
		if data != nil || id != "" || retry != "" {
			all := strings.Join(data, "\n")
			switch {
			case data == nil:
				text = kind + id + retry
			case len(all) > limit:
				var m members
				m.write([]byte(all))
				i, method := m.result()
				text = fmt.Sprintf("%s%s%s over id=%s method=%s size=%d", kind, id, retry, i, method, len(all))
			default:
				text = kind + id + retry + " " + all
			}
			if torn {
				text += " torn"
			}
			out = append(out, text)
		}
		kind, id, retry, data = "", "", "", nil
	}
	for i, line := range lines {
		last := i == len(lines)-1
		if line == "" {
			if !last {
				emit(false)
			}
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "data":
			data = append(data, value)
		case "event":
			kind = value[:min(len(value), MaxEventType)]
		case "id":
			if len(value) <= MaxEventID && validValue(value) {
				id = " id=" + value
			}
		case "retry":
			if d, ok := retryOf(value); ok {
				retry = " retry=" + d.String()
			}
		}
	}
	emit(true)
	return out, io.EOF
}

func retryOf(value string) (time.Duration, bool) {
	if value == "" || len(value) > maxRetryDigits || strings.Trim(value, "0123456789") != "" {
		return 0, false
	}
	var n time.Duration
	for _, c := range value {
		n = n*10 + time.Duration(c-'0')
	}
	return n * time.Millisecond, true
}
