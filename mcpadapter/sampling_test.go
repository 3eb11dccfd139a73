package mcpadapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
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

// sampler is the model of a test.
type sampler struct {
	person bool
	write  func(ctx context.Context, req SamplingRequest) (SamplingMessage, error)

	mu   sync.Mutex
	seen []SamplingRequest
}

func (s *sampler) Describe(model string) (string, bool) {
	if s.person {
		return "you (no key)", true
	}
	return "model " + model, false
}

func (s *sampler) Sample(ctx context.Context, req SamplingRequest) (SamplingMessage, error) {
	s.mu.Lock()
	s.seen = append(s.seen, req)
	s.mu.Unlock()
	if s.write != nil {
		return s.write(ctx, req)
	}
	return SamplingMessage{Text: "four", Model: "m-1", Stop: "end", InputTokens: 10, OutputTokens: 5}, nil
}

// ask is a request for the model of one text.
func ask(text string) client.SampleRequest {
	raw, _ := json.Marshal(map[string]string{"type": "text", "text": text})
	return client.SampleRequest{MaxTokens: 100, Messages: []protocol.SampleMessage{{Role: "user", Content: []json.RawMessage{raw}}}}
}

// sampling starts a Manager with one server that may sample.
func (r *rig) sampling(s Sampler, p client.SamplingPolicy) {
	r.t.Helper()
	b := r.server("d", "x")
	b.Server.Sampling = &p
	r.must(r.start(func(d *Deps) { d.Sampling = s }, b))
	r.must(r.m.Wait(r.t.Context(), "d"))
}

func (r *rig) sample(ctx context.Context, req client.SampleRequest) (client.SampleResult, error) {
	return r.servers["d"].Last().Options.Handlers.Sample(ctx, req)
}

func allow(a gate.Action, text string) gate.Response {
	return gate.Response{Action: a, Text: text, Answerer: person}
}

