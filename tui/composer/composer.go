// Package composer is the line in which a person writes: several lines when
// needed, readline keys, completion of commands, a history, and pastes that
// never submit. It must not import anything of the interface but cells, theme,
// keymap and transcript's number formats.
package composer

import (
	"fmt"
	"strings"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/theme"
)

// The bounds.
const (
	// MaxLines is how many lines of input are visible.
	MaxLines = 6
	// PasteBytes and PasteLines are the largest paste that is shown as it is; a
	// larger one becomes a placeholder.
	PasteBytes = 2000
	PasteLines = 12
	// MaxPaste is the largest paste that is taken, in bytes, and MaxPastes how
	// many placeholders one input may hold.
	MaxPaste  = 16 << 20
	MaxPastes = 32
	// MaxHistory is how many earlier inputs are kept.
	MaxHistory = 1000
	// maxRows is how many completions are visible.
	maxRows = 6
)

// Candidate is one completion: the text that the input becomes, and what to say
// about it. Both are clean.
type Candidate struct {
	Text string
	Note string
}

// Composer is the input. It is not safe for concurrent use.
type Composer struct {
	area     textarea.Model
	complete func(text string) []Candidate
	found    []Candidate
	pick     int
	closed   bool // the person closed the completions for this text

	pastes map[string]string
	count  int

	history []string
	at      int    // position in history; len(history) is the draft
	draft   string // what was written before the history was entered
	search  *search
}

type search struct {
	query string
	at    int
}

// New returns an empty composer. complete offers completions for a text, from
// memory.
func New(th *theme.Theme, history []string, complete func(string) []Candidate) *Composer {
	if len(history) > MaxHistory {
		history = history[len(history)-MaxHistory:]
	}
	a := textarea.New()
	a.ShowLineNumbers, a.Prompt = false, ""
	a.CharLimit, a.MaxHeight, a.MaxWidth = 0, 0, 0
	a.SetVirtualCursor(false)
	a.Focus()
	c := &Composer{area: a, complete: complete, history: append([]string(nil), history...), pastes: map[string]string{}}
	c.at = len(c.history)
	c.SetTheme(th)
	return c
}

// SetTheme draws in other colours.
func (c *Composer) SetTheme(th *theme.Theme) {
	plain := lipgloss.NewStyle()
	st := textarea.StyleState{Base: plain, Text: th.Text, CursorLine: th.Text, Placeholder: th.Muted, Prompt: th.Accent, EndOfBuffer: plain}
	s := c.area.Styles()
	s.Focused, s.Blurred = st, st
	s.Cursor.Color = nil // the terminal's own
	c.area.SetStyles(s)
}

// Text is what is written, placeholders and all.
func (c *Composer) Text() string { return c.area.Value() }

// Empty reports that nothing is written.
func (c *Composer) Empty() bool { return c.area.Length() == 0 }

// Clear empties the input.
func (c *Composer) Clear() { c.Set("") }

// Set replaces the input.
func (c *Composer) Set(text string) {
	c.area.SetValue(string(safetext.ToBlock(text)))
	c.area.MoveToEnd()
	if text == "" {
		c.pastes = map[string]string{}
	}
	c.changed()
}

// Expand is what is sent: the input with pastes in place of placeholders.
func (c *Composer) Expand() string {
	s := c.area.Value()
	for mark, text := range c.pastes {
		s = strings.ReplaceAll(s, mark, text)
	}
	return s
}

// Take returns what is sent, remembers it and empties the input.
func (c *Composer) Take() string {
	shown, s := c.area.Value(), c.Expand()
	c.Remember(shown)
	c.Clear()
	return s
}

// Remember adds an input to the history, unless it repeats the last one.
func (c *Composer) Remember(text string) {
	if n := len(c.history); strings.TrimSpace(text) != "" && (n == 0 || c.history[n-1] != text) {
		c.history = append(c.history, text)
		if len(c.history) > MaxHistory {
			c.history = append([]string(nil), c.history[len(c.history)-MaxHistory:]...)
		}
	}
	c.at = len(c.history)
}

// History is the inputs, oldest first.
func (c *Composer) History() []string { return append([]string(nil), c.history...) }

// Paste inserts text. It returns a sentence when the text was not inserted as
// it is.
func (c *Composer) Paste(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n")
	switch {
	case c.search != nil:
		return ""
	case len(text) > MaxPaste:
		return fmt.Sprintf("the pasted text is %s; at most %s are taken", size(len(text)), size(MaxPaste))
	case len(text) > PasteBytes || strings.Count(text, "\n") > PasteLines:
		if len(c.pastes) >= MaxPastes {
			return fmt.Sprintf("this input already holds %d large pastes", MaxPastes)
		}
		c.count++
		mark := fmt.Sprintf("[paste %d: %d lines, %s]", c.count, strings.Count(text, "\n")+1, size(len(text)))
		c.pastes[mark] = text
		c.area.InsertString(mark)
		c.changed()
		return ""
	}
	clean := string(safetext.ToBlock(text))
	c.area.InsertString(clean)
	c.changed()
	if clean != strings.ReplaceAll(text, "\t", "    ") {
		return "invisible characters of the pasted text were made visible"
	}
	return ""
}

