// Package search finds text in what a session's records say, the same way in
// every store. It must not import a store.
package search

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
)

// Types are the records that can match: what was said, and calls of tools.
var Types = []string{"input.queued", "turn.started", "turn.completed", "message.completed", "tool.requested"}

// Text is what is looked for. The zero Text matches everything.
type Text struct {
	want  string
	probe []byte
}

// For makes a Text that ignores the case of letters.
func For(s string) Text {
	t := Text{want: strings.ToLower(s)}
	// The longest run of letters that every encoding keeps as it is.
	for run := range strings.FieldsFuncSeq(t.want, func(r rune) bool {
		// Letters beyond ASCII have i and k as their small forms.
		return r >= utf8.RuneSelf || r == 'i' || r == 'k' || (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) {
		if len(run) > len(t.probe) {
			t.probe = []byte(run)
		}
	}
	return t
}

// In reports whether the text is in s.
func (t Text) In(s string) bool {
	return t.want == "" || strings.Contains(strings.ToLower(s), t.want)
}

// bodyMark is in every line whose text is stored apart.
var bodyMark = []byte(`"blob_of":"text"`)

// InRecord reports whether the text is in what a record says or in the name of a
// tool that it calls. body returns a stored body, "" when there is none. A line
// that cannot be read matches nothing.
func (t Text) InRecord(line []byte, body func(digest string) string) bool {
	if !bytes.Contains(line, bodyMark) && !bytes.Contains(bytes.ToLower(line), t.probe) {
		return false
	}
	e, err := event.Decode(line)
	if err != nil {
		return false
	}
	switch e := e.(type) {
	case *event.InputQueued:
		return t.In(e.Text)
	case *event.TurnStarted:
		return t.In(e.Text)
	case *event.TurnCompleted:
		return t.In(e.Text)
	case *event.ToolRequested:
		return t.In(e.Tool) || t.In(e.ModelName)
	case *event.MessageCompleted:
		for _, b := range e.Content {
			if b.Kind != content.KindText {
				continue
			}
			if t.In(b.Text) || b.Blob != "" && b.BlobOf == content.BlobText && t.In(body(b.Blob)) {
				return true
			}
		}
	}
	return false
}
