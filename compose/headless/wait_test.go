package headless

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/integration"
)

// retried fails once and is being tried again from then on.
type retried struct {
	integration.Port
	looks atomic.Int64
}

func (p *retried) Bindings() []integration.Binding {
	b := integration.Binding{Name: "fx", State: integration.StateStarting, Code: "started"}
	if p.looks.Add(1) == 2 { // the first look finds the name
		b.State, b.Code, b.Class, b.Reason = integration.StateFailed, "connect_failed", "lost", "connect: process exited"
	}
	return []integration.Binding{b}
}

// A wait that ends in the middle of an attempt says what the one before came to.
func TestAWaitSaysWhatFailedBefore(t *testing.T) {
	t.Parallel()
	r := &Runner{opt: Options{Port: &retried{}}}
	_, err := r.wait(t.Context(), Step{Binding: "fx", State: "ready", Timeout: 30 * pollEvery})
	want := "binding fx did not become ready within " + (30 * pollEvery).String() + ": it is starting: started, after it had failed: connect: process exited"
	if exit.Of(err) != exit.Limit || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	_, err = r.wait(t.Context(), Step{Binding: "fx", Generation: 2, Timeout: time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "did not become generation 2 within 1ms: it is starting: started") {
		t.Error(err)
	}
}
