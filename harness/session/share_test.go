package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/harness/model/scripted"
	"github.com/looprig/looprig/harness/tool"
)

func textResult(blocks ...content.Block) tool.Result {
	return tool.Result{Outcome: tool.OK, Content: blocks}
}

func TestShareOfAResult(t *testing.T) {
	t.Parallel()
	image := content.Block{Kind: content.KindImage, Data: make([]byte, 1000), MIME: "image/png"}
	lim := Limits{ModelTextBytes: 10, ModelBlocks: 3}
	cases := map[string]struct {
		r        tool.Result
		texts    string // of the blocks given, joined by |
		withheld event.Withheld
		note     string
	}{
		"at the cap":           {textResult(content.Text("0123456789")), "0123456789", event.Withheld{}, ""},
		"one over":             {textResult(content.Text("0123456789x")), "0123456789", event.Withheld{Bytes: 1}, "1 bytes more"},
		"cut in the second":    {textResult(content.Text("01234"), content.Text("56789abc")), "01234|56789", event.Withheld{Bytes: 3}, "3 bytes more"},
		"the third is left":    {textResult(content.Text("0123456789"), content.Text("abc")), "0123456789", event.Withheld{Bytes: 3, Blocks: 1}, "1 of the blocks left out (text)"},
		"whole characters":     {textResult(content.Text("012345678é")), "012345678", event.Withheld{Bytes: 2}, "2 bytes more"},
		"no room for a letter": {textResult(content.Text("012345678"), content.Text("é")), "012345678", event.Withheld{Bytes: 2, Blocks: 1}, ""},
		"pictures are blocks":  {textResult(image, image, image, image), "||", event.Withheld{Blocks: 1}, "1 of the blocks left out (image)"},
		"a picture after a cut": {
			textResult(content.Text("0123456789abc"), image), "0123456789|", event.Withheld{Bytes: 3}, "",
		},
		"JSON is not cut": {
			textResult(content.Block{Kind: content.KindUnknown, JSON: json.RawMessage(`{"a":"0123456789"}`)}), "", event.Withheld{Bytes: 18, Blocks: 1}, "(unknown)",
		},
		"structured alone": {tool.Result{Outcome: tool.OK, Structured: json.RawMessage(`{"a":"0123456789"}`)}, `{"a":"0123`, event.Withheld{Bytes: 8}, "8 bytes more"},
		"structured twin":  {tool.Result{Outcome: tool.OK, Content: []content.Block{content.Text("x")}, Structured: json.RawMessage(`{"a":"0123456789"}`)}, `x`, event.Withheld{}, ""},
		"nothing":          {tool.Result{Outcome: tool.Failed, Reason: "x"}, "", event.Withheld{}, ""},
	}
	for name, c := range cases {
		s := shareOf(c.r, lim, false)
		var texts []string
		for _, b := range s.blocks {
			texts = append(texts, b.Text)
			if !utf8.ValidString(b.Text) {
				t.Errorf("%s: %q", name, b.Text)
			}
		}
		if got := strings.Join(texts, "|"); got != c.texts || s.withheld != c.withheld {
			t.Errorf("%s: %q %+v", name, got, s.withheld)
		}
		note := s.note("c7")
		if (note == "") != (c.withheld == event.Withheld{}) || !strings.Contains(note, c.note) || note != "" && !strings.Contains(note, "kept as c7") {
			t.Errorf("%s: note %q", name, note)
		}
	}
}

