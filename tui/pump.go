package tui

import (
	"context"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/event"
)

const (
	// frameTime is the shortest time between two messages of the pump.
	frameTime = 33 * time.Millisecond
	// pumpQueue is how many events wait for the coalescer before the
	// subscription itself has to buffer.
	pumpQueue = 1024
	// maxBatch is how many events one message carries.
	maxBatch = 16 << 10
	// maxBatchLogs is how many log lines of one message are kept; older ones are
	// ephemeral and give way.
	maxBatchLogs = 200
)

// eventsMsg is what happened since the last one. err is set when nothing more
// comes.
type eventsMsg struct {
	records []event.Record
	err     error
}

// batch gathers events. Durable ones are kept as they are; deltas of the same
// message merge, and of progress reports and log lines the newest stay.
type batch struct {
	records  []event.Record
	delta    map[string]int // index of the delta that can still grow
	progress map[string]int
	logs     []int
}

func newBatch() *batch { return &batch{delta: map[string]int{}, progress: map[string]int{}} }

func (b *batch) add(r event.Record) {
	switch e := r.Event.(type) {
	case *event.ModelDelta:
		b.addDelta(r, e)
		return
	case *event.BindingTrace:
		return // the screen that shows it asks for all of it
	case *event.ResourceUpdated:
		key := e.Binding + "\x00" + e.URI
		if i, ok := b.progress[key]; ok {
			b.records[i] = r
			return
		}
		b.progress[key] = len(b.records)
	case *event.ToolProgress:
		if i, ok := b.progress[e.Call]; ok {
			b.records[i] = r
			return
		}
		b.progress[e.Call] = len(b.records)
	case *event.BindingStderr, *event.BindingLog:
		if len(b.logs) >= maxBatchLogs {
			i := b.logs[0]
			b.logs = append(b.logs[1:], i)
			b.records[i] = r
			return
		}
		b.logs = append(b.logs, len(b.records))
	default:
		clear(b.delta) // text may not move past a durable event
		clear(b.progress)
	}
	b.records = append(b.records, r)
}

// addDelta merges text into the last delta of the same message. Events are
// shared with other subscribers, so the merged one is a copy.
func (b *batch) addDelta(r event.Record, e *event.ModelDelta) {
	key := messageKey(&e.Header, e.Step) + "/" + e.Kind
	i, ok := b.delta[key]
	if !ok {
		b.delta[key] = len(b.records)
		c := *e
		b.records = append(b.records, event.Record{Event: &c, Line: r.Line, Durable: r.Durable})
		return
	}
	b.records[i].Event.(*event.ModelDelta).Text += e.Text
}

func (b *batch) take() []event.Record {
	out := b.records
	*b = *newBatch()
	return out
}

// pump carries events into the program: one goroutine waits for them, one hands
// them over, at most once per frameTime. run starts both and returns when both
// have ended.
type pump struct {
	events Events
	send   func(tea.Msg)
	crash  func(any)
}

func (p *pump) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := make(chan event.Record, pumpQueue)
	var last error
	var wg sync.WaitGroup
	wg.Go(func() {
		defer p.recovered()
		defer close(queue)
		for {
			r, err := p.events.Next(ctx)
			if err != nil {
				last = err
				return
			}
			select {
			case queue <- r:
			case <-ctx.Done():
				return
			}
		}
	})
	p.hand(ctx, queue, &last)
	cancel()
	wg.Wait()
}

// hand sends batches until the queue is closed and empty. last is read only
// after that.
func (p *pump) hand(ctx context.Context, queue <-chan event.Record, last *error) {
	defer p.recovered()
	b := newBatch()
	timer := time.NewTimer(frameTime)
	defer timer.Stop()
	for {
		select {
		case r, ok := <-queue:
			if !ok {
				if ctx.Err() == nil {
					p.send(eventsMsg{records: b.take(), err: *last})
				}
				return
			}
			b.add(r)
			if len(b.records) < maxBatch {
				continue
			}
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		if len(b.records) > 0 {
			p.send(eventsMsg{records: b.take()})
		}
		timer.Reset(frameTime)
	}
}

func (p *pump) recovered() {
	if r := recover(); r != nil {
		p.crash(r)
	}
}
