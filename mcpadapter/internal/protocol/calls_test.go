package protocol

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// scripted answers every tools/call with a raw frame in which ID stands for
// the request's id.
func scripted(frame string) func(p *peer) {
	return legacyServer(func(p *peer) {
		for {
			m, ok := p.await("tools/call")
			if !ok {
				return
			}
			p.frame(wire.Frame{Data: []byte(strings.ReplaceAll(frame, "ID", string(m.ID)))})
		}
	})
}

func TestHostileAnswersFailTheCallAtOnce(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	for name, tc := range map[string]struct {
		frame string
		class Class
	}{
		"id as a string":      {`{"jsonrpc":"2.0","id":"ID","result":{"content":[]}}`, ClassProtocol},
		"id as a float":       {`{"jsonrpc":"2.0","id":ID.0,"result":{"content":[]}}`, ClassProtocol},
		"id with an exponent": {`{"jsonrpc":"2.0","id":ID0e-1,"result":{"content":[]}}`, ClassProtocol},
		"id null":             {`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse"}}`, ClassProtocol},
		"result and error":    {`{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"x"}}`, ClassProtocol},
		"neither":             {`{"jsonrpc":"2.0","id":ID}`, ClassProtocol},
		"result null":         {`{"jsonrpc":"2.0","id":ID,"result":null}`, ClassProtocol},
		"result array":        {`{"jsonrpc":"2.0","id":ID,"result":[]}`, ClassProtocol},
		"error string":        {`{"jsonrpc":"2.0","id":ID,"error":"no"}`, ClassProtocol},
		"error code string":   {`{"jsonrpc":"2.0","id":ID,"error":{"code":"1","message":"x"}}`, ClassProtocol},
		"no version":          {`{"id":ID,"result":{"content":[]}}`, ClassProtocol},
		"wrong-case members":  {`{"jsonrpc":"2.0","id":ID,"Result":{"content":[]}}`, ClassProtocol},
		"wrong-case content":  {`{"jsonrpc":"2.0","id":ID,"result":{"Content":[]}}`, ClassProtocol},
		"duplicate key":       {`{"jsonrpc":"2.0","id":ID,"result":{"content":[],"content":[]}}`, ClassMalformed},
		"nested duplicate":    {`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"a":{"b":1,"b":1}}]}}`, ClassMalformed},
		"escaped duplicate":   {`{"jsonrpc":"2.0","id":ID,"result":{"content":[],"\u0063ontent":[]}}`, ClassMalformed},
		"duplicate before id": {`{"jsonrpc":"2.0","result":{"a":1,"a":2},"id":ID}`, ClassMalformed},
		"invalid utf-8":       {"{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[],\"x\":\"\xff\"}}", ClassMalformed},
		"too deep":            {`{"jsonrpc":"2.0","id":ID,"result":{"content":` + deep + `}}`, ClassOverLimit},
		"deep before the id":  {`{"jsonrpc":"2.0","result":{"content":` + deep + `},"id":ID}`, ClassOverLimit},
		"method as well":      {`{"jsonrpc":"2.0","id":ID,"method":"m","result":{"content":[]}}`, ClassMalformed},
		"batch":               {`[{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}]`, ClassMalformed},
		"unknown result type": {`{"jsonrpc":"2.0","id":ID,"result":{"resultType":"task","task":{"taskId":"1"}}}`, ClassUnsupported},
		"input on a legacy":   {`{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","requestState":"x"}}`, ClassProtocol},
		"nothing":             {`{"jsonrpc":"2.0","id":ID,"result":{}}`, ClassProtocol},
		"content object":      {`{"jsonrpc":"2.0","id":ID,"result":{"content":{}}}`, ClassProtocol},
		"content number":      {`{"jsonrpc":"2.0","id":ID,"result":{"content":[1]}}`, ClassProtocol},
		"isError string":      {`{"jsonrpc":"2.0","id":ID,"result":{"content":[],"isError":"true"}}`, ClassProtocol},
		"remote error":        {`{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"x"}}`, ClassRemote},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := connect(t, scripted(tc.frame), pinned(Revision20251125))
			start := time.Now()
			_, err := f.CallTool(short(t), CallRequest{Name: "x"})
			e := wantClass(t, err, tc.class)
			if !e.Sent || e.Op != "tools/call" || time.Since(start) > patience/2 {
				t.Fatalf("after %v: %+v", time.Since(start), e)
			}
			if err := f.Err(); err != nil {
				t.Fatalf("the session died: %v", err)
			}
		})
	}
}

