package protocol

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

// modernCalls answers each tools/call of a 2026-07-28 session with the next
// result; the last one repeats.
func modernCalls(seen chan<- message, results ...string) func(p *peer) {
	return modernServer(func(p *peer) {
		for i := 0; ; i++ {
			m, ok := p.next()
			if !ok {
				return
			}
			if seen != nil {
				seen <- m
			}
			p.reply(m, results[min(i, len(results)-1)])
		}
	})
}

const done = `{"resultType":"complete","content":[]}`

func needs(requests, state string) string {
	r := `{"resultType":"input_required"`
	if requests != "" {
		r += `,"inputRequests":` + requests
	}
	if state != "" {
		r += `,"requestState":` + state
	}
	return r + `}`
}

func TestRoundsOfInput(t *testing.T) {
	t.Parallel()
	seen := make(chan message, 8)
	ask := `{"method":"elicitation/create","params":` + formParams + `}`
	state := `"\ud800 \u0041 é"`
	f := connect(t, modernCalls(seen, needs(`{"z":`+ask+`,"a":`+ask+`}`, state), needs("", `"two"`), done),
		eliciting(func(_ context.Context, req ElicitRequest) (ElicitResult, error) {
			if req.CallID != "call-1" || string(req.Schema) != formSchema {
				t.Errorf("%+v", req)
			}
			return ElicitResult{Action: "accept", Content: json.RawMessage(`{"n":9007199254740993}`)}, nil
		}))
	var attempts []int
	res, err := f.CallTool(short(t), CallRequest{ID: "call-1", Name: "x", Args: json.RawMessage(`{"q":1.0}`), Attempt: func(n int) { attempts = append(attempts, n) }})
	if err != nil || string(res.Raw) != done || fmt.Sprint(attempts) != "[1 2 3]" {
		t.Fatalf("%+v, %v, %v", res, err, attempts)
	}
	one, two, three := <-seen, <-seen, <-seen
	if string(one.ID) == string(two.ID) || string(two.ID) == string(three.ID) {
		t.Fatal("an id was used twice")
	}
	if strings.Contains(one.raw, "requestState") || strings.Contains(one.raw, "inputResponses") {
		t.Fatal(one.raw)
	}
	answer := `{"action":"accept","content":{"n":9007199254740993}}`
	if want := `"name":"x","arguments":{"q":1.0},"inputResponses":{"z":` + answer + `,"a":` + answer + `},"requestState":` + state + `}`; !strings.Contains(two.raw, want) {
		t.Fatalf("%s\nlacks %s", two.raw, want)
	}
	if !strings.Contains(three.raw, `"requestState":"two"`) || strings.Contains(three.raw, "inputResponses") {
		t.Fatal(three.raw)
	}
}

func TestReadsAndPromptsHaveRoundsToo(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(f fixture) (json.RawMessage, error){
		"resources/read": func(f fixture) (json.RawMessage, error) { return f.ReadResource(short(t), "a:b") },
		"prompts/get": func(f fixture) (json.RawMessage, error) {
			return f.GetPrompt(short(t), "p", json.RawMessage(`{"k":"v"}`))
		},
		"raw": func(f fixture) (json.RawMessage, error) {
			return f.Request(short(t), "prompts/get", json.RawMessage(`{"name":"p"}`))
		},
	} {
		seen := make(chan message, 4)
		f := connect(t, modernCalls(seen, needs("", `"s"`), `{"resultType":"complete","contents":[{"big":9007199254740993}]}`))
		raw, err := call(f)
		if err != nil || !strings.Contains(string(raw), "9007199254740993") {
			t.Fatalf("%s: %s, %v", name, raw, err)
		}
		<-seen
		if m := <-seen; !strings.Contains(m.raw, `"requestState":"s"`) || !strings.Contains(m.raw, metaRevision) {
			t.Fatalf("%s: %s", name, m.raw)
		}
	}
}

