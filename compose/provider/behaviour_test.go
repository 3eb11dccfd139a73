package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/model"
)

// canary is the key of every test; it must be nowhere but in the header.
const canary = "sk-canary-0123456789abcdef"

// wire answers every request alike and keeps the last one.
type wire struct {
	status int
	header http.Header
	body   string
	err    error
	after  error // the error behind the body, instead of its end
	asked  []byte
	got    http.Header
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	w.got = req.Header.Clone()
	if req.Body != nil {
		w.asked, _ = io.ReadAll(req.Body)
	}
	if w.err != nil {
		return nil, w.err
	}
	src := io.Reader(strings.NewReader(w.body))
	if w.after != nil {
		src = io.MultiReader(src, failing{w.after})
	}
	h := w.header
	if h == nil {
		h = http.Header{}
	}
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", "text/event-stream")
	}
	status := w.status
	if status == 0 {
		status = http.StatusOK
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(src), Request: req, ContentLength: -1, ProtoMajor: 1, ProtoMinor: 1}, nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// client makes a client of a kind over a wire.
func client(t *testing.T, kind Kind, w *wire) model.Client {
	t.Helper()
	cfg := Config{
		Kind: kind, Model: "m", HTTP: &http.Client{Transport: w},
		Key: func(context.Context) (string, error) { return canary, nil },
	}
	switch kind {
	case AnthropicVertex, GeminiVertex:
		cfg.BaseURL = "https://vertex.example/v1/projects/p/locations/l/publishers/x"
	case Anthropic, OpenAIChat, OpenAIResponses, Gemini:
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func asking(text string) model.Request {
	return model.Request{Messages: []content.Message{{Role: content.RoleUser, Blocks: []content.Block{content.Text(text)}}}}
}

// said runs a request and returns what came and the typed error.
func saidBy(t *testing.T, c model.Client, req model.Request) (message, *model.Error) {
	t.Helper()
	m, err := assemble(c.Stream(t.Context(), req))
	if err == nil {
		return m, nil
	}
	failed, ok := errors.AsType[*model.Error](err)
	if !ok {
		t.Fatalf("an error that is not typed: %v", err)
	}
	if strings.Contains(fmt.Sprintf("%v %+v %#v", err, failed, failed), canary) {
		t.Fatalf("the key is in the error: %v", err)
	}
	return m, failed
}

// Every status of every kind is typed, says whether it may pass, and carries no
// key even where the endpoint repeats it.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		for _, c := range []struct {
			status  int
			header  string
			body    string
			code    string
			retry   bool
			after   time.Duration
			message string
		}{
			{401, "", `{"error":{"message":"Incorrect API key: ` + canary + `"}}`, "auth", false, 0, "401: the endpoint refuses the key: Incorrect API key: ‹key›"},
			{403, "", `{"error":{"message":"no"}}`, "auth", false, 0, "403"},
			{404, "", `{"error":{"type":"not_found_error","message":"model: m"}}`, "invalid_request", false, 0, "does not know the model"},
			{429, "7", `{"error":{"message":"slow down"}}`, "rate_limit", true, 7 * time.Second, "too many requests"},
			{429, "", `[{"error":{"status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"34s"}]}}]`, "rate_limit", true, 34 * time.Second, ""},
			{429, "", `{"error":{"code":"insufficient_quota","message":"pay"}}`, "rate_limit", false, 0, "no quota left"},
			{500, "", `<html>oops</html>`, "overloaded", true, 0, "a web page"},
			{529, "3", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "overloaded", true, 3 * time.Second, "Overloaded"},
			{400, "", `{"error":{"code":"context_length_exceeded","message":"too long"}}`, "context_overflow", false, 0, ""},
			{400, "", `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, "context_overflow", false, 0, ""},
			{400, "", `{"error":{"code":400,"message":"The input token count (1100000) exceeds the maximum number of tokens allowed (1048576)."}}`, "context_overflow", false, 0, ""},
			{400, "", `{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (4096 tokens)","type":"exceed_context_size_error"}}`, "context_overflow", false, 0, ""},
			{400, "", "{\"error\":{\"message\":\"bad \\u001b[31m thing\"}}", "invalid_request", false, 0, "bad"},
			{302, "", "", "invalid_request", false, 0, "correct the base URL"},
		} {
			w := &wire{status: c.status, body: c.body, header: http.Header{"Content-Type": {"application/json"}}}
			if c.header != "" {
				w.header.Set("Retry-After", c.header)
			}
			_, failed := saidBy(t, client(t, kind, w), asking("hi"))
			if failed == nil || failed.Code != c.code || failed.Retryable != c.retry || failed.RetryAfter != c.after || !strings.Contains(failed.Message, c.message) {
				t.Errorf("%s: %d %s: %+v", kind, c.status, c.body, failed)
			}
			if failed != nil && strings.ContainsRune(failed.Message, 0x1b) {
				t.Errorf("%s: a control character in %q", kind, failed.Message)
			}
		}
		w := &wire{err: errors.New("dial: refused")}
		if _, failed := saidBy(t, client(t, kind, w), asking("hi")); failed == nil || failed.Code != "network" || !failed.Retryable {
			t.Errorf("%s: nobody there: %+v", kind, failed)
		}
	}
}

// streams of one text per kind, complete but for what is cut off.
var streams = map[Kind][]string{
	Anthropic: {
		"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n",
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"half\"}}\n\n",
		"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\"},\"usage\":{\"output_tokens\":2}}\n\n",
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
	},
	OpenAIChat: {
		"data: {\"choices\":[{\"delta\":{\"refusal\":\"half\"}}]}\n\n",
		"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
		"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,\"total_tokens\":5}}\n\ndata: [DONE]\n\n",
	},
	OpenAIResponses: {
		"event: response.refusal.delta\ndata: {\"type\":\"response.refusal.delta\",\"delta\":\"half\"}\n\n",
		"event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"message\",\"content\":[{\"type\":\"refusal\",\"refusal\":\"half\"}]}}\n\n",
		"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"usage\":{\"input_tokens\":3,\"output_tokens\":2}}}\n\n",
	},
	Gemini: {
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"half\"}]}}]}\n\n",
		"data: {\"candidates\":[{\"finishReason\":\"SAFETY\"}],\"usageMetadata\":{\"promptTokenCount\":3,\"candidatesTokenCount\":2}}\n\n",
	},
}

// A refusal is a stop, with its text and usage.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for kind, events := range streams {
		m, failed := saidBy(t, client(t, kind, &wire{body: strings.Join(events, "")}), asking("hi"))
		if failed != nil || m.stop != "refusal" || content.PlainText(m.blocks) != "half" || m.in != 3 || m.out != 2 {
			t.Errorf("%s: %+v %v", kind, m, failed)
		}
	}
}

