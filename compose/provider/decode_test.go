package provider

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/model"
)

// Calls come in every spelling: with indices, without, all at index 0 under
// different ids, arguments as an object, without an id, without arguments.
func TestChatCalls(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		deltas []string
		want   []string
	}{
		"interleaved": {[]string{
			`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`, `{"index":1,"id":"b","function":{"name":"g","arguments":""}}`,
			`{"index":0,"function":{"arguments":"1}"}}`, `{"index":1,"function":{"arguments":"{}"}}`,
		}, []string{`a f {"x":1}`, `b g {}`}},
		"all at index 0": {[]string{
			`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`, `{"index":0,"id":"b","function":{"name":"g","arguments":"{\"y\":"}}`,
			`{"index":0,"id":"b","function":{"arguments":"2}"}}`,
		}, []string{`a f {}`, `b g {"y":2}`}},
		"no index": {[]string{
			`{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`, `{"function":{"arguments":"1}"}}`, `{"id":"b","function":{"name":"g","arguments":{"z":9007199254740993}}}`,
		}, []string{`a f {"x":1}`, `b g {"z":9007199254740993}`}},
		"no id": {[]string{
			`{"function":{"name":"f"}}`, `{"function":{"name":"g","arguments":"{}"}}`,
		}, []string{`call_0 f {}`, `call_1 g {}`}},
	} {
		var stream string
		for _, d := range c.deltas {
			stream += `data: {"choices":[{"delta":{"tool_calls":[` + d + `]}}]}` + "\n\n"
		}
		stream += `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
		m, failed := saidBy(t, client(t, OpenAIChat, &wire{body: stream}), asking("hi"))
		var got []string
		for _, b := range m.blocks {
			got = append(got, b.CallID+" "+b.Name+" "+string(b.JSON))
		}
		if failed != nil || m.stop != "tool_use" || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, stop %q, %v", what, got, m.stop, failed)
		}
	}
}

// Reasoning in parts of the content is reasoning.
func TestChatContentParts(t *testing.T) {
	t.Parallel()
	stream := `data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"ok"}]},"finish_reason":"length"}]}` + "\n\n"
	m, failed := saidBy(t, client(t, OpenAIChat, &wire{body: stream}), asking("hi"))
	if failed != nil || m.stop != "max_tokens" || len(m.blocks) != 2 || m.blocks[0].Kind != content.KindReasoning || m.blocks[0].Text != "hm" || m.blocks[1].Text != "ok" {
		t.Errorf("%+v %v", m, failed)
	}
}

// FuzzAnswers: whatever an endpoint answers, as a stream or as a document, ends
// in one stop or one typed error, and nothing comes behind either.
func FuzzAnswers(f *testing.F) {
	kinds := []Kind{Anthropic, OpenAIChat, OpenAIResponses, Gemini}
	for i, kind := range kinds {
		f.Add(uint8(i), true, strings.Join(streams[kind], ""))
		f.Add(uint8(i), false, `{"choices":[{"message":{"content":[{}],"tool_calls":[{}],"reasoning_details":[{"text":"a"},{"text":1},[]]},"finish_reason":"x"}],"output":[{"type":"function_call"}],"status":"completed","candidates":[{"content":{"parts":[{"functionCall":{}},{}]},"finishReason":"STOP"}],"content":[{"type":"tool_use"}],"stop_reason":"x"}`)
		f.Add(uint8(i), true, "event: error\ndata: {\"error\":[]}\n\ndata: null\n\ndata: [1]\n\n")
	}
	f.Fuzz(func(t *testing.T, n uint8, stream bool, body string) {
		kind := kinds[int(n)%len(kinds)]
		w := &wire{body: body, header: http.Header{"Content-Type": {"application/json"}}}
		if stream {
			w.header = nil
		}
		c, err := New(Config{Kind: kind, Model: "m", NoStream: !stream, HTTP: &http.Client{Transport: w}})
		if err != nil {
			t.Fatal(err)
		}
		stops, failures := 0, 0
		for chunk, err := range c.Stream(t.Context(), asking("hi")) {
			if stops+failures > 0 {
				t.Fatalf("%+v %v behind the end", chunk, err)
			}
			if err != nil {
				failures++
				if _, ok := errors.AsType[*model.Error](err); !ok {
					t.Fatalf("an untyped error: %v", err)
				}
			} else if chunk.Kind == model.ChunkStop {
				stops++
			} else if chunk.Kind == model.ChunkToolUse && (chunk.ToolUse == nil || len(chunk.ToolUse.Args) == 0) {
				t.Fatalf("a call without arguments: %+v", chunk)
			}
		}
		if stops+failures != 1 {
			t.Fatalf("%d stops and %d failures", stops, failures)
		}
	})
}
