package mcpadapter

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

var person = gate.Answerer{Kind: gate.AnswererPerson, ID: "ada"}

const nameForm = `{"type":"object","properties":{"who":{"type":"string"},"age":{"type":"integer"},"mode":{"type":"string","enum":["a","b"],"default":"a"}},"required":["who"]}`

func TestElicitationBecomesAGate(t *testing.T) {
	submit := func(values string) gate.Response {
		return gate.Response{Action: gate.ActionSubmit, Answerer: person, Values: json.RawMessage(values)}
	}
	for name, tc := range map[string]struct {
		req     client.ElicitRequest
		free    string
		answers []gate.Response
		err     error
		want    string // action and content
		kinds   []gate.Kind
		notice  string
	}{
		"form":      {client.ElicitRequest{Mode: "form", Message: "Who?", Schema: json.RawMessage(nameForm)}, "allow", []gate.Response{submit(`{"who":"Ada","age":41}`)}, nil, `accept {"who":"Ada","age":41,"mode":"a"}`, []gate.Kind{gate.KindForm}, ""},
		"decline":   {client.ElicitRequest{Schema: json.RawMessage(nameForm)}, "allow", []gate.Response{{Action: gate.ActionDecline, Answerer: person}}, nil, "decline ", []gate.Kind{gate.KindForm}, ""},
		"cancel":    {client.ElicitRequest{Schema: json.RawMessage(nameForm)}, "allow", []gate.Response{{Action: gate.ActionCancel, Answerer: person}}, nil, "cancel ", []gate.Kind{gate.KindForm}, ""},
		"timed out": {client.ElicitRequest{Schema: json.RawMessage(nameForm)}, "allow", []gate.Response{{Action: gate.ActionCancel, Close: gate.ReasonTimedOut}}, nil, "cancel ", []gate.Kind{gate.KindForm}, ""},
		"nobody":    {client.ElicitRequest{Schema: json.RawMessage(nameForm)}, "allow", []gate.Response{{Action: gate.ActionDecline, Close: gate.ReasonPolicy, Detail: "no_interactive_gate"}}, nil, "decline ", []gate.Kind{gate.KindForm}, "elicitation_declined"},
		"no gate":   {client.ElicitRequest{Schema: json.RawMessage(nameForm)}, "allow", []gate.Response{{}}, errors.New("x"), "decline ", []gate.Kind{gate.KindForm}, "elicitation_declined"},
		"a model":   {client.ElicitRequest{Schema: json.RawMessage(nameForm)}, "allow", []gate.Response{{Action: gate.ActionSubmit, Values: json.RawMessage(`{"who":"x"}`)}}, nil, "decline ", []gate.Kind{gate.KindForm}, "elicitation_declined"},
		"invalid":   {client.ElicitRequest{Schema: json.RawMessage(nameForm)}, "allow", []gate.Response{submit(`{"age":1}`)}, nil, "cancel ", []gate.Kind{gate.KindForm}, "elicitation_invalid"},
		"confirm":   {client.ElicitRequest{Message: "Sure?", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}, "", []gate.Response{{Action: gate.ActionAccept, Answerer: person}}, nil, "accept {}", []gate.Kind{gate.KindConfirm}, ""},
		"unsure":    {client.ElicitRequest{Schema: json.RawMessage(`{"type":"object"}`)}, "", []gate.Response{{Action: gate.ActionDecline, Answerer: person}}, nil, "decline ", []gate.Kind{gate.KindConfirm}, ""},
		"secret":    {client.ElicitRequest{Schema: json.RawMessage(`{"type":"object","properties":{"api_key":{"type":"string"}}}`)}, "allow", nil, nil, "decline ", nil, "elicitation_declined"},
		"nested":    {client.ElicitRequest{Schema: json.RawMessage(`{"type":"object","properties":{"x":{"type":"object"}}}`)}, "allow", nil, nil, "decline ", nil, "elicitation_declined"},
		"long":      {client.ElicitRequest{Message: strings.Repeat("x", 5000), Schema: json.RawMessage(nameForm)}, "allow", nil, nil, "decline ", nil, "elicitation_declined"},
		"kind":      {client.ElicitRequest{Mode: "voice"}, "allow", nil, nil, "decline ", nil, "elicitation_declined"},
		"refuse":    {client.ElicitRequest{Schema: json.RawMessage(nameForm)}, "refuse", nil, nil, "decline ", nil, "elicitation_declined"},
		"confirmed": {client.ElicitRequest{Schema: json.RawMessage(nameForm)}, "confirm", []gate.Response{submit(`{"who":"A"}`), {Action: gate.ActionAccept, Answerer: person}}, nil, `accept {"who":"A","mode":"a"}`, []gate.Kind{gate.KindForm, gate.KindConfirm}, ""},
		"regretted": {client.ElicitRequest{Schema: json.RawMessage(nameForm)}, "confirm", []gate.Response{submit(`{"who":"A"}`), {Action: gate.ActionDecline, Answerer: person}}, nil, "decline ", []gate.Kind{gate.KindForm, gate.KindConfirm}, ""},
		"choices":   {client.ElicitRequest{Schema: json.RawMessage(`{"type":"object","properties":{"m":{"type":"string","enum":["a","b"]}}}`)}, "confirm", []gate.Response{submit(`{"m":"b"}`)}, nil, `accept {"m":"b"}`, []gate.Kind{gate.KindForm}, ""},
		"url":       {client.ElicitRequest{Mode: "url", Message: "SECRET text", URL: "https://user:pw@example.com/path?state=SECRET"}, "", []gate.Response{{Action: gate.ActionOpen, Answerer: person}}, nil, "accept ", []gate.Kind{gate.KindOpenURL}, ""},
		"no url":    {client.ElicitRequest{Mode: "url", URL: "javascript:alert(1)"}, "", nil, nil, "decline ", nil, "elicitation_declined"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				b := r.server("d", "x")
				b.Server.FreeText = tc.free
				r.must(r.start(nil, b))
				r.must(r.m.Wait(t.Context(), "d"))
				answers := tc.answers
				r.answer = func(context.Context, gate.Request) (gate.Response, error) {
					a := answers[0]
					answers = answers[1:]
					return a, tc.err
				}
				res, err := r.servers["d"].Last().Options.Handlers.Elicit(t.Context(), tc.req)
				r.must(err)
				if got := res.Action + " " + string(res.Content); got != tc.want {
					t.Errorf("answer %q, want %q", got, tc.want)
				}
				synctest.Wait()
				if len(r.gates) != len(tc.kinds) {
					t.Fatalf("%d gates, want %v", len(r.gates), tc.kinds)
				}
				for i, g := range r.gates {
					if g.Kind != tc.kinds[i] || g.Subject.Binding != "d" || g.Deadline != client.DefaultElicitTimeout {
						t.Errorf("gate %+v", g)
					}
					if pub, _ := json.Marshal(g.Prompt); g.Kind == gate.KindOpenURL &&
						(strings.Contains(string(pub), "SECRET") || strings.Contains(string(pub), "path") || g.Prompt.Target != "https://example.com" || strings.Contains(g.Private.URL, "pw@")) {
						t.Errorf("public part %s, address %s", pub, g.Private.URL)
					}
				}
				if codes := strings.Join(r.codes(), " "); codes != tc.notice {
					t.Errorf("notices %q, want %q", codes, tc.notice)
				}
			})
		})
	}
}

