package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
)

// AppendLedger seals entries that belong to no session.
func (s *Store) AppendLedger(ctx context.Context, drafts ...ledger.Draft) ([]ledger.Entry, error) {
	return s.do(ctx, func(ctx context.Context, tx *sql.Tx) ([]ledger.Entry, error) {
		return s.seal(ctx, tx, drafts)
	})
}

// tip is the end of the chain with the tree over it.
type tip struct {
	seq  uint64
	hash string
	tree ledger.Tree
	// read says that it is of the transaction that is open, in which nobody else
	// appends.
	read bool
}

// seal appends entries: each with its salt, and with the nodes of the tree that
// it completes.
func (s *Store) seal(ctx context.Context, tx *sql.Tx, drafts []ledger.Draft) ([]ledger.Entry, error) {
	if len(drafts) == 0 {
		return nil, nil
	}
	at, err := s.end(ctx, tx)
	if err != nil {
		return nil, err
	}
	out := make([]ledger.Entry, 0, len(drafts))
	var nodes []byte
	for _, d := range drafts {
		d, salt := ledger.Commit(d)
		e, stored, err := ledger.Seal(d, at.seq, at.hash, s.now())
		if err != nil {
			return nil, refuse(err)
		}
		if _, err := tx.StmtContext(ctx, s.st.entry).ExecContext(ctx, stored.Seq, stored.Hash, stored.Body); err != nil {
			return nil, err
		}
		if nodes = at.tree.Append(ledger.LeafHash(stored.Body), nodes); len(nodes) > 0 {
			if _, err := tx.StmtContext(ctx, s.st.node).ExecContext(ctx, stored.Seq, nodes); err != nil {
				return nil, err
			}
		}
		if salt != nil {
			if _, err := tx.StmtContext(ctx, s.st.salt).ExecContext(ctx, stored.Seq, ledger.AllFields, salt); err != nil {
				return nil, err
			}
		}
		at.seq, at.hash = e.Seq, e.Hash
		out = append(out, e)
	}
	at.read = true
	s.tip = at
	return out, nil
}

// end is where the chain ends. What this process left there is taken up again
// when nobody else appended and nothing was undone since; else the tree is made
// out of its stored nodes.
func (s *Store) end(ctx context.Context, tx *sql.Tx) (tip, error) {
	if s.tip.read {
		return tip{seq: s.tip.seq, hash: s.tip.hash, tree: s.tip.tree.Clone()}, nil
	}
	var at tip
	err := tx.StmtContext(ctx, s.st.last).QueryRowContext(ctx).Scan(&at.seq, &at.hash)
	if errors.Is(err, sql.ErrNoRows) {
		return tip{}, nil
	}
	if err != nil {
		return tip{}, err
	}
	if at.seq == s.tip.seq && at.hash == s.tip.hash {
		at.tree = s.tip.tree.Clone()
		return at, nil
	}
	at.tree, err = ledger.Resume(ctx, nodesOf(tx), at.seq)
	return at, damaged(err)
}

// damaged gives a node that is not there the type of damage.
func damaged(err error) error {
	var bad *ledger.BadEntryError
	if errors.As(err, &bad) {
		return &journal.CorruptError{Where: "ledger", Reason: "the tree is not whole", Err: err}
	}
	return err
}

// nodesOf reads nodes of the tree.
func nodesOf(q rowQuerier) ledger.Nodes {
	return func(ctx context.Context, seq uint64) ([]byte, error) {
		var hash string
		var nodes []byte
		err := q.QueryRowContext(ctx, "SELECT l.hash, t.nodes FROM ledger l LEFT JOIN tree t ON t.seq=l.seq WHERE l.seq=?", seq).Scan(&hash, &nodes)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, &ledger.BadEntryError{Seq: seq, Reason: "missing"}
		}
		if err != nil {
			return nil, classify("ledger", err)
		}
		leaf, err := ledger.ParseLeaf(hash)
		if err != nil {
			return nil, &ledger.BadEntryError{Seq: seq, Reason: "its hash cannot be read", Err: err}
		}
		return append(leaf[:], nodes...), nil
	}
}

// fillPage is how many entries are read at a time when the tree is made anew.
const fillPage = 4096

// fillTree makes the tree of a ledger that has none. What is wrong with the
// entries is for a verification to tell.
func fillTree(ctx context.Context, tx *sql.Tx) error {
	type row struct {
		seq   uint64
		nodes []byte
	}
	var tree ledger.Tree
	for from := uint64(0); ; {
		var page []row
		n, err := func() (n int, err error) {
			rows, err := tx.QueryContext(ctx, "SELECT seq, body FROM ledger WHERE seq>? ORDER BY seq LIMIT ?", from, fillPage)
			if err != nil {
				return 0, err
			}
			defer func() { err = errors.Join(err, rows.Close()) }()
			for ; rows.Next(); n++ {
				var body sql.RawBytes
				if err := rows.Scan(&from, &body); err != nil {
					return n, err
				}
				if nodes := tree.Append(ledger.LeafHash(body), nil); len(nodes) > 0 {
					page = append(page, row{from, nodes})
				}
			}
			return n, rows.Err()
		}()
		if err != nil {
			return err
		}
		for _, r := range page {
			if _, err := tx.ExecContext(ctx, "INSERT INTO tree (seq, nodes) VALUES (?,?)", r.seq, r.nodes); err != nil {
				return err
			}
		}
		if n < fillPage {
			return nil
		}
	}
}

