package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

const (
	formParams = `{"message":"who?","requestedSchema":{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}}`
	formSchema = `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}`
)

func eliciting(h func(ctx context.Context, req ElicitRequest) (ElicitResult, error)) func(*Options) {
	return func(o *Options) { o.Handlers.Elicit = h }
}

func accept(content string) func(context.Context, ElicitRequest) (ElicitResult, error) {
	return func(context.Context, ElicitRequest) (ElicitResult, error) {
		return ElicitResult{Action: "accept", Content: json.RawMessage(content)}, nil
	}
}

// elicitOnce sends one request of the server and hands over the answer.
func elicitOnce(id, method, params string, answer chan<- message) func(p *peer) {
	return legacyServer(func(p *peer) {
		p.send(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, json.RawMessage(id), method, json.RawMessage(params))
		m, _ := p.next()
		answer <- m
		answering(nil)(p)
	})
}

func TestElicitationOnALegacyRevision(t *testing.T) {
	t.Parallel()
	answer := make(chan message, 1)
	got := make(chan ElicitRequest, 1)
	f := connect(t, elicitOnce(`"srv-1"`, "elicitation/create", formParams, answer), pinned(Revision20251125),
		eliciting(func(_ context.Context, req ElicitRequest) (ElicitResult, error) {
			got <- req
			return ElicitResult{Action: "accept", Content: json.RawMessage("{ \"z\":\n\"v\" }")}, nil
		}))
	if m := <-answer; string(m.ID) != `"srv-1"` || string(m.Result) != `{"action":"accept","content":{"z":"v"}}` {
		t.Fatalf("%s", m.raw)
	}
	if req := <-got; req.Mode != "form" || req.Message != "who?" || string(req.Schema) != formSchema || req.CallID != "" {
		t.Fatalf("%+v", req)
	}
	if all := strings.Join(f.d.log.all(), ""); !strings.Contains(all, `"capabilities":{"elicitation":{"form":{},"url":{}}}`) {
		t.Fatal(all)
	}
}

func TestElicitationCapabilityFollowsTheRevision(t *testing.T) {
	t.Parallel()
	for rev, want := range map[string]string{
		Revision20250618: `"capabilities":{"elicitation":{}}`, Revision20250326: `"capabilities":{}`, Revision20241105: `"capabilities":{}`,
	} {
		d := &dialer{t: t, serve: func(p *peer) {
			m, _ := p.await("initialize")
			p.reply(m, strings.Replace(initResult, Revision20251125, rev, 1))
			answering(nil)(p)
		}}
		if _, err := tryConnect(t, d, pinned(rev), eliciting(accept(`{}`))); err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(d.log.all(), ""); !strings.Contains(all, want) {
			t.Errorf("%s: %s", rev, all)
		}
	}
}

