package httpguard

import "github.com/looprig/looprig/mcpadapter/internal/wire"

// Sizes of a pile's pieces.
const (
	firstPiece  = 4 << 10
	largerPiece = 8 // a new piece is at most an eighth of what is there, and then some
	maxPiece    = 1 << 20
)

// Pile collects bytes of a length that nobody announced. It grows by pieces and
// never copies one to make room, so that what turns out to be too large has
// cost its own size and nothing besides: a slice that is appended to leaves
// several times its size behind on the way. The zero Pile is empty. It is used
// by one goroutine.
type Pile struct {
	full [][]byte
	last []byte
	size int
}

// Len is the number of bytes.
func (p *Pile) Len() int { return p.size }

// Write adds a copy of b; it never fails.
func (p *Pile) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		room := p.room()
		n := copy(room, rest)
		p.filled(n)
		rest = rest[n:]
	}
	return len(b), nil
}

// room is where the next bytes go, never empty; filled says how many went.
func (p *Pile) room() []byte {
	if len(p.last) == cap(p.last) {
		if len(p.last) > 0 {
			p.full = append(p.full, p.last)
		}
		p.last = make([]byte, 0, min(max(firstPiece, p.size/largerPiece), maxPiece))
	}
	return p.last[len(p.last):cap(p.last)]
}

func (p *Pile) filled(n int) {
	p.last = p.last[:len(p.last)+n]
	p.size += n
}

// Take empties the pile and returns what was in it, in one piece that the
// caller keeps, with its exact capacity.
func (p *Pile) Take() []byte {
	all := make([]byte, 0, p.size)
	for _, piece := range p.full {
		all = append(all, piece...)
	}
	all = append(all, p.last...)
	p.reset()
	return all
}

// drain hands the pieces out in order and forgets them.
func (p *Pile) drain(each func(piece []byte)) {
	for _, piece := range p.full {
		each(piece)
	}
	each(p.last)
	*p = Pile{}
}

// reset empties the pile; a piece of an ordinary size is kept for what comes.
func (p *Pile) reset() {
	last := p.last[:0]
	if cap(last) > keptData || len(p.full) > 0 {
		last = nil
	}
	*p = Pile{last: last}
}

// ReadAll reads src to its end. When there are more than limit bytes, or more
// than there is room for in the share, over is how many were read, and nothing of
// them is kept.
func (p *Pile) ReadAll(src interface{ Read([]byte) (int, error) }, limit int, share *wire.Share) (over int64, err error) {
	for {
		n, err := src.Read(p.room())
		p.filled(n)
		if p.size > limit || !share.Grow(p.size) {
			over, *p = int64(p.size), Pile{}
			return over, nil
		}
		if err != nil {
			return 0, err
		}
	}
}
