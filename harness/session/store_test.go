package session

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

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