func TestURLElicitation(t *testing.T) {
	t.Parallel()
	answer := make(chan message, 1)
	got := make(chan ElicitRequest, 1)
	completed := make(chan string, 1)
	connect(t, legacyServer(func(p *peer) {
		p.send(`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://x.test/","elicitationId":"e1"}}`)
		m, _ := p.next()
		answer <- m
		p.send(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e1"}}`)
		p.next()
	}), pinned(Revision20251125), func(o *Options) {
		o.Handlers.ElicitComplete = func(id string) { completed <- id }
		o.Handlers.Elicit = func(_ context.Context, req ElicitRequest) (ElicitResult, error) {
			got <- req
			return ElicitResult{Action: "accept", Content: json.RawMessage(`{"x":1}`)}, nil
		}
	})
	if m := <-answer; string(m.ID) != "7" || string(m.Result) != `{"action":"accept"}` {
		t.Fatal(m.raw)
	}
	if req := <-got; req.URL != "https://x.test/" || req.ElicitationID != "e1" || req.Mode != "url" {
		t.Fatalf("%+v", req)
	}
	if id := <-completed; id != "e1" {
		t.Fatal(id)
	}
}

func TestRefusedServerRequests(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("m", 5000)
	for name, tc := range map[string]struct {
		method, params string
		code           int
	}{
		"params null":       {"elicitation/create", `null`, CodeInvalidParams},
		"params array":      {"elicitation/create", `[1]`, CodeInvalidParams},
		"no message":        {"elicitation/create", `{"requestedSchema":{}}`, CodeInvalidParams},
		"message null":      {"elicitation/create", `{"message":null,"requestedSchema":{}}`, CodeInvalidParams},
		"wrong case":        {"elicitation/create", `{"Message":"x","requestedSchema":{}}`, CodeInvalidParams},
		"long message":      {"elicitation/create", `{"message":"` + long + `","requestedSchema":{}}`, CodeInvalidParams},
		"schema null":       {"elicitation/create", `{"message":"x","requestedSchema":null}`, CodeInvalidParams},
		"schema boolean":    {"elicitation/create", `{"message":"x","requestedSchema":true}`, CodeInvalidParams},
		"large schema":      {"elicitation/create", `{"message":"x","requestedSchema":{"a":"` + strings.Repeat(long, 4) + `"}}`, CodeInvalidParams},
		"mode":              {"elicitation/create", `{"message":"x","mode":"odd"}`, CodeInvalidParams},
		"mode type":         {"elicitation/create", `{"message":"x","mode":1}`, CodeInvalidParams},
		"url without":       {"elicitation/create", `{"message":"x","mode":"url"}`, CodeInvalidParams},
		"url and schema":    {"elicitation/create", `{"message":"x","mode":"url","url":"https://x","requestedSchema":{}}`, CodeInvalidParams},
		"form and url":      {"elicitation/create", `{"message":"x","url":"https://x","requestedSchema":{}}`, CodeInvalidParams},
		"url id":            {"elicitation/create", `{"message":"x","mode":"url","url":"https://x","elicitationId":1}`, CodeInvalidParams},
		"roots":             {"roots/list", `{}`, CodeMethodNotFound},
		"sampling":          {"sampling/createMessage", `{"messages":[null]}`, CodeMethodNotFound},
		"unknown":           {"x/y", `null`, CodeMethodNotFound},
		"wrong-case method": {"Elicitation/Create", formParams, CodeMethodNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := make(chan message, 1)
			refused := make(chan string, 1)
			connect(t, elicitOnce("3", tc.method, tc.params, answer), pinned(Revision20251125), func(o *Options) {
				o.Handlers.Elicit = func(context.Context, ElicitRequest) (ElicitResult, error) {
					t.Error("the handler was asked")
					return ElicitResult{}, nil
				}
				o.Handlers.Refused = func(method, reason, _ string) { refused <- method + ": " + reason }
			})
			m := <-answer
			if string(m.ID) != "3" || !strings.Contains(string(m.Error), fmt.Sprintf(`"code":%d`, tc.code)) {
				t.Fatal(m.raw)
			}
			if r := <-refused; !strings.HasPrefix(r, tc.method) {
				t.Fatal(r)
			}
		})
	}
}

func TestElicitationWithoutAHandlerIsNotDeclared(t *testing.T) {
	t.Parallel()
	answer := make(chan message, 1)
	connect(t, elicitOnce("3", "elicitation/create", formParams, answer), pinned(Revision20251125))
	if m := <-answer; !strings.Contains(string(m.Error), "-32601") {
		t.Fatal(m.raw)
	}
}

func TestHandlerFaultsAreAnswered(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]func(context.Context, ElicitRequest) (ElicitResult, error){
		"panic": func(context.Context, ElicitRequest) (ElicitResult, error) { panic("boom") },
		"error": func(context.Context, ElicitRequest) (ElicitResult, error) {
			return ElicitResult{}, errors.New("secret")
		},
		"odd action":  func(context.Context, ElicitRequest) (ElicitResult, error) { return ElicitResult{Action: "yes"}, nil },
		"odd content": accept(`[1]`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := make(chan message, 1)
			f := connect(t, elicitOnce("3", "elicitation/create", formParams, answer), pinned(Revision20251125), eliciting(h))
			if m := <-answer; !strings.Contains(string(m.Error), "-32603") || strings.Contains(m.raw, "secret") || strings.Contains(m.raw, "boom") {
				t.Fatal(m.raw)
			}
			if f.Err() != nil {
				t.Fatal(f.Err())
			}
		})
	}
}

func TestPanickingHandlersDoNotEndTheSession(t *testing.T) {
	t.Parallel()
	var n counter
	f := connect(t, legacyServer(func(p *peer) {
		p.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`)
		p.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		answering(map[string]string{"ping": `{}`})(p)
	}), pinned(Revision20251125), n.option, func(o *Options) {
		o.Handlers.Log = func(string, string, json.RawMessage) { panic("log") }
		o.Handlers.ListChanged = func(Family, bool) { panic("list") }
	})
	eventually(t, "panics counted", func() bool { return n.get(droppedPanic) == 2 })
	if err := f.Ping(short(t)); err != nil {
		t.Fatal(err)
	}
}

func TestElicitationBeforeTheHandshakeIsRefused(t *testing.T) {
	t.Parallel()
	answer := make(chan message, 2)
	connect(t, func(p *peer) {
		m, _ := p.await("initialize")
		p.send(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":` + formParams + `}`)
		p.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		for range 2 {
			a, _ := p.next()
			answer <- a
		}
		p.reply(m, initResult)
		answering(nil)(p)
	}, pinned(Revision20251125), eliciting(accept(`{}`)))
	if m := <-answer; !strings.Contains(string(m.Error), "-32600") {
		t.Fatal(m.raw)
	}
	if m := <-answer; string(m.Result) != `{}` {
		t.Fatal(m.raw)
	}
}
