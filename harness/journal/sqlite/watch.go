package sqlite

import (
	"context"
	"iter"
	"time"

	"github.com/looprig/looprig/harness/journal"
)

// watchEvery is how often a watch looks for what other processes appended; what
// this process appends wakes it at once.
const watchEvery = 100 * time.Millisecond

// Watch implements journal.Store.
func (s *Store) Watch(ctx context.Context, session string, from uint64) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		next := max(from, 1)
		for {
			appended := s.appended() // taken before reading, so that nothing is missed
			for r, err := range s.Read(ctx, session, next) {
				if ctx.Err() != nil {
					r, err = journal.Record{}, ctx.Err()
				}
				if !yield(r, err) || err != nil || r.Type == typeClosed {
					return
				}
				next = r.Seq + 1
			}
			select {
			case <-appended:
			case <-tick.C:
			case <-ctx.Done():
				yield(journal.Record{}, ctx.Err())
				return
			}
		}
	}
}

// appended is closed after the next commit of this process.
func (s *Store) appended() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commits
}

// announce wakes those who watch.
func (s *Store) announce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups++
	close(s.commits)
	s.commits = make(chan struct{})
}

// Commits is how many transactions the writer has ended. Each that changed
// something was synced to the disk once.
func (s *Store) Commits() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.groups
}