// A stream that ends early, breaks off, or has an error or a ruin in it yields
// what came and then one typed error; never a message.
func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	for kind, events := range streams {
		first := strings.Join(events[:len(events)-1], "")
		if kind == OpenAIChat {
			first = events[0]
		}
		for what, w := range map[string]*wire{
			"ends early": {body: first},
			"breaks off": {body: first, after: io.ErrUnexpectedEOF},
			"a ruin":     {body: first + "event: message_delta\ndata: {\"type\": \n\n"},
			"an error":   {body: first + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy " + canary + "\"}}\n\n"},
		} {
			m, failed := saidBy(t, client(t, kind, w), asking("hi"))
			if failed == nil || !failed.Retryable || m.stop != "" || m.in+m.out != 0 {
				t.Errorf("%s: %s: %+v %+v", kind, what, m, failed)
			}
			if want := map[bool]string{true: "overloaded", false: "stream_broken"}[what == "an error"]; failed != nil && failed.Code != want {
				t.Errorf("%s: %s: code %s, want %s (%s)", kind, what, failed.Code, want, failed.Message)
			}
		}
	}
}

// A consumer that stops early gets no more, and no error.
func TestConsumerStops(t *testing.T) {
	t.Parallel()
	for kind, events := range streams {
		n := 0
		for _, err := range client(t, kind, &wire{body: strings.Join(events, "")}).Stream(t.Context(), asking("hi")) {
			if n++; err != nil {
				t.Errorf("%s: %v", kind, err)
			}
			break
		}
		if n != 1 {
			t.Errorf("%s: %d chunks", kind, n)
		}
	}
}

