package protocol

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestSamplingPendingIsBoundedAndCancelled(t *testing.T) {
	t.Parallel()
	answers, ended := make(chan message, 8), make(chan error, 8)
	f := connect(t, legacyServer(func(p *peer) {
		for i := range 3 {
			p.send(`{"jsonrpc":"2.0","id":%d,"method":"sampling/createMessage","params":%s}`, i, json.RawMessage(plainSample))
		}
		m, _ := p.next() // the third is over the bound
		answers <- m
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}`)
		answering(nil)(p)
	}), pinned(Revision20251125), func(o *Options) { o.Limits.InputRequests = 2 },
		sampling(func(ctx context.Context, _ SampleRequest) (SampleResult, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return SampleResult{}, ctx.Err()
		}))
	if m := <-answers; string(m.ID) != "2" || !strings.Contains(m.raw, errTooManySamples) {
		t.Fatal(m.raw)
	}
	<-ended // cancelled by the server
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	<-ended // ended with the session
	for _, fr := range f.d.log.all() {
		if strings.Contains(fr, `"id":0,`) && strings.Contains(fr, `"error"`) {
			t.Fatalf("answered what was cancelled: %s", fr)
		}
	}
}

func TestSamplingEndsWithTheCallThatCausedIt(t *testing.T) {
	t.Parallel()
	answer := make(chan message, 1)
	asked := make(chan struct{})
	g := connect(t, legacyServer(func(p *peer) {
		call, _ := p.await("tools/call")
		p.send(`{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":%s}`, json.RawMessage(plainSample))
		<-asked
		p.reply(call, okResult)
		m, _ := p.next()
		answer <- m
		answering(nil)(p)
	}), pinned(Revision20251125), sampling(func(ctx context.Context, _ SampleRequest) (SampleResult, error) {
		close(asked)
		<-ctx.Done()
		return SampleResult{}, ctx.Err()
	}))
	if _, err := g.CallTool(short(t), CallRequest{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	if m := <-answer; !strings.Contains(m.raw, "the call is over") {
		t.Fatal(m.raw)
	}
}

func TestSamplingInAMultiRoundTripCall(t *testing.T) {
	t.Parallel()
	const ask = `{"resultType":"input_required","inputRequests":{"q":{"method":"sampling/createMessage","params":%s}},"requestState":"st"}`
	asks := func(params string) func(p *peer) {
		return modernServer(func(p *peer) {
			for {
				m, ok := p.await("tools/call")
				switch {
				case !ok:
					return
				case strings.Contains(m.raw, "inputResponses"):
					p.reply(m, okResult)
				default:
					p.reply(m, fmt.Sprintf(ask, params))
				}
			}
		})
	}
	id := make(chan string, 1)
	f := connect(t, asks(strings.Replace(plainSample, `{"type":"text","text":"capital?"}`, `[{"type":"text","text":"capital?"}]`, 1)),
		sampling(func(ctx context.Context, req SampleRequest) (SampleResult, error) {
			id <- req.CallID
			return writes(`{"type":"text","text":"Paris"}`)(ctx, req)
		}))
	if _, err := f.CallTool(short(t), CallRequest{ID: "c-1", Name: "x"}); err != nil || <-id != "c-1" {
		t.Fatal(err)
	}
	all := strings.Join(f.d.log.all(), "\n")
	for _, want := range []string{
		`"inputResponses":{"q":{"role":"assistant","content":{"type":"text","text":"Paris"},"model":"m","stopReason":"endTurn"}},"requestState":"st"`,
		`"io.modelcontextprotocol/clientCapabilities":{"sampling":{}}`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not in %s", want, all)
		}
	}
	f = connect(t, asks(plainSample), sampling(func(context.Context, SampleRequest) (SampleResult, error) {
		return SampleResult{}, Rejected("the user said no")
	}))
	_, err := f.CallTool(short(t), CallRequest{Name: "x"})
	if e := wantClass(t, err, ClassRefused); !e.Sent || e.Op != "tools/call" || e.Message != "the user said no" {
		t.Fatalf("%+v", e)
	}
	for _, params := range []string{`{"messages":[null],"maxTokens":1}`, `null`} {
		f = connect(t, asks(params), sampling(writes(`{}`)))
		_, err = f.CallTool(short(t), CallRequest{Name: "x"})
		wantClass(t, err, ClassProtocol)
	}
	f = connect(t, asks(plainSample)) // not declared
	_, err = f.CallTool(short(t), CallRequest{Name: "x"})
	wantClass(t, err, ClassProtocol)
}
