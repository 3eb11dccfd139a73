package session

import (
	"testing"

	"github.com/looprig/looprig/harness/event"
)

// What servers had a model write is told apart from what loops did, also when the
// session is read again.
func TestUsageOfSampling(t *testing.T) {
	t.Parallel()
	w := open(t, Options{}, nil)
	u := event.Usage{Input: 12, Output: 3, CostMicro: 5, Currency: "EUR"}
	for range 2 {
		w.must(w.Publish(w.ctx(), &event.SamplingCompleted{Binding: "demo", Model: "m", Usage: u}))
	}
	want := event.ModelUsage{Model: "m", Purpose: event.ForServers, Messages: 2, Usage: event.Usage{Input: 24, Output: 6, CostMicro: 10, Currency: "EUR"}}
	if used := w.Usage(); len(used) != 1 || used[0] != want {
		t.Errorf("%+v", used)
	}
	w.shut()
	p, err := ReadPast(t.Context(), left{w.store}, w.ID())
	if err != nil || len(p.Usage()) != 1 || p.Usage()[0] != want {
		t.Errorf("%+v, %v", p.Usage(), err)
	}
}
