package tui

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/event"
)

// switchable is a host whose model can be changed.
type switchable struct {
	asked  []string
	queued bool
	err    error
	used   []event.ModelUsage
}

func (s *switchable) Models(context.Context) ([]ModelChoice, error) {
	return []ModelChoice{
		{Name: "operator", Note: "you choose the calls", Current: true},
		{Name: "mock", Note: "small · 4k"},
		{Name: "dead\x1b[2J", Disabled: "no \u202ekey"},
	}, nil
}

func (s *switchable) SetModel(_ context.Context, name string) (string, bool, error) {
	s.asked = append(s.asked, name)
	return name + "-model", s.queued, s.err
}

func (s *switchable) Compact(context.Context) error {
	s.asked = append(s.asked, "/compact")
	return s.err
}
func (s *switchable) Usage() []event.ModelUsage { return s.used }
func (s *switchable) Limits() ContextLimits     { return ContextLimits{Window: 4000, Steps: 7, Calls: 100} }
func (s *switchable) rig(t *testing.T, w, h int) *rig {
	t.Helper()
	return newRig(t, w, h, func(o *Options) { o.Context = s })
}

func TestModelCommand(t *testing.T) {
	t.Parallel()
	s := &switchable{}
	r := s.rig(t, 80, 24)
	r.press("/model", "enter")
	r.see("models", "operator (now)", "small · 4k", "dead", "unavailable")
	r.press("down", "down")
	r.see("no ‹U+202E›key")
	r.press("up", "enter")
	if len(s.asked) != 1 || s.asked[0] != "mock" {
		t.Fatalf("asked for %q", s.asked)
	}
	s.queued = true
	r.press("/model later", "enter")
	r.see("later-model takes over when the running turn has ended")
	s.err = errors.New("nothing answers there")
	r.press("/model gone", "enter")
	r.see("the model stays", "nothing answers there", "(/model lists")
	r.press("/compact", "enter")
	r.see("not compacted: nothing answers there")
	r.emit(&event.ModelChanged{From: "operator", To: "mock", By: "person:x"})
	r.see("the model is mock from here on; it was operator")
	r.emit(&event.HistoryCompacted{Replaced: 12, Before: 9000, After: 800, Summary: "s", Cause: "asked"})
	r.see("12 older messages summarised for the model: 9.0k → 800 tokens")
	r.emit(&event.HistoryCompacted{Replaced: 1, Reason: "the model wrote no summary", Cause: "limit"})
	r.see("1 older message left out", "without a summary")
}

func TestUsageScreen(t *testing.T) {
	t.Parallel()
	s := &switchable{}
	r := s.rig(t, 120, 36)
	r.press("/usage", "enter")
	r.see("4.0k tokens", "at most 7 steps and 100 calls", "nothing yet")
	r.press("esc")
	s.used = []event.ModelUsage{
		{Model: "mock", Messages: 1, Usage: event.Usage{Input: 1000, CacheRead: 600, CacheWrite: 10, Output: 300, Reasoning: 90, CostMicro: 1234, Currency: "USD"}},
		{Model: "free", Messages: 2, Usage: event.Usage{Input: 10, Output: 20}},
	}
	r.press("/usage", "enter")
	r.see("1 message · 1000 tokens in (600 from a cache, 10 into one), 300 out (90 reasoning)", "0.001234 USD",
		"2 messages · 10 tokens in, 20 out", "no price configured", "1.3k tok · 0.001234 USD · and some without a price")
	r.press("esc")
	r.see("1.3k tok · 0.0012 USD · +")
}

func TestNoContext(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"/model", "/model x", "/usage", "/compact"} {
		r := newRig(t, 80, 24)
		r.press(c, "enter")
		r.see(noContext)
	}
}

// A list that comes while somebody writes, or beside an open dialog, would take
// the rest of the word, and enter would choose a model.
func TestALateListOfModelsDoesNotOpen(t *testing.T) {
	t.Parallel()
	s := &switchable{}
	r := s.rig(t, 80, 24)
	late := r.m.modelCommand("")
	r.press("mo")
	r.do(late)
	r.dontSee("operator (now)")
	r.see("> mo", "/model shows them")
	r.press("ctrl+c")
	late = r.m.modelCommand("")
	r.emit(r.w.open(permissionGate()))
	r.pass(time.Second)
	r.do(late)
	r.dontSee("operator (now)")
	r.see("permission ·")
	if len(s.asked) != 0 {
		t.Errorf("asked for %q", s.asked)
	}
}
