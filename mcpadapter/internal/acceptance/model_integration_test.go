//go:build integration && linux

package acceptance

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// brain is a model server of the Chat Completions format whose answers a test
// decides on. What it was asked is kept.
type brain struct {
	url    string
	decide func(asked) thought

	mu   sync.Mutex
	asks []asked
}

// asked is a request's body: what tests look at, and all of it.
type asked struct {
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		CallID  string          `json:"tool_call_id"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
	RawTools json.RawMessage `json:"-"`
	body     string
}

// thought is one message of the model: calls, or a text.
type thought struct {
	text  string
	calls []toolUse
}

type toolUse struct{ id, name, args string }

func newBrain(t testing.TB, decide func(asked) thought) *brain {
	t.Helper()
	b := &brain{decide: decide}
	srv := httptest.NewServer(http.HandlerFunc(b.serve))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	b.url = srv.URL + "/v1"
	return b
}

// config is a config.yaml whose one provider is the brain.
func (b *brain) config() string {
	return fmt.Sprintf("model: brain\nproviders:\n  brain: {kind: openai-chat, baseUrl: %q, model: tiny}\n", b.url)
}

func (b *brain) asked() []asked {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]asked(nil), b.asks...)
}

func (b *brain) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var a asked
	var whole struct {
		Tools json.RawMessage `json:"tools"`
	}
	if err != nil || json.Unmarshal(body, &a) != nil || json.Unmarshal(body, &whole) != nil {
		http.Error(w, "no request", http.StatusBadRequest)
		return
	}
	a.body, a.RawTools = string(body), whole.Tools
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asks = append(b.asks, a)
	say := b.decide(a)
	delta, finish := map[string]any{"role": "assistant", "content": say.text}, "stop"
	if len(say.calls) > 0 {
		calls := make([]map[string]any, len(say.calls))
		for i, c := range say.calls {
			calls[i] = map[string]any{"index": i, "id": c.id, "type": "function", "function": map[string]string{"name": c.name, "arguments": c.args}}
		}
		delta["tool_calls"], finish = calls, "tool_calls"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, choice := range []map[string]any{{"index": 0, "delta": delta}, {"index": 0, "delta": map[string]any{}, "finish_reason": finish}} {
		chunk, err := json.Marshal(map[string]any{"id": "x", "object": "chat.completion.chunk", "model": "tiny", "choices": []any{choice}})
		if err != nil {
			panic(err)
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", chunk)
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// results are the texts of the tool results behind the last assistant message,
// by the id of their call.
func (a asked) results() map[string]string {
	out := map[string]string{}
	for i := len(a.Messages) - 1; i >= 0 && a.Messages[i].Role != "assistant"; i-- {
		if m := a.Messages[i]; m.Role == "tool" {
			out[m.CallID] = plain(m.Content)
		}
	}
	return out
}

// plain is the text of a message's content.
func plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts)
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text + "\n")
	}
	return b.String()
}
