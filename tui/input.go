package tui

import (
	"bytes"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/tui/composer"
)

const (
	// pasteWait is how long the rest of a paste is waited for in one read, and
	// pasteTurn how much of it is taken, in bytes: in between the reader can be
	// stopped.
	pasteWait = 5 * time.Millisecond
	pasteTurn = 1 << 20
)

// The marks around a bracketed paste.
var (
	pasteStart = []byte("\x1b[200~")
	pasteEnd   = []byte("\x1b[201~")
)

// terminalInput is the terminal's input with two things made right before keys
// are decoded from it: what was typed before the terminal was ours, and large
// pastes.
//
// A paste is taken out and handed over whole, because decoding ten megabytes key
// by key takes seconds. One that ends in the read in which it begins is left
// alone, and so is one that begins in the middle of a read, which keeps the order
// of keys.
type terminalInput struct {
	*os.File
	send func(tea.Msg)

	begun  bool // something was read
	inside bool
	text   []byte
}

// Read implements io.Reader. It may return no bytes and no error.
func (r *terminalInput) Read(p []byte) (int, error) {
	n, err := r.File.Read(p)
	if n == 0 || err != nil {
		return n, err
	}
	got := p[:n]
	if !r.begun {
		r.begun = true
		enterOf(got)
	}
	if !r.inside {
		rest, begins := bytes.CutPrefix(got, pasteStart)
		if !begins || bytes.Contains(rest, pasteEnd) {
			return n, nil
		}
		r.inside, got = true, rest
	}
	return r.rest(p, r.take(got))
}

// rest goes on reading a paste while it keeps coming: a terminal hands over a few
// kilobytes at a time, and each way through the event loop costs more than the
// read. after is what followed the paste's end.
func (r *terminalInput) rest(p, after []byte) (int, error) {
	for taken := 0; r.inside && taken < pasteTurn && ready(r.File, pasteWait); {
		n, err := r.File.Read(p)
		if n == 0 || err != nil {
			return 0, err
		}
		taken += n
		after = r.take(p[:n])
	}
	return copy(p, after), nil
}

// enterOf turns the end of a line that was typed before the terminal was in raw
// mode back into the key that was pressed: until then the terminal's driver
// turns enter into a line feed, which is ctrl+j here. Only one line that ends the
// text is taken for a key; several may have been pasted, and a paste never
// submits.
func enterOf(got []byte) {
	typed := got
	if i := bytes.IndexByte(got, 0x1b); i >= 0 {
		typed = got[:i] // what follows is an answer of the terminal, or a key of its own
	}
	if n := len(typed); n > 1 && bytes.IndexByte(typed, '\n') == n-1 {
		typed[n-1] = '\r'
	}
}

// take adds to the paste and returns what follows its end.
func (r *terminalInput) take(got []byte) []byte {
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
