package protocol

import (
	"sync/atomic"
	"testing"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// listening counts how often the stream is opened and lets end decide how each
// opening ends.
func listening(opened *atomic.Int64, end func(p *peer, m message, n int64)) func(p *peer) {
	return modernServer(func(p *peer) {
		for {
			m, ok := p.next()
			switch {
			case !ok:
				return
			case m.Method == methodListen:
				n := opened.Add(1)
				p.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}}`)
				end(p, m, n)
			default:
				p.reply(m, `{"prompts":[],"contents":[],"ttlMs":60000}`)
			}
		}
	})
}

func TestTheEndOfTheListenStreamIsNoticedOnEachTransport(t *testing.T) {
	t.Parallel()
	for kind, end := range map[string]func(p *peer, m message){
		"http": func(p *peer, m message) { p.failure(m, &wire.LossError{Reason: "stream ended", ExitCode: -1}) },
		"stdio": func(p *peer, m message) {
			p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, m.ID)
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var opened atomic.Int64
			stale := make(chan Family, 64)
			f := connect(t, listening(&opened, func(p *peer, m message, n int64) {
				if n < 4 {
					end(p, m)
				}
			}), over(kind), func(o *Options) { o.Handlers.ListChanged = func(fam Family, _ bool) { stale <- fam } })
			eventually(t, "reopened", func() bool { return opened.Load() == 4 })
			for range 3 { // whatever a gap may have hidden counts as stale
				if fam := <-stale; fam != Tools {
					t.Fatal(fam)
				}
			}
			if o := f.d.log.last(methodListen); !o.Stream || o.Method != methodListen {
				t.Fatalf("%+v", o)
			}
			if err := f.Ping(short(t)); err != nil || opened.Load() != 4 {
				t.Fatalf("%v after %d openings", err, opened.Load())
			}
		})
	}
}

func TestAServerWithoutTheStreamOverHTTP(t *testing.T) {
	t.Parallel()
	var opened atomic.Int64
	codes := make(chan string, 4)
	f := connect(t, listening(&opened, func(p *peer, m message, _ int64) { p.failure(m, &wire.StatusError{Status: 405}) }), over("http"), func(o *Options) {
		o.Handlers.ListChanged = func(Family, bool) {}
		o.Handlers.Tolerated = func(code, _ string) { codes <- code }
	})
	if c := <-codes; c != toleratedNoListen {
		t.Fatal(c)
	}
	for range 5 {
		if err := f.Ping(short(t)); err != nil {
			t.Fatal(err)
		}
	}
	if opened.Load() != 1 {
		t.Fatalf("opened %d times", opened.Load())
	}
}

// A cancellation that names another request of ours ends nothing.
func TestOnlyTheListenStreamIsCancelledByAServer(t *testing.T) {
	t.Parallel()
	f := connect(t, modernServer(func(p *peer) {
		m, _ := p.await("tools/call")
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, m.ID)
		p.reply(m, okResult)
		p.next()
	}))
	if _, err := f.CallTool(short(t), CallRequest{Name: "x"}); err != nil {
		t.Fatal(err)
	}
}
