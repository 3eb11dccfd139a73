package model

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/content"
)

// fixed yields chunks, then an error if there is one, and keeps the request.
type fixed struct {
	chunks []Chunk
	err    error
	got    *Request
}

func (fixed) Info() Info { return Info{Name: "fixed"} }

func (f fixed) Stream(_ context.Context, req Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		if f.got != nil {
			*f.got = req
		}
		for _, c := range f.chunks {
			if !yield(c, nil) {
				return
			}
		}
		if f.err != nil {
			yield(Chunk{}, f.err)
		}
	}
}

func TestOnce(t *testing.T) {
	t.Parallel()
	var got Request
	reply, err := Once(t.Context(), fixed{got: &got, chunks: []Chunk{
		{Kind: ChunkReasoning, Text: "hm"}, {Kind: ChunkText, Text: "It "}, {Kind: ChunkText, Text: "is slow."},
		{Kind: ChunkUsage, InputTokens: 10, OutputTokens: 2}, {Kind: ChunkUsage, OutputTokens: 1}, {Kind: ChunkStop, Stop: "max_tokens"},
	}}, Request{System: "s", MaxTokens: 5, Messages: []content.Message{{Role: content.RoleUser}}})
	if want := (Reply{Text: "It is slow.", Stop: "max_tokens", InputTokens: 10, OutputTokens: 3}); err != nil || reply != want {
		t.Fatalf("%+v %v", reply, err)
	}
	if !got.Sampling || got.System != "s" || got.MaxTokens != 5 || len(got.Messages) != 1 {
		t.Fatalf("asked %+v", got)
	}
	if reply, err := Once(t.Context(), fixed{}, Request{}); err != nil || reply != (Reply{Stop: "end"}) {
		t.Fatalf("%+v %v", reply, err)
	}
}

func TestOnceFails(t *testing.T) {
	t.Parallel()
	broken := &Error{Code: "stream_broken", Message: "gone", Retryable: true}
	for name, c := range map[string]struct {
		model fixed
		req   Request
		code  string
	}{
		"a broken stream": {fixed{chunks: []Chunk{{Kind: ChunkText, Text: "half"}}, err: broken}, Request{}, "stream_broken"},
		"a tool use":      {fixed{chunks: []Chunk{{Kind: ChunkToolUse, ToolUse: &ToolUse{Name: "x"}}}}, Request{}, "no_reply"},
		"tools":           {fixed{}, Request{Tools: []Tool{{Name: "x"}}}, "invalid_request"},
		"a flood":         {fixed{chunks: []Chunk{{Kind: ChunkText, Text: strings.Repeat("x", MaxReplyBytes+1)}}}, Request{}, "no_reply"},
	} {
		reply, err := Once(t.Context(), c.model, c.req)
		var failed *Error
		if !errors.As(err, &failed) || failed.Code != c.code || reply != (Reply{}) {
			t.Errorf("%s: %+v %v", name, reply, err)
		}
	}
	if _, err := Once(t.Context(), fixed{chunks: []Chunk{{Kind: ChunkText, Text: strings.Repeat("x", MaxReplyBytes)}}}, Request{}); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Once(ctx, fixed{chunks: []Chunk{{Kind: ChunkText, Text: "half"}}}, Request{}); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
}