func TestResultsAreTheBytesReceived(t *testing.T) {
	t.Parallel()
	const raw = `{"structuredContent":{"z":9007199254740993,"a":1e400,"s":"\ud800"},  "content":[null,{"type":"odd","b":1.0,"a":2}],"isError":true,"_meta":{"k":[1]}}`
	var n counter
	f := connect(t, scripted(`{"result":`+raw+`,"jsonrpc":"2.0","id":ID}`), pinned(Revision20251125), n.option)
	res, err := f.CallTool(short(t), CallRequest{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if string(res.Raw) != raw || !res.IsError || len(res.Content) != 1 || string(res.Content[0]) != `{"type":"odd","b":1.0,"a":2}` ||
		string(res.Structured) != `{"z":9007199254740993,"a":1e400,"s":"\ud800"}` {
		t.Fatalf("%+v", res)
	}
	eventually(t, "null counted", func() bool { return n.get(droppedNullItem) == 1 })
}

func TestNullErrorNextToAResultIsTolerated(t *testing.T) {
	t.Parallel()
	codes := make(chan string, 4)
	f := connect(t, scripted(`{"jsonrpc":"2.0","id":ID,"result":{"content":null},"error":null}`), pinned(Revision20251125),
		func(o *Options) { o.Handlers.Tolerated = func(code, _ string) { codes <- code } })
	if _, err := f.CallTool(short(t), CallRequest{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{<-codes: true, <-codes: true}
	if !seen[toleratedNullMember] || !seen[toleratedNullContent] {
		t.Fatalf("%v", seen)
	}
}

func TestStrayAnswersAreCounted(t *testing.T) {
	t.Parallel()
	var n counter
	f := connect(t, legacyServer(func(p *peer) {
		for {
			m, ok := p.await("tools/call")
			if !ok {
				return
			}
			p.send(`{"jsonrpc":"2.0","id":4711,"result":{}}`)
			p.send(`{"jsonrpc":"2.0","id":"text","result":{}}`)
			p.send(`{"jsonrpc":"2.0","id":{},"result":{}}`)
			p.reply(m, okResult)
			p.reply(m, `{"content":[{"type":"text","text":"second"}]}`)
		}
	}), pinned(Revision20251125), n.option)
	for range 2 {
		res, err := f.CallTool(short(t), CallRequest{Name: "x"})
		if err != nil || string(res.Raw) != okResult {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	eventually(t, "counted", func() bool {
		return n.get(droppedDouble) == 2 && n.get(droppedUnknownID) == 2 && n.get(droppedWrongID) == 4 && n.get(droppedMalformed) == 6
	})
}

func TestTooManyMalformedFramesEndTheSession(t *testing.T) {
	t.Parallel()
	f := connect(t, legacyServer(func(p *peer) {
		for range 20 {
			p.send(`[]`)
		}
	}), pinned(Revision20251125), func(o *Options) { o.Limits.MalformedFrames = 5 })
	select {
	case <-f.Done():
	case <-time.After(patience):
		t.Fatal("still alive")
	}
	if e := wantClass(t, f.Err(), ClassMalformed); e.Limit != 5 || e.Setting != "limits.malformedFrames" {
		t.Fatalf("%+v", e)
	}
	_, err := f.CallTool(short(t), CallRequest{Name: "x"})
	if wantClass(t, err, ClassMalformed).Sent {
		t.Fatal("nothing was sent")
	}
}

func TestOversizedFrames(t *testing.T) {
	t.Parallel()
	var n counter
	refused := make(chan string, 1)
	f := connect(t, legacyServer(func(p *peer) {
		m, _ := p.await("tools/call")
		p.frame(wire.Frame{Oversize: &wire.Oversize{Size: 99, Limit: 50}})
		p.frame(wire.Frame{Oversize: &wire.Oversize{ID: []byte(`"q"`), Method: "elicitation/create", Size: 99, Limit: 50}})
		p.frame(wire.Frame{Oversize: &wire.Oversize{ID: m.ID, Size: 99, Limit: 50}})
		answering(nil)(p)
	}), pinned(Revision20251125), n.option, func(o *Options) {
		o.Handlers.Refused = func(method, reason, _ string) { refused <- method + ": " + reason }
	})
	_, err := f.CallTool(short(t), CallRequest{Name: "x"})
	if e := wantClass(t, err, ClassOverLimit); e.Limit != 50 || e.Size != 99 || e.Setting != "limits.frameBytes" || !e.Sent {
		t.Fatalf("%+v", e)
	}
	if r := <-refused; !strings.Contains(r, "elicitation/create") {
		t.Fatal(r)
	}
	eventually(t, "counted", func() bool { return n.get(droppedOversize) == 3 && n.get(droppedMalformed) == 1 })
}

func TestURLRequiredKeepsItsData(t *testing.T) {
	t.Parallel()
	f := connect(t, scripted(`{"jsonrpc":"2.0","id":ID,"error":{"code":-32042,"message":"go there","data":{"elicitations":[{"b":1,"a":2}]}}}`), pinned(Revision20251125))
	_, err := f.CallTool(short(t), CallRequest{Name: "x"})
	e := wantClass(t, err, ClassRemote)
	if e.Code != CodeURLRequired || string(e.Data) != `{"elicitations":[{"b":1,"a":2}]}` || e.Detail != "go there" {
		t.Fatalf("%+v", e)
	}
}

func TestCancelIsSentOnceAndLateReplyIsIgnored(t *testing.T) {
	t.Parallel()
	var n counter
	got := make(chan message, 1)
	release := make(chan struct{})
	f := connect(t, legacyServer(func(p *peer) {
		m, _ := p.await("tools/call")
		got <- m
		<-release
		p.reply(m, okResult)
		answering(map[string]string{"ping": `{}`})(p)
	}), pinned(Revision20251125), n.option)
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	go func() {
		_, err := f.CallTool(ctx, CallRequest{Name: "slow"})
		failed <- err
	}()
	m := <-got
	cancel()
	if e := wantClass(t, <-failed, ClassCancelled); !e.Sent || !errors.Is(e, context.Canceled) {
		t.Fatalf("%+v", e)
	}
	cancelled := func() (frames []string) {
		for _, fr := range f.d.log.all() {
			if strings.Contains(fr, "notifications/cancelled") {
				frames = append(frames, fr)
			}
		}
		return frames
	}
	eventually(t, "cancelled on the wire", func() bool { return len(cancelled()) == 1 })
	if want := `"requestId":` + string(m.ID) + `,`; !strings.Contains(cancelled()[0], want) {
		t.Fatalf("%s lacks %s", cancelled()[0], want)
	}
	close(release)
	eventually(t, "late reply counted", func() bool { return n.get(droppedLate) == 1 })
	if err := f.Ping(short(t)); err != nil {
		t.Fatal(err)
	}
	if len(cancelled()) != 1 || n.get(droppedMalformed) != 0 {
		t.Fatalf("%v, %d malformed", cancelled(), n.get(droppedMalformed))
	}
}

func TestDeadlineAndAlreadyEndedContext(t *testing.T) {
	t.Parallel()
	f := connect(t, legacyServer(answering(nil)), pinned(Revision20251125))
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := f.CallTool(ctx, CallRequest{Name: "x"})
	if e := wantClass(t, err, ClassTimeout); !e.Sent || !errors.Is(e, context.DeadlineExceeded) {
		t.Fatalf("%+v", e)
	}
	before := len(f.d.log.all())
	_, err = f.CallTool(ctx, CallRequest{Name: "x"})
	if e := wantClass(t, err, ClassTimeout); e.Sent {
		t.Fatalf("%+v", e)
	}
	for _, frame := range f.d.log.all()[before:] {
		if strings.Contains(frame, "tools/call") {
			t.Fatal(frame)
		}
	}
}

func TestLossInFlight(t *testing.T) {
	t.Parallel()
	f := connect(t, legacyServer(func(p *peer) {
		p.await("tools/call")
		p.end(&wire.LossError{Reason: "process exited", ExitCode: -1, Signal: "killed"})
	}), pinned(Revision20251125))
	_, err := f.CallTool(short(t), CallRequest{Name: "x"})
	var loss *wire.LossError
	if e := wantClass(t, err, ClassLost); !e.Sent || !errors.As(e, &loss) || loss.Signal != "killed" {
		t.Fatalf("%+v", e)
	}
	<-f.Done()
	wantClass(t, f.Err(), ClassLost)
	_, err = f.List(short(t), Tools, "")
	if wantClass(t, err, ClassLost).Sent {
		t.Fatal("sent after the loss")
	}
	if err := f.Notify(short(t), "notifications/x", nil); err == nil {
		t.Fatal("notified after the loss")
	}
}

func TestCloseEndsCallsInFlight(t *testing.T) {
	t.Parallel()
	called := make(chan struct{})
	f := connect(t, modernServer(func(p *peer) {
		p.await("tools/call")
		close(called)
		answering(nil)(p)
	}), func(o *Options) { o.Handlers.ListChanged = func(Family, bool) {} })
	failed := make(chan error, 1)
	go func() {
		_, err := f.CallTool(context.Background(), CallRequest{Name: "x"})
		failed <- err
	}()
	<-called
	start := time.Now()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if e := wantClass(t, <-failed, ClassClosed); !e.Sent || time.Since(start) > time.Second {
		t.Fatalf("after %v: %+v", time.Since(start), e)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	wantClass(t, f.Err(), ClassClosed)
}
