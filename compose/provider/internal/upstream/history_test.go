package upstream

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/looprig/looprig/harness/content"
)

func use(id, name string, state *content.State) content.Block {
	return content.Block{Kind: content.KindToolUse, CallID: id, Name: name, State: state}
}

func result(id, text string) content.Block {
	return content.Block{Kind: content.KindToolResult, CallID: id, Blocks: []content.Block{content.Text(text)}}
}

// Results stand behind their calls in the order of the calls, each call has one,
// and a result without a call is not lost.
func TestPaired(t *testing.T) {
	t.Parallel()
	in := []content.Message{
		{Role: content.RoleTool, Blocks: []content.Block{result("c0", "early")}},
		{Role: content.RoleAssistant},
		{Role: content.RoleAssistant, Blocks: []content.Block{use("c1", "a", nil), use("c2", "b", nil), use("c3", "c", nil)}},
		{Role: content.RoleTool, Blocks: []content.Block{result("c3", "three")}},
		{Role: content.RoleTool, Blocks: []content.Block{result("c1", "one"), result("c9", "stray")}},
		{Role: content.RoleUser, Blocks: []content.Block{content.Text("go on")}},
	}
	out := Paired(in)
	var got string
	for _, m := range out {
		got += string(m.Role) + ":"
		for _, b := range m.Blocks {
			got += fmt.Sprintf(" %s%s/%s", b.CallID, b.Name, b.Text+content.PlainText(b.Blocks))
		}
		got += "; "
	}
	want := "user: /[the result of an earlier call] /early; assistant: c1a/ c2b/ c3c/; " +
		"tool: c1a/one c2b/" + NoResult + " c3c/three; user: /[the result of an earlier call] /stray; user: /go on; "
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A provider's ids may repeat between turns: a result belongs to the latest call
// of the session's id, and another model's call keeps the session's id.
func TestIDs(t *testing.T) {
	t.Parallel()
	ids := NewIDs("k/m")
	own := func(id string) *content.State { return NewState("k/m", CallState{ID: id}) }
	for _, c := range []struct {
		use  content.Block
		want string
	}{
		{use("c1", "add", own("functions.add:0")), "functions.add:0"},
		{use("c2", "add", own("functions.add:0")), "functions.add:0"},
		{use("c3", "add", &content.State{Origin: "k/other", Data: json.RawMessage(`{"id":"x"}`)}), "c3"},
		{use("c4", "add", own("")), ""},
		{use("c5", "add", nil), "c5"},
	} {
		if id, _ := ids.Use(c.use); id != c.want || ids.Result(result(c.use.CallID, "")) != c.want {
			t.Errorf("%s: %q, its result %q, want %q", c.use.CallID, id, ids.Result(result(c.use.CallID, "")), c.want)
		}
	}
}
