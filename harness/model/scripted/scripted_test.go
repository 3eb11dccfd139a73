package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"testing"

	"github.com/looprig/looprig/harness/model"
)

func collect(t *testing.T, c model.Client, loop string) ([]model.Chunk, error) {
	t.Helper()
	var out []model.Chunk
	for chunk, err := range c.Stream(t.Context(), model.Request{Loop: loop}) {
		if err != nil {
			return out, err
		}
		out = append(out, chunk)
	}
	return out, nil
}

func TestRepliesInOrder(t *testing.T) {
	t.Parallel()
	c := New(Config{Replies: []Reply{
		{Say: "adding", Call: []Call{{Tool: "a", Args: json.RawMessage(`{"n":1}`)}, {Tool: "b"}}}, {Say: "done"},
	}})
	first, err := collect(t, c, "main")
	if err != nil || len(first) != 4 || first[0].Text != "adding" || first[3].Stop != "tool_use" {
		t.Fatalf("%+v %v", first, err)
	}
	if a, b := first[1].ToolUse, first[2].ToolUse; a.Name != "a" || string(a.Args) != `{"n":1}` || string(b.Args) != "{}" || a.ID == b.ID {
		t.Fatalf("%+v %+v", a, b)
	}
	if n := c.Unused()[""]; n != 1 {
		t.Fatalf("%d unused", n)
	}
	if second, err := collect(t, c, "other"); err != nil || second[0].Text != "done" || second[1].Stop != "end" {
		t.Fatalf("%+v %v", second, err)
	}
	var failed *model.Error
	if _, err := collect(t, c, "main"); !errors.As(err, &failed) || failed.Code != "no_reply" || failed.Retryable {
		t.Fatalf("%v", err)
	}
	if len(c.Unused()) != 0 {
		t.Fatalf("unused %v", c.Unused())
	}
}

// A loop with replies of its own never takes the shared ones.
func TestRepliesByLoop(t *testing.T) {
	t.Parallel()
	own := []Reply{{Say: "mine"}}
	c := New(Config{Replies: []Reply{{Say: "shared"}, {Say: "more"}}, ByLoop: map[string][]Reply{"a": own, "b": {{Say: "unused"}}}})
	own[0].Say = "changed"
	if got, err := collect(t, c, "a"); err != nil || got[0].Text != "mine" {
		t.Fatalf("%+v %v", got, err)
	}
	if _, err := collect(t, c, "a"); err == nil {
		t.Fatal("loop a took a shared reply")
	}
	if got, err := collect(t, c, "c"); err != nil || got[0].Text != "shared" {
		t.Fatalf("%+v %v", got, err)
	}
	if got := c.Unused(); !maps.Equal(got, map[string]int{"": 1, "b": 1}) {
		t.Fatalf("unused %v", got)
	}
}

func TestEndedContextConsumesNothing(t *testing.T) {
	t.Parallel()
	c := New(Config{Replies: []Reply{{Say: "x"}}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range c.Stream(ctx, model.Request{}) {
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if c.Unused()[""] != 1 {
		t.Fatal("a reply is gone")
	}
}

// Servers consume their own replies, and a loop of any name never does.
func TestRepliesToServers(t *testing.T) {
	t.Parallel()
	c := New(Config{Replies: []Reply{{Say: "shared"}}, ByLoop: map[string][]Reply{"main": {{Say: "mine"}}}, Sampling: []Reply{{Say: "one"}, {Say: "two"}}})
	if got := c.Unused(); !maps.Equal(got, map[string]int{"": 1, "main": 1, UnusedSampling: 2}) {
		t.Fatalf("unused %v", got)
	}
	for _, want := range []string{"one", "two"} {
		if got, err := model.Once(t.Context(), c, model.Request{Loop: "main"}); err != nil || got.Text != want || got.Stop != "end" {
			t.Fatalf("%+v %v", got, err)
		}
	}
	var failed *model.Error
	if _, err := model.Once(t.Context(), c, model.Request{}); !errors.As(err, &failed) || failed.Code != "no_reply" {
		t.Fatalf("%v", err)
	}
	if got, err := collect(t, c, "main"); err != nil || got[0].Text != "mine" {
		t.Fatalf("%+v %v", got, err)
	}
	if got := c.Unused(); !maps.Equal(got, map[string]int{"": 1}) {
		t.Fatalf("unused %v", got)
	}
}
