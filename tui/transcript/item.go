package transcript

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/tui/markdown"
	"github.com/looprig/looprig/tui/theme"
)

// Kind is what an item shows.
type Kind uint8

// The kinds of item.
const (
	KindUser Kind = iota
	KindAssistant
	KindCall
	KindRule // a catalog change: a line across the transcript
	KindNote
	KindFetched // a prompt or a resource that a person asked for
)

// Level is how much a note matters.
type Level uint8

// The levels.
const (
	Info Level = iota
	Warn
	Bad
)

// CallState is where a call is.
type CallState uint8

// The states of a call.
const (
	CallRequested CallState = iota
	CallGated
	CallRunning
	CallDone
)

// Call is what is known of one tool call. All text in it is raw.
type Call struct {
	ID        string
	Tool      string // identity
	ModelName string
	By        string
	Args      json.RawMessage
	State     CallState
	Started   time.Time
	Progress  string
	Outcome   tool.Outcome
	Reason    string
	Content   []content.Block
	Data      json.RawMessage
	DataFault string
	Took      time.Duration
	Gated     time.Duration
	Sent      bool
}

// Item is one entry of the transcript. Its text is raw and is cleaned when it is
// laid out.
type Item struct {
	kind     Kind
	time     time.Time
	loop     string
	text     string
	level    Level
	call     *Call
	fetched  *Fetched
	doc      *markdown.Doc
	live     *stream
	reason   *stream // reasoning, shown folded
	raw      []byte
	task     bool // of KindUser: a model's words, not a person's
	expanded bool
	size     int

	version int
	cache   cached
}

type cached struct {
	version, width int
	th             *theme.Theme
	now            int64 // whole seconds, for items whose text depends on the time
	lines          []string
}

func (it *Item) touch() { it.version++ }

// Call returns the item's call, or nil.
func (it *Item) Call() *Call { return it.call }

// Kind returns the item's kind.
func (it *Item) Kind() Kind { return it.kind }

// Text is the item's text as received.
func (it *Item) Text() string {
	switch {
	case it.live != nil:
		return it.live.text()
	case it.call != nil:
		return callText(it.call)
	case it.fetched != nil:
		return it.fetched.Text()
	}
	return it.text
}

// Raw is the JSON line of the item's last durable event, or nil.
func (it *Item) Raw() []byte { return it.raw }

func callText(c *Call) string {
	s := Plain(c.Content)
	if s == "" && len(c.Data) > 0 {
		s = string(c.Data)
	}
	if s == "" {
		s = c.Reason
	}
	return s
}

// Plain is the text of blocks; one whose body is stored apart is named in its
// place.
func Plain(blocks []content.Block) string {
	var out []string
	for _, b := range blocks {
		switch {
		case b.Blob != "":
			out = append(out, Stored(b))
		case b.Kind == content.KindText:
			out = append(out, b.Text)
		}
	}
	return strings.Join(out, "\n")
}