func TestHostileRounds(t *testing.T) {
	t.Parallel()
	many := make([]string, 9)
	for i := range many {
		many[i] = fmt.Sprintf(`"k%d":{"method":"elicitation/create","params":%s}`, i, formParams)
	}
	for name, tc := range map[string]struct {
		result  string
		class   Class
		setting string
	}{
		"null entry":         {needs(`{"k":null}`, ""), ClassProtocol, ""},
		"array":              {needs(`[1]`, ""), ClassProtocol, ""},
		"null requests":      {needs(`null`, `"s"`), ClassProtocol, ""},
		"params null":        {needs(`{"k":{"method":"elicitation/create","params":null}}`, ""), ClassProtocol, ""},
		"no method":          {needs(`{"k":{"params":{}}}`, ""), ClassProtocol, ""},
		"sampling null":      {needs(`{"k":{"method":"sampling/createMessage","params":{"messages":[null]}}}`, ""), ClassProtocol, ""},
		"roots":              {needs(`{"k":{"method":"roots/list"}}`, ""), ClassProtocol, ""},
		"nothing":            {needs("", ""), ClassProtocol, ""},
		"state number":       {needs("", `7`), ClassProtocol, ""},
		"state null":         {needs("", `null`), ClassProtocol, ""},
		"state too large":    {needs("", `"`+strings.Repeat("s", 70<<10)+`"`), ClassOverLimit, "limits.requestStateBytes"},
		"too many":           {needs(`{`+strings.Join(many, ",")+`}`, ""), ClassOverLimit, "limits.elicitPending"},
		"for ever":           {needs("", `"s"`), ClassOverLimit, "limits.roundTrips"},
		"too many bytes":     {`{"pad":"` + strings.Repeat("p", 600<<10) + `",` + needs("", `"s"`)[1:], ClassOverLimit, "fixed"},
		"duplicate name":     {needs(`{"k":{},"k":{}}`, ""), ClassMalformed, ""},
		"unknown type":       {`{"resultType":"Complete","content":[]}`, ClassUnsupported, ""},
		"type null":          {`{"resultType":null,"content":[]}`, ClassUnsupported, ""},
		"message over limit": {needs(`{"k":{"method":"elicitation/create","params":{"message":"`+strings.Repeat("m", 5000)+`","requestedSchema":{}}}}`, ""), ClassOverLimit, "limits.elicitMessageBytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := connect(t, modernCalls(nil, tc.result), eliciting(accept(`{}`)))
			_, err := f.CallTool(short(t), CallRequest{Name: "x"})
			if e := wantClass(t, err, tc.class); e.Setting != tc.setting || !e.Sent || e.Op != "tools/call" {
				t.Fatalf("%+v", e)
			}
			if f.Err() != nil {
				t.Fatal(f.Err())
			}
		})
	}
}

func TestRoundHandlerFaults(t *testing.T) {
	t.Parallel()
	ask := needs(`{"k":{"method":"elicitation/create","params":`+formParams+`}}`, "")
	f := connect(t, modernCalls(nil, ask), eliciting(func(context.Context, ElicitRequest) (ElicitResult, error) { panic("boom") }))
	_, err := f.CallTool(short(t), CallRequest{Name: "x"})
	if e := wantClass(t, err, ClassPanic); !e.Sent {
		t.Fatalf("%+v", e)
	}
	// The call's end is the elicitation's end, and the other way round.
	asked := make(chan struct{}, 1)
	g := connect(t, modernCalls(nil, ask), eliciting(func(ctx context.Context, _ ElicitRequest) (ElicitResult, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return ElicitResult{}, ctx.Err()
	}))
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	go func() {
		_, err := g.CallTool(ctx, CallRequest{Name: "x"})
		failed <- err
	}()
	<-asked
	cancel()
	if e := wantClass(t, <-failed, ClassCancelled); !e.Sent {
		t.Fatalf("%+v", e)
	}
	go func() {
		_, err := g.CallTool(context.Background(), CallRequest{Name: "x"})
		failed <- err
	}()
	<-asked
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if e := wantClass(t, <-failed, ClassClosed); !e.Sent {
		t.Fatalf("%+v", e)
	}
}

