package protocol

import (
	"context"
	"runtime"
	"testing"
	"time"
)

// A server that floods requests and reads nothing loses answers, which are
// counted; the call beside them is answered, nothing is queued without bound and
// nothing is started for them beyond what may be pending.
func TestAFloodOfRequestsIsAnsweredOrCounted(t *testing.T) {
	t.Parallel()
	for name, frame := range map[string]string{
		"ping":      `{"jsonrpc":"2.0","id":%d,"method":"ping"}`,
		"unknown":   `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{}}`,
		"roots":     `{"jsonrpc":"2.0","id":%d,"method":"roots/list"}`,
		"questions": `{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":` + formParams + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const flood = 2000
			var n counter
			before := runtime.NumGoroutine()
			most := 0
			f := connect(t, legacyServer(func(p *peer) {
				m, _ := p.await("tools/call")
				for i := range flood {
					p.send(frame, i)
				}
				most = runtime.NumGoroutine() - before
				p.reply(m, okResult)
				answering(map[string]string{"ping": `{}`})(p)
			}), pinned(Revision20251125), n.option, eliciting(func(ctx context.Context, _ ElicitRequest) (ElicitResult, error) {
				<-ctx.Done()
				return ElicitResult{}, ctx.Err()
			}), func(o *Options) { o.Roots = []Root{{URI: "file:///srv"}} })
			start := time.Now()
			if _, err := f.CallTool(short(t), CallRequest{Name: "x"}); err != nil {
				t.Fatal(err)
			}
			t.Logf("%s, %d goroutines more, %d answers dropped", time.Since(start), most, n.get(droppedReply))
			eventually(t, "the answers that could not be sent are counted", func() bool { return n.get(droppedReply) > flood/2 })
			if most > 1000 { // other tests run as well
				t.Errorf("%d goroutines were started", most)
			}
			if err := f.Ping(short(t)); err != nil { // it reads again
				t.Fatal(err)
			}
		})
	}
}