func TestSamplingAsksTwice(t *testing.T) {
	for name, tc := range map[string]struct {
		approve string
		person  bool
		answers []gate.Response
		want    string // the text that the server gets, or its error
		sent    string // the last message that the model gets
		stages  string
		tokens  int
	}{
		"both":            {"ask", false, []gate.Response{allow("run", ""), allow("run", "")}, "four", "2+2?", "request reply", 15},
		"request edited":  {"", false, []gate.Response{allow("edit", "3+3?"), allow("run", "")}, "four", "3+3?", "request reply", 15},
		"reply edited":    {"ask", false, []gate.Response{allow("run", ""), allow("edit", "five")}, "five", "2+2?", "request reply", 15},
		"declined":        {"ask", false, []gate.Response{allow("decline", "")}, "! the user declined the request", "", "request", 0},
		"cancelled":       {"ask", false, []gate.Response{allow("cancel", "")}, "! the user cancelled the request", "", "request", 0},
		"reply declined":  {"ask", false, []gate.Response{allow("run", ""), allow("decline", "")}, "! the user declined the request", "2+2?", "request reply", 15},
		"nobody":          {"ask", false, []gate.Response{{Action: gate.ActionDecline, Close: gate.ReasonPolicy}}, "! refused: nobody could answer it (policy)", "", "request", 0},
		"timed out":       {"ask", false, []gate.Response{{Action: gate.ActionCancel, Close: gate.ReasonTimedOut}}, "! refused: nobody answered it (timed_out)", "", "request", 0},
		"a model":         {"ask", false, []gate.Response{{Action: gate.ActionRun}}, "! refused: its answer did not come from an operator", "", "request", 0},
		"reply alone":     {"reply", false, []gate.Response{allow("run", "")}, "four", "2+2?", "reply", 15},
		"auto":            {"auto", false, nil, "four", "2+2?", "", 15},
		"person":          {"ask", true, []gate.Response{allow("run", ""), allow("run", "it is four")}, "it is four", "", "request reply", 4},
		"person, auto":    {"auto", true, []gate.Response{allow("run", "it is four")}, "it is four", "", "reply", 4},
		"person declines": {"auto", true, []gate.Response{allow("decline", "")}, "! the user declined the request", "", "reply", 0},
		"person is mute":  {"auto", true, []gate.Response{allow("run", " ")}, "! refused: the reply is empty", "", "reply", 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				m := &sampler{person: tc.person}
				r.sampling(m, client.SamplingPolicy{Model: "small", Approve: tc.approve})
				answers := tc.answers
				r.answer = func(context.Context, gate.Request) (gate.Response, error) {
					a := answers[0]
					answers = answers[1:]
					return a, nil
				}
				res, err := r.sample(t.Context(), ask("2+2?"))
				got := ""
				if err != nil {
					var pe *protocol.Error
					if !errors.As(err, &pe) || pe.Class != protocol.ClassRefused {
						t.Errorf("error %v", err)
					}
					got = "! " + pe.Message
				} else {
					b := mapBlock(res.Content[0])
					got = b.Text
					if res.Role != "assistant" || res.StopReason != "endTurn" || !tc.person && res.Model != "m-1" {
						t.Errorf("result %+v", res)
					}
				}
				if got != tc.want {
					t.Errorf("the server gets %q, want %q", got, tc.want)
				}
				var stages, sent []string
				for _, g := range r.gates {
					p := g.Prompt.Sampling
					stages = append(stages, string(p.Stage))
					if g.Kind != gate.KindSampling || g.Subject.Binding != "d" || g.Deadline != client.DefaultElicitTimeout || p.Budget != client.DefaultSamplingBudget || p.Digest == "" || p.MaxTokens != 100 {
						t.Errorf("gate %+v", g)
					}
					if p.Stage == gate.SamplingReply && (p.Written != tc.person || (p.Reply == "") != tc.person) {
						t.Errorf("reply gate %+v", p)
					}
					if tc.sent != "" && p.Stage == gate.SamplingReply && p.Messages[0].Text != tc.sent {
						t.Errorf("shown %q, sent %q", p.Messages[0].Text, tc.sent)
					}
				}
				if got := strings.Join(stages, " "); got != tc.stages {
					t.Errorf("gates %q, want %q", got, tc.stages)
				}
				for _, req := range m.seen {
					sent = append(sent, content.PlainText(req.Messages[0].Blocks))
					if req.Model != "small" || req.Binding != "d" || req.MaxTokens != 100 {
						t.Errorf("the model gets %+v", req)
					}
				}
				if got := strings.Join(sent, " "); got != tc.sent {
					t.Errorf("the model gets %q, want %q", got, tc.sent)
				}
				if got := r.status("d").SamplingTokens; got != tc.tokens {
					t.Errorf("%d tokens are counted, want %d", got, tc.tokens)
				}
				synctest.Wait()
				told := "sampling_answered"
				if err != nil {
					told = "sampling_refused"
				}
				if got := strings.Join(r.codes(), " "); got != told {
					t.Errorf("notices %q", got)
				}
				if n := r.notices[0]; err != nil && strings.HasPrefix(tc.want, "! the user") {
					// Who reads the record learns at which of the two questions it ended.
					stage := tc.stages[strings.LastIndex(tc.stages, " ")+1:]
					if want := tc.want[2:] + " (question: " + stage + ")"; !strings.HasSuffix(n.Text, want) || n.Binding != "d" {
						t.Errorf("the notice says %q, want %q", n.Text, want)
					}
				}
			})
		})
	}
}

