package mcpadapter

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/looprig/looprig/harness/event"
)

// The bounds of what waits to be told.
const (
	// maxHeldEvents are durable events before BindSession.
	maxHeldEvents = 1024
	// maxQueued are events and notices that the host has not yet taken.
	maxQueued = 8192
	// maxQueuedEphemeral are those of them that may be dropped, oldest first.
	maxQueuedEphemeral = 512
	// drainTime bounds the telling of what is left when the Manager closes.
	drainTime = 2 * time.Second
)

// pump tells events and notices to the host, one at a time and in order, on a
// goroutine of its own: nothing of the adapter waits for the host's journal.
type pump struct {
	deps   Deps
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
	wake   chan struct{}

	mu        sync.Mutex
	bound     bool
	closing   bool
	held      []event.Event
	queue     []pumped
	ephemeral int
	lost      int
}

// pumped is an event or a notice.
type pumped struct {
	ev        event.Event
	notice    *Notice
	ephemeral bool
}

func newPump(deps Deps) *pump {
	p := &pump{deps: deps, done: make(chan struct{}), wake: make(chan struct{}, 1), bound: deps.SessionID != ""}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	go deps.crash().Guard(p.run)
	return p
}

// event queues an event; before the session is bound durable ones are held and
// ephemeral ones dropped.
func (p *pump) event(ev event.Event) {
	if p.deps.Events == nil {
		return
	}
	ephemeral := !event.Durable(event.TypeOf(ev))
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closing:
	case p.bound:
		p.push(pumped{ev: ev, ephemeral: ephemeral})
	case ephemeral:
	case len(p.held) >= maxHeldEvents:
		p.lost++
	default:
		p.held = append(p.held, ev)
	}
}

func (p *pump) notice(n Notice) {
	if p.deps.Reporter == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closing {
		p.push(pumped{notice: &n})
	}
}

// push adds to the queue under its bounds. The lock is held.
func (p *pump) push(item pumped) {
	if item.ephemeral {
		if p.ephemeral >= maxQueuedEphemeral {
			p.dropOldestEphemeral()
		}
		p.ephemeral++
	}
	if len(p.queue) >= maxQueued {
		p.lost++
		return
	}
	p.queue = append(p.queue, item)
	p.signal()
}

func (p *pump) dropOldestEphemeral() {
	for i := range p.queue {
		if p.queue[i].ephemeral {
			p.queue = append(p.queue[:i], p.queue[i+1:]...)
			p.ephemeral--
			return
		}
	}
}

func (p *pump) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// bind releases what was held.
func (p *pump) bind() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bound = true
	for _, ev := range p.held {
		p.push(pumped{ev: ev})
	}
	p.held = nil
}

// close tells what is left, bounded, and ends the goroutine.
func (p *pump) close() {
	p.mu.Lock()
	p.closing = true
	p.signal()
	p.mu.Unlock()
	t := time.AfterFunc(drainTime, p.cancel)
	<-p.done
	t.Stop()
	p.cancel()
}

func (p *pump) run() {
	defer close(p.done)
	for {
		item, ok := p.next()
		if !ok {
			return
		}
		if item.notice != nil {
			p.deps.Reporter.Report(*item.notice)
			continue
		}
		if err := p.deps.Events.Publish(p.ctx, item.ev); err != nil {
			p.failed(item.ev, err)
		}
	}
}

// next waits for something to tell; ok is false at the end.
func (p *pump) next() (item pumped, ok bool) {
	for {
		p.mu.Lock()
		if n := p.lost; n > 0 {
			p.lost = 0
			p.mu.Unlock()
			if p.deps.Reporter != nil {
				return pumped{notice: p.lossNotice(n)}, true
			}
			continue
		}
		if len(p.queue) > 0 && p.ctx.Err() == nil {
			item = p.queue[0]
			p.queue[0] = pumped{}
			p.queue = p.queue[1:]
			if item.ephemeral {
				p.ephemeral--
			}
			p.mu.Unlock()
			return item, true
		}
		ended := p.closing
		p.mu.Unlock()
		if ended {
			return pumped{}, false
		}
		select {
		case <-p.wake:
		case <-p.ctx.Done():
		}
	}
}

func (p *pump) lossNotice(n int) *Notice {
	return &Notice{
		Time: p.deps.Clock.Now(), Code: "events_lost", Level: LevelError,
		Text: fmt.Sprintf("%d events of bindings were lost: the host did not take them in time", n),
	}
}

func (p *pump) failed(ev event.Event, err error) {
	if p.deps.Reporter == nil || p.ctx.Err() != nil {
		return
	}
	p.deps.Reporter.Report(Notice{
		Time: p.deps.Clock.Now(), Code: "event_refused", Level: LevelError, Err: err,
		Text: fmt.Sprintf("an event of type %s could not be recorded", event.TypeOf(ev)),
	})
}