func TestPinnedServersMayTakeFreeText(t *testing.T) {
	for kind, gates := range map[TrustKind]int{Accepted: 1, Once: 2} {
		t.Run(string(kind), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.must(r.start(func(d *Deps) {
					d.Trust = func(context.Context, TrustRequest) Decision { return Decision{Kind: kind, Fingerprint: "sha256:f"} }
				}, r.server("d", "x")))
				r.must(r.m.Wait(t.Context(), "d"))
				r.answer = func(_ context.Context, req gate.Request) (gate.Response, error) {
					if req.Kind == gate.KindConfirm {
						return gate.Response{Action: gate.ActionAccept, Answerer: person}, nil
					}
					return gate.Response{Action: gate.ActionSubmit, Answerer: person, Values: json.RawMessage(`{"who":"A"}`)}, nil
				}
				res, err := r.servers["d"].Last().Options.Handlers.Elicit(t.Context(), client.ElicitRequest{Schema: json.RawMessage(nameForm)})
				if err != nil || res.Action != "accept" || len(r.gates) != gates {
					t.Errorf("%+v %v, %d gates", res, err, len(r.gates))
				}
			})
		})
	}
}

func TestQuestionsAreBoundedAndWithdrawn(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.must(r.start(nil, r.server("d", "x")))
		r.must(r.m.Wait(t.Context(), "d"))
		withdrawn := make(chan struct{}, 20)
		r.answer = func(ctx context.Context, _ gate.Request) (gate.Response, error) {
			<-ctx.Done()
			withdrawn <- struct{}{}
			return gate.Response{Action: gate.ActionCancel, Close: gate.ReasonWithdrawn}, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		out := make(chan client.ElicitResult, 20)
		for range 12 {
			go func() {
				res, _ := r.servers["d"].Last().Options.Handlers.Elicit(ctx, client.ElicitRequest{Schema: json.RawMessage(nameForm)})
				out <- res
			}()
		}
		synctest.Wait()
		if len(r.gates) != 8 || len(out) != 4 {
			t.Errorf("%d gates, %d answers", len(r.gates), len(out))
		}
		for range 4 {
			if res := <-out; res.Action != "decline" {
				t.Errorf("over the limit: %+v", res)
			}
		}
		cancel()
		synctest.Wait()
		if len(withdrawn) != 8 || len(out) != 8 {
			t.Errorf("%d withdrawn, %d answers", len(withdrawn), len(out))
		}
		if res := <-out; res.Action != "cancel" {
			t.Errorf("withdrawn: %+v", res)
		}
	})
}

