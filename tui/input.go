package tui

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
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

// endRoom is how much longer the end of a paste is than what was read of it at
// worst: its number and the mark, for the last byte of the mark.
const endRoom = 8

// terminalInput is the terminal's input with two things made right before keys
// are decoded from it: what was typed before the terminal was ours, and pastes.
//
// A paste is taken out, and its number stands in its place until pasted puts it
// back. Decoding would look for control sequences in it: those that it finds it
// drops, one that does not end takes the end of the paste and every key after it,
// and ten megabytes key by key take seconds.
type terminalInput struct {
	*os.File

	begun  bool // something was read
	passed int  // bytes of a mark of the beginning at the end of the last read
	inside bool
	text   []byte

	mu     sync.Mutex
	count  int
	pastes []paste // read, and not yet asked for
}

// paste is the text of a paste and what stands in its place, one digit.
type paste struct{ number, text string }

// Read implements io.Reader. It may return no bytes and no error.
func (r *terminalInput) Read(p []byte) (int, error) {
	if len(p) <= 2*endRoom {
		return r.File.Read(p)
	}
	room := p[:len(p)-endRoom]
	n, err := r.File.Read(room)
	if n == 0 || err != nil {
		return n, err
	}
	if !r.begun {
		r.begun = true
		enterOf(room[:n])
	}
	out := r.feed(room[:n])
	// The rest of a paste is read while it keeps coming: a terminal hands over a few
	// kilobytes at a time, and each way through the event loop costs more than the
	// read. What is returned has to have room.
	for taken := 0; r.inside && taken < pasteTurn && len(out) < len(room)/2 && ready(r.File, pasteWait); {
		n, err := r.File.Read(room[:len(room)-len(out)])
		if n == 0 || err != nil {
			return copy(p, out), err
		}
		taken += n
		out = append(out, r.feed(room[:n])...)
	}
	return copy(p, out), nil
}

// feed takes pastes out of what was read and returns what is decoded.
func (r *terminalInput) feed(got []byte) []byte {
	var out []byte
	for len(got) > 0 {
		if r.inside {
			rest, number, ended := r.take(got)
			if !ended {
				return out
			}
			out, got = append(append(out, number...), pasteEnd...), rest
			continue
		}
		mark := pasteStart[r.passed:]
		if r.passed > 0 {
			r.passed = 0
			if len(got) < len(mark) && bytes.HasPrefix(mark, got) {
				r.passed = len(pasteStart) - len(mark) + len(got)
				return append(out, got...)
			}
			if bytes.HasPrefix(got, mark) {
				r.inside, out, got = true, append(out, mark...), got[len(mark):]
				continue
			}
		}
		i := bytes.Index(got, pasteStart)
		if i < 0 {
			for n := len(pasteStart) - 1; n > 0; n-- {
				if bytes.HasSuffix(got, pasteStart[:n]) {
					r.passed = n
					break
				}
			}
			return append(out, got...)
		}
		i += len(pasteStart)
		r.inside, out, got = true, append(out, got[:i]...), got[i:]
	}
	return out
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

// take adds to the paste. Where that is its end, it returns what follows and the
// paste's number.
func (r *terminalInput) take(got []byte) (rest []byte, number string, ended bool) {
	from := max(len(r.text)-len(pasteEnd)+1, 0)
	r.text = append(r.text, got...)
	i := bytes.Index(r.text[from:], pasteEnd)
	if i < 0 {
		if over := len(r.text) - composer.MaxPaste - len(pasteEnd) - 1; over > 0 {
			// The paste will be refused for its size; keep only what decides that,
			// and the end in which the mark may begin.
			r.text = append(r.text[:composer.MaxPaste+1], r.text[len(r.text)-len(pasteEnd):]...)
		}
		return nil, "", false
	}
	text := strings.ToValidUTF8(string(r.text[:from+i]), "\uFFFD")
	rest = bytes.Clone(r.text[from+i+len(pasteEnd):])
	r.inside, r.text = false, nil
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	number = strconv.Itoa(r.count % 10)
	r.pastes = append(r.pastes, paste{number, text})
	return rest, number, true
}

// pasted puts a paste in the place of its number. One whose number was lost, as
// when the terminal is given to an editor, is given up.
func (r *terminalInput) pasted(_ tea.Model, msg tea.Msg) tea.Msg {
	p, ok := msg.(tea.PasteMsg)
	if !ok {
		return msg
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, have := range r.pastes {
		if have.number == p.Content {
			r.pastes = append([]paste(nil), r.pastes[i+1:]...)
			p.Content = have.text
			return p
		}
	}
	return nil
}
