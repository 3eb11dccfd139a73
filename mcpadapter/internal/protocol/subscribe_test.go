package protocol

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// opening is one listen request of the client.
type opening struct {
	p    *peer
	m    message
	uris []string
}

// agree acknowledges the stream for some resources.
func (o opening) agree(uris ...string) {
	list, _ := json.Marshal(append([]string{}, uris...))
	o.p.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{%q:%s},"notifications":{"resourceSubscriptions":%s}}}`,
		metaSubscription, o.m.ID, list)
}

func (o opening) end() { o.p.reply(o.m, `{}`) }

// watched is a server that leaves each listen request to the test.
func watched(t *testing.T, edit ...func(*Options)) (fixture, <-chan opening) {
	t.Helper()
	streams := make(chan opening, 64)
	f := connect(t, modernServer(func(p *peer) {
		for {
			m, ok := p.next()
			switch {
			case !ok:
				return
			case m.Method == methodListen:
				var params struct {
					Notifications struct {
						ResourceSubscriptions []string `json:"resourceSubscriptions"`
					} `json:"notifications"`
				}
				if err := json.Unmarshal(m.Params, &params); err != nil {
					t.Error(err)
				}
				streams <- opening{p, m, params.Notifications.ResourceSubscriptions}
			default:
				p.reply(m, `{"prompts":[]}`)
			}
		}
	}), edit...)
	return f, streams
}

// subscribing subscribes in the background.
func subscribing(t *testing.T, f fixture, uris ...string) <-chan []error {
	ctx := short(t)
	out := make(chan []error, 1)
	go func() { out <- f.SubscribeAll(ctx, uris) }()
	return out
}

func TestSubscribeReturnsWhenTheStreamIsAcknowledged(t *testing.T) {
	t.Parallel()
	f, streams := watched(t)
	done := subscribing(t, f, "a:1", "a:2")
	o := <-streams
	if !slices.Equal(o.uris, []string{"a:1", "a:2"}) {
		t.Fatal(o.uris) // one reopening for both
	}
	// The acknowledgement of a stream that is not this one counts for nothing.
	o.p.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{%q:9999},"notifications":{"resourceSubscriptions":["a:1","a:2"]}}}`, metaSubscription)
	if err := f.Ping(short(t)); err != nil { // it was read
		t.Fatal(err)
	}
	select {
	case errs := <-done:
		t.Fatalf("returned before the acknowledgement: %v", errs)
	default:
	}
	o.agree("a:2")
	errs := <-done
	wantClass(t, errs[0], ClassUnsupported)
	if errs[1] != nil {
		t.Fatal(errs[1])
	}
	// What was refused is not asked for again, what is subscribed waits for nobody.
	if err := f.Subscribe(short(t), "a:2"); err != nil {
		t.Fatal(err)
	}
	o.end()
	if o = <-streams; !slices.Equal(o.uris, []string{"a:2"}) {
		t.Fatal(o.uris)
	}
}

func TestAResourceThatBreaksTheStreamIsTakenOut(t *testing.T) {
	t.Parallel()
	f, streams := watched(t)
	first := subscribing(t, f, "a:1")
	o := <-streams
	o.agree("a:1")
	if errs := <-first; errs[0] != nil {
		t.Fatal(errs)
	}
	second := subscribing(t, f, "a:bad")
	for o = <-streams; !slices.Contains(o.uris, "a:bad"); o = <-streams {
	}
	o.p.fail(o.m, CodeInvalidParams, "no such resource")
	e := wantClass(t, (<-second)[0], ClassRemote)
	if e.Op != methodSubscribe || e.Code != CodeInvalidParams {
		t.Fatalf("%+v", e)
	}
	for o = <-streams; slices.Contains(o.uris, "a:bad"); o = <-streams {
		t.Fatal("asked for again")
	}
	if !slices.Equal(o.uris, []string{"a:1"}) {
		t.Fatal(o.uris)
	}
}

