// Package transcript is the scrolling record of a session: what was said, which
// calls were made and what came of them, and where catalogs changed.
//
// It is a lazy list: an item keeps the lines that it was last laid out in, and
// only items that are visible are laid out, so that a frame costs the same with
// ten items or ten thousand. The number of items, and the bytes that they hold,
// are bounded; what is dropped is counted and is in the journal. The package
// must not import anything of the interface but cells, theme and markdown.
package transcript

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/tui/markdown"
)

// The bounds.
const (
	// MaxItems is how many items are kept.
	MaxItems = 20_000
	// MaxBytes is how much text the items hold together.
	MaxBytes = 24 << 20
	// MaxBodyLines and MaxBodyBytes bound what is shown of one body.
	MaxBodyLines = 200
	MaxBodyBytes = 64 << 10
	// dropShare is the part of the items that is dropped at once.
	dropShare = 10
)

// Transcript is the list. It is not safe for concurrent use.
type Transcript struct {
	items    []*Item
	calls    map[string]*Item
	live     map[string]*Item
	dropped  int
	bytes    int
	selected int
	top      anchor
	follow   bool
	loops    int // loops seen, to name them once there are several
	names    map[string]bool
	query    string
}

// New returns an empty transcript that follows its end.
func New() *Transcript {
	return &Transcript{calls: map[string]*Item{}, live: map[string]*Item{}, names: map[string]bool{}, follow: true, selected: -1}
}

// Len is the number of items that are kept.
func (t *Transcript) Len() int { return len(t.items) }

// Dropped is how many items were given up.
func (t *Transcript) Dropped() int { return t.dropped }

// Loop makes a loop known.
func (t *Transcript) Loop(name string) {
	if name != "" && !t.names[name] {
		t.names[name] = true
		t.loops++
	}
}

func (t *Transcript) add(it *Item) *Item {
	t.items = append(t.items, it)
	t.grow(it, len(it.text))
	return it
}

// grow accounts for n more bytes of an item.
func (t *Transcript) grow(it *Item, n int) {
	it.size += n
	t.bytes += n
	if len(t.items) > MaxItems || t.bytes > MaxBytes {
		t.shed()
	}
}

// shed gives up the oldest tenth, again and again until the bounds hold.
func (t *Transcript) shed() {
	n := 0
	for len(t.items)-n > 1 && (len(t.items)-n > MaxItems-MaxItems/dropShare || t.bytes > MaxBytes-MaxBytes/dropShare) {
		it := t.items[n]
		t.bytes -= it.size
		if it.call != nil {
			delete(t.calls, it.call.ID)
		}
		n++
	}
	kept := make([]*Item, len(t.items)-n)
	copy(kept, t.items[n:])
	t.items = kept
	t.dropped += n
	t.selected = max(t.selected-n, -1)
	t.top.item -= n
	if t.top.item < 0 {
		t.top = anchor{}
	}
}

// User adds what a person said.
func (t *Transcript) User(at time.Time, loop, text string) {
	t.add(&Item{kind: KindUser, time: at, loop: loop, text: bounded(text)})
}

// Asked adds what a person said above the answer to it that is streaming
// already: pieces of text overtake durable events. The keys of the answer's
// messages start with prefix.
func (t *Transcript) Asked(at time.Time, loop, prefix, text string) {
	first := len(t.items)
	for key, it := range t.live {
		if strings.HasPrefix(key, prefix) {
			first = min(first, t.index(it))
		}
	}
	t.User(at, loop, text)
	last := len(t.items) - 1
	if first >= last {
		return
	}
	asked := t.items[last]
	copy(t.items[first+1:], t.items[first:last])
	t.items[first] = asked
	if t.selected >= first {
		t.selected = min(t.selected+1, last)
	}
	if !t.follow && t.top.item >= first {
		t.top.item++
	}
	t.items[first+1].touch() // it may have been the first item, which carries a note
}

// index finds an item from the end, where what is live stands.
func (t *Transcript) index(it *Item) int {
	for i := len(t.items) - 1; i >= 0; i-- {
		if t.items[i] == it {
			return i
		}
	}
	return len(t.items)
}

// Note adds a sentence of the host.
func (t *Transcript) Note(at time.Time, loop string, level Level, text string) {
	t.add(&Item{kind: KindNote, time: at, loop: loop, level: level, text: bounded(text)})
}

// Rule adds a line across the transcript, for a change of a catalog.
func (t *Transcript) Rule(at time.Time, text string) {
	t.add(&Item{kind: KindRule, time: at, text: bounded(text)})
}

