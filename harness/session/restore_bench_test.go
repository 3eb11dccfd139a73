package session

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/tool"
)

// benchTurns makes a session of so many turns of one call each, ten records a
// turn.
const benchTurns = 20_000

// BenchmarkRestore opens a session of 200,000 records, with the snapshot that it
// has after them and without.
func BenchmarkRestore(b *testing.B) {
	store, err := sqlite.Open(b.Context(), sqlite.Options{Path: filepath.Join(b.TempDir(), "looprig.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	const id = "01J00000000000000000000000"
	lease, err := store.Create(b.Context(), journal.Meta{Session: id}, "bench")
	if err != nil {
		b.Fatal(err)
	}
	h := newHub(id, Options{Store: store, Clock: gate.SystemClock{}, Limits: Limits{}.withDefaults()}, lease, func(f func()) { f() })
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	must(h.append(nil, &event.SessionStarted{Mode: "headless"}, &event.LoopStarted{Header: event.Header{Loop: "main"}}))
	for n := 1; n <= benchTurns; n++ {
		must(h.emit(nil, benchTurn(n)...))
	}
	must(h.append(nil, &event.LoopIdle{Header: event.Header{Loop: "main"}}))
	h.stop()
	ld := loader{store: store, limits: Limits{}.withDefaults()}
	run := func(b *testing.B) {
		for b.Loop() {
			p, err := ld.load(b.Context(), id, 0)
			if err != nil || p.Turns != benchTurns {
				b.Fatal(p, err)
			}
		}
	}
	b.Run("records", run)
	must(ld.save(b.Context(), lease))
	b.Run("snapshot", run)
}

func benchTurn(n int) []event.Event {
	head := event.Header{Loop: "main", Turn: fmt.Sprintf("t%d", n)}
	call := fmt.Sprintf("c%d", n)
	args := []byte(`{"query":"what was said before","limit":5}`)
	use := content.Block{Kind: content.KindToolUse, CallID: call, Name: "mcp__demo__search", JSON: args}
	return []event.Event{
		&event.TurnStarted{Header: head, Input: fmt.Sprintf("i%d", n), Origin: "person", Kind: kindUser, Text: "what was said before about it?"},
		&event.MessageCompleted{Header: head, Step: 1, Role: content.RoleAssistant, Content: []content.Block{use}},
		&event.ToolRequested{Header: head, Step: 1, Call: call, Tool: "mcp:demo:search", ModelName: use.Name, Args: args, By: "model"},
		&event.ToolStarted{Header: head, Step: 1, Call: call, Tool: "mcp:demo:search", ModelName: use.Name, Args: args},
		&event.Notice{Code: "note", Level: "info", Text: "something that happened meanwhile"},
		&event.ToolCompleted{Header: head, Step: 1, Call: call, Tool: "mcp:demo:search", ModelName: use.Name, Outcome: tool.OK, Content: []content.Block{content.Text("this and that was said, and more")}},
		&event.MessageCompleted{Header: head, Step: 2, Role: content.RoleAssistant, Content: []content.Block{content.Text("This and that was said.")}},
		&event.TurnCompleted{Header: head, Text: "This and that was said.", DurationMS: time.Second.Milliseconds()},
		&event.BindingChanged{Binding: "demo", State: "ready", Code: "ready"},
		&event.LoopIdle{Header: event.Header{Loop: "main"}},
	}
}
