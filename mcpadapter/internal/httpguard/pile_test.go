package httpguard

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// TestPileKeepsEveryByte: whatever the sizes of the writes, what is taken is
// what was written, and taking empties.
func TestPileKeepsEveryByte(t *testing.T) {
	t.Parallel()
	var p Pile
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 50 {
		var want []byte
		for range random.IntN(40) {
			b := make([]byte, random.IntN(1<<(round%16)+1))
			for i := range b {
				b[i] = byte(random.Uint32())
			}
			want = append(want, b...)
			_, _ = p.Write(b)
		}
		if p.Len() != len(want) {
			t.Fatalf("round %d: %d bytes, not %d", round, p.Len(), len(want))
		}
		if got := p.Take(); !bytes.Equal(got, want) || cap(got) != len(want) {
			t.Fatalf("round %d: %d bytes (room %d), not the %d that were written", round, len(got), cap(got), len(want))
		}
		if p.Len() != 0 || cap(p.last) > keptData {
			t.Fatalf("round %d: %d bytes are left, room for %d", round, p.Len(), cap(p.last))
		}
	}
}

func TestPileReadAll(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789", 10_000)
	for _, src := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader(text))} {
		var p Pile
		over, err := p.ReadAll(src, len(text), &wire.Share{})
		if got := p.Take(); over != 0 || !errors.Is(err, io.EOF) || string(got) != text {
			t.Errorf("%T: %d over, %v, %d bytes", src, over, err, len(got))
		}
	}
	var p Pile
	if over, err := p.ReadAll(strings.NewReader(text), len(text)-1, &wire.Share{}); over < int64(len(text)) || err != nil || p.Len() != 0 {
		t.Errorf("one over: %d, %v, %d kept", over, err, p.Len())
	}
	// Within its limit, and without room beside what others hold.
	b := wire.NewBudget(1<<20, time.Millisecond)
	first, second := wire.Share{Of: b}, wire.Share{Of: b}
	defer first.Release()
	defer second.Release()
	if !first.Grow(1 << 20) {
		t.Fatal("nobody else is there")
	}
	long := strings.Repeat("x", 1<<20)
	if over, err := p.ReadAll(strings.NewReader(long), len(long), &second); over == 0 || over > int64(len(long)) || err != nil || p.Len() != 0 {
		t.Errorf("crowded: %d, %v, %d kept", over, err, p.Len())
	}
}

// allocated is how many bytes do allocates in all, garbage included.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLargeFramesCostTheirSize: data that nobody announced costs its own size
// and an eighth, not several times of it in garbage, which the collector lets
// stand for a while. Not parallel: all allocations count.
func TestLargeFramesCostTheirSize(t *testing.T) {
	const limit, slack = 16 << 20, 1 << 20
	event := allocated(func() {
		e := NewEvents(&endless{first: "data: ", b: 'x'}, limit)
		e.skip = 1 << 20
		_, _ = e.Next()
	})
	body := allocated(func() {
		var p Pile
		share := wire.Share{}
		defer share.Release()
		_, _ = p.ReadAll(&endless{b: 'x'}, limit, &share)
	})
	for name, got := range map[string]uint64{"an event": event, "a body": body} {
		if got > limit+limit/largerPiece+slack {
			t.Errorf("%s over the limit of %d MiB cost %d MiB", name, limit>>20, got>>20)
		}
	}
}