// An entry has a line for each of its salts: one, unless something was redacted.
const entryLines = `SELECT l.seq, l.hash, l.body, t.nodes, s.field FROM ledger l
	LEFT JOIN tree t ON t.seq=l.seq LEFT JOIN salts s ON s.entry=l.seq WHERE l.seq>=? ORDER BY l.seq, s.field`

// Entries are read ahead of who looks at them, in batches of at most so many, or
// of about so many bytes.
const (
	batchEntries = 256
	batchBytes   = 256 << 10
	batchesAhead = 4
)

// LedgerEntries implements ledger.Reader.
func (s *Store) LedgerEntries(ctx context.Context, from uint64) iter.Seq2[ledger.Stored, error] {
	return func(yield func(ledger.Stored, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		batches := make(chan []ledger.Stored, batchesAhead)
		var failed error // once batches is closed
		go func() {
			defer close(batches)
			failed = s.readEntries(ctx, from, batches)
		}()
		defer func() {
			cancel()
			for range batches { // the reader is gone when this returns
			}
		}()
		for batch := range batches {
			for _, e := range batch {
				if !yield(e, nil) {
					return
				}
			}
		}
		if failed != nil {
			yield(ledger.Stored{}, failed)
		}
	}
}

// readEntries sends the entries from a number on, and those before a failure
// too, until ctx ends.
func (s *Store) readEntries(ctx context.Context, from uint64, to chan<- []ledger.Stored) (err error) {
	rows, err := s.db.QueryContext(ctx, entryLines, max(from, 1))
	if err != nil {
		return classify("ledger", err)
	}
	defer func() { _ = rows.Close() }() // an error of reading shows in rows.Err
	var batch []ledger.Stored
	size := 0
	send := func() {
		select {
		case to <- batch:
		case <-ctx.Done():
		}
		batch, size = make([]ledger.Stored, 0, batchEntries), 0
	}
	defer func() { send() }()
	for rows.Next() {
		e := ledger.Stored{Kept: true}
		var salt sql.NullString
		if err := rows.Scan(&e.Seq, &e.Hash, &e.Body, &e.Nodes, &salt); err != nil {
			return classify("ledger", err)
		}
		e.Salts = salt.String
		if n := len(batch); n > 0 && batch[n-1].Seq == e.Seq {
			batch[n-1].Salts += "," + e.Salts
			continue
		}
		if len(batch) >= batchEntries || size >= batchBytes {
			send()
		}
		batch = append(batch, e)
		size += len(e.Body) + len(e.Nodes)
	}
	return classify("ledger", rows.Err())
}

// LedgerTail returns the last n entries, oldest first, as they are stored.
func (s *Store) LedgerTail(ctx context.Context, n int) ([]ledger.Stored, error) {
	last, err := s.LedgerSize(ctx)
	if err != nil {
		return nil, err
	}
	from := uint64(1)
	if n >= 0 && last > uint64(n) {
		from = last - uint64(n) + 1
	}
	var out []ledger.Stored
	for e, err := range s.LedgerEntries(ctx, from) {
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// LedgerSize is how many entries the ledger has.
func (s *Store) LedgerSize(ctx context.Context) (uint64, error) {
	var last uint64
	err := s.db.QueryRowContext(ctx, "SELECT coalesce(max(seq),0) FROM ledger").Scan(&last)
	return last, classify("ledger", err)
}

// LedgerRoot is the root of the tree over the first size entries, out of its
// stored nodes: it costs as many reads as the size has bits.
func (s *Store) LedgerRoot(ctx context.Context, size uint64) (ledger.Hash, error) {
	tree, err := ledger.Resume(ctx, s.LedgerNode, size)
	return tree.Root(), err
}

// LedgerNode is a ledger.Nodes.
func (s *Store) LedgerNode(ctx context.Context, seq uint64) ([]byte, error) {
	return nodesOf(s.db)(ctx, seq)
}

// LedgerSalts lists the salts that are kept of an entry.
func (s *Store) LedgerSalts(ctx context.Context, entry uint64) ([]ledger.Salt, error) {
	return saltsOf(ctx, s.db, entry)
}

func saltsOf(ctx context.Context, q querier, entry uint64) (out []ledger.Salt, err error) {
	rows, err := q.QueryContext(ctx, "SELECT field, salt FROM salts WHERE entry=? ORDER BY field", entry)
	if err != nil {
		return nil, classify("ledger", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var salt ledger.Salt
		if err := rows.Scan(&salt.Field, &salt.Salt); err != nil {
			return nil, classify("ledger", err)
		}
		out = append(out, salt)
	}
	return out, classify("ledger", rows.Err())
}

// idKey is under which the table of the home has its id.
const idKey = "id"

// HomeID is the random name that the home got when its database was made. It
// names the home's ledger in checkpoints.
func (s *Store) HomeID(ctx context.Context) (string, error) {
	var id string
	err := s.db.QueryRowContext(ctx, "SELECT value FROM home WHERE key=?", idKey).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", &journal.CorruptError{Where: "database", Reason: "the home has no id"}
	}
	return id, classify("database", err)
}