func TestSubscribeWithoutAStream(t *testing.T) {
	t.Parallel()
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		f, streams := watched(t, over("http"))
		done := subscribing(t, f, "a:1")
		o := <-streams
		o.p.failure(o.m, &wire.StatusError{Status: 405})
		wantClass(t, (<-done)[0], ClassUnsupported)
		again := subscribing(t, f, "a:2")
		o = <-streams
		if !slices.Equal(o.uris, []string{"a:2"}) {
			t.Fatal(o.uris)
		}
		o.p.fail(o.m, CodeMethodNotFound, "what?")
		wantClass(t, (<-again)[0], ClassUnsupported)
	})
	t.Run("silent", func(t *testing.T) {
		t.Parallel()
		f, streams := watched(t)
		f.listen.ackWait = time.Millisecond
		wantClass(t, f.Subscribe(short(t), "a:1"), ClassTimeout)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		f.listen.ackWait = time.Hour
		wantClass(t, f.Subscribe(ctx, "a:2"), ClassCancelled)
		done := subscribing(t, f, "a:3")
		for o := range streams {
			if slices.Contains(o.uris, "a:3") {
				if !slices.Equal(o.uris, []string{"a:3"}) {
					t.Fatal(o.uris)
				}
				o.agree("a:3")
				break
			}
		}
		if errs := <-done; errs[0] != nil {
			t.Fatal(errs)
		}
	})
	t.Run("lost", func(t *testing.T) {
		t.Parallel()
		f, streams := watched(t)
		done := subscribing(t, f, "a:1")
		(<-streams).p.end(wire.ErrClosed)
		wantClass(t, (<-done)[0], ClassClosed)
	})
}

// A reopening may have hidden changes of what was covered before it: all of
// that is reported, and nothing else.
func TestResourcesCountAsChangedAfterAGap(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var updates []string
	told := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(updates)
	}
	f, streams := watched(t, func(o *Options) {
		o.Handlers.ResourceUpdated = func(uri string) {
			mu.Lock()
			defer mu.Unlock()
			updates = append(updates, uri)
		}
	})
	done := subscribing(t, f, "a:1", "a:2")
	o := <-streams
	o.agree("a:1", "a:2")
	<-done
	// A new subscription reopens the stream, with a gap for the others.
	done = subscribing(t, f, "a:3")
	o = <-streams
	o.agree(o.uris...)
	<-done
	eventually(t, "both reported", func() bool { return len(told()) == 2 })
	if got := told(); !slices.Equal(got, []string{"a:1", "a:2"}) {
		t.Fatal(got)
	}
	// So does the end of a stream, and an ended subscription is not told of.
	if err := f.Unsubscribe(short(t), "a:1"); err != nil {
		t.Fatal(err)
	}
	o = <-streams
	o.end()
	o = <-streams
	o.agree(o.uris...)
	o.p.send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:last"}}`)
	eventually(t, "the rest reported", func() bool { return slices.Contains(told(), "a:last") })
	if got := strings.Join(told(), " "); got != "a:1 a:2 a:2 a:3 a:last" {
		t.Fatal(got)
	}
}

func TestSubscriptionsAreBounded(t *testing.T) {
	t.Parallel()
	f, _ := watched(t)
	uris := make([]string, maxSubscriptions+1)
	for i := range uris {
		uris[i] = fmt.Sprint("a:", i)
	}
	wantClass(t, f.SubscribeAll(short(t), uris)[0], ClassOverLimit)
	wantClass(t, f.SubscribeAll(short(t), []string{strings.Repeat("u", maxURLBytes+1)})[0], ClassOverLimit)
}

// A stream that is closed to open another is answered by the server; that is no
// late reply.
func TestTheEndOfAReplacedStreamIsNotCounted(t *testing.T) {
	t.Parallel()
	counts := make(chan string, 16)
	f, streams := watched(t, func(o *Options) { o.Handlers.Dropped = func(code string, _ int) { counts <- code } })
	done := subscribing(t, f, "a://1")
	first := <-streams
	first.agree(first.uris...)
	<-done
	done = subscribing(t, f, "a://2")
	second := <-streams
	second.agree(second.uris...)
	<-done
	first.end()
	second.p.send(`{"jsonrpc":"2.0","id":999,"result":{}}`)
	seen := []string{<-counts} // of the second, which came behind the first
	_ = f.Close()
	for len(counts) > 0 {
		seen = append(seen, <-counts)
	}
	if slices.Contains(seen, droppedLate) || !slices.Contains(seen, droppedUnknownID) {
		t.Fatalf("counted %v", seen)
	}
}