// Delta appends a piece of streamed text; key names the message.
func (t *Transcript) Delta(at time.Time, loop, key, kind, piece string) {
	it := t.live[key]
	if it == nil {
		it = t.add(&Item{kind: KindAssistant, time: at, loop: loop, live: newStream()})
		t.live[key] = it
	}
	if kind == "reasoning" {
		if it.reason == nil {
			it.reason = newStream()
		}
		it.reason.append(piece)
	} else {
		it.live.append(piece)
	}
	it.touch()
	t.grow(it, len(piece))
}

// Message completes a streamed message, or adds a whole one, and returns its
// item so that its Markdown can be set when it has been parsed.
func (t *Transcript) Message(at time.Time, loop, key, text string, raw []byte) *Item {
	it := t.live[key]
	delete(t.live, key)
	if it == nil {
		if text == "" {
			return nil
		}
		it = t.add(&Item{kind: KindAssistant, time: at, loop: loop})
	}
	it.live = nil
	t.grow(it, len(text)-len(it.text))
	it.text = bounded(text)
	it.raw = boundedRaw(raw)
	it.touch()
	return it
}

// SetDoc gives a message its parsed Markdown.
func (t *Transcript) SetDoc(it *Item, d markdown.Doc) {
	it.doc = &d
	it.touch()
}

// EndStreams turns what is still streaming into what it is, when a turn ended
// without completing its message.
func (t *Transcript) EndStreams(loop string) {
	for key, it := range t.live {
		if it.loop == loop {
			it.text, it.live = it.live.text(), nil
			it.touch()
			delete(t.live, key)
		}
	}
}

// Requested adds a call.
func (t *Transcript) Requested(at time.Time, loop string, c Call) {
	if t.calls[c.ID] != nil {
		return
	}
	c.Started = at
	it := t.add(&Item{kind: KindCall, time: at, loop: loop, call: &c, expanded: c.By != "model"})
	t.calls[c.ID] = it
	t.grow(it, len(c.Args))
}

// Call finds a call's item, or nil.
func (t *Transcript) Call(id string) *Item { return t.calls[id] }

// Started says that a call's bytes are being sent.
func (t *Transcript) Started(id string, at time.Time, args json.RawMessage) {
	t.update(id, func(c *Call) {
		c.State, c.Started = CallRunning, at
		if len(args) > 0 {
			c.Args = args
		}
	})
}

// Gated says that a call waits for a gate, or no longer does.
func (t *Transcript) Gated(id string, waits bool) {
	t.update(id, func(c *Call) {
		switch {
		case waits && c.State == CallRequested:
			c.State = CallGated
		case !waits && c.State == CallGated:
			c.State = CallRequested
		}
	})
}

// Progress shows the last progress report of a call.
func (t *Transcript) Progress(id, text string) {
	t.update(id, func(c *Call) { c.Progress = bounded(text) })
}

// Completion is what came of a call.
type Completion struct {
	Outcome   tool.Outcome
	Reason    string
	Content   []content.Block
	Data      json.RawMessage
	DataFault string
	Took      time.Duration
	Gated     time.Duration
	Sent      bool
	Raw       []byte
}

// Completed ends a call.
func (t *Transcript) Completed(id string, d Completion) {
	it := t.calls[id]
	if it == nil {
		return
	}
	t.update(id, func(c *Call) {
		c.State, c.Outcome, c.Reason = CallDone, d.Outcome, d.Reason
		c.Content, c.Data, c.DataFault = d.Content, d.Data, d.DataFault
		c.Took, c.Gated, c.Sent, c.Progress = d.Took, d.Gated, d.Sent, ""
	})
	it.raw = boundedRaw(d.Raw)
	t.grow(it, contentBytes(d.Content)+len(d.Data)+len(it.raw))
}

func (t *Transcript) update(id string, change func(*Call)) {
	it := t.calls[id]
	if it == nil {
		return
	}
	change(it.call)
	it.touch()
}

func bounded(s string) string {
	if len(s) > MaxBodyBytes {
		return s[:MaxBodyBytes]
	}
	return s
}

func boundedRaw(b []byte) []byte {
	if len(b) > MaxBodyBytes {
		return nil
	}
	return b
}

func contentBytes(blocks []content.Block) int {
	n := 0
	for _, b := range blocks {
		n += len(b.Text) + len(b.Data) + len(b.JSON) + len(b.URI) + contentBytes(b.Blocks)
	}
	return n
}
