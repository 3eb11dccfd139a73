package stdio

import (
	"bytes"
	"encoding/json"
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

func newReader(src io.Reader, limit, noise int) *frameReader {
	return &frameReader{src: src, limit: limit, noiseLimit: noise,
		skipBytes: maxSkipBytes, skipTime: maxSkipTime, now: time.Now}
}

// drain reads to the end and renders what came as one string per frame.
func drain(r *frameReader) (frames []string, err error) {
	for {
		frame, err := r.next()
		if err != nil {
			return frames, err
		}
		if o := frame.Oversize; o != nil {
			frames = append(frames, fmt.Sprintf("over id=%s method=%s size=%d", o.ID, o.Method, o.Size))
			continue
		}
		frames = append(frames, string(frame.Data))
	}
}

func TestFramesNoiseAndOversize(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 100)
	cases := []struct {
		name, in string
		want     []string
		noise    int
	}{
		{"two frames", "{\"a\":1}\n[1]\n", []string{`{"a":1}`, "[1]"}, 0},
		{"crlf, blanks, mark", "\r\n\ufeff{\"a\":1}\r\n\n  \t\n { } \n", []string{`{"a":1}`, "{ }"}, 0},
		{"text, scalar, broken", "hello\n1\n{\"a\":\n{}{}\n\"x\"\n{}\n", []string{"{}"}, 5},
		{"last without newline", "{}", []string{"{}"}, 0},
		{"torn last", "{\"a\"", nil, 1},
		{"utf-16", "{\x00}\x00\n\x00{}\n", []string{"{}"}[:0], 2},
		{"invalid utf-8 in a string", "{\"a\":\"\xff\"}\n", []string{"{\"a\":\"\xff\"}"}, 0},
		{"invalid utf-8 elsewhere", "{\xff}\n\xff\xfe{}\n", nil, 2},
		{"nested beyond reason", strings.Repeat("[", 30) + strings.Repeat("]", 30) + "\n", []string{strings.Repeat("[", 30) + strings.Repeat("]", 30)}, 0},
		{"oversize", `{"id":7,"x":"` + big + "\"}\n{}\n", []string{"over id=7 method= size=115", "{}"}, 0},
		{"oversize noise", big + "\n{}\n", []string{"{}"}, 1},
		{"exactly at the limit", `{"x":"` + strings.Repeat("y", 56) + "\"}\n", []string{`{"x":"` + strings.Repeat("y", 56) + `"}`}, 0},
		{"one over the limit", `{"x":"` + strings.Repeat("y", 57) + "\"}\n", []string{"over id= method= size=65"}, 0},
	}
	for _, c := range cases {
		for _, src := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
			r := newReader(src, 64, 10)
			got, err := drain(r)
			if !errors.Is(err, io.EOF) {
				t.Errorf("%s: error %v", c.name, err)
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) || r.noise != c.noise {
				t.Errorf("%s (%T): got %q noise %d, want %q noise %d", c.name, src, got, r.noise, c.want, c.noise)
			}
		}
	}
}

// TestDepthBomb: nesting without end is judged without recursion, and left to
// the layer that can answer for it.
func TestDepthBomb(t *testing.T) {
	t.Parallel()
	const depth = 4 << 20
	r := newReader(strings.NewReader(strings.Repeat("[", depth)+strings.Repeat("]", depth)+"\n{}\n"), DefaultFrameBytes, 10)
	got, err := drain(r)
	if !errors.Is(err, io.EOF) || len(got) != 2 || len(got[0]) != 2*depth || r.noise != 0 {
		t.Fatalf("%d frames, noise %d, error %v", len(got), r.noise, err)
	}
}

