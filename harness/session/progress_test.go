package session

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/model/scripted"
	"github.com/looprig/looprig/harness/tool"
)

// handClock moves when it is told to and runs its timers then.
type handClock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[int]handTimer
	next   int
}

type handTimer struct {
	at time.Time
	f  func()
}

var _ Clock = (*handClock)(nil)

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.next
	c.next++
	if c.timers == nil {
		c.timers = map[int]handTimer{}
	}
	c.timers[id] = handTimer{c.now.Add(d), f}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, was := c.timers[id]
		delete(c.timers, id)
		return was
	}
}

func (c *handClock) advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	var due []func()
	for id, t := range c.timers {
		if !t.at.After(c.now) {
			due = append(due, t.f)
			delete(c.timers, id)
		}
	}
	c.mu.Unlock()
	for _, f := range due {
		f()
	}
}

func TestProgressIsCoalesced(t *testing.T) {
	t.Parallel()
	c := &handClock{now: time.Unix(1_800_000_000, 0)}
	var told []float64
	p := &progress{clock: c, tell: func(x tool.Progress) { told = append(told, x.Progress) }}
	expect := func(what string, want ...float64) {
		t.Helper()
		if len(told) != len(want) || len(want) > 0 && told[len(told)-1] != want[len(want)-1] {
			t.Fatalf("%s: told %v, want %v", what, told, want)
		}
	}
	p.report(tool.Progress{Progress: 1})
	expect("the first comes at once", 1)
	for i := range 1000 {
		p.report(tool.Progress{Progress: float64(2 + i)})
	}
	expect("a flood waits", 1)
	c.advance(progressEvery)
	expect("the newest of it comes", 1, 1001)
	c.advance(progressEvery)
	expect("and nothing again", 1, 1001)
	p.report(tool.Progress{Progress: 1002})
	expect("after a pause at once", 1, 1001, 1002)
	p.report(tool.Progress{Progress: 1003})
	p.end()
	expect("the last comes before the end", 1, 1001, 1002, 1003)
	p.report(tool.Progress{Progress: 1004})
	c.advance(time.Minute)
	expect("nothing comes after it", 1, 1001, 1002, 1003)
	if len(c.timers) != 0 {
		t.Errorf("%d timers are left", len(c.timers))
	}
}

// 100,000 reports of one call are a handful of events, the last of them before
// the outcome, and nobody waits for them.
func TestFloodOfProgress(t *testing.T) {
	t.Parallel()
	const reports = 100_000
	f := &fake{invoke: func(_ context.Context, c tool.Call, _ json.RawMessage) tool.Result {
		for i := range reports {
			c.Progress(tool.Progress{Progress: float64(i + 1), Total: reports, Message: "working"})
		}
		return okResult("done")
	}}
	w := open(t, Options{Policy: allowAll(), Clock: gate.SystemClock{}}, []scripted.Reply{uses("mcp__demo__busy"), {Say: "x"}}, define("demo", "busy", f))
	sub, err := w.Subscribe(Filter{Ephemeral: true})
	w.must(err)
	began := time.Now()
	w.say("x")
	took := time.Since(began)
	w.shut()
	n, last, after := 0, 0.0, false
	for {
		rec, err := sub.Next(w.ctx())
		if err != nil {
			break
		}
		switch e := rec.Event.(type) {
		case *event.ToolProgress:
			n, last = n+1, e.Progress
			if after {
				t.Error("progress after the outcome")
			}
		case *event.ToolCompleted:
			after = true
		}
	}
	if most := int(took/progressEvery) + 3; n < 2 || n > most || last != reports || sub.Dropped() != 0 {
		t.Errorf("%d events (at most %d), the last of %v, %d dropped", n, most, last, sub.Dropped())
	}
}

func TestBrief(t *testing.T) {
	t.Parallel()
	if got := brief(strings.Repeat("x", maxProgressText)); len(got) != maxProgressText {
		t.Errorf("%d bytes", len(got))
	}
	got := brief(strings.Repeat("é", maxProgressText))
	if len(got) > maxProgressText+32 || !utf8.ValidString(got) || !strings.HasSuffix(got, "… +1024 bytes") {
		t.Errorf("%d bytes: %q", len(got), got[len(got)-20:])
	}
}