func TestWhatIsShownIsWhatIsSent(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		m := &sampler{}
		r.sampling(m, client.SamplingPolicy{Approve: "ask", Tools: true})
		r.answer = func(context.Context, gate.Request) (gate.Response, error) { return allow("run", ""), nil }
		temp := 0.5
		req := ask("look")
		req.System, req.StopSequences, req.Temperature, req.IncludeContext = "be brief", []string{"END"}, &temp, "allServers"
		req.Preferences.Hints = []string{"claude"}
		req.Tools = []json.RawMessage{json.RawMessage(`{"name":"t","description":"does","inputSchema":{"type":"object"}}`)}
		req.Messages = append(req.Messages,
			protocol.SampleMessage{Role: "assistant", Content: []json.RawMessage{json.RawMessage(`{"type":"tool_use","id":"1","name":"t","input":{"a":1}}`)}},
			protocol.SampleMessage{Role: "user", Content: []json.RawMessage{json.RawMessage(`{"type":"tool_result","toolUseId":"1","content":[{"type":"image","data":"AQID","mimeType":"image/png"}]}`)}},
			protocol.SampleMessage{Role: "user", Content: []json.RawMessage{json.RawMessage(`{"type":"image","data":"AQID","mimeType":"image/png"}`)}})
		if _, err := r.sample(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		p, sent := r.gates[0].Prompt.Sampling, m.seen[0]
		if p.System != sent.System || p.Context != "allServers" || p.Hints[0] != "claude" || p.Editable || len(r.gates[0].Prompt.Warnings) != 3 {
			t.Errorf("shown %+v, warnings %q", p, r.gates[0].Prompt.Warnings)
		}
		var shown []string
		for _, s := range p.Messages {
			shown = append(shown, fmt.Sprintf("%s/%s/%s/%d", s.Role, s.Kind, s.MIME, s.Bytes))
		}
		want := "user/text//0 assistant/text//0 user/text//0 user/image/image/png/3 stop sequence/text//0 tool/text//0"
		if got := strings.Join(shown, " "); got != want {
			t.Errorf("shown %s", got)
		}
		if sent.Tools[0].Name != "t" || len(sent.Messages) != 4 || sent.Messages[2].Blocks[0].Kind != content.KindToolResult || *sent.Temperature != temp {
			t.Errorf("sent %+v", sent)
		}
		before := p.Digest
		req.System = "be long"
		if _, err := r.sample(t.Context(), req); err != nil || r.gates[2].Prompt.Sampling.Digest == before {
			t.Error("another request has the same digest")
		}
	})
}

func TestSamplingIsBounded(t *testing.T) {
	long := func(n int) client.SampleRequest { return ask(strings.Repeat("x", n)) }
	messages := func(n int) client.SampleRequest {
		req := ask("x")
		for len(req.Messages) < n {
			req.Messages = append(req.Messages, req.Messages[0])
		}
		return req
	}
	tokens := func(n int) client.SampleRequest { req := ask("x"); req.MaxTokens = n; return req }
	tools := ask("x")
	tools.Tools = []json.RawMessage{json.RawMessage(`{"name":"t","inputSchema":{}}`)}
	link := ask("x")
	link.Messages[0].Content = []json.RawMessage{json.RawMessage(`{"type":"resource_link","uri":"file:///etc/passwd","name":"x"}`)}
	for name, tc := range map[string]struct {
		req  client.SampleRequest
		want string
	}{
		"text":           {long(1000), ""},
		"text over":      {long(1001), "1001 over the limit of 1000 (setting limits.samplingBytes)"},
		"messages":       {messages(3), ""},
		"messages over":  {messages(4), "4 over the limit of 3 (setting limits.samplingMessages)"},
		"maxTokens":      {tokens(500), ""},
		"maxTokens over": {tokens(501), "501 over the limit of 500 (setting sampling.maxTokens)"},
		"budget":         {func() client.SampleRequest { r := long(996); r.MaxTokens = 500; return r }(), ""},
		"budget over":    {func() client.SampleRequest { r := long(1000); r.MaxTokens = 500; return r }(), "750 over the limit of 749 (setting sampling.tokenBudget)"},
		"tools":          {tools, "setting sampling.tools"},
		"link":           {link, "of a kind that is not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				m := &sampler{}
				b := r.server("d", "x")
				b.Server.Sampling = &client.SamplingPolicy{Approve: "auto", MaxTokens: 500, TokenBudget: 749}
				b.Server.Limits.SamplingBytes, b.Server.Limits.SamplingMessages = 1000, 3
				r.must(r.start(func(d *Deps) { d.Sampling = m }, b))
				r.must(r.m.Wait(t.Context(), "d"))
				_, err := r.sample(t.Context(), tc.req)
				if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v, want %q", err, tc.want)
				}
				if (err == nil) != (len(m.seen) == 1) {
					t.Errorf("the model was asked %d times", len(m.seen))
				}
				synctest.Wait()
				if err != nil && !strings.Contains(strings.Join(r.codes(), " "), "sampling_refused") {
					t.Error("nobody was told")
				}
			})
		})
	}
}

