package model

import (
	"errors"
	"slices"
	"testing"
)

func TestOnceUsing(t *testing.T) {
	t.Parallel()
	use := func(name string) Chunk {
		return Chunk{Kind: ChunkToolUse, ToolUse: &ToolUse{ID: "1", Name: name, Args: []byte(`{"a":1}`)}}
	}
	with := Request{Tools: []Tool{{Name: "x"}}}
	reply, uses, err := OnceUsing(t.Context(), fixed{chunks: []Chunk{{Kind: ChunkText, Text: "so"}, use("x"), use("y"), {Kind: ChunkStop, Stop: "tool_use"}}}, with)
	if err != nil || reply.Text != "so" || reply.Stop != "tool_use" || len(uses) != 2 || uses[0].Name != "x" || uses[1].Name != "y" || string(uses[0].Args) != `{"a":1}` {
		t.Errorf("%+v %+v %v", reply, uses, err)
	}
	many := slices.Repeat([]Chunk{use("x")}, MaxReplyUses)
	if _, uses, err := OnceUsing(t.Context(), fixed{chunks: many}, with); err != nil || len(uses) != MaxReplyUses {
		t.Errorf("at the limit: %d %v", len(uses), err)
	}
	large := use("x")
	large.ToolUse.Args = make([]byte, MaxReplyBytes+1)
	for name, c := range map[string]struct {
		chunks []Chunk
		req    Request
	}{
		"over the limit": {append(many, use("x")), with},
		"too large":      {[]Chunk{large}, with},
		"none offered":   {[]Chunk{use("x")}, Request{}},
	} {
		var failed *Error
		if _, _, err := OnceUsing(t.Context(), fixed{chunks: c.chunks}, c.req); !errors.As(err, &failed) || failed.Code != "no_reply" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
