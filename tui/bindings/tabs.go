package bindings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/list"
	"github.com/looprig/looprig/tui/theme"
)

// tab is what is shown of a binding.
type tab uint8

const (
	tabDetail tab = iota
	tabStderr
	tabLogs
	tabTrace
)

var tabWords = [...]string{"detail", "stderr", "logs", "trace"}

const (
	// maxHead is how much of a message is read for its summary, in bytes.
	maxHead = 4 << 10
	// maxLine is what is laid out of one log message in a line, in bytes.
	maxLine = 2 << 10
)

// Page is a text for a pager: a log message or a protocol message, raw.
type Page struct{ Title, Text string }

// tabOf is the tab that a key opens.
func tabOf(id keymap.ID) tab {
	switch id {
	case keymap.BindingStderr:
		return tabStderr
	case keymap.BindingLogs:
		return tabLogs
	case keymap.BindingTrace:
		return tabTrace
	default:
	}
	return tabDetail
}

// openTab shows a tab, or the detail again when it is open already.
func (s *Screen) openTab(t tab) {
	if s.detail && s.tab == t {
		t = tabDetail
	}
	s.detail, s.tab, s.pager, s.cursor = true, t, list.Pager{}, row{}
}

// row is the entry of logs or trace under the cursor: the newest one, or one that
// was chosen and stays chosen while others come.
type row struct {
	chosen bool
	time   time.Time
	same   int // among those of the same time
}

// entry is one line of logs or trace.
type entry struct {
	time time.Time
	line func() string // laid out only when it is visible
}

// entries are the lines of the open tab, oldest first.
func (s *Screen) entries(b integration.Binding, d Data, th *theme.Theme) []entry {
	var out []entry
	switch {
	case s.tab == tabLogs && d.Logs != nil:
		for _, l := range d.Logs(b.Name) {
			out = append(out, entry{l.Time, func() string { return logLine(l, th) }})
		}
	case s.tab == tabTrace && d.Trace != nil:
		for _, f := range d.Trace(b.Name) {
			out = append(out, entry{f.Time, func() string { return frameLine(f, th) }})
		}
	}
	return out
}

// at is the index of the row under the cursor.
func (r row) at(all []entry) int {
	if !r.chosen {
		return len(all) - 1
	}
	n := 0
	for i, e := range all {
		if e.time.Equal(r.time) {
			if n == r.same {
				return i
			}
			n++
		}
		if e.time.After(r.time) {
			return i
		}
	}
	return len(all) - 1
}

// choose puts the cursor on a row; the last one follows what comes.
func (r *row) choose(all []entry, i int) {
	if i >= len(all)-1 {
		*r = row{}
		return
	}
	i = max(i, 0)
	*r = row{chosen: true, time: all[i].time}
	for j := range i {
		if all[j].time.Equal(r.time) {
			r.same++
		}
	}
}

// tabKey moves in logs and trace and opens an entry.
func (s *Screen) tabKey(k tea.KeyPressMsg, id keymap.ID, b integration.Binding, d Data) (*Page, bool) {
	if !s.detail || s.tab != tabLogs && s.tab != tabTrace {
		return nil, false
	}
	all := s.entries(b, d, nil)
	at := s.cursor.at(all)
	switch key := k.String(); {
	case id == keymap.BindingDetail:
		return s.page(b, d, at), true
	case key == "up" || key == "k":
		s.cursor.choose(all, at-1)
	case key == "down" || key == "j":
		s.cursor.choose(all, at+1)
	case key == "pgup":
		s.cursor.choose(all, at-10)
	case key == "pgdown":
		s.cursor.choose(all, at+10)
	case key == "home" || key == "g":
		s.cursor.choose(all, 0)
	case key == "end" || key == "G":
		s.cursor = row{}
	default:
		return nil, false
	}
	return nil, true
}

// page is the whole of an entry.
func (s *Screen) page(b integration.Binding, d Data, at int) *Page {
	name := string(safetext.Ident(b.Name))
	if s.tab == tabLogs {
		if all := d.Logs(b.Name); at >= 0 && at < len(all) {
			l := all[at]
			return &Page{Title: "log · " + name + " · " + string(safetext.ToLineN(l.Level, 32)), Text: strings.TrimSpace(l.Logger + "\n" + pretty(l.Data))}
		}
		return nil
	}
	all := d.Trace(b.Name)
	if at < 0 || at >= len(all) {
		return nil
	}
	f := all[at]
	text := pretty(f.Data)
	if f.Cut {
		var head string
		if json.Unmarshal(f.Data, &head) == nil {
			text = head
		}
		text += fmt.Sprintf("\n… the beginning of %d bytes", f.Bytes)
	}
	return &Page{Title: "trace · " + name + " · " + direction(f.Sent) + " " + f.Time.Format("15:04:05.000"), Text: text}
}

func direction(sent bool) string {
	if sent {
		return "→ sent"
	}
	return "← received"
}

// maxPretty bounds what is indented of one message, in bytes.
const maxPretty = 1 << 20

