package provider

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/model"
)

// scene rebuilds the conversation of a recording out of its requests, as a
// session would have led it: what the model said is what our client heard, under
// ids of the session's own.
type scene struct {
	ctx     context.Context
	config  Config
	history []content.Message
	calls   int
}

// body is any recorded request, as far as a scene needs it.
type body struct {
	Model     string            `json:"model"`
	MaxTokens int               `json:"max_tokens"`
	MaxNew    int               `json:"max_completion_tokens"`
	MaxOut    int               `json:"max_output_tokens"`
	Effort    string            `json:"reasoning_effort"`
	Stream    bool              `json:"stream"`
	System    json.RawMessage   `json:"system"`
	SystemG   json.RawMessage   `json:"systemInstruction"`
	Messages  []json.RawMessage `json:"messages"`
	Input     []json.RawMessage `json:"input"`
	Contents  []json.RawMessage `json:"contents"`
	Thinking  struct {
		Budget int `json:"budget_tokens"`
	} `json:"thinking"`
	Generation struct {
		Max      int `json:"maxOutputTokens"`
		Thinking struct {
			Level  string `json:"thinkingLevel"`
			Budget int    `json:"thinkingBudget"`
		} `json:"thinkingConfig"`
	} `json:"generationConfig"`
	Tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"input_schema"`
		Parameters  json.RawMessage `json:"parameters"`
		Function    struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
		Declarations []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
}

func newScene(first interaction) (*scene, error) {
	var b body
	if err := json.Unmarshal([]byte(first.Request.Body), &b); err != nil {
		return nil, err
	}
	c := Config{Model: b.Model, Effort: b.Effort, ThinkingTokens: b.Thinking.Budget + b.Generation.Thinking.Budget}
	c.MaxTokens = b.MaxTokens + b.MaxNew + b.MaxOut + b.Generation.Max
	if b.Generation.Thinking.Level != "" {
		c.Effort = strings.ToLower(b.Generation.Thinking.Level)
	}
	url := first.Request.URL
	base, tail, inPath := strings.Cut(url, "/models/")
	switch {
	case strings.HasSuffix(url, "/chat/completions"):
		c.Kind, c.BaseURL = OpenAIChat, strings.TrimSuffix(url, "/chat/completions")
	case strings.HasSuffix(url, "/responses"):
		c.Kind, c.BaseURL = OpenAIResponses, strings.TrimSuffix(url, "/responses")
	case strings.HasSuffix(url, "/v1/messages"):
		c.Kind, c.BaseURL = Anthropic, strings.TrimSuffix(url, "/v1/messages")
	case inPath:
		c.BaseURL = base
		c.Model, tail, _ = strings.Cut(tail, ":")
		c.Kind = Gemini
		if strings.Contains(base, "aiplatform") {
			c.Kind = GeminiVertex
		}
		if strings.Contains(strings.ToLower(tail), "rawpredict") {
			c.Kind = AnthropicVertex
		}
	default:
		return nil, fmt.Errorf("no kind speaks %s", url)
	}
	c.NoStream = !b.Stream && !strings.HasPrefix(strings.ToLower(tail), "stream")
	return &scene{ctx: context.Background(), config: c}, nil
}

// request is the neutral request behind a recorded one.
func (s *scene) request(i interaction) (model.Request, error) {
	var b body
	if err := json.Unmarshal([]byte(i.Request.Body), &b); err != nil {
		return model.Request{}, err
	}
	var req model.Request
	for _, t := range b.Tools {
		add := func(name, description string, schema json.RawMessage) {
			if len(schema) > 0 {
				req.Tools = append(req.Tools, model.Tool{Name: name, Description: description, InputSchema: lowerTypes(schema)})
			}
		}
		add(t.Name, t.Description, t.Schema)
		add(t.Name, t.Description, t.Parameters)
		add(t.Function.Name, t.Function.Description, t.Function.Parameters)
		for _, d := range t.Declarations {
			add(d.Name, d.Description, d.Parameters)
		}
	}
	all := slices.Concat(b.Messages, b.Input, b.Contents)
	req.System = texts(b.System) + texts(b.SystemG)
	var results []content.Block
	for _, raw := range all {
		var m struct{ Role string }
		if err := json.Unmarshal(raw, &m); err != nil {
			return req, err
		}
		results = append(results, resultsIn(raw)...)
		switch {
		case m.Role == "system" || m.Role == "developer":
			req.System = texts(raw)
		case m.Role == "user" && len(resultsIn(raw)) == 0 && len(s.history) == 0:
			s.history = append(s.history, content.Message{Role: content.RoleUser, Blocks: []content.Block{content.Text(texts(raw))}})
		}
	}
	s.answer(results)
	req.Messages = s.history
	return req, nil
}

// answer puts results behind the calls that wait for one, in their order.
func (s *scene) answer(results []content.Block) {
	if len(s.history) == 0 || s.history[len(s.history)-1].Role != content.RoleAssistant {
		return
	}
	m := content.Message{Role: content.RoleTool}
	for _, b := range s.history[len(s.history)-1].Blocks {
		if b.Kind == content.KindToolUse && len(m.Blocks) < len(results) {
			r := results[len(m.Blocks)]
			r.CallID = b.CallID
			m.Blocks = append(m.Blocks, r)
		}
	}
	s.history = append(s.history, m)
}

// heard adds what the model said.
func (s *scene) heard(m message) {
	for i, b := range m.blocks {
		if b.Kind == content.KindToolUse {
			s.calls++
			m.blocks[i].CallID = fmt.Sprintf("c%d", s.calls)
		}
	}
	s.history = append(s.history, content.Message{Role: content.RoleAssistant, Blocks: m.blocks})
}

// texts joins every text below a value, whatever it is called.
func texts(raw json.RawMessage) string {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return ""
	}
	var walk func(any) string
	walk = func(v any) string {
		switch x := v.(type) {
		case string:
			return x
		case []any:
			out := ""
			for _, y := range x {
				out += walk(y)
			}
			return out
		case map[string]any:
			for _, k := range []string{"content", "parts", "text", "output"} {
				if y, has := x[k]; has {
					return walk(y)
				}
			}
		}
		return ""
	}
	return walk(v)
}

// resultsIn finds the tool results of a recorded message.
func resultsIn(raw json.RawMessage) []content.Block {
	var m struct {
		Role    string          `json:"role"`
		Type    string          `json:"type"`
		Content json.RawMessage `json:"content"`
		Parts   []struct {
			Response *struct {
				Response struct{ Result string } `json:"response"`
			} `json:"functionResponse"`
		} `json:"parts"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	result := func(s string) content.Block {
		return content.Block{Kind: content.KindToolResult, Blocks: []content.Block{content.Text(s)}}
	}
	var out []content.Block
	if m.Role == "tool" || m.Type == "function_call_output" {
		return append(out, result(texts(raw)))
	}
	var blocks []struct {
		Type    string          `json:"type"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(m.Content, &blocks) == nil {
		for _, b := range blocks {
			if b.Type == "tool_result" {
				out = append(out, result(texts(b.Content)))
			}
		}
	}
	for _, p := range m.Parts {
		if p.Response != nil {
			out = append(out, result(p.Response.Response.Result))
		}
	}
	return out
}

// lowerTypes undoes the spelling that an SDK gives the types of a schema.
func lowerTypes(raw json.RawMessage) json.RawMessage {
	for _, t := range []string{"OBJECT", "STRING", "INTEGER", "NUMBER", "ARRAY", "BOOLEAN"} {
		raw = bytes.ReplaceAll(raw, []byte(`"type":"`+t+`"`), []byte(`"type":"`+strings.ToLower(t)+`"`))
	}
	return raw
}

// message is what a stream says, assembled as a session does it.
type message struct {
	blocks  []content.Block
	in, out int
	stop    string
}

func assemble(stream iter.Seq2[model.Chunk, error]) (message, error) {
	var m message
	var open *content.Block
	flush := func() {
		if open != nil && (open.Text != "" || open.State != nil) {
			m.blocks = append(m.blocks, *open)
		}
		open = nil
	}
	for c, err := range stream {
		if err != nil {
			return m, err
		}
		switch c.Kind {
		case model.ChunkText, model.ChunkReasoning:
			kind := content.KindText
			if c.Kind == model.ChunkReasoning {
				kind = content.KindReasoning
			}
			if open == nil || open.Kind != kind {
				flush()
				open = &content.Block{Kind: kind}
			}
			open.Text += c.Text
			if c.State != nil {
				open.State = c.State
				flush()
			}
		case model.ChunkToolUse:
			flush()
			u := c.ToolUse
			m.blocks = append(m.blocks, content.Block{Kind: content.KindToolUse, CallID: u.ID, Name: u.Name, JSON: u.Args, State: u.State})
		case model.ChunkUsage:
			m.in, m.out = m.in+c.InputTokens, m.out+c.OutputTokens
		case model.ChunkStop:
			m.stop = c.Stop
		}
	}
	flush()
	return m, nil
}

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return fmt.Sprintf("%d:%s", len(s), hex.EncodeToString(h[:8]))
}

func (m message) check(want expected) error {
	var text, reasoning string
	var calls [][2]any
	for _, b := range m.blocks {
		switch b.Kind {
		case content.KindText:
			text += b.Text
		case content.KindReasoning:
			reasoning += b.Text
		case content.KindToolUse:
			var args any
			if err := json.Unmarshal(b.JSON, &args); err != nil {
				return fmt.Errorf("arguments of %s: %w", b.Name, err)
			}
			calls = append(calls, [2]any{b.Name, args})
		default:
			return fmt.Errorf("a message of a model has a %s block", b.Kind)
		}
	}
	var wanted [][2]any
	for _, c := range want.Calls {
		var x [2]any
		for i := range c {
			if err := json.Unmarshal(c[i], &x[i]); err != nil {
				return err
			}
		}
		wanted = append(wanted, x)
	}
	switch {
	case sum(text) != want.Text:
		return fmt.Errorf("text %s, want %s", sum(text), want.Text)
	case sum(reasoning) != want.Reasoning:
		return fmt.Errorf("reasoning %s, want %s", sum(reasoning), want.Reasoning)
	case !reflect.DeepEqual(calls, wanted):
		return fmt.Errorf("calls %v, want %v", calls, wanted)
	case m.stop != want.Stop || m.in != want.In || m.out != want.Out:
		return fmt.Errorf("stop %s, tokens %d and %d; want %s, %d and %d", m.stop, m.in, m.out, want.Stop, want.In, want.Out)
	}
	return nil
}

// difference is an entry of testdata/allowed-differences.yaml.
type difference struct {
	Kinds     []Kind `yaml:"kinds"`
	Cassettes string `yaml:"cassettes"`
	Side      string `yaml:"side"`
	Path      string `yaml:"path"`
	Value     any    `yaml:"value"`
	As        string `yaml:"as"`
	Reason    string `yaml:"reason"`
	pattern   *regexp.Regexp
	used      bool
}

func loadAllowed(t *testing.T) []*difference {
	t.Helper()
	raw, err := os.ReadFile("testdata/allowed-differences.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []*difference
	if err := yaml.UnmarshalWithOptions(raw, &all, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		if d.Reason == "" || d.Side != "ours" && d.Side != "recorded" {
			t.Fatalf("the allowed difference at %s has no reason or no side", d.Path)
		}
		d.pattern = regexp.MustCompile(d.Cassettes)
	}
	return all
}

func compareBodies(name string, kind Kind, ours, recorded []byte, allowed []*difference) error {
	sides := map[string]any{}
	for side, raw := range map[string][]byte{"ours": ours, "recorded": lowerTypes(recorded)} {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return fmt.Errorf("%s body: %w", side, err)
		}
		sides[side] = v
	}
	for _, d := range allowed {
		if slices.Contains(d.Kinds, kind) && d.pattern.MatchString(name) && d.apply(sides[d.Side], strings.Split(d.Path, ".")) {
			d.used = true
		}
	}
	a, errA := json.Marshal(sides["ours"])
	b, errB := json.Marshal(sides["recorded"])
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		return fmt.Errorf("the request differs\n ours     %s\n recorded %s", a, b)
	}
	return nil
}

// apply takes the value at a path out, or renames it.
func (d *difference) apply(v any, path []string) bool {
	key, of, list := strings.Cut(strings.TrimSuffix(path[0], "]"), "[")
	object, ok := v.(map[string]any)
	if !ok {
		return false
	}
	value, has := object[key]
	if !has {
		return false
	}
	if len(path) > 1 {
		items := []any{value}
		if list {
			items, _ = value.([]any)
		}
		done := false
		for _, x := range items {
			role, limited := strings.CutPrefix(of, "role=")
			if m, ok := x.(map[string]any); limited && (!ok || m["role"] != role) {
				continue
			}
			done = d.apply(x, path[1:]) || done
		}
		return done
	}
	if d.Value != nil {
		a, errA := json.Marshal(d.Value)
		b, errB := json.Marshal(value)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			return false
		}
	}
	delete(object, key)
	if d.As != "" {
		object[d.As] = value
	}
	return true
}
