package early

// What debug.ReadBuildInfo reports stands in the program's file as well: the
// record opens the first writable segment, as a magic number, a flag that says
// how it goes on, and two texts, each with its length before it (see the
// package debug/buildinfo). The second text is the build's settings, one a line.
const (
	recordMagic   = "\xff Go buildinf:"
	recordTexts   = 32 // where the texts begin
	recordFlags   = 15
	textsInline   = 2       // the flag of the only form that is read here
	maxRecord     = 1 << 16 // a main module stands in the first lines
	maxTextLength = 1 << 20
	lengthBytes   = 3 // that a length up to that may have, of seven bits each
)

// mainVersion finds the main module's version in a record: "" when the record
// is not understood.
func mainVersion(record []byte) string {
	if len(record) < recordTexts || string(record[:len(recordMagic)]) != recordMagic || record[recordFlags]&textsInline == 0 {
		return ""
	}
	_, rest := text(record[recordTexts:])
	settings, _ := text(rest)
	for len(settings) > 0 {
		var line, module, field []byte
		line, settings = cut(settings, '\n')
		field, line = cut(line, '\t')
		if string(field) != "mod" {
			continue
		}
		module, line = cut(line, '\t')
		field, _ = cut(line, '\t')
		if len(module) == 0 {
			return ""
		}
		return Named(string(field))
	}
	return ""
}

// text takes one text with its length off the front; what is cut short is
// returned as far as it goes.
func text(b []byte) (text, rest []byte) {
	length := 0
	for i, c := range b[:min(len(b), lengthBytes)] {
		length |= int(c&0x7f) << (7 * i)
		if length > maxTextLength {
			return nil, nil
		}
		if c < 0x80 {
			b = b[i+1:]
			length = min(length, len(b))
			return b[:length], b[length:]
		}
	}
	return nil, nil
}

// cut splits b at the first separator.
func cut(b []byte, separator byte) (before, after []byte) {
	for i, c := range b {
		if c == separator {
			return b[:i], b[i+1:]
		}
	}
	return b, nil
}