// Whatever a result is: what is given and what is withheld are all of it, and
// what is given keeps to the caps.
func TestSharesAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lim := Limits{ModelTextBytes: rapid.IntRange(1, 40).Draw(t, "bytes"), ModelBlocks: rapid.IntRange(1, 5).Draw(t, "blocks")}
		text := rapid.StringOfN(rapid.RuneFrom([]rune("aé世🙂")), 0, 20, -1)
		var r tool.Result
		total := 0
		for range rapid.IntRange(1, 8).Draw(t, "n") {
			b := content.Block{Kind: content.KindText, Text: text.Draw(t, "text")}
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				b = content.Block{Kind: content.KindResource, URI: text.Draw(t, "uri"), Text: b.Text}
			case 1:
				b = content.Block{Kind: content.KindImage, Data: []byte(b.Text)}
			}
			total += weight(b)
			r.Content = append(r.Content, b)
		}
		s := shareOf(r, lim, rapid.Bool().Draw(t, "record"))
		given := 0
		for _, b := range s.blocks {
			given += weight(b)
			if !utf8.ValidString(b.Text) {
				t.Fatalf("%q", b.Text)
			}
		}
		if given > lim.ModelTextBytes || len(s.blocks) > lim.ModelBlocks {
			t.Fatalf("%d bytes, %d blocks over %+v", given, len(s.blocks), lim)
		}
		if given+int(s.withheld.Bytes) != total || len(s.blocks)+s.withheld.Blocks != len(r.Content) {
			t.Fatalf("%d given, %+v withheld of %d in %d", given, s.withheld, total, len(r.Content))
		}
	})
}

// A model is given the beginning and told of the rest; the journal, the
// subscribers and whoever asks for the result have all of it.
func TestLargeResultsAreKeptWhole(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcdef", 12<<10) // 192 KiB
	data := bytes.Repeat([]byte{0xff, 0}, 40<<10)
	result := tool.Result{Outcome: tool.OK, Sent: true, Attempts: 1, Content: []content.Block{
		content.Text(long),
		{Kind: content.KindResource, URI: "demo://a", MIME: "text/markdown", Text: long},
		{Kind: content.KindResource, URI: "demo://b", MIME: "application/pdf", Data: data},
		{Kind: content.KindUnknown, JSON: json.RawMessage(`{"x":"` + long + `"}`)},
	}}
	for i := range 40 {
		result.Content = append(result.Content, content.Block{Kind: content.KindResourceLink, URI: fmt.Sprint("demo://", i)})
	}
	var asked []content.Message
	m := modelFunc(func(_ context.Context, r model.Request, yield func(model.Chunk, error) bool) {
		asked = r.Messages
		if len(asked) == 1 {
			yield(model.Chunk{Kind: model.ChunkToolUse, ToolUse: &model.ToolUse{Name: "mcp__demo__big"}}, nil)
			return
		}
		yield(model.Chunk{Kind: model.ChunkText, Text: "done"}, nil)
	})
	f := &fake{invoke: func(context.Context, tool.Call, json.RawMessage) tool.Result { return result }}
	w := open(t, Options{Policy: allowAll(), Loops: []LoopConfig{{Name: "main", Model: m}}}, nil, define("demo", "big", f))
	r := w.say("x")
	given := unmarked(asked)[len(asked)-1].Blocks[0]
	bytesGiven := 0
	for _, b := range given.Blocks[:len(given.Blocks)-1] {
		bytesGiven += weight(b)
	}
	note := given.Blocks[len(given.Blocks)-1].Text
	if bytesGiven > DefaultModelTextBytes || len(given.Blocks) > DefaultModelBlocks+1 || given.Blocks[0].Text != long[:DefaultModelTextBytes] || !strings.Contains(note, "kept as "+r.Calls[0].ID) {
		t.Fatalf("%d bytes in %d blocks, %q", bytesGiven, len(given.Blocks), note)
	}
	done := of[*event.ToolCompleted](t, w.store)[0]
	total := 0
	for _, b := range result.Content {
		total += weight(b)
	}
	if done.Withheld == nil || int(done.Withheld.Bytes) != total-bytesGiven || done.Withheld.Blocks != len(result.Content)-len(given.Blocks)+1 {
		t.Fatalf("%+v of %d bytes, %d blocks", done.Withheld, total, len(result.Content))
	}
	if done.Content[0].Blob == "" || done.Content[0].BlobOf != content.BlobText {
		t.Fatalf("%.100v", done.Content[0])
	}
	// What is stored apart has a type; a source that gave none gets the obvious one.
	result.Content[0].MIME, result.Content[3].MIME = mimeText, mimeJSON
	for name, read := range map[string]func() (*event.ToolCompleted, error){
		"session": func() (*event.ToolCompleted, error) { return w.Result(w.ctx(), r.Calls[0].ID) },
		"store":   func() (*event.ToolCompleted, error) { return ReadResult(w.ctx(), w.store, w.ID(), r.Calls[0].ID) },
	} {
		got, err := read()
		if err != nil || !reflect.DeepEqual(got.Content, result.Content) || got.Call != r.Calls[0].ID {
			t.Errorf("%s: %v", name, err)
		}
	}
	body, err := w.Blob(w.ctx(), done.Content[0].Blob)
	if err != nil || string(body.Body) != long {
		t.Errorf("blob: %d bytes, %v", len(body.Body), err)
	}
}

