package safetext

import "strings"

// Caps and limits. Byte counts are bytes of the cleaned text, its cut marker
// included; no more than the same number of bytes of the input is looked at.
const (
	// DefaultLineBytes is the cap of ToLine.
	DefaultLineBytes = 4 << 10
	// DefaultBlockBytes is the cap of ToBlock.
	DefaultBlockBytes = 1 << 20
	// IdentBytes is the cap of Ident.
	IdentBytes = 512
	// MinBytes is the smallest cap: room for a cut marker. Smaller caps act as it.
	MinBytes = 32
	// MaxMarks is how many combining marks one base character keeps; the rest of
	// the stack becomes a count.
	MaxMarks = 4
	// TabSpaces is how many spaces stand for a tab.
	TabSpaces = 4

	// maxEmojiJoins bounds the zero-width joiners inside one emoji: the longest
	// sequences in use have three, and every join hides a character from
	// width calculations.
	maxEmojiJoins = 6
)

// Line is cleaned text without a line break.
type Line string

// String returns the cleaned text.
func (l Line) String() string { return string(l) }

// Block is cleaned text of any number of lines, separated by "\n".
type Block string

// String returns the cleaned text.
func (b Block) String() string { return string(b) }

// Lines splits the block at its line breaks. An empty block has one empty line.
func (b Block) Lines() []Line {
	parts := strings.Split(string(b), "\n")
	lines := make([]Line, len(parts))
	for i, p := range parts {
		lines[i] = Line(p)
	}
	return lines
}

// ToLine cleans s to one line of at most DefaultLineBytes. Line breaks become ␊,
// so that one record stays one line and still shows what it held.
func ToLine(s string) Line { return ToLineN(s, DefaultLineBytes) }

// ToLineN is ToLine with a cap of max bytes (at least MinBytes).
func ToLineN(s string, max int) Line {
	return Line(clean(s, max, false))
}

// ToBlock cleans s to lines of at most DefaultBlockBytes altogether. CRLF becomes
// a line break, a tab becomes TabSpaces spaces, a lone CR becomes ␍.
func ToBlock(s string) Block { return ToBlockN(s, DefaultBlockBytes) }

// ToBlockN is ToBlock with a cap of max bytes (at least MinBytes).
func ToBlockN(s string, max int) Block {
	return Block(clean(s, max, true))
}

// clean is the one pass behind lines and blocks.
func clean(s string, max int, breaks bool) string {
	if max < MinBytes {
		max = MinBytes
	}
	n := plainPrefix(s, breaks)
	if n == len(s) && n <= max {
		return s
	}
	c := newCleaner(s, max, breaks)
	c.run()
	return c.String()
}

// plainPrefix is the length of the longest prefix that needs no cleaning: printable
// ASCII, and line breaks where they stay.
func plainPrefix(s string, breaks bool) int {
	for i := 0; i < len(s); i++ {
		if !plainByte(s[i]) && (s[i] != '\n' || !breaks) {
			return i
		}
	}
	return len(s)
}

// plainByte reports printable ASCII.
func plainByte(b byte) bool { return b >= 0x20 && b < 0x7f }
