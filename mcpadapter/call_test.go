package mcpadapter

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

const addTool = `{"name":"add","description":"adds","inputSchema":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},` +
	`"outputSchema":{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}}`

// adder starts a rig with one binding that has the tool add.
func adder(r *rig) {
	b := r.server("d")
	r.servers["d"].Set(protocol.Tools, addTool)
	r.must(r.start(nil, b))
	r.must(r.m.Wait(r.t.Context(), "d"))
}

func TestPrepareValidatesAndKeepsTheBytes(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		adder(r)
		h := r.def("mcp__d__add").Handler
		p, err := h.Prepare(t.Context(), json.RawMessage("{ \"b\" : 1e2,\n \"a\": 9007199254740993 }"))
		r.must(err)
		if got := string(p.Args()); got != `{"b":1e2,"a":9007199254740993}` {
			t.Errorf("args %s", got)
		}
		for name, args := range map[string]string{
			"duplicate": `{"a":1,"a":2}`, "missing": `{}`, "type": `{"a":"x"}`, "no object": `[1]`, "malformed": `{`,
			"two": `{"a":1}{}`, "large": `{"a":1,"s":"` + strings.Repeat("x", 1<<20) + `"}`,
		} {
			var ae *tool.ArgumentError
			if _, err := h.Prepare(t.Context(), json.RawMessage(args)); !errors.As(err, &ae) || len(ae.Problems) == 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
		if len(r.servers["d"].Calls()) != 0 {
			t.Error("something was sent")
		}
	})
}

func TestATurnKeepsItsDefinitions(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		b := r.server("d", "stays", "goes", "changes")
		r.must(r.start(nil, b))
		r.must(r.m.Wait(t.Context(), "d"))
		time.Sleep(2 * time.Second)
		calls := map[string]tool.Prepared{}
		for _, n := range []string{"stays", "goes", "changes"} {
			calls[n] = r.prepare("mcp__d__"+n, "{}")
			if refusal := calls[n].Check(t.Context()); refusal != nil {
				t.Errorf("%s: %v", n, refusal)
			}
		}
		srv := r.servers["d"]
		srv.Set(protocol.Tools, `{"name":"stays","inputSchema":{"type":"object"}}`, `{"name":"changes","description":"new","inputSchema":{"type":"object"}}`)
		srv.Last().Options.Handlers.ListChanged(protocol.Tools, true)
		for n, want := range map[string]tool.Outcome{"stays": "", "goes": tool.Unavailable, "changes": tool.SchemaChanged} {
			refusal := calls[n].Check(t.Context())
			if got := refusal; (got == nil) != (want == "") || got != nil && got.Outcome != want {
				t.Errorf("%s: %v, want %q", n, got, want)
			}
		}
		srv.OnList = func(ctx context.Context, _ protocol.Family, _ string) (protocol.Page, error) {
			<-ctx.Done()
			return protocol.Page{}, &protocol.Error{Class: protocol.ClassCancelled}
		}
		srv.Last().Options.Handlers.ListChanged(protocol.Tools, true)
		began := time.Now()
		if refusal := calls["stays"].Check(t.Context()); refusal == nil || refusal.Outcome != tool.Unavailable || time.Since(began) != client.FreshWait {
			t.Errorf("a stale listing: %v after %s", refusal, time.Since(began))
		}
	})
}