func size(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1000*1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1000/1000)
}

// changed looks for completions of the new text.
func (c *Composer) changed() {
	c.found, c.pick, c.closed = nil, 0, false
	if c.complete != nil && c.area.Length() < PasteBytes {
		text := c.area.Value()
		if command := strings.HasPrefix(text, "/"); command && !strings.Contains(text, "\n") || !command && strings.Contains(text, "@") {
			c.found = c.complete(text)
		}
	}
}

// Key edits with a key press. It handles completion, history and search; the
// caller has taken the keys for sending, the editor and quitting.
func (c *Composer) Key(k tea.KeyPressMsg, keys *keymap.Map) {
	id, _ := keys.Match(k, keymap.Composer)
	if c.search != nil {
		c.searchKey(k, id)
		return
	}
	switch id {
	case keymap.Newline:
		c.area.InsertRune('\n')
		c.changed()
		return
	case keymap.Complete:
		c.accept()
		return
	case keymap.HistorySearch:
		c.search = &search{at: len(c.history)}
		return
	case keymap.HistoryBack:
		if c.back() {
			return
		}
	case keymap.HistoryOn:
		if c.forward() {
			return
		}
	default:
	}
	before := c.area.Value()
	c.area, _ = c.area.Update(k)
	if c.area.Value() != before {
		c.changed()
	}
}

// back moves in the completions, or to an earlier input when the cursor is in
// the first line.
func (c *Composer) back() bool {
	if c.choosing() {
		c.pick = (c.pick - 1 + len(c.found)) % len(c.found)
		return true
	}
	if c.area.Line() > 0 || c.area.LineInfo().RowOffset > 0 || c.at == 0 {
		return false
	}
	if c.at == len(c.history) {
		c.draft = c.area.Value()
	}
	c.at--
	c.recall(c.history[c.at])
	return true
}

func (c *Composer) forward() bool {
	if c.choosing() {
		c.pick = (c.pick + 1) % len(c.found)
		return true
	}
	info := c.area.LineInfo()
	if c.area.Line() < c.area.LineCount()-1 || info.RowOffset < info.Height-1 || c.at >= len(c.history) {
		return false
	}
	c.at++
	if c.at == len(c.history) {
		c.recall(c.draft)
	} else {
		c.recall(c.history[c.at])
	}
	return true
}

func (c *Composer) recall(text string) {
	c.area.SetValue(text)
	c.area.MoveToEnd()
	c.found = nil
}

func (c *Composer) choosing() bool { return len(c.found) > 0 && !c.closed }

// accept takes the chosen completion.
func (c *Composer) accept() {
	if !c.choosing() {
		return
	}
	c.area.SetValue(c.found[c.pick].Text)
	c.area.MoveToEnd()
	c.changed()
}

// Escape closes the completions or the search and reports whether there was
// something to close.
func (c *Composer) Escape() bool {
	switch {
	case c.search != nil:
		c.search = nil
	case c.choosing():
		c.closed = true
	default:
		return false
	}
	return true
}

// Searching reports that keys go to the history search.
func (c *Composer) Searching() bool { return c.search != nil }

// EndSearch puts the found input into the composer.
func (c *Composer) EndSearch() {
	if hit, ok := c.hit(); ok {
		c.Set(hit)
	}
	c.search = nil
}

func (c *Composer) searchKey(k tea.KeyPressMsg, id keymap.ID) {
	s := c.search
	switch {
	case id == keymap.HistorySearch:
		if i := c.find(s.query, s.at-1); i >= 0 {
			s.at = i
		}
		return
	case k.String() == "backspace":
		if r := []rune(s.query); len(r) > 0 {
			s.query = string(r[:len(r)-1])
		}
	default:
		s.query += k.Text
	}
	s.at = c.find(s.query, len(c.history)-1)
	if s.at < 0 {
		s.at = len(c.history)
	}
}

func (c *Composer) find(query string, from int) int {
	for i := min(from, len(c.history)-1); i >= 0; i-- {
		if strings.Contains(strings.ToLower(c.history[i]), strings.ToLower(query)) {
			return i
		}
	}
	return -1
}

func (c *Composer) hit() (string, bool) {
	if c.search == nil || c.search.query == "" || c.search.at < 0 || c.search.at >= len(c.history) {
		return "", false
	}
	return c.history[c.search.at], true
}