func TestNoiseLimit(t *testing.T) {
	t.Parallel()
	var seen [][]byte
	r := newReader(strings.NewReader(strings.Repeat("noise\n", 12)), 64, 10)
	r.onNoise = func(line []byte, _ int) { seen = append(seen, bytes.Clone(line)) }
	_, err := drain(r)
	var noise *wire.NoiseError
	if !errors.As(err, &noise) || noise.Lines != 11 || noise.Limit != 10 || len(seen) != 11 {
		t.Fatalf("error %v, %d lines seen", err, len(seen))
	}
	if _, again := r.next(); !errors.As(again, &noise) {
		t.Fatalf("the failure does not last: %v", again)
	}
}

// endless yields the same byte for ever and counts what was taken.
type endless struct {
	b     byte
	first string
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

func TestEndlessFrameIsBounded(t *testing.T) {
	t.Parallel()
	src := &endless{b: 'x', first: `{"id":1,"x":"`}
	r := newReader(src, 1<<20, 10)
	r.skipBytes = 8 << 20
	_, err := r.next()
	var end *wire.FrameEndError
	if !errors.As(err, &end) || end.Limit != 8<<20 || end.Frame != 1<<20 || string(end.ID) != "1" || end.Waited != 0 || end.Skipped <= 8<<20 {
		t.Fatalf("error %v, %+v", err, end)
	}
	if src.taken > 9<<20 || cap(r.line) > headBytes {
		t.Fatalf("took %d bytes, kept %d", src.taken, cap(r.line))
	}
}

func TestSkipIsBoundedInTime(t *testing.T) {
	t.Parallel()
	clock := time.Unix(0, 0)
	src := &endless{b: 'x', first: "{"}
	r := newReader(src, 1<<10, 10)
	r.now = func() time.Time { clock = clock.Add(time.Second); return clock }
	_, err := r.next()
	var end *wire.FrameEndError
	if !errors.As(err, &end) || end.Waited != maxSkipTime || end.ID != nil || end.Skipped >= end.Limit {
		t.Fatalf("error %v, %+v", err, end)
	}
	if src.taken > 40*readBuffer {
		t.Fatalf("took %d bytes in half a minute of reads", src.taken)
	}
}

// A frame within its limit finds no room beside what others hold; the next one
// does, when they are done.
func TestCrowdedFrameIsSkipped(t *testing.T) {
	t.Parallel()
	b := wire.NewBudget(1<<20, time.Millisecond)
	other := wire.Share{Of: b}
	if !other.Grow(1 << 20) {
		t.Fatal("nobody else is there")
	}
	one := `{"id":7,"x":"` + strings.Repeat("x", 1<<20) + "\"}\n"
	r := newReader(strings.NewReader(one+"{}\n"+one), 2<<20, 1)
	r.share.Of = b
	frame, err := r.next()
	if o := frame.Oversize; err != nil || o == nil || !o.Crowded || string(o.ID) != "7" || o.Size > int64(o.Limit) {
		t.Fatalf("%+v %v", frame, err)
	}
	other.Release()
	if frame, err := r.next(); err != nil || string(frame.Data) != "{}" {
		t.Errorf("%+v %v", frame, err)
	}
	if frame, err := r.next(); err != nil || len(frame.Data) <= 1<<20 || b.Used() == 0 {
		t.Errorf("%d bytes, %v, %d held", len(frame.Data), err, b.Used())
	}
	if _, _ = r.next(); b.Used() != 0 {
		t.Errorf("%d are held at the end", b.Used())
	}
}

func TestMemoryStaysAtTheLimit(t *testing.T) {
	t.Parallel()
	const limit = 4 << 20
	in := `{"x":"` + strings.Repeat("y", limit-100) + "\"}\n"
	r := newReader(strings.NewReader(in), limit, 1)
	defer r.share.Release()
	frame, err := r.next()
	if err != nil || cap(frame.Data) > limit {
		t.Fatalf("error %v, capacity %d over the limit %d", err, cap(frame.Data), limit)
	}
}

func TestInterruptedReadLosesNothing(t *testing.T) {
	t.Parallel()
	pause := errors.New("pause")
	src := &hiccup{parts: []string{`{"a"`, "", `:1`, "", "}\n"}, err: pause}
	r := newReader(src, 64, 1)
	pauses := 0
	for {
		frame, err := r.next()
		if errors.Is(err, pause) {
			pauses++
			continue
		}
		if err != nil || string(frame.Data) != `{"a":1}` || pauses != 2 {
			t.Fatalf("frame %s, error %v, %d pauses", frame.Data, err, pauses)
		}
		return
	}
}

// hiccup yields its parts; an empty part is an error.
type hiccup struct {
	parts []string
	err   error
}

func (h *hiccup) Read(p []byte) (int, error) {
	if len(h.parts) == 0 {
		return 0, io.EOF
	}
	part := h.parts[0]
	h.parts = h.parts[1:]
	if part == "" {
		return 0, h.err
	}
	return copy(p, part), nil
}

// scan runs the member scanner over a text in pieces.
func scan(text []byte, piece int) (id []byte, method string) {
	var s memberScanner
	for len(text) > 0 {
		n := min(len(text), max(piece, 1))
		s.write(text[:n])
		text = text[n:]
	}
	return s.result()
}

func TestMemberScanner(t *testing.T) {
	t.Parallel()
	cases := []struct{ head, id, method string }{
		{`{"jsonrpc":"2.0","id":12,"result":{"x":"`, "12", ""},
		{`{"result":{"id":1,"a":[{"id":2}]},"id":"a\"b","x`, `"a\"b"`, ""},
		{`{"text":"\"id\":1,","method":"tools/call","id":3 ,`, "3", "tools/call"},
		{`{"x":"\\","id":4}`, "4", ""},
		{`{"result":{"id":1`, "", ""},
		{`{"id":12`, "", ""},
		{`{"id":"ab`, "", ""},
		{`{"\u0069d":5,"m":0`, "5", ""},
		{`{"id":1,"id":2,`, "", ""},
		{`{"id":null,`, "", ""},
		{`{"id":{"a":1},`, "", ""},
		{`{"id":0x1,`, "", ""},
		{`[{"id":1,`, "", ""},
		{`{ "method" : "a" , "id" : -1 }`, "-1", "a"},
		{`{"Id":1,"iD":2,"method":5,`, "", ""},
		{`{"result":{"text":"` + strings.Repeat(`\\\"id\":1,{`, 5000) + `"},"jsonrpc":"2.0","id":77}`, "77", ""},
		{`{"` + strings.Repeat("k", 5000) + `":"` + strings.Repeat("v", 5000) + `","id":8}`, "8", ""},
		{`{"id":"` + strings.Repeat("v", 5000) + `","a":1}`, "", ""},
		{`{"a":1 "id":3}`, "", ""},
	}
	for _, c := range cases {
		for _, piece := range []int{1, 3, 1 << 20} {
			id, method := scan([]byte(c.head), piece)
			if string(id) != c.id || method != c.method {
				t.Errorf("%s in pieces of %d: id %s method %q, want %s %q", c.head, piece, id, method, c.id, c.method)
			}
		}
	}
}

// FuzzFrames compares the reader with the plain meaning of the format: split
// at newlines, judge each line.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{"{}\n", "{\"id\":1,\"a\":\"" + strings.Repeat("x", 200) + "\"}\nnoise\r\n[]\n", "\ufeff{}\n\n\xff\n",
		"{\"a\":[1,2,{\"id\":3}]}", strings.Repeat("[", 300) + "\n", "{\x00}\x00\n", " { } \t\r\n"} {
		f.Add([]byte(seed), uint64(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		const limit = 128
		chunks := rand.New(rand.NewPCG(seed, seed))
		r := newReader(&ragged{b: in, next: func() int { return 1 + chunks.IntN(100) }}, limit, 1<<30)
		got, err := drain(r)
		if !errors.Is(err, io.EOF) {
			t.Fatalf("error %v", err)
		}
		want, noise := plain(in, limit)
		if fmt.Sprint(got) != fmt.Sprint(want) || r.noise != noise {
			t.Fatalf("got %q noise %d, want %q noise %d", got, r.noise, want, noise)
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

func plain(in []byte, limit int) (frames []string, noise int) {
	for line := range bytes.SplitSeq(in, []byte("\n")) {
		over := len(line) > limit
		text := trimLine(line[:min(len(line), headBytes)])
		switch {
		case over && looksLikeJSON(text):
			id, method := scan(bytes.TrimPrefix(line, byteOrderMark), len(line))
			frames = append(frames, fmt.Sprintf("over id=%s method=%s size=%d", id, method, len(line)))
		case over:
			noise++
		case len(text) == 0:
		case looksLikeJSON(text) && json.Valid(text):
			frames = append(frames, string(text))
		default:
			noise++
		}
	}
	return frames, noise
}

// FuzzIsJSON holds the validator against the standard library's.
func FuzzIsJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-0.5e+3,true,false,null,"\u00e9\n"],"b":{}}`, `[[[]],{}]`, `{"a":1,}`, `[1 2]`, `{"a" 1}`, `01`, `-`, `1.`, `1e`,
		`"\x"`, "\"\x01\"", `{,}`, `[,]`, `{"a":}`, `{1:2}`, `{}}`, `[]]`, `tru`, ``, ` `, "{\"\xff\":1}", `{"a":[}]`, `[{]}`, strings.Repeat("[{\"a\":", 70)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if got, want := isJSON(in), json.Valid(in); got != want && bytes.Count(in, []byte("["))+bytes.Count(in, []byte("{")) < 10_000 {
			t.Fatalf("%q: %v, want %v", in, got, want)
		}
	})
}

// FuzzMemberScanner holds the scanner against a real parser: on whole objects
// it finds exactly the members of the outermost object, however the text comes
// in pieces.
func FuzzMemberScanner(f *testing.F) {
	f.Add([]byte(`{"result":{"id":1},"id":"x","method":"m"}`), 20)
	f.Add([]byte(`{"a":"\"id\":1","id":22}`), 23)
	f.Fuzz(func(t *testing.T, in []byte, piece int) {
		var object map[string]json.RawMessage
		id, method := scan(in, piece)
		if whole, same := scan(in, len(in)); !bytes.Equal(whole, id) || same != method {
			t.Fatalf("%q: id %s in pieces of %d, %s in one", in, id, piece, whole)
		}
		if bytes.IndexByte(in, '\n') >= 0 || json.Unmarshal(in, &object) != nil || object == nil {
			return
		}
		want := object["id"]
		if id != nil && !bytes.Equal(id, want) {
			t.Fatalf("%q: id %s, want %s", in, id, want)
		}
		once := len(want) <= maxMember && isID(want) && bytes.Count(in, []byte("id")) == 1 && !bytes.Contains(in, []byte(`\u`))
		if id == nil && once {
			t.Fatalf("%q: the id %s was not found", in, want)
		}
	})
}

func BenchmarkReadSmallFrames(b *testing.B) {
	line := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"5"}]}}` + "\n")
	benchmarkRead(b, bytes.Repeat(line, 512), 512)
}

func BenchmarkReadLargeFrame(b *testing.B) {
	benchmarkRead(b, []byte(`{"id":1,"result":"`+strings.Repeat("x", 4<<20)+"\"}\n"), 1)
}

func BenchmarkSkipOversize(b *testing.B) {
	in := []byte(`{"id":1,"result":"` + strings.Repeat("x", 64<<20) + "\"}\n")
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if frame, err := newReader(bytes.NewReader(in), DefaultFrameBytes, 1).next(); err != nil || frame.Oversize == nil {
			b.Fatal(err)
		}
	}
}

func benchmarkRead(b *testing.B, in []byte, frames int) {
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		r := newReader(bytes.NewReader(in), DefaultFrameBytes, 1)
		for range frames {
			if _, err := r.next(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