func TestAQuestionOfACallNamesIt(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		adder(r)
		srv := r.servers["d"]
		srv.OnCall = func(ctx context.Context, req protocol.CallRequest) (*protocol.Result, error) {
			_, err := srv.Last().Options.Handlers.Elicit(ctx, client.ElicitRequest{CallID: req.ID, Schema: json.RawMessage(`{"type":"object"}`)})
			return &protocol.Result{Structured: json.RawMessage(`{"sum":1}`)}, err
		}
		r.answer = func(context.Context, gate.Request) (gate.Response, error) {
			time.Sleep(2 * time.Minute)
			return gate.Response{Action: gate.ActionAccept, Answerer: person}, nil
		}
		res := r.prepare("mcp__d__add", `{"a":1}`).Invoke(t.Context(), tool.Call{ID: "c7", Loop: "main", Turn: "t1", Step: 2})
		if res.Outcome != tool.OK || res.ServerTime != 0 {
			t.Errorf("%+v", res)
		}
		if want := (gate.Subject{Loop: "main", Turn: "t1", Step: 2, Call: "c7", Binding: "d"}); r.gates[0].Subject != want {
			t.Errorf("subject %+v", r.gates[0].Subject)
		}
	})
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]struct {
		origin, full string
		warnings     int
	}{
		"https://Example.com/a?b=c#d":   {"https://example.com", "https://example.com/a?b=c#d", 0},
		"https://u:p@example.com:8443/": {"https://example.com", "https://example.com:8443/", 1},
		"https://example.com:443/x":     {"https://example.com", "https://example.com/x", 0},
		"http://localhost:1234/cb":      {"http://localhost", "http://localhost:1234/cb", 0},
		"http://127.0.0.1:1234/cb":      {"http://127.0.0.1", "http://127.0.0.1:1234/cb", 0},
		"http://[::1]:9/":               {"http://[::1]", "http://[::1]:9/", 0},
		"https://bücher.example/":       {"https://xn--bcher-kva.example", "https://xn--bcher-kva.example/", 1},
		"https://аpple.com/":            {"https://xn--pple-43d.com", "https://xn--pple-43d.com/", 2},
		"https://xn--pple-43d.com/":     {"https://xn--pple-43d.com", "https://xn--pple-43d.com/", 2},
		"https://93.184.216.34/":        {"https://93.184.216.34", "https://93.184.216.34/", 1},
		"https://10.0.0.1/":             {"https://10.0.0.1", "https://10.0.0.1/", 1},
		"https://example.com./":         {"https://example.com.", "https://example.com./", 0},
	} {
		got, err := checkURL(raw)
		if err != nil || got.origin != want.origin || got.full != want.full || len(got.warnings) != want.warnings {
			t.Errorf("%s: %+v %v", raw, got, err)
		}
	}
	for _, raw := range []string{
		"", "example.com", "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "vscode://x", "https:example.com", "https:///x",
		"http://example.com/", "https://2130706433/", "https://0x7f.1/", "https://127.1/", "https://[::ffff:127.0.0.1]/", "https://169.254.169.254/",
		"https://[fe80::1%25eth0]/", "https://0.0.0.0/", "https://a b/", "https://a\nb/", "https://ex\x00ample.com", "https://exa\u202emple.com/",
		"https://example.com\\@evil.com/", "-oProxyCommand=x", "https://$(id)/", "https://example.com/'; id", "https://" + strings.Repeat("a", 9000),
		"https://exa_mple.com/", "https://example.com/%zz", "//example.com", "https://example.com:99999999/",
	} {
		if got, err := checkURL(raw); err == nil {
			t.Errorf("%.60q is accepted: %+v", raw, got)
		} else if strings.Contains(err.Error(), "example") {
			t.Errorf("%.60q is in its error: %v", raw, err)
		}
	}
}

func FuzzCheckURL(f *testing.F) {
	f.Add("https://u:p@bücher.example:8/x?y#z")
	f.Add("http://[::1]:9/")
	f.Add("https://example.com\\@evil.com/")
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := checkURL(raw)
		if err != nil {
			return
		}
		for _, c := range got.origin {
			if c <= ' ' || c > '~' {
				t.Errorf("%q in %q", c, got.origin)
			}
		}
		if strings.ContainsAny(strings.TrimPrefix(strings.TrimPrefix(got.origin, "https://"), "http://"), "/@?#\\") {
			t.Errorf("origin %q", got.origin)
		}
		again, err := checkURL(got.full)
		if err != nil || again.origin != got.origin {
			t.Errorf("%q becomes %q, then %q (%v)", raw, got.full, again.full, err)
		}
	})
}