func TestOutcomes(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		adder(r)
		fail := func(e protocol.Error) func() (*protocol.Result, error) {
			return func() (*protocol.Result, error) { return nil, &e }
		}
		ok := func(raw protocol.Result) func() (*protocol.Result, error) {
			return func() (*protocol.Result, error) { return &raw, nil }
		}
		text := json.RawMessage(`{"type":"text","text":"hi"}`)
		for name, tc := range map[string]struct {
			answer  func() (*protocol.Result, error)
			outcome tool.Outcome
			check   func(tool.Result) bool
		}{
			"ok":         {ok(protocol.Result{Content: []json.RawMessage{text}, Structured: json.RawMessage(`{"sum":3}`)}), tool.OK, func(r tool.Result) bool { return r.StructuredInvalid == "" && r.Attempts == 1 && r.Sent }},
			"misfit":     {ok(protocol.Result{Content: []json.RawMessage{text}, Structured: json.RawMessage(`{"sum":"x"}`)}), tool.OK, func(r tool.Result) bool { return r.StructuredInvalid != "" && string(r.Structured) == `{"sum":"x"}` }},
			"absent":     {ok(protocol.Result{Content: []json.RawMessage{text}}), tool.OK, func(r tool.Result) bool { return r.StructuredInvalid != "" }},
			"only data":  {ok(protocol.Result{Structured: json.RawMessage(`{"sum":3}`)}), tool.OK, func(r tool.Result) bool { return len(r.Content) == 1 && r.Content[0].Kind == content.KindStructured }},
			"error":      {ok(protocol.Result{Content: []json.RawMessage{text}, IsError: true}), tool.ToolError, func(r tool.Result) bool { return r.StructuredInvalid == "" && r.Content[0].Text == "hi" }},
			"too large":  {ok(protocol.Result{Content: []json.RawMessage{json.RawMessage(`{"type":"text","text":"` + strings.Repeat("x", 1<<20+1) + `"}`)}}), tool.OverLimit, func(r tool.Result) bool { return strings.Contains(r.Reason, "limits.textBytes") && r.Content == nil }},
			"large data": {ok(protocol.Result{Structured: json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)}), tool.OverLimit, func(r tool.Result) bool { return strings.Contains(r.Reason, "limits.structuredBytes") }},
			"remote":     {fail(protocol.Error{Class: protocol.ClassRemote, Message: "error of the server", Code: -32000, Detail: "raw", Sent: true}), tool.Failed, func(r tool.Result) bool { return r.Content[0].Text == "raw" && !strings.Contains(r.Reason, "raw") }},
			"lost":       {fail(protocol.Error{Class: protocol.ClassLost, Message: "gone", Sent: true}), tool.Indeterminate, func(r tool.Result) bool { return r.Class == "lost" }},
			"malformed":  {fail(protocol.Error{Class: protocol.ClassMalformed, Message: "bad", Sent: true}), tool.Failed, nil},
			"over limit": {fail(protocol.Error{Class: protocol.ClassOverLimit, Message: "frame", Setting: "limits.frameBytes"}), tool.OverLimit, func(r tool.Result) bool { return strings.Contains(r.Reason, "frameBytes") }},
			"rejected": {fail(protocol.Error{Class: protocol.ClassRefused, Message: "refused: declined", Code: protocol.CodeRejected, Sent: true}), tool.Denied, func(r tool.Result) bool {
				return strings.Contains(r.Reason, "request for the model was not granted") && strings.Contains(r.Reason, "refused: declined") && r.Class == "refused"
			}},
			"guarded": {fail(protocol.Error{Class: protocol.ClassRefused, Message: "a redirect"}), tool.Failed, nil},
			"timeout": {fail(protocol.Error{Class: protocol.ClassTimeout, Message: "slow"}), tool.Timeout, nil},
			"nothing": {func() (*protocol.Result, error) { return nil, nil }, tool.Failed, nil},
			"panic":   {func() (*protocol.Result, error) { return &protocol.Result{Content: []json.RawMessage{nil}}, nil }, tool.OK, nil},
		} {
			r.servers["d"].OnCall = func(context.Context, protocol.CallRequest) (*protocol.Result, error) { return tc.answer() }
			res := r.prepare("mcp__d__add", `{"a":1}`).Invoke(t.Context(), tool.Call{ID: name})
			if res.Outcome != tc.outcome || tc.check != nil && !tc.check(res) {
				t.Errorf("%s: %+v", name, res)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		r.servers["d"].OnCall = hang
		time.AfterFunc(time.Second, cancel)
		if res := r.prepare("mcp__d__add", `{"a":1}`).Invoke(ctx, tool.Call{ID: "x"}); res.Outcome != tool.Cancelled || !res.Sent || res.ServerTime != time.Second {
			t.Errorf("cancelled: %+v", res)
		}
	})
}

func TestContentIsMappedAndNothingIsLost(t *testing.T) {
	t.Parallel()
	lim := client.Definition{}.WithDefaults().Limits
	data := base64.StdEncoding.EncodeToString([]byte("bytes"))
	for raw, want := range map[string]content.Block{
		`{"type":"text","text":"a","annotations":{"audience":["user"]}}`:   {Kind: content.KindText, Text: "a", Audience: []string{"user"}},
		`{"type":"image","data":"` + data + `","mimeType":"image/png"}`:    {Kind: content.KindImage, Data: []byte("bytes"), MIME: "image/png"},
		`{"type":"audio","data":"` + data + `","mimeType":"audio/wav"}`:    {Kind: content.KindAudio, Data: []byte("bytes"), MIME: "audio/wav"},
		`{"type":"resource","resource":{"uri":"u","text":"t"}}`:            {Kind: content.KindResource, URI: "u", Text: "t"},
		`{"type":"resource","resource":{"uri":"u","blob":"` + data + `"}}`: {Kind: content.KindResource, URI: "u", Data: []byte("bytes")},
		`{"type":"resource_link","uri":"file:///etc/passwd","name":"n"}`:   {Kind: content.KindResourceLink, URI: "file:///etc/passwd", Name: "n"},
	} {
		blocks, err := mapContent([]json.RawMessage{json.RawMessage(raw)}, lim)
		if err != nil || len(blocks) != 1 {
			t.Fatalf("%s: %v", raw, err)
		}
		got, _ := json.Marshal(blocks[0])
		exp, _ := json.Marshal(want)
		if string(got) != string(exp) {
			t.Errorf("%s:\n got %s\nwant %s", raw, got, exp)
		}
	}
	for _, raw := range []string{
		`{"type":"hologram","x":1}`, `{"type":"text"}`, `{"type":"text","text":5}`, `{"type":"image","data":"*"}`, `[]`, `7`,
		`{"type":"resource","resource":{"uri":"u"}}`, `{"type":"resource_link"}`,
	} {
		blocks, err := mapContent([]json.RawMessage{json.RawMessage(raw)}, lim)
		if err != nil || blocks[0].Kind != content.KindUnknown || string(blocks[0].JSON) != raw {
			t.Errorf("%s: %+v %v", raw, blocks, err)
		}
	}
}