func TestResultErrors(t *testing.T) {
	t.Parallel()
	w := open(t, Options{Policy: allowAll()}, []scripted.Reply{uses("mcp__demo__a"), {Say: "x"}}, define("demo", "a", &fake{}))
	r := w.say("x")
	var no *NoCallError
	if _, err := w.Result(w.ctx(), "c99\x1b"); !errors.As(err, &no) || strings.ContainsRune(err.Error(), 0x1b) {
		t.Errorf("%v", err)
	}
	var bad *BlobIDError
	for _, id := range []string{"", "c1", "sha256:", "sha256:zz", "../" + strings.Repeat("a", 64)} {
		if _, err := w.Blob(w.ctx(), id); !errors.As(err, &bad) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, err := w.Blob(w.ctx(), digest([]byte("never stored"))); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("%v", err)
	}
	broken := errors.New("disk")
	w.store.mu.Lock()
	w.store.readErr = broken
	w.store.mu.Unlock()
	if _, err := w.Result(w.ctx(), r.Calls[0].ID); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	w.store.mu.Lock()
	w.store.readErr = nil
	w.store.mu.Unlock()
}

// Results that are no longer remembered are found all the same.
func TestResultsBeyondTheIndex(t *testing.T) {
	t.Parallel()
	w := open(t, Options{Policy: allowAll()}, nil, define("demo", "a", &fake{}))
	first := w.call("demo a", "{}").Calls[0].ID
	w.hub.mu.Lock()
	for i := range maxIndexedCalls {
		w.hub.remember(&event.ToolCompleted{Header: event.Header{Seq: 1}, Call: fmt.Sprint("x", i)})
	}
	known := len(w.hub.completed)
	w.hub.mu.Unlock()
	if known != maxIndexedCalls || w.hub.completedAt(first) != 0 {
		t.Fatalf("%d remembered", known)
	}
	if got, err := w.Result(w.ctx(), first); err != nil || content.PlainText(got.Content) != "done" {
		t.Fatalf("%+v %v", got, err)
	}
}

// The record of an operator's call is capped as well.
func TestOperatorsResultsAreCapped(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*DefaultModelTextBytes)
	for name, r := range map[string]tool.Result{
		"text":       {Outcome: tool.OK, Content: []content.Block{content.Text(long)}},
		"structured": {Outcome: tool.OK, Structured: json.RawMessage(`"` + long + `"`)},
		"both":       {Outcome: tool.OK, Content: []content.Block{content.Text("short")}, Structured: json.RawMessage(`"` + long + `"`)},
	} {
		text := recordOf(CallResult{ID: "c7", Args: json.RawMessage("{}"), Result: r}, Limits{}.withDefaults())
		if len(text) > DefaultModelTextBytes+2048 || !strings.Contains(text, "KiB more, kept as c7") || !json.Valid([]byte(strings.TrimPrefix(text, recordPreamble))) {
			t.Errorf("%s: %d bytes, %.200s", name, len(text), text[len(text)-200:])
		}
	}
	if text := recordOf(CallResult{ID: "c7", Args: json.RawMessage("{}"), Result: tool.Result{Outcome: tool.OK, Structured: json.RawMessage(`{"a":1}`)}}, Limits{}.withDefaults()); !strings.Contains(text, `"structured":{"a":1}`) || strings.Contains(text, "withheld") {
		t.Errorf("%s", text)
	}
}
