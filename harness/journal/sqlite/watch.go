package sqlite

import (
	"context"
	"iter"
	"time"

	"github.com/looprig/looprig/harness/journal"
)

// watchEvery is how often a watch looks for what other processes appended.
const watchEvery = 100 * time.Millisecond

// Watch implements journal.Store.
func (s *Store) Watch(ctx context.Context, session string, from uint64) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		next := max(from, 1)
		for {
			for r, err := range s.Read(ctx, session, next) {
				if !yield(r, err) || err != nil || r.Type == "session.closed" {
					return
				}
				next = r.Seq + 1
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				yield(journal.Record{}, ctx.Err())
				return
			}
		}
	}
}
