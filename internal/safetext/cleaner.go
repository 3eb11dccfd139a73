package safetext

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// cleaner walks the input unit by unit. A unit is what must not be torn apart by a
// cut: a character, a joiner with the emoji it joins, or the surplus of a stack of
// marks. Whether a character stays depends only on what was written before it and
// on the input after it, which is why a second pass over the output agrees.
type cleaner struct {
	in     string
	max    int  // cap of out, and of the input that is looked at
	breaks bool // line breaks stay
	out    strings.Builder

	cutOut, cutIn int // the last point at which a cut marker still fits
	reserve       int // bytes of the cut marker

	marks int  // extenders that follow the current base
	based bool // a base character precedes on this line
	emoji bool // the last character is an emoji, or its modifier or selector
	joins int  // joiners in the current emoji
}

func newCleaner(s string, max int, breaks bool) *cleaner {
	c := &cleaner{in: s, max: max, breaks: breaks, reserve: len(cutMarker(len(s)))}
	c.out.Grow(min(len(s)+c.reserve, max+c.reserve))
	return c
}

// String is the result of run.
func (c *cleaner) String() string { return c.out.String() }

// run cleans the whole input, or cuts at the last unit that leaves room to say so.
func (c *cleaner) run() {
	pos := 0
	for pos < len(c.in) && pos < c.max {
		if n := c.plainRun(pos); n > 0 {
			pos += n
			continue
		}
		pos += c.unit(pos)
		if c.out.Len() > c.max {
			break
		}
		c.boundary(pos)
	}
	if pos >= len(c.in) && c.out.Len() <= c.max {
		return
	}
	kept := c.out.String()[:c.cutOut]
	c.out.Reset()
	c.out.WriteString(kept)
	c.out.WriteString(cutMarker(len(c.in) - c.cutIn))
}

// boundary remembers the current point as one to cut at, if the marker fits.
func (c *cleaner) boundary(pos int) {
	if c.out.Len() <= c.max-c.reserve {
		c.cutOut, c.cutIn = c.out.Len(), pos
	}
}

// plainRun copies a run of printable ASCII and returns its length.
func (c *cleaner) plainRun(pos int) int {
	room := min(len(c.in)-pos, c.max-pos, c.max-c.out.Len())
	n := 0
	for n < room && plainByte(c.in[pos+n]) {
		n++
	}
	if n == 0 {
		return 0
	}
	// A cut may fall anywhere inside the run.
	if fit := c.max - c.reserve - c.out.Len(); fit > 0 {
		k := min(fit, n)
		c.cutOut, c.cutIn = c.out.Len()+k, pos+k
	}
	c.out.WriteString(c.in[pos : pos+n])
	c.base(false)
	return n
}

// unit writes what stands for the character at pos and returns the length of the
// input that it consumed.
func (c *cleaner) unit(pos int) int {
	r, size := utf8.DecodeRuneInString(c.in[pos:])
	if r == utf8.RuneError && size == 1 {
		c.visible(byteForm(c.in[pos]))
		return 1
	}
	switch {
	case r < 0x20 || r == 0x7f:
		return c.control(pos, byte(r))
	case r == zwj:
		return c.joiner(pos, size)
	case r == vs16:
		return c.selector(pos, size)
	case isHidden(r):
		c.visible(RuneForm(r))
	case isExtender(r):
		return c.extender(pos, r, size)
	default:
		c.out.WriteRune(r)
		c.base(isEmoji(r))
	}
	return size
}

// control writes a C0 control or DEL: a line break or a tab as text, everything
// else as its picture.
func (c *cleaner) control(pos int, b byte) int {
	size := 1
	if b == '\r' && strings.HasPrefix(c.in[pos:], "\r\n") {
		b, size = '\n', 2
	}
	switch {
	case b == '\n' && c.breaks:
		c.out.WriteByte('\n')
		c.marks, c.based, c.emoji, c.joins = 0, false, false, 0
	case b == '\t':
		c.visible("    "[:TabSpaces])
	case b == 0x7f:
		c.visible("␡")
	default:
		c.visible(string(rune(0x2400) + rune(b)))
	}
	return size
}

// joiner keeps a zero-width joiner between two emoji, with the second, and shows it
// anywhere else.
func (c *cleaner) joiner(pos, size int) int {
	next, n := utf8.DecodeRuneInString(c.in[pos+size:])
	if !c.emoji || c.joins >= maxEmojiJoins || !isPictographic(next) {
		c.visible(RuneForm(zwj))
		return size
	}
	joins := c.joins + 1
	c.out.WriteString(c.in[pos : pos+size+n])
	c.base(true)
	c.joins = joins
	return size + n
}

// selector keeps the emoji presentation selector behind an emoji, and together with
// the enclosing mark inside a keycap, and shows it anywhere else.
func (c *cleaner) selector(pos, size int) int {
	last, _ := utf8.DecodeLastRuneInString(c.out.String())
	switch {
	case isKeycapBase(last) && c.marks == 0 && strings.HasPrefix(c.in[pos+size:], keycapMark):
		size += len(keycapMark)
		c.marks++
		fallthrough
	case isPictographic(last):
		c.out.WriteString(c.in[pos : pos+size])
	default:
		c.visible(RuneForm(vs16))
	}
	return size
}

// extender writes a character that is drawn onto the one before it. A stack keeps
// MaxMarks of them; the surplus is one unit and becomes a count. A mark that has
// nothing to sit on gets a dotted circle, so that it cannot sit on the host's text.
func (c *cleaner) extender(pos int, r rune, size int) int {
	if !c.based && isMark(r) {
		c.out.WriteString(dottedCircle)
		c.base(false)
	}
	if !c.based {
		c.out.WriteRune(r)
		c.base(false)
		return size
	}
	if c.marks < MaxMarks {
		c.out.WriteRune(r)
		c.marks++
		c.emoji = c.emoji && isModifier(r)
		return size
	}
	end, count := pos, 0
	for end < len(c.in) && end < c.max {
		r, n := utf8.DecodeRuneInString(c.in[end:])
		if !isExtender(r) {
			break
		}
		end, count = end+n, count+1
	}
	c.visible("‹+" + strconv.Itoa(count) + " marks›")
	return end - pos
}

// visible writes text that stands for something else.
func (c *cleaner) visible(text string) {
	c.out.WriteString(text)
	c.base(false)
}

// base records that the last character written starts a new cluster.
func (c *cleaner) base(emoji bool) {
	c.marks, c.based, c.emoji, c.joins = 0, true, emoji, 0
}

// RuneForm is the visible form of a code point, for example ‹U+202E›.
func RuneForm(r rune) string {
	digits := strings.ToUpper(strconv.FormatInt(int64(r), 16))
	return "‹U+" + strings.Repeat("0", max(0, 4-len(digits))) + digits + "›"
}

// byteForm is the visible form of a byte that is not UTF-8, for example ‹0x9B›.
func byteForm(b byte) string {
	const hex = "0123456789ABCDEF"
	return "‹0x" + string([]byte{hex[b>>4], hex[b&15]}) + "›"
}

// cutMarker says that n bytes of the input were left out.
func cutMarker(n int) string { return "…‹+" + strconv.Itoa(n) + " bytes›" }