func pretty(doc json.RawMessage) string {
	var buf bytes.Buffer
	if len(doc) > maxPretty || json.Indent(&buf, doc, "", "  ") != nil {
		return string(doc)
	}
	return buf.String()
}

// tabView draws the open tab of a binding.
func (s *Screen) tabView(b integration.Binding, d Data, th *theme.Theme, w, h int) []string {
	switch s.tab {
	case tabStderr:
		p := printer{th: th, w: w}
		p.line(s.tabHead(b, th))
		if len(b.Stderr) == 0 {
			p.line(th.Muted.Render("nothing yet"))
		}
		for _, l := range b.Stderr {
			for _, part := range cells.Wrap(string(safetext.ToLine(l)), max(w-2, 1)) {
				p.line(th.Gutter.Render("│") + " " + part)
			}
		}
		return s.pager.View(th, p.out, w, h)
	case tabLogs, tabTrace:
		return s.rows(b, d, th, w, h)
	}
	return s.pager.View(th, detail(b, d, th, w), w, h)
}

func (s *Screen) tabHead(b integration.Binding, th *theme.Theme) string {
	return th.Bold.Render(string(safetext.Ident(b.Name))) + th.Muted.Render(" · "+tabWords[s.tab])
}

func (s *Screen) rows(b integration.Binding, d Data, th *theme.Theme, w, h int) []string {
	all := s.entries(b, d, th)
	head := s.tabHead(b, th)
	out := []string{cells.Spread(head, th.Muted.Render(fmt.Sprintf("%d kept", len(all))), w)}
	if len(all) == 0 {
		return append(out, th.Muted.Render(cells.Cut("nothing yet", w)))
	}
	at, room := s.cursor.at(all), max(h-1, 1)
	first := max(0, min(at-room/2, len(all)-room))
	for i := first; i < min(first+room, len(all)); i++ {
		line := all[i].line()
		if i == at {
			out = append(out, cells.Cut(th.Accent.Render("▸ ")+line, w))
			continue
		}
		out = append(out, cells.Cut("  "+line, w))
	}
	return out
}

// Severity sorts the level of a server's log message: "info", "warn" or "error".
func Severity(level string) string {
	switch level {
	case "warning", "notice":
		return "warn"
	case "error", "critical", "alert", "emergency":
		return "error"
	}
	return "info"
}

// LogData is the data of a log message in a line, raw: a text as it is, anything
// else as JSON.
func LogData(data json.RawMessage) string {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return text
	}
	return string(data[:min(len(data), maxLine)])
}

func logLine(l integration.LogEntry, th *theme.Theme) string {
	style := th.Muted
	switch Severity(l.Level) {
	case "warn":
		style = th.Warn
	case "error":
		style = th.Bad
	}
	text := LogData(l.Data)
	if l.Logger != "" {
		text = l.Logger + ": " + text
	}
	return th.Muted.Render(l.Time.Format("15:04:05")) + " " + style.Render(cells.Fit(string(safetext.ToLineN(l.Level, 32)), 8)) + " " + string(safetext.ToLineN(text, maxLine))
}

func frameLine(f integration.Frame, th *theme.Theme) string {
	arrow := th.Accent.Render("→")
	if !f.Sent {
		arrow = th.Good.Render("←")
	}
	return th.Muted.Render(f.Time.Format("15:04:05.000")) + " " + arrow + " " + what(f) + th.Muted.Render(fmt.Sprintf("  %d bytes", f.Bytes))
}

// what names a message by its method and id, read from its beginning alone.
func what(f integration.Frame) string {
	doc := []byte(f.Data)
	if f.Cut {
		var head string
		if json.Unmarshal(doc, &head) == nil {
			doc = []byte(head)
		}
	}
	method, id, kind := envelope(doc[:min(len(doc), maxHead)])
	switch {
	case method != "" && id != "":
		return string(safetext.ToLineN(method, 80)) + " #" + string(safetext.ToLineN(id, 40))
	case method != "":
		return string(safetext.ToLineN(method, 80))
	case kind != "" || id != "":
		return strings.TrimSpace(kind + " #" + string(safetext.ToLineN(id, 40)))
	}
	return "message"
}

// envelope reads the members of a message that name it, until the document ends
// or breaks off.
func envelope(doc []byte) (method, id, kind string) {
	dec := jsontext.NewDecoder(bytes.NewReader(doc), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != jsontext.KindBeginObject {
		return "", "", ""
	}
	for {
		name, err := dec.ReadToken()
		if err != nil || name.Kind() != jsontext.KindString {
			return method, id, kind
		}
		switch member := name.String(); member {
		case "result", "error":
			kind = member
		case "method", "id":
			v, err := dec.ReadValue()
			if err != nil {
				return method, id, kind
			}
			if member == "id" {
				id = strings.Trim(string(v), `"`)
			} else {
				method = strings.Trim(string(v), `"`)
			}
			continue
		}
		if dec.SkipValue() != nil {
			return method, id, kind
		}
	}
}
