package tui

import (
	"bytes"
	"os"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/tui/composer"
)

// The marks around a bracketed paste.
var (
	pasteStart = []byte("\x1b[200~")
	pasteEnd   = []byte("\x1b[201~")
)

// pasteReader is the terminal's input with large pastes taken out of it: they
// are handed over whole, because decoding ten megabytes key by key takes
// seconds. A paste that ends in the read in which it begins is left alone, and
// so is one that begins in the middle of a read, which keeps the order of keys.
type pasteReader struct {
	*os.File
	send func(tea.Msg)

	inside bool
	text   []byte
}

// Read implements io.Reader. It may return no bytes and no error.
func (r *pasteReader) Read(p []byte) (int, error) {
	n, err := r.File.Read(p)
	if n == 0 || err != nil {
		return n, err
	}
	got := p[:n]
	if !r.inside {
		rest, begins := bytes.CutPrefix(got, pasteStart)
		if !begins || bytes.Contains(rest, pasteEnd) {
			return n, nil
		}
		r.inside, got = true, rest
	}
	return copy(p, r.take(got)), nil
}

// take adds to the paste and returns what follows its end.
func (r *pasteReader) take(got []byte) []byte {
	from := max(len(r.text)-len(pasteEnd)+1, 0)
	r.text = append(r.text, got...)
	i := bytes.Index(r.text[from:], pasteEnd)
	if i < 0 {
		if over := len(r.text) - composer.MaxPaste - len(pasteEnd) - 1; over > 0 {
			// The paste will be refused for its size; keep only what decides that,
			// and the end in which the mark may begin.
			r.text = append(r.text[:composer.MaxPaste+1], r.text[len(r.text)-len(pasteEnd):]...)
		}
		return nil
	}
	content, rest := r.text[:from+i], bytes.Clone(r.text[from+i+len(pasteEnd):])
	r.inside, r.text = false, nil
	r.send(tea.PasteMsg{Content: strings.ToValidUTF8(string(content), "\uFFFD")})
	return rest
}
