package compose

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/sqlite"
)

// What a journal tells whole of a server's tools is known; what it tells in part,
// or what a newer session does not tell, is not.
func TestSeenTools(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "x.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	began := time.Unix(1_800_000_000, 0).UTC()
	session := func(n int, changes ...event.CatalogChange) {
		id := fmt.Sprintf("01JDZ3X000000000000000000%d", n)
		lease, err := store.Create(t.Context(), journal.Meta{Session: id, Created: began.Add(time.Duration(n) * time.Hour)}, "h")
		if err != nil {
			t.Fatal(err)
		}
		batch := journal.Batch{}
		for i, c := range changes {
			e := &event.CatalogCandidate{CatalogChange: c}
			e.Header = event.Header{Seq: uint64(i + 1), Time: began, Session: id}
			line, err := event.Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			batch.Records = append(batch.Records, journal.Record{Seq: uint64(i + 1), Type: string(event.TypeOf(e)), Time: began, Line: line})
		}
		if _, err := store.Append(t.Context(), lease, batch); err != nil {
			t.Fatal(err)
		}
	}
	first := func(binding string, tools int, added ...string) event.CatalogChange {
		return event.CatalogChange{Binding: binding, Generation: 1, Tools: tools, Added: added}
	}
	session(1, first("fix", 1, "tools/old"), first("gone", 1, "tools/x"), first("cut", 1, "tools/x"))
	session(2,
		first("fix", 2, "prompts/p", "tools/say", "tools/sing"),
		event.CatalogChange{Binding: "fix", From: 1, Generation: 2, Tools: 2, Added: []string{"tools/hum"}, Removed: []string{"tools/sing"}},
		first("cut", 90, "tools/x", "and 89 more"), first("odd", 1, `tools/"a b"`),
		first("lost", 1, "tools/x"), event.CatalogChange{Binding: "lost", From: 5, Generation: 6, Tools: 1},
		first("none", 0),
	)
	got, err := SeenTools(t.Context(), store)
	want := map[string][]string{"fix": {"hum", "say"}, "gone": {"x"}, "none": {}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %v, not %v", got, err, want)
	}
}