func TestServerRequestsAreRefusedOnTheModernRevision(t *testing.T) {
	t.Parallel()
	answer := make(chan message, 1)
	connect(t, modernServer(func(p *peer) {
		p.send(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":%s}`, formParams)
		m, _ := p.next()
		answer <- m
		p.next()
	}), eliciting(accept(`{}`)))
	if m := <-answer; !strings.Contains(string(m.Error), "-32601") {
		t.Fatal(m.raw)
	}
}

func TestListenStreamIsOpenedWatchedAndReopened(t *testing.T) {
	t.Parallel()
	changes := make(chan string, 64)
	updates := make(chan string, 8)
	var opened atomic.Int64
	f := connect(t, modernServer(func(p *peer) {
		for {
			m, ok := p.next()
			if !ok {
				return
			}
			switch m.Method {
			case "subscriptions/listen":
				n := opened.Add(1)
				p.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{},"notifications":{"resourceSubscriptions":["a:b"]}}}`)
				switch n {
				case 1:
					if !strings.Contains(m.raw, `"notifications":{"toolsListChanged":true}`) || !strings.Contains(m.raw, metaRevision) {
						t.Errorf("%s", m.raw)
					}
					p.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
					p.reply(m, `{"_meta":{}}`)
				case 2:
					p.fail(m, -32000, "go away")
				case 3:
					p.send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b"}}`)
				}
			case "tools/list":
				p.reply(m, `{"tools":[]}`)
			}
		}
	}), func(o *Options) {
		o.Handlers.ListChanged = func(fam Family, declared bool) { changes <- fmt.Sprint(fam, " ", declared) }
		o.Handlers.ResourceUpdated = func(uri string) { updates <- uri }
	})
	if c := <-changes; c != "tools true" {
		t.Fatal(c)
	}
	if u := <-updates; u != "a:b" { // on the third stream
		t.Fatal(u)
	}
	// Each reopening makes what was missed stale.
	if c := <-changes; c != "tools true" {
		t.Fatal(c)
	}
	if err := f.Subscribe(short(t), "a:b"); err != nil {
		t.Fatal(err)
	}
	listens := func(part string) bool {
		for _, fr := range f.d.log.all() {
			if strings.Contains(fr, `"method":"subscriptions/listen"`) && strings.Contains(fr, part) {
				return true
			}
		}
		return false
	}
	eventually(t, "reopened with the resource", func() bool { return listens(`"toolsListChanged":true,"resourceSubscriptions":["a:b"]`) })
	if err := f.Unsubscribe(short(t), "a:b"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "reopened without it", func() bool { return opened.Load() >= 5 })
	if _, err := f.List(short(t), Tools, ""); err != nil { // the stream holds nobody up
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestListenThatTheServerLacks(t *testing.T) {
	t.Parallel()
	codes := make(chan string, 4)
	var opened atomic.Int64
	f := connect(t, modernServer(func(p *peer) {
		for {
			m, ok := p.next()
			if !ok {
				return
			}
			if m.Method == "subscriptions/listen" {
				opened.Add(1)
				p.fail(m, CodeMethodNotFound, "no")
			} else {
				p.reply(m, `{"prompts":[]}`)
			}
		}
	}), func(o *Options) {
		o.Handlers.ListChanged = func(Family, bool) {}
		o.Handlers.Tolerated = func(code, _ string) { codes <- code }
	})
	if c := <-codes; c != toleratedNoListen {
		t.Fatal(c)
	}
	for range 3 {
		if err := f.Ping(short(t)); err != nil {
			t.Fatal(err)
		}
	}
	if opened.Load() != 1 {
		t.Fatalf("opened %d times", opened.Load())
	}
}

func TestSilentListenDoesNotHoldCloseUp(t *testing.T) {
	t.Parallel()
	heard := make(chan struct{})
	f := connect(t, modernServer(func(p *peer) {
		p.await("subscriptions/listen")
		close(heard)
		answering(nil)(p)
	}), func(o *Options) { o.Handlers.ListChanged = func(Family, bool) {} })
	<-heard
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestLegacySubscriptions(t *testing.T) {
	t.Parallel()
	f := connect(t, legacyServer(answering(map[string]string{
		"resources/subscribe": `{}`, "resources/unsubscribe": `{}`, "logging/setLevel": `{}`,
	})), pinned(Revision20251125))
	if err := f.Subscribe(short(t), "a:b"); err != nil {
		t.Fatal(err)
	}
	if err := f.Unsubscribe(short(t), "a:b"); err != nil {
		t.Fatal(err)
	}
	if err := f.SetLogLevel(short(t), "info"); err != nil {
		t.Fatal(err)
	}
	if err := f.Subscribe(short(t), strings.Repeat("u", 10_000)); err == nil {
		t.Fatal("no bound")
	}
}
