package provider

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/model"
)

// The formats over Vertex AI are those of the vendors.
func init() {
	streams[AnthropicVertex], streams[GeminiVertex] = streams[Anthropic], streams[Gemini]
}

// family is the format that a kind speaks.
func family(k Kind) Kind {
	switch k {
	case AnthropicVertex:
		return Anthropic
	case GeminiVertex:
		return Gemini
	case Anthropic, OpenAIChat, OpenAIResponses, Gemini:
	}
	return k
}

// rich is a stream of each format with reasoning, a text, two calls, usage with
// everything that the format can say, and an end of which END is the reason.
var rich = map[Kind]string{
	Anthropic: event(`message_start`, `{"type":"message_start","message":{"usage":{"input_tokens":3,"cache_read_input_tokens":20,"cache_creation_input_tokens":7,"output_tokens":1}}}`) +
		event(`content_block_start`, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`) +
		event(`content_block_delta`, `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`) +
		event(`content_block_stop`, `{"type":"content_block_stop","index":0}`) +
		event(`content_block_start`, `{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`) +
		event(`content_block_delta`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"so"}}`) +
		event(`content_block_stop`, `{"type":"content_block_stop","index":1}`) +
		event(`content_block_start`, `{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`) +
		event(`content_block_delta`, `{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"x\":"}}`) +
		event(`content_block_delta`, `{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"9007199254740993}"}}`) +
		event(`content_block_stop`, `{"type":"content_block_stop","index":2}`) +
		event(`content_block_start`, `{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"b","name":"g","input":{}}}`) +
		event(`content_block_stop`, `{"type":"content_block_stop","index":3}`) +
		event(`message_delta`, `{"type":"message_delta","delta":{"stop_reason":"END"},"usage":{"output_tokens":9}}`) +
		event(`message_stop`, `{"type":"message_stop"}`),
	OpenAIChat: event(``, `{"choices":[{"delta":{"reasoning_content":"hm"}}]}`) +
		event(``, `{"choices":[{"delta":{"content":"so"}}]}`) +
		event(``, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}}]}`) +
		event(``, `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"9007199254740993}"}}]}}]}`) +
		event(``, `{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}]}}]}`) +
		event(``, `{"choices":[{"delta":{},"finish_reason":"END"}]}`) +
		event(``, `{"choices":[],"usage":{"prompt_tokens":30,"completion_tokens":9,"total_tokens":39,"prompt_tokens_details":{"cached_tokens":20,"cache_write_tokens":7},"completion_tokens_details":{"reasoning_tokens":4}}}`) +
		"data: [DONE]\n\n",
	OpenAIResponses: event(`response.reasoning_summary_text.delta`, `{"type":"response.reasoning_summary_text.delta","delta":"hm"}`) +
		event(`response.output_item.done`, `{"type":"response.output_item.done","item":{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"hm"}]}}`) +
		event(`response.output_text.delta`, `{"type":"response.output_text.delta","delta":"so"}`) +
		event(`response.output_item.done`, `{"type":"response.output_item.done","item":{"type":"message","content":[{"type":"output_text","text":"so"}]}}`) +
		event(`response.output_item.done`, `{"type":"response.output_item.done","item":{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":9007199254740993}"}}`) +
		event(`response.output_item.done`, `{"type":"response.output_item.done","item":{"type":"function_call","call_id":"b","name":"g","arguments":"{}"}}`) +
		event(`response.completed`, `{"type":"response.completed","response":{"status":END,"usage":{"input_tokens":30,"output_tokens":9,"input_tokens_details":{"cached_tokens":20},"output_tokens_details":{"reasoning_tokens":4}}}}`),
	Gemini: event(``, `{"candidates":[{"content":{"parts":[{"text":"hm","thought":true}]}}]}`) +
		event(``, `{"candidates":[{"content":{"parts":[{"text":"so"}]}}]}`) +
		event(``, `{"candidates":[{"content":{"parts":[{"functionCall":{"id":"a","name":"f","args":{"x":9007199254740993}}},{"functionCall":{"id":"b","name":"g","args":{}}}]}}]}`) +
		event(``, `{"candidates":[{"finishReason":"END"}],"usageMetadata":{"promptTokenCount":30,"candidatesTokenCount":5,"thoughtsTokenCount":4,"cachedContentTokenCount":20}}`),
}

func event(name, data string) string {
	if name != "" {
		name = "event: " + name + "\n"
	}
	return name + "data: " + data + "\n\n"
}

// ends are the reasons for an end, as each format spells them.
var ends = map[Kind]map[string]string{
	Anthropic:       {"tool_use": "tool_use", "max_tokens": "max_tokens", "model_context_window_exceeded": "max_tokens", "refusal": "refusal"},
	OpenAIChat:      {"tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"},
	OpenAIResponses: {`"completed"`: "tool_use", `"incomplete","incomplete_details":{"reason":"max_output_tokens"}`: "max_tokens", `"incomplete","incomplete_details":{"reason":"content_filter"}`: "refusal"},
	Gemini:          {"STOP": "tool_use", "MAX_TOKENS": "max_tokens", "SAFETY": "refusal", "PROHIBITED_CONTENT": "refusal"},
}

// Every kind streams reasoning, text and two calls in one message, with their
// arguments byte for byte, and says why it ended.
func TestWholeMessages(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		for end, want := range ends[family(kind)] {
			body := strings.ReplaceAll(rich[family(kind)], "END", end)
			m, failed := saidBy(t, client(t, kind, &wire{body: body}), asking("hi"))
			if failed != nil || m.stop != want {
				t.Errorf("%s: %s: stop %q, %v", kind, end, m.stop, failed)
			}
			var got []string
			for _, b := range m.blocks {
				got = append(got, string(b.Kind)+" "+b.Text+b.CallID+" "+b.Name+" "+string(b.JSON))
			}
			calls := `tool_use a f {"x":9007199254740993}|tool_use b g {}`
			if s := strings.Join(got, "|"); s != "reasoning hm  |text so  |"+calls {
				t.Errorf("%s: %s: %s", kind, end, s)
			}
		}
	}
}

// Usage counts what caches served and were given, and what was reasoning, where
// a format says so. The input holds all of it.
func TestUsage(t *testing.T) {
	t.Parallel()
	want := map[Kind]model.Chunk{
		Anthropic:       {InputTokens: 30, OutputTokens: 9, CacheReadTokens: 20, CacheWriteTokens: 7},
		OpenAIChat:      {InputTokens: 30, OutputTokens: 9, CacheReadTokens: 20, CacheWriteTokens: 7, ReasoningTokens: 4},
		OpenAIResponses: {InputTokens: 30, OutputTokens: 9, CacheReadTokens: 20, ReasoningTokens: 4},
		Gemini:          {InputTokens: 30, OutputTokens: 9, CacheReadTokens: 20, ReasoningTokens: 4},
	}
	for _, kind := range Kinds() {
		f, end := family(kind), ""
		for end = range ends[f] {
			break
		}
		w, given := want[f], 0
		w.Kind = model.ChunkUsage
		for c, err := range client(t, kind, &wire{body: strings.ReplaceAll(rich[f], "END", end)}).Stream(t.Context(), asking("hi")) {
			if err != nil {
				t.Fatal(err)
			}
			if c.Kind != model.ChunkUsage {
				continue
			}
			if given++; c != w {
				t.Errorf("%s: %+v, want %+v", kind, c, w)
			}
		}
		if given != 1 {
			t.Errorf("%s gave its usage %d times", kind, given)
		}
	}
}

// The formats of OpenAI take 128 tools at its own address. A client says how
// many its model takes, and sends no request with more.
func TestTooManyTools(t *testing.T) {
	t.Parallel()
	req := asking("hi")
	for range 129 {
		req.Tools = append(req.Tools, model.Tool{Name: "t" + strings.Repeat("x", len(req.Tools)%60) + string(rune('a'+len(req.Tools)/60)), InputSchema: json.RawMessage(`{}`)})
	}
	for _, kind := range Kinds() {
		most := 0
		w := &wire{body: strings.Join(streams[kind], "")}
		c := client(t, kind, w)
		if l, ok := c.(model.ToolLimiter); ok {
			most = l.MaxTools()
		}
		if want := map[Kind]int{OpenAIChat: 128, OpenAIResponses: 128}[kind]; most != want {
			t.Errorf("%s takes %d tools", kind, most)
		}
		_, failed := saidBy(t, c, req)
		if refused := failed != nil && failed.Code == "invalid_request" && w.asked == nil; refused != (most > 0) {
			t.Errorf("%s: %v, sent %d bytes", kind, failed, len(w.asked))
		}
	}
	// Whoever is compatible has limits of its own, or none.
	near, err := New(Config{Kind: OpenAIChat, Model: "m", BaseURL: "http://127.0.0.1:1/v1", HTTP: &http.Client{Transport: &wire{}}})
	if err != nil || near.(model.ToolLimiter).MaxTools() != 0 {
		t.Errorf("%v", err)
	}
}
