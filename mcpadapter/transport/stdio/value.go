package stdio

// isJSON reports whether the text is exactly one JSON value (RFC 8259) with
// nothing but white space around it. It is linear and does not recurse: the
// nesting is a stack of bits that grows to an eighth of the text at most, so
// that a frame nested beyond reason reaches the protocol layer and fails the
// request that it answers. Whether strings are valid UTF-8 is that layer's
// question too, for the same reason.
func isJSON(text []byte) bool {
	v := validator{b: text}
	v.space()
	if !v.value() {
		return false
	}
	for v.depth > 0 {
		if !v.step() {
			return false
		}
	}
	v.space()
	return v.i == len(v.b)
}

// validator walks over a text. Between two steps it stands after a complete
// value, or after an opening bracket.
type validator struct {
	b      []byte
	i      int
	depth  int
	low    uint64   // one bit a level, set for an object: the first 64
	stack  []uint64 // and the rest
	opened bool     // the last thing was an opening bracket
}

// step consumes one member, element or closing bracket of the innermost
// container.
func (v *validator) step() bool {
	first := v.opened
	v.opened = false
	v.space()
	object := v.inObject()
	closing := byte(']')
	if object {
		closing = '}'
	}
	if v.take(closing) {
		v.depth--
		return true
	}
	if !first && !v.take(',') {
		return false
	}
	v.space()
	if object {
		if !v.text() {
			return false
		}
		v.space()
		if !v.take(':') {
			return false
		}
		v.space()
	}
	return v.value()
}

// value consumes a scalar, or the opening bracket of a container.
func (v *validator) value() bool {
	if v.i >= len(v.b) {
		return false
	}
	switch c := v.b[v.i]; c {
	case '{', '[':
		v.i++
		v.push(c == '{')
		return true
	case '"':
		return v.text()
	case 't':
		return v.word("true")
	case 'f':
		return v.word("false")
	case 'n':
		return v.word("null")
	}
	return v.number()
}

func (v *validator) push(object bool) {
	if v.depth >= 64 && v.depth/64 > len(v.stack) {
		v.stack = append(v.stack, 0)
	}
	v.depth++
	bits, bit := v.top()
	*bits &^= bit
	if object {
		*bits |= bit
	}
	v.opened = true
}

func (v *validator) inObject() bool {
	bits, bit := v.top()
	return *bits&bit != 0
}

// top locates the bit of the innermost container.
func (v *validator) top() (bits *uint64, bit uint64) {
	level := v.depth - 1
	if level < 64 {
		return &v.low, 1 << level
	}
	return &v.stack[level/64-1], 1 << (level % 64)
}

func (v *validator) space() {
	for v.i < len(v.b) {
		switch v.b[v.i] {
		case ' ', '\t', '\r', '\n':
			v.i++
		default:
			return
		}
	}
}

func (v *validator) take(c byte) bool {
	if v.i < len(v.b) && v.b[v.i] == c {
		v.i++
		return true
	}
	return false
}

func (v *validator) word(w string) bool {
	if len(v.b)-v.i < len(w) || string(v.b[v.i:v.i+len(w)]) != w {
		return false
	}
	v.i += len(w)
	return true
}

// text consumes one string.
func (v *validator) text() bool {
	if !v.take('"') {
		return false
	}
	b := v.b
	for i := v.i; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			v.i = i + 1
			return true
		case c < ' ':
			return false
		case c == '\\':
			n := escape(b[i+1:])
			if n == 0 {
				return false
			}
			i += n
		}
	}
	return false
}

// escape measures what follows a backslash; 0 is no escape.
func escape(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(b) < 5 {
			return 0
		}
		for _, c := range b[1:5] {
			if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0
			}
		}
		return 5
	}
	return 0
}

func (v *validator) number() bool {
	v.take('-')
	if !v.take('0') && !v.digits() {
		return false
	}
	if v.take('.') && !v.digits() {
		return false
	}
	if v.take('e') || v.take('E') {
		if !v.take('+') {
			v.take('-')
		}
		return v.digits()
	}
	return true
}

// digits consumes at least one digit.
func (v *validator) digits() bool {
	start := v.i
	for v.i < len(v.b) && isDigit(v.b[v.i]) {
		v.i++
	}
	return v.i > start
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
