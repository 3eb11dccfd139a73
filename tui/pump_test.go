package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/event"
)

func TestBatchMergesWhatMayMerge(t *testing.T) {
	t.Parallel()
	b := newBatch()
	h := event.Header{Loop: "main", Turn: "t1"}
	first := &event.ModelDelta{Header: h, Step: 1, Kind: "text", Text: "a"}
	add := func(e event.Event) { b.add(event.Record{Event: e}) }
	add(first)
	add(&event.ModelDelta{Header: h, Step: 1, Kind: "text", Text: "b"})
	add(&event.ModelDelta{Header: h, Step: 1, Kind: "reasoning", Text: "r"})
	add(&event.ToolProgress{Call: "c", Progress: 1})
	add(&event.ToolProgress{Call: "c", Progress: 2})
	add(&event.Notice{Text: "durable"})
	add(&event.ModelDelta{Header: h, Step: 1, Kind: "text", Text: "c"})
	for range 2 * maxBatchLogs {
		add(&event.BindingStderr{Line: "x"})
	}
	got := b.take()
	if len(got) != 5+maxBatchLogs {
		t.Fatalf("%d records", len(got))
	}
	if d := got[0].Event.(*event.ModelDelta); d.Text != "ab" || first.Text != "a" {
		t.Errorf("merged %q; the shared event is now %q", d.Text, first.Text)
	}
	if p := got[2].Event.(*event.ToolProgress); p.Progress != 2 {
		t.Errorf("progress %v", p.Progress)
	}
	if d := got[4].Event.(*event.ModelDelta); d.Text != "c" {
		t.Errorf("text moved past a durable event: %q", d.Text)
	}
	if len(b.take()) != 0 {
		t.Error("a batch is sent twice")
	}
}

// sink collects what the pump sends.
type sink struct {
	mu       sync.Mutex
	messages int
	texts    []string
	end      error
	ended    chan struct{}
}

func (s *sink) send(msg tea.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := msg.(eventsMsg)
	s.messages++
	for _, r := range m.records {
		s.texts = append(s.texts, r.Event.(*event.Notice).Text)
	}
	if m.err != nil {
		s.end = m.err
		close(s.ended)
	}
}

func TestPumpDropsNothingAndCoalesces(t *testing.T) {
	t.Parallel()
	w := newWorld()
	s := &sink{ended: make(chan struct{})}
	p := &pump{events: w, send: s.send, crash: func(v any) { panic(v) }}
	const n = 5000
	for i := range n {
		w.events <- event.Record{Event: &event.Notice{Text: fmt.Sprint(i)}, Durable: true}
	}
	done := make(chan struct{})
	began := time.Now()
	go func() { p.run(context.Background()); close(done) }()
	deadline := time.After(10 * time.Second)
	for {
		s.mu.Lock()
		got := len(s.texts)
		s.mu.Unlock()
		if got == n {
			break
		}
		select {
		case <-deadline:
			t.Fatalf("%d of %d arrived", got, n)
		case <-time.After(time.Millisecond):
		}
	}
	took := time.Since(began)
	close(w.done)
	<-s.ended
	<-done
	if !errors.Is(s.end, io.EOF) {
		t.Errorf("ended with %v", s.end)
	}
	if most := int(took/frameTime) + 3; s.messages > most {
		t.Errorf("%d messages in %v, at most %d are allowed", s.messages, took, most)
	}
	for i, text := range s.texts {
		if text != fmt.Sprint(i) {
			t.Fatalf("event %d is %s", i, text)
		}
	}
}

func TestPumpEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	p := &pump{events: newWorld(), send: func(tea.Msg) {}, crash: func(v any) { panic(v) }}
	done := make(chan struct{})
	go func() { p.run(ctx); close(done) }()
	cancel()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatal("the pump goes on")
	}
}

func TestGuardTurnsPanicsIntoAnEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	killed := false
	g := &guard{m: r.m, kill: func() { killed = true }}
	msg := g.wrap(tea.Batch(func() tea.Msg { panic("boom\x1b[2J") }, func() tea.Msg { return nil }))()
	crash, ok := msg.(tea.BatchMsg)[0]().(crashMsg)
	if !ok || crash.err.Value != "boom␛[2J" {
		t.Fatalf("a panic in a command gives %#v", crash)
	}
	if _, cmd := g.Update(crash); cmd == nil {
		t.Error("a crash does not end the program")
	}
	r.m.o.Session = nil
	g.View()
	if !killed {
		t.Error("a panic in View does not end the program")
	}
}
