package compose

import (
	"context"

	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/mcpadapter"
)

// loops tells the adapter about a session's loops.
type loops struct{ s *session.Session }

var _ mcpadapter.LoopWatcher = loops{}

// WatchLoops implements mcpadapter.LoopWatcher.
func (l loops) WatchLoops(ctx context.Context, fn func(loopID, name string, state mcpadapter.LoopState)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	changes := l.s.WatchLoops(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for c := range changes {
			fn(c.Loop, c.Name, string(c.Kind))
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