func TestResultLimits(t *testing.T) {
	t.Parallel()
	lim := client.Limits{Blocks: 4, TextBytes: 100, BinaryItemBytes: 8, BinaryItems: 2, BinaryBytes: 12}
	image := func(n int) json.RawMessage {
		return json.RawMessage(`{"type":"image","data":"` + base64.StdEncoding.EncodeToString(make([]byte, n)) + `"}`)
	}
	text := json.RawMessage(`{"type":"text","text":"` + strings.Repeat("x", 60) + `"}`)
	for setting, raw := range map[string][]json.RawMessage{
		"":                       {image(6), image(6), text},
		"limits.blocks":          slices.Repeat([]json.RawMessage{image(0)}, 5),
		"limits.textBytes":       {text, text},
		"limits.binaryItemBytes": {image(9)},
		"limits.binaryItems":     {image(1), image(1), image(1)},
		"limits.binaryBytes":     {image(7), image(7)},
	} {
		_, err := mapContent(raw, lim)
		var le *limitError
		if setting == "" && err != nil || setting != "" && (!errors.As(err, &le) || le.setting != setting || le.size <= le.limit) {
			t.Errorf("%s: %v", setting, err)
		}
	}
}

func TestURLRequiredIsAskedAndTheCallMadeOnceMore(t *testing.T) {
	required := &protocol.Error{
		Class: protocol.ClassRemote, Op: "tools/call", Message: "url required", Code: protocol.CodeURLRequired, Sent: true,
		Data: json.RawMessage(`{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://example.com/x?state=s"}]}`),
	}
	person, script := gate.Answerer{Kind: gate.AnswererPerson, ID: "p"}, gate.Answerer{Kind: gate.AnswererScript, ID: "s"}
	for name, tc := range map[string]struct {
		by      gate.Answerer
		action  gate.Action
		always  bool // the server wants it again
		outcome tool.Outcome
		calls   int
		gates   int
	}{
		"script":  {script, gate.ActionOpen, false, tool.OK, 2, 1},
		"person":  {person, gate.ActionCopy, false, tool.OK, 2, 2},
		"decline": {script, gate.ActionDecline, false, tool.Failed, 1, 1},
		"again":   {script, gate.ActionOpen, true, tool.Failed, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				adder(r)
				n := 0
				r.servers["d"].OnCall = func(context.Context, protocol.CallRequest) (*protocol.Result, error) {
					if n++; n == 1 || tc.always {
						return nil, required
					}
					return &protocol.Result{Structured: json.RawMessage(`{"sum":1}`)}, nil
				}
				r.answer = func(ctx context.Context, req gate.Request) (gate.Response, error) {
					if req.Kind == gate.KindOpenURL {
						if req.Subject.Call != "c" || req.Subject.Loop != "main" || strings.Contains(req.Prompt.Target, "state") {
							t.Errorf("request %+v", req)
						}
						return gate.Response{Action: tc.action, Answerer: tc.by}, nil
					}
					go func() { // the server reports the end before the person does
						time.Sleep(time.Second)
						r.servers["d"].Last().Options.Handlers.ElicitComplete("e1")
					}()
					<-ctx.Done()
					return gate.Response{Action: gate.ActionCancel, Close: gate.ReasonWithdrawn}, nil
				}
				res := r.prepare("mcp__d__add", `{"a":1}`).Invoke(t.Context(), tool.Call{ID: "c", Loop: "main"})
				if res.Outcome != tc.outcome || res.Attempts != tc.calls || len(r.servers["d"].Calls()) != tc.calls || len(r.gates) != tc.gates {
					t.Errorf("%+v, %d calls, %d gates", res, len(r.servers["d"].Calls()), len(r.gates))
				}
			})
		})
	}
}

func TestARestartedServerTakesCallsAgain(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		adder(r)
		p := r.prepare("mcp__d__add", `{"a":1}`)
		r.servers["d"].Last().Lose("process exited")
		synctest.Wait()
		refusal := p.Check(t.Context())
		if s := r.status("d"); s.State == integration.StateReconnecting && (refusal == nil || refusal.Outcome != tool.Unavailable || !strings.Contains(refusal.Reason, "reconnecting")) {
			t.Errorf("while away: %v", refusal)
		}
		time.Sleep(time.Second)
		if refusal := p.Check(t.Context()); refusal != nil {
			t.Errorf("afterwards: %v", refusal)
		}
		if res := p.Invoke(t.Context(), tool.Call{ID: "c"}); res.Outcome != tool.OK {
			t.Errorf("call: %+v", res)
		}
	})
}