// An ended context is the error, not what it broke.
func TestEndedContext(t *testing.T) {
	t.Parallel()
	stopped := errors.New("the user stopped it")
	for kind := range streams {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(stopped)
		_, err := assemble(client(t, kind, &wire{err: context.Canceled}).Stream(ctx, asking("hi")))
		if !errors.Is(err, stopped) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// The history of a call with a picture and an error in its results, of another
// model's call, and of a call whose result is missing.
func history() []content.Message {
	png := []byte("\x89PNG")
	return []content.Message{
		{Role: content.RoleUser, Blocks: []content.Block{content.Text("look")}},
		{Role: content.RoleAssistant, Blocks: []content.Block{
			{Kind: content.KindReasoning, Text: "hm", State: &content.State{Origin: "another/model", Data: json.RawMessage(`{"signature":"foreign"}`)}},
			{Kind: content.KindToolUse, CallID: "c1", Name: "see", JSON: json.RawMessage(`{"id":9007199254740993}`)},
			{Kind: content.KindToolUse, CallID: "c2", Name: "fail", JSON: json.RawMessage(`"not an object"`)},
			{Kind: content.KindToolUse, CallID: "c3", Name: "lost"},
		}},
		{Role: content.RoleTool, Blocks: []content.Block{
			{Kind: content.KindToolResult, CallID: "c1", Blocks: []content.Block{content.Text("a dot"), {Kind: content.KindImage, MIME: "image/png", Data: png}, {Kind: content.KindImage, MIME: "image/svg+xml", Data: png}}},
			{Kind: content.KindToolResult, CallID: "c2", IsError: true, Blocks: []content.Block{content.Text("no")}},
		}},
	}
}

// Pictures go where a kind has a place for them, numbers stay as they are, a
// missing result is made up for, and nothing of another model's state is sent.
func TestHistories(t *testing.T) {
	t.Parallel()
	wants := map[Kind][]string{
		Anthropic: {
			`{"tool_use_id":"c1","content":[{"text":"a dot","type":"text"},{"source":{"data":"iVBORw==","media_type":"image/png","type":"base64"},"type":"image"},{"text":"[image image/svg+xml, 4 bytes, not shown]","type":"text"}],"type":"tool_result"}`,
			`"is_error":true`, `"input":{"id":9007199254740993}`, `"input":{"invalid_arguments":"not an object"}`, `(no result: the call was interrupted)`,
		},
		OpenAIChat: {
			`{"role":"tool","content":"a dot\n[image, shown in the message after the results]\n[image image/svg+xml, 4 bytes, not shown]","tool_call_id":"c1"}`,
			`{"role":"user","content":[{"type":"text","text":"[image in the result of call c1]"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw=="}}]}`,
			`"content":"Error: no"`, `"arguments":"{\"id\":9007199254740993}"`, `(no result: the call was interrupted)`,
		},
		OpenAIResponses: {
			`{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"a dot"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw=="},{"type":"input_text","text":"[image image/svg+xml, 4 bytes, not shown]"}]}`,
			`"output":"Error: no"`, `"arguments":"{\"id\":9007199254740993}"`, `(no result: the call was interrupted)`,
		},
		Gemini: {
			`"functionResponse":{"id":"c1","name":"see","response":{"result":"a dot\n[image, shown behind the results]\n[image image/svg+xml, 4 bytes, not shown]"}}`,
			`{"inlineData":{"mimeType":"image/png","data":"iVBORw=="}}`, `"response":{"error":"no"}`, `"args":{"id":9007199254740993}`, `(no result: the call was interrupted)`,
		},
	}
	for _, kind := range Kinds() {
		w := &wire{body: strings.Join(streams[kind], "")}
		if _, failed := saidBy(t, client(t, kind, w), model.Request{Messages: history()}); failed != nil {
			t.Errorf("%s: %v", kind, failed)
		}
		for _, part := range wants[family(kind)] {
			if !strings.Contains(string(w.asked), part) {
				t.Errorf("%s: no %s in\n%s", kind, part, w.asked)
			}
		}
		if strings.Contains(string(w.asked), "foreign") || strings.Contains(string(w.asked), canary) {
			t.Errorf("%s: the body has what it must not have: %s", kind, w.asked)
		}
		if !strings.Contains(fmt.Sprint(w.got), canary) {
			t.Errorf("%s: the key is not in the headers %v", kind, w.got)
		}
	}
}

// A tool that a provider cannot take fails before anything is sent, by name.
func TestToolsAreChecked(t *testing.T) {
	t.Parallel()
	schema := func(s string) model.Tool { return model.Tool{Name: "t", InputSchema: json.RawMessage(s)} }
	for _, c := range []struct {
		tool model.Tool
		code map[Kind]string // kinds that are not named take the tool
	}{
		{schema(`{}`), nil},
		{schema(`{"type":"object","properties":{"a":{"enum":[{"$ref":"http://x"}]}}}`), nil},
		{model.Tool{Name: strings.Repeat("a", 65)}, map[Kind]string{Anthropic: "name", OpenAIChat: "name", OpenAIResponses: "name", Gemini: "name"}},
		{model.Tool{Name: "a b"}, map[Kind]string{Anthropic: "name", OpenAIChat: "name", OpenAIResponses: "name", Gemini: "name"}},
		{model.Tool{Name: "9a"}, map[Kind]string{Gemini: "name"}},
		{model.Tool{Name: "a.b"}, map[Kind]string{Anthropic: "name", OpenAIChat: "name", OpenAIResponses: "name"}},
		{model.Tool{Name: "t", Description: strings.Repeat("d", 1025)}, map[Kind]string{OpenAIChat: "size"}},
		{schema(`{"anyOf":[{"type":"object"}]}`), map[Kind]string{Anthropic: "schema", OpenAIChat: "schema", OpenAIResponses: "schema"}},
		{schema(`{"type":"object","properties":{"bad name":{}}}`), map[Kind]string{Anthropic: "schema"}},
		{schema(`{"type":"object","properties":{"a":{"$ref":"#/$defs/x","description":"d"}}}`), map[Kind]string{Gemini: "schema"}},
		{schema(`{"type":"object","properties":{"a":{"$ref":"http://x/y"}}}`), map[Kind]string{Anthropic: "schema", OpenAIChat: "schema", OpenAIResponses: "schema", Gemini: "schema"}},
		{schema(`{"type":"array"}`), map[Kind]string{Anthropic: "schema", OpenAIChat: "schema", OpenAIResponses: "schema", Gemini: "schema"}},
		{schema(`[]`), map[Kind]string{Anthropic: "schema", OpenAIChat: "schema", OpenAIResponses: "schema", Gemini: "schema"}},
		{schema(`{"a":"` + strings.Repeat("x", 256<<10) + `"}`), map[Kind]string{Anthropic: "size", OpenAIChat: "size", OpenAIResponses: "size", Gemini: "size"}},
	} {
		for kind := range streams {
			w := &wire{body: strings.Join(streams[kind], "")}
			cl := client(t, kind, w)
			err := cl.(model.ToolChecker).CheckTool(c.tool)
			refused, _ := errors.AsType[*model.ToolError](err)
			_, failed := saidBy(t, cl, model.Request{Messages: asking("hi").Messages, Tools: []model.Tool{c.tool}})
			switch want := c.code[family(kind)]; {
			case want == "" && (err != nil || failed != nil):
				t.Errorf("%s refuses %.80s: %v %v", kind, c.tool.InputSchema, err, failed)
			case want != "" && (refused == nil || refused.Code != want || failed == nil || failed.Code != "invalid_request" || w.asked != nil):
				t.Errorf("%s takes %.80s %s: %v, asked %.200s", kind, c.tool.Name, c.tool.InputSchema, err, w.asked)
			}
		}
	}
	twice := model.Request{Messages: asking("hi").Messages, Tools: []model.Tool{{Name: "a"}, {Name: "a"}}}
	for kind := range streams {
		if _, failed := saidBy(t, client(t, kind, &wire{}), twice); failed == nil || failed.Code != "invalid_request" {
			t.Errorf("%s: a name twice: %v", kind, failed)
		}
	}
}

// A schema goes out as it came, but for what its root lacks.
func TestSchemasStayAsTheyAre(t *testing.T) {
	t.Parallel()
	given := `{"type":"object","$defs":{"x":{"type":"integer","maximum":9007199254740993}},"properties":{"z":{"$ref":"#/$defs/x"},"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`
	for kind := range streams {
		w := &wire{body: strings.Join(streams[kind], "")}
		req := asking("hi")
		req.Tools = []model.Tool{{Name: "t", InputSchema: json.RawMessage(given)}, {Name: "u", InputSchema: json.RawMessage(`{"additionalProperties":false}`)}}
		if _, failed := saidBy(t, client(t, kind, w), req); failed != nil {
			t.Fatal(failed)
		}
		if !strings.Contains(string(w.asked), given) || !strings.Contains(string(w.asked), `{"type":"object",`) {
			t.Errorf("%s: %s", kind, w.asked)
		}
	}
}

// A configuration prints without its secrets, and one that would send a key in
// the open is refused.
func TestConfigs(t *testing.T) {
	t.Parallel()
	key := func(context.Context) (string, error) { return canary, nil }
	cfg := Config{Kind: OpenAIChat, Model: "m", BaseURL: "http://192.168.1.2:8000/v1", Key: key, Headers: map[string]string{"X-Secret": canary}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if s := fmt.Sprintf(verb, cfg); strings.Contains(s, canary) || !strings.Contains(s, "openai-chat/m") {
			t.Errorf("%s: %s", verb, s)
		}
	}
	if raw, err := json.Marshal(cfg); err != nil || strings.Contains(string(raw), canary) {
		t.Errorf("%s %v", raw, err)
	}
	if _, err := New(cfg); err != nil {
		t.Errorf("a server in the own network: %v", err)
	}
	for _, c := range []Config{
		{Kind: "x", Model: "m"}, {Kind: OpenAIChat}, {Kind: GeminiVertex, Model: "m"},
		{Kind: OpenAIChat, Model: "m", BaseURL: "http://example.com/v1", Key: key},
		{Kind: OpenAIChat, Model: "m", BaseURL: "https://u:p@example.com/v1"},
		{Kind: OpenAIChat, Model: "m", BaseURL: "ftp://example.com"},
		{Kind: OpenAIChat, Model: "m", BaseURL: "https://example.com/?k=v"},
	} {
		if got, err := New(c); err == nil || got != nil {
			t.Errorf("%s is taken", c)
		} else if _, ok := errors.AsType[*ConfigError](err); !ok {
			t.Errorf("%s: %T", c, err)
		}
	}
	w := &wire{}
	c, err := New(Config{Kind: Gemini, Model: "m", HTTP: &http.Client{Transport: w}, Key: func(context.Context) (string, error) { return "a\nb", nil }})
	if err != nil {
		t.Fatal(err)
	}
	if _, failed := saidBy(t, c, asking("hi")); failed == nil || failed.Code != "auth" || w.got != nil {
		t.Errorf("a key of two lines: %v", failed)
	}
}

// The SDK takes its key, address and headers from the configuration alone and
// tells nobody what machine this is.
func TestAnthropicReadsNoEnvironment(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "from-the-environment")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "from-the-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "https://from-the-environment.example")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Custom: from-the-environment")
	w := &wire{body: strings.Join(streams[Anthropic], "")}
	if _, failed := saidBy(t, client(t, Anthropic, w), asking("hi")); failed != nil {
		t.Fatal(failed)
	}
	if w.got.Get("X-Api-Key") != canary || w.got.Get("Anthropic-Version") == "" || w.got.Get("User-Agent") != "looprig" {
		t.Errorf("headers %v", w.got)
	}
	for name, values := range w.got {
		if strings.Contains(fmt.Sprint(values), "from-the-environment") || strings.HasPrefix(name, "X-Stainless") || name == "Authorization" {
			t.Errorf("%s: %v", name, values)
		}
	}
}

// A message that the model reasons about keeps what the provider wants back, and
// gets it back: thinking with its signature, redacted thinking, encrypted
// reasoning.
func TestReasoningGoesBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind Kind
		body string
		back string
	}{
		{Anthropic, `{"content":[{"type":"redacted_thinking","data":"sealed"},{"type":"thinking","thinking":"hm","signature":"signed"},{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`,
			`[{"data":"sealed","type":"redacted_thinking"},{"signature":"signed","thinking":"hm","type":"thinking"},{"text":"ok","type":"text"}]`},
		{OpenAIResponses, `{"status":"completed","output":[{"type":"reasoning","id":"rs_1","status":"completed","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"sealed"},{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}`,
			`{"encrypted_content":"sealed","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"type":"reasoning"},{"role":"assistant","content":[{"type":"output_text","text":"ok"}]}`},
		{OpenAIChat, `{"choices":[{"message":{"reasoning":"hm","content":"ok"},"finish_reason":"stop"}]}`, `"content":"ok","reasoning":"hm"`},
		{Gemini, `{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"ok","thoughtSignature":"signed"}]},"finishReason":"STOP"}]}`, `{"text":"ok","thoughtSignature":"signed"}`},
	} {
		w := &wire{body: c.body, header: http.Header{"Content-Type": {"application/json"}}}
		cfg := Config{Kind: c.kind, Model: "m", NoStream: true, HTTP: &http.Client{Transport: w}}
		cl, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		m, failed := saidBy(t, cl, asking("hi"))
		if failed != nil || content.PlainText(m.blocks) != "ok" {
			t.Fatalf("%s: %+v %v", c.kind, m, failed)
		}
		req := asking("hi")
		req.Messages = append(req.Messages, content.Message{Role: content.RoleAssistant, Blocks: m.blocks}, asking("and").Messages[0])
		if _, failed := saidBy(t, cl, req); failed != nil || !strings.Contains(string(w.asked), c.back) {
			t.Errorf("%s: %v, sent %s", c.kind, failed, w.asked)
		}
		cfg.Model = "another"
		if cl, err = New(cfg); err != nil {
			t.Fatal(err)
		}
		if _, failed := saidBy(t, cl, req); failed != nil || strings.Contains(string(w.asked), "sealed") || strings.Contains(string(w.asked), "signed") {
			t.Errorf("%s: another model is given %s", c.kind, w.asked)
		}
	}
}

// An endpoint that was asked for a stream may answer with a document.
func TestDocumentForAStream(t *testing.T) {
	t.Parallel()
	w := &wire{body: `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`, header: http.Header{"Content-Type": {"application/json"}}}
	if m, failed := saidBy(t, client(t, OpenAIChat, w), asking("hi")); failed != nil || content.PlainText(m.blocks) != "ok" || m.stop != "end" {
		t.Errorf("%+v %v", m, failed)
	}
}
