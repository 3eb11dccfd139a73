package session

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/model/scripted"
	"github.com/looprig/looprig/harness/tool"
)

// What subscribers got of a session on the real store is what the store keeps.
func TestJournalBytesAreTheSubscribersBytes(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "looprig.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	w := open(t, Options{Store: store, StoreName: "sqlite", Policy: allowAll(), Mode: "headless"},
		[]scripted.Reply{uses("mcp__demo__add", "mcp__demo__add"), {Say: "done"}}, define("demo", "add", &fake{}))
	sub, err := w.Subscribe(Filter{FromSeq: 1})
	w.must(err)
	if r := w.say("go"); r.Outcome != TurnCompleted {
		t.Fatalf("%+v", r)
	}
	w.call("demo add", `{"x":"\u202e"}`)
	w.shut()
	recs, _ := drain(t, sub)
	i := 0
	for rec, err := range store.Read(t.Context(), w.ID(), 1) {
		w.must(err)
		if i >= len(recs) || !bytes.Equal(rec.Line, recs[i].Line) || rec.Seq != uint64(i+1) {
			t.Fatalf("record %d: %s", i, rec.Line)
		}
		i++
	}
	if i != len(recs) || i == 0 || recs[i-1].Event.Head().Type != "session.closed" {
		t.Fatalf("%d records, %d delivered", i, len(recs))
	}
}

// A result that is stored apart comes back whole from the real store, from the
// session that is open and after it has closed.
func TestResultFromTheRealStore(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "looprig.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	long := strings.Repeat("long ", 100<<10)
	f := &fake{invoke: func(context.Context, tool.Call, json.RawMessage) tool.Result { return okResult(long) }}
	w := open(t, Options{Store: store, Policy: allowAll()}, nil, define("demo", "big", f))
	call := w.call("demo big", "{}").Calls[0].ID
	open, err := w.Result(w.ctx(), call)
	if err != nil || content.PlainText(open.Content) != long || open.Withheld == nil {
		t.Fatalf("%v", err)
	}
	w.shut()
	closed, err := ReadResult(t.Context(), store, w.ID(), call)
	if err != nil || content.PlainText(closed.Content) != long {
		t.Fatalf("%v", err)
	}
}

func BenchmarkOperatorCall(b *testing.B) {
	s, err := Open(b.Context(), Options{Store: &memoryStore{}, Loops: []LoopConfig{{Name: "main", Model: scripted.New(scripted.Config{})}}})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.ReplaceExternalTools(b.Context(), "main", "mcp", 1, []tool.Definition{define("demo", "add", &fake{})}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		tk, err := s.Submit(b.Context(), Input{Call: &CallInput{Tool: "demo add", Args: json.RawMessage(`{}`)}, Origin: person})
		if err != nil {
			b.Fatal(err)
		}
		if r, err := s.AwaitTurn(b.Context(), tk); err != nil || r.Outcome != TurnCompleted {
			b.Fatal(r, err)
		}
	}
	if err := s.Close(b.Context(), CloseInfo{}); err != nil {
		b.Fatal(err)
	}
}
