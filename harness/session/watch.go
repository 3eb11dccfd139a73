package session

import (
	"context"
	"sync"
)

// watchers tell adopters about loops.
type watchers struct {
	mu  sync.Mutex
	all map[*watcher]struct{}
	end bool
}

// watcher merges the changes that its reader has not taken yet: of each loop it
// keeps the opening and the newest change.
type watcher struct {
	mu      sync.Mutex
	pending []LoopChange
	end     bool
	wake    chan struct{} // capacity 1
}

func (w *watcher) add(c LoopChange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := w.pending[:0]
	for _, p := range w.pending {
		if p.Loop != c.Loop || p.Kind == ChangeOpened {
			kept = append(kept, p)
		}
	}
	w.pending = append(kept, c)
	w.signal()
}

func (w *watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// pop takes the oldest change; end says that none will come.
func (w *watcher) pop() (c LoopChange, ok, end bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) == 0 {
		return LoopChange{}, false, w.end
	}
	c = w.pending[0]
	w.pending = w.pending[1:]
	return c, true, false
}

func (w *watcher) run(ctx context.Context, out chan<- LoopChange) {
	defer close(out)
	for {
		c, ok, end := w.pop()
		if end {
			return
		}
		if ok {
			select {
			case out <- c:
			case <-ctx.Done():
				return
			}
			continue
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
			return
		}
	}
}

func (w *watchers) notify(c LoopChange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for x := range w.all {
		x.add(c)
	}
}

// close ends every watcher after what it still has to tell.
func (w *watchers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end = true
	for x := range w.all {
		x.mu.Lock()
		x.end = true
		x.signal()
		x.mu.Unlock()
	}
}

// WatchLoops calls fn for each change of a loop, in order and from one
// goroutine, beginning with the loops that are there. stop ends that and waits
// for an fn that is running; it must not be called by fn.
func (s *Session) WatchLoops(ctx context.Context, fn func(loop, name, state string)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	changes := s.LoopChanges(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.guarded(func() {
			for c := range changes {
				fn(c.Loop, c.Name, string(c.Kind))
			}
		})
	}()
	return func() {
		cancel()
		<-done
	}
}

// LoopChanges tells of the opening, the idle boundaries and the closing of
// loops, beginning with those that are there. Changes that the reader is too
// slow for are merged to the newest of each loop; an opening is never left out.
// The channel is closed when ctx or the session ends, whatever has not been
// read by then.
func (s *Session) LoopChanges(ctx context.Context) <-chan LoopChange {
	out := make(chan LoopChange)
	x := &watcher{wake: make(chan struct{}, 1)}
	w := &s.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end {
		close(out)
		return out
	}
	for _, l := range s.Loops() {
		x.add(LoopChange{Loop: l.ID, Name: l.Name, Kind: ChangeOpened})
		x.add(LoopChange{Loop: l.ID, Name: l.Name, Kind: ChangeKind(l.State)})
	}
	w.all[x] = struct{}{}
	ctx, cancel := context.WithCancel(ctx)
	s.spawn(func() {
		// The session's end must not wait for a reader that has gone away.
		stop := context.AfterFunc(s.ended, cancel)
		defer stop()
		defer cancel()
		x.run(ctx, out)
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.all, x)
	})
	return out
}
