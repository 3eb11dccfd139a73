package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// FuzzSession feeds whatever a server may say, line by line, to a live session
// of either era while a call, a listing and a read are in flight. "ID" stands
// for the id of the request in flight. Whatever comes, every request ends,
// nothing panics and Close is quick.
func FuzzSession(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}`,
		`{"jsonrpc":"2.0","id":"ID","result":{}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","inputRequests":{"k":null}}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{}}}},"requestState":"\ud800"}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"sampling/createMessage","params":{"messages":[null]}}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":null}`,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\",\"params\":{\"message\":\"m\",\"requestedSchema\":{\"type\":\"object\"}}}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}",
		`{"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://x","elicitationId":"e"}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1e999}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"a":[1]}}}`,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":null}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"tools":[null,{"name":"x"}],"nextCursor":null}}`,
		`{"jsonrpc":"2.0","id":ID,"error":{"code":-32042,"message":"","data":{"elicitations":[null]}}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"a":1,"a":1}}`, `[{"jsonrpc":"2.0","id":ID,"result":{}}]`,
		`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"x"}}],"maxTokens":1,"tools":[null]}}`,
		`{"jsonrpc":"2.0","id":"r","method":"roots/list","params":null}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"},"s":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[]}]}],"maxTokens":1}}}}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"x","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}],"ttlMs":5,"contents":[],"cacheScope":"public"}}`,
		`{"jsonrpc":"2.0","id":ID,"error":{"code":-32020,"message":"x"}}`, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32022,"message":"x","data":{"supported":[]}}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"completion":{"values":[null,"x"],"total":1e9}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":ID}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"task"}}`,
	} {
		f.Add([]byte(seed), true, false)
		f.Add([]byte(seed), false, true)
		f.Add([]byte(seed), true, true)
	}
	f.Fuzz(func(t *testing.T, script []byte, modern, http bool) {
		if len(script) > 64<<10 {
			t.Skip("longer than what one session is fed here")
		}
		kind := kindStdio
		if http {
			kind = kindHTTP
		}
		fuzzSession(t, bytes.Split(script, []byte("\n")), modern, kind)
	})
}

func fuzzSession(t *testing.T, lines [][]byte, modern bool, kind string) {
	play := func(p *peer) {
		for {
			m, ok := p.next()
			if !ok {
				return
			}
			if m.Method == "" || m.ID == nil || m.Method == "subscriptions/listen" {
				continue
			}
			for _, line := range lines {
				p.frame(wire.Frame{Data: bytes.ReplaceAll(line, []byte("ID"), m.ID)})
			}
			p.reply(m, `{"content":[],"tools":[],"contents":[],"completion":{"values":[]}}`)
		}
	}
	serve, rev := legacyServer(play), Revision20251125
	if modern {
		serve, rev = modernServer(play), Revision20260728
	}
	var n counter
	d := &dialer{t: t, serve: serve, kind: kind}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := Connect(ctx, Options{
		Dialer: d, Revision: rev, ClientVersion: "fuzz",
		Roots: []Root{{URI: "file:///x"}}, SamplingTools: true,
		Limits: Limits{ListenBackoff: time.Millisecond, RoundTrips: 3},
		Handlers: Handlers{
			Elicit: func(context.Context, ElicitRequest) (ElicitResult, error) {
				return ElicitResult{Action: "accept", Content: json.RawMessage(`{}`)}, nil
			},
			Sample: func(context.Context, SampleRequest) (SampleResult, error) {
				return SampleResult{Content: []json.RawMessage{json.RawMessage(`{"type":"text","text":"x"}`)}}, nil
			},
			ListChanged: func(Family, bool) {}, Log: func(string, string, json.RawMessage) {},
			Dropped: n.dropped, Tolerated: func(string, string) {}, Refused: func(string, string, string) {},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.stateWait = time.Microsecond
	checkEnded := func(what string, err error) {
		if ctx.Err() != nil {
			t.Fatalf("%s waited for its deadline: %v", what, err)
		}
		var e *Error
		if err != nil && (!asError(err, &e) || e.Class == ClassPanic || e.Class == "") {
			t.Fatalf("%s: %v", what, err)
		}
	}
	_, err = s.CallTool(ctx, CallRequest{ID: "c", Name: "x", Progress: func(Progress) {}})
	checkEnded("tools/call", err)
	_, err = s.List(ctx, Tools, "")
	checkEnded("tools/list", err)
	_, err = s.CallTool(ctx, CallRequest{ID: "d", Name: "x", Args: json.RawMessage(`{"a":"b"}`)})
	checkEnded("tools/call after the listing", err)
	_, err = s.ReadResource(ctx, "a:b")
	checkEnded("resources/read", err)
	_, err = s.ReadResource(ctx, "a:b")
	checkEnded("resources/read again", err)
	_, err = s.Complete(ctx, CompleteRequest{Prompt: "p", Argument: "a"})
	checkEnded("completion/complete", err)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	d.wg.Wait()
	if n.get(droppedPanic) != 0 {
		t.Fatal("something panicked")
	}
}
