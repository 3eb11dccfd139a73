// Package sqlite is the embedded journal store: one database file per home for
// journals, the ledger and blobs, in WAL mode with synchronous FULL. Batches
// are committed in groups by one writer goroutine per process; several
// processes may share a file, because every transaction is immediate and every
// append is fenced by its lease. It must not import the session or an adapter.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite", pure Go

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/holder"
	"github.com/looprig/looprig/harness/ledger"
)

// Bounds of the store.
const (
	// BusyTimeout is how long a transaction waits for other processes.
	BusyTimeout = 20 * time.Second
	// MaxGroup is the most batches that one transaction commits.
	MaxGroup = 128
	// MaxQueued is the most batches that wait for the writer.
	MaxQueued = 1024
	// GatherFor is the most that a group waits for those who wrote in the one
	// before it.
	GatherFor = 500 * time.Microsecond
	// checkpointPages is how long the log grows before it is moved into the file.
	checkpointPages = 4000
	// LeaseTTL is how long a lease outlives its last append or renewal.
	LeaseTTL = 30 * time.Second

	// The first use of a file is tried again after minRetry, then twice that, up
	// to maxRetry.
	minRetry = 5 * time.Millisecond
	maxRetry = 100 * time.Millisecond

	readers = 4
	// minFile is the smallest page of a database: less is what is left of one.
	minFile = 512
	dirMode = 0o700
	dbMode  = 0o600
)

// Options configure Open.
type Options struct {
	// Path of the database file; its directory is made when missing.
	Path string
	// ReadOnly opens an existing file for reading and never writes to it.
	ReadOnly bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Alive reports whether the holder of a lease may still live; nil means
	// holder.Alive. The lease of one that does not may be taken at once.
	Alive func(holder string) bool
}

// Store implements journal.Store and ledger.Reader. It is safe for concurrent
// use; Close waits for appends that were accepted.
type Store struct {
	db  *sql.DB // readers
	wdb *sql.DB // one connection, the writer's
	st  statements
	now func() time.Time

	alive func(holder string) bool
	// tip is where the writer left the ledger; only the writer uses it.
	tip tip

	queue chan *job
	done  chan struct{}

	mu      sync.Mutex
	closed  bool
	latched error
	commits chan struct{} // closed by the next commit, see appended
	groups  uint64        // transactions that were committed
	pending sync.WaitGroup
}

var (
	_ journal.Store = (*Store)(nil)
	_ ledger.Reader = (*Store)(nil)
)

// Open opens or creates the database. A file that is not a database of this
// kind, or of a newer version, is a *journal.CorruptError or a *VersionError.
func Open(ctx context.Context, opt Options) (*Store, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if err := prepareFile(opt); err != nil {
		return nil, err
	}
	if opt.Alive == nil {
		opt.Alive = holder.Alive
	}
	s := &Store{now: opt.Now, alive: opt.Alive, queue: make(chan *job, MaxQueued), done: make(chan struct{}), commits: make(chan struct{})}
	var err error
	if s.db, err = sql.Open("sqlite", dsn(opt.Path, true)); err != nil {
		return nil, fmt.Errorf("open %s: %w", opt.Path, err)
	}
	s.db.SetMaxOpenConns(readers)
	if !opt.ReadOnly {
		if s.wdb, err = sql.Open("sqlite", dsn(opt.Path, false)); err != nil {
			return nil, errors.Join(fmt.Errorf("open %s: %w", opt.Path, err), s.db.Close())
		}
		s.wdb.SetMaxOpenConns(1)
	}
	if err := s.setUp(ctx, opt.ReadOnly); err != nil {
		return nil, errors.Join(classify("database", err), s.closeHandles())
	}
	if s.wdb != nil {
		go s.write()
	} else {
		close(s.done)
	}
	return s, nil
}

// setUp makes the first use of the database. Turning a new file into WAL mode
// does not wait for others who do the same, so that it is tried again.
func (s *Store) setUp(ctx context.Context, readOnly bool) error {
	until := time.Now().Add(BusyTimeout)
	for wait := minRetry; ; wait = min(2*wait, maxRetry) {
		err := s.firstUse(ctx, readOnly)
		if err == nil || !contention(err) || time.Now().After(until) {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Store) firstUse(ctx context.Context, readOnly bool) error {
	if readOnly {
		if err := checkVersion(ctx, s.db); err != nil {
			return err
		}
		return checkSchema(ctx, s.db)
	}
	if err := migrate(ctx, s.wdb); err != nil {
		return err
	}
	if err := checkSchema(ctx, s.wdb); err != nil {
		return err
	}
	// What somebody else left to be done may be left again.
	_ = s.scrub(ctx)
	return s.prepare(ctx)
}

func (s *Store) closeHandles() error {
	err := errors.Join(s.st.close(), s.db.Close())
	if s.wdb != nil {
		err = errors.Join(err, s.wdb.Close())
	}
	return err
}

// prepareFile makes the directory and an empty file with owner-only modes, so
// that SQLite's own files inherit them.
func prepareFile(opt Options) error {
	if opt.ReadOnly {
		if _, err := os.Stat(opt.Path); err != nil {
			return fmt.Errorf("open journal: %w", err)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(opt.Path), dirMode); err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	f, err := os.OpenFile(opt.Path, os.O_CREATE|os.O_RDWR, dbMode)
	if err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	st, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	if n := st.Size(); n > 0 && n < minFile {
		// SQLite would make a new database of it.
		return &journal.CorruptError{Where: "database", Reason: "the file is cut short"}
	}
	return nil
}

func dsn(path string, readOnly bool) string {
	q := url.Values{}
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", BusyTimeout.Milliseconds()))
	if readOnly {
		q.Add("_pragma", "query_only(1)")
	} else {
		q.Add("_pragma", "journal_mode(WAL)")
		q.Add("_pragma", "synchronous(FULL)")
		q.Add("_pragma", "secure_delete(ON)")
		q.Add("_pragma", fmt.Sprintf("wal_autocheckpoint(%d)", checkpointPages))
		q.Set("_txlock", "immediate")
	}
	// A path is put into the opaque part escaped, so that '?' and '#' in a
	// directory name cannot be read as parameters.
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// Close waits for accepted appends and closes the database. It is idempotent.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		<-s.done
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.pending.Wait()
	close(s.queue)
	if s.wdb != nil {
		<-s.done
	}
	return s.closeHandles()
}

// enter counts a writer in, unless the store is closed, read-only or latched.
func (s *Store) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return journal.ErrClosed
	case s.wdb == nil:
		return fmt.Errorf("journal: opened for reading only")
	case s.latched != nil:
		return &journal.LatchedError{Err: s.latched}
	}
	s.pending.Add(1)
	return nil
}

func (s *Store) latch(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latched == nil {
		s.latched = err
	}
}

func (s *Store) latchedErr() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latched == nil {
		return nil
	}
	return &journal.LatchedError{Err: s.latched}
}