func TestTheBudgetOutlivesARun(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		m := &sampler{write: func(context.Context, SamplingRequest) (SamplingMessage, error) {
			return SamplingMessage{Text: strings.Repeat("x", 400)}, nil // no numbers: an estimate
		}}
		r.sampling(m, client.SamplingPolicy{Approve: "auto", TokenBudget: 202})
		if _, err := r.sample(t.Context(), ask("abcd")); err != nil {
			t.Fatal(err)
		}
		if got := r.status("d").SamplingTokens; got != 101 {
			t.Errorf("%d tokens", got)
		}
		r.must(r.m.Reconfigure(t.Context(), DisableBinding{"d"}))
		r.must(r.m.Reconfigure(t.Context(), EnableBinding{"d"}))
		if _, err := r.sample(t.Context(), ask("abcd")); err != nil {
			t.Errorf("101 and 101 fit: %v", err)
		}
		if _, err := r.sample(t.Context(), ask("abcd")); err == nil {
			t.Error("a disabled and enabled binding has a new budget")
		}
		synctest.Wait()
		found := false
		for _, n := range r.notices {
			found = found || n.Code == "sampling_answered" && strings.Contains(n.Text, "an estimate")
		}
		if !found {
			t.Error("an estimate is not called one")
		}
	})
}

func TestSamplingAtTheSameTimeIsRefusedNotQueued(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		release := make(chan struct{})
		m := &sampler{write: func(ctx context.Context, _ SamplingRequest) (SamplingMessage, error) {
			select {
			case <-release:
			case <-ctx.Done():
			}
			return SamplingMessage{Text: "ok"}, ctx.Err()
		}}
		r.sampling(m, client.SamplingPolicy{Approve: "auto"})
		done := make(chan error, 2)
		for range 2 {
			go func() { _, err := r.sample(t.Context(), ask("x")); done <- err }()
		}
		synctest.Wait()
		if _, err := r.sample(t.Context(), ask("x")); err == nil || !strings.Contains(err.Error(), "3 over the limit of 2 (setting sampling.concurrency)") {
			t.Errorf("the third: %v", err)
		}
		close(release)
		if err := errors.Join(<-done, <-done); err != nil {
			t.Error(err)
		}
		if _, err := r.sample(t.Context(), ask("x")); err != nil {
			t.Errorf("after them: %v", err)
		}
	})
}

// A chain of sampling and tool calls, over a second server as well, ends at the
// policy's depth.
func TestSamplingDepth(t *testing.T) {
	for _, known := range []bool{true, false} {
		t.Run(fmt.Sprintf("call known %t", known), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				m := &sampler{}
				calls := 0
				var invoke func(ctx context.Context, name string) tool.Result
				m.write = func(ctx context.Context, req SamplingRequest) (SamplingMessage, error) {
					next := map[string]string{"d": "mcp__e__x", "e": "mcp__d__x"}[req.Binding]
					return SamplingMessage{Text: string(invoke(ctx, next).Outcome)}, nil
				}
				var bindings []Binding
				var mu sync.Mutex
				var errs []error
				for _, name := range []string{"d", "e"} {
					b := r.server(name, "x")
					b.Server.Sampling = &client.SamplingPolicy{Approve: "auto"}
					srv := r.servers[name]
					srv.OnCall = func(ctx context.Context, req protocol.CallRequest) (*protocol.Result, error) {
						s := ask("again")
						if known {
							s.CallID = req.ID
						}
						// The server's request comes on a context of its own.
						_, err := srv.Last().Options.Handlers.Sample(context.WithoutCancel(t.Context()), s)
						mu.Lock()
						errs = append(errs, err)
						mu.Unlock()
						return &protocol.Result{}, nil
					}
					bindings = append(bindings, b)
				}
				r.must(r.start(func(d *Deps) { d.Sampling = m }, bindings...))
				r.must(r.m.Wait(t.Context(), "d"))
				r.must(r.m.Wait(t.Context(), "e"))
				invoke = func(ctx context.Context, name string) tool.Result {
					mu.Lock()
					calls++
					id := fmt.Sprint("c", calls)
					mu.Unlock()
					return r.prepare(name, "{}").Invoke(ctx, tool.Call{ID: id})
				}
				invoke(t.Context(), "mcp__d__x")
				if calls != 3 || len(m.seen) != 2 || len(errs) != 3 || errs[0] == nil || !strings.Contains(errs[0].Error(), "3 over the limit of 2 (setting sampling.depth)") {
					t.Errorf("%d calls, %d messages, errors %v", calls, len(m.seen), errs)
				}
			})
		})
	}
}

func TestAGateOfSamplingStopsTheClock(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.sampling(&sampler{}, client.SamplingPolicy{})
		r.answer = func(context.Context, gate.Request) (gate.Response, error) {
			time.Sleep(2 * time.Minute)
			return allow("run", ""), nil
		}
		r.servers["d"].OnCall = func(ctx context.Context, req protocol.CallRequest) (*protocol.Result, error) {
			_, err := r.sample(ctx, ask("x"))
			return &protocol.Result{}, err
		}
		res := r.prepare("mcp__d__x", "{}").Invoke(t.Context(), tool.Call{ID: "c1"})
		if res.Outcome != tool.OK || res.ServerTime != 0 {
			t.Errorf("%+v", res)
		}
	})
}

func TestSamplingOfAServerThatGoesAway(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.sampling(&sampler{}, client.SamplingPolicy{})
		r.answer = func(ctx context.Context, _ gate.Request) (gate.Response, error) {
			<-ctx.Done()
			return gate.Response{Action: gate.ActionCancel, Close: gate.ReasonWithdrawn}, nil
		}
		sess := r.servers["d"].Last()
		done := make(chan error, 1)
		go func() { _, err := sess.Options.Handlers.Sample(t.Context(), ask("x")); done <- err }()
		synctest.Wait()
		sess.Lose("process exited")
		if err := <-done; protocol.ClassOf(err) != protocol.ClassCancelled {
			t.Errorf("got %v", err)
		}
		r.must(r.m.Reconfigure(t.Context(), DisableBinding{"d"}))
		if r.status("d").State != integration.StateDisabled {
			t.Errorf("state %s", r.status("d").State)
		}
		if _, err := sess.Options.Handlers.Sample(t.Context(), ask("x")); err == nil || len(r.gates) != 1 {
			t.Errorf("a disabled binding's request: %v, %d gates", err, len(r.gates))
		}
	})
}

func TestSamplingIsNotOfferedWhereNobodyCouldApprove(t *testing.T) {
	for approve, want := range map[string]bool{"ask": false, "auto": true} {
		t.Run(approve, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				b := r.server("d", "x")
				b.Server.Sampling = &client.SamplingPolicy{Approve: approve}
				r.must(r.start(func(d *Deps) { d.Sampling = &sampler{}; d.Gates = nil }, b))
				r.must(r.m.Wait(t.Context(), "d"))
				if got := r.servers["d"].Last().Options.Handlers.Sample != nil; got != want {
					t.Errorf("offered: %t", got)
				}
			})
		})
	}
}
