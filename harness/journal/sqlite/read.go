package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"

	"github.com/looprig/looprig/harness/journal"
)

// Read implements journal.Store. A record that is missing or altered ends the
// sequence with a *journal.CorruptError.
func (s *Store) Read(ctx context.Context, session string, from uint64) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		stopped := false
		err := s.read(ctx, session, max(from, 1), func(r journal.Record) bool {
			stopped = !yield(r, nil)
			return !stopped
		})
		if err != nil && !stopped {
			yield(journal.Record{}, err)
		}
	}
}

// readPage is how many records are read at a time. No transaction is open while
// they are handed on, so that a slow reader holds up nobody.
const readPage = 512

const readRecords = "SELECT seq, type, time, coalesce(key,''), sum, line FROM records WHERE session=? AND seq>=?"

func (s *Store) read(ctx context.Context, session string, from uint64, yield func(journal.Record) bool) error {
	page := make([]journal.Record, 0, readPage)
	for upto := uint64(0); ; {
		last, err := s.readPage(ctx, session, from, &page)
		if err != nil && len(page) == 0 {
			return err
		}
		if upto == 0 {
			upto = last // what is appended meanwhile is for the next reader
		}
		for i := range page {
			if page[i].Seq > upto {
				return nil
			}
			if !yield(page[i]) {
				return nil
			}
			from = page[i].Seq + 1
		}
		if err != nil || from > upto {
			return err
		}
	}
}

// readPage fills page with the records from a number on and returns the number of
// the last of the session. What it could read before an error is in page too. One
// transaction holds the count and the rows, so that appends that happen meanwhile
// cannot look like missing records.
func (s *Store) readPage(ctx context.Context, session string, from uint64, page *[]journal.Record) (last uint64, err error) {
	*page = (*page)[:0]
	where := "session " + session
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return 0, classify(where, err)
	}
	defer func() { err = errors.Join(err, ignoreDone(tx.Rollback())) }()
	err = tx.QueryRowContext(ctx, "SELECT last_seq FROM sessions WHERE id=?", session).Scan(&last)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, s.unknown(ctx, tx, session)
	}
	if err != nil {
		return 0, classify(where, err)
	}
	rows, err := tx.QueryContext(ctx, readRecords+" ORDER BY seq LIMIT ?", session, from, readPage)
	if err != nil {
		return last, classify(where, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	next := from
	for rows.Next() {
		r, err := scanRecord(rows, session)
		if err != nil {
			return last, err
		}
		if r.Seq != next || r.Seq > last {
			return last, missing(where, min(next, last+1))
		}
		next++
		*page = append(*page, r)
	}
	if err := rows.Err(); err != nil {
		return last, classify(where, err)
	}
	if len(*page) < readPage && last >= from && next != last+1 {
		return last, missing(where, next)
	}
	return last, nil
}

// unknown tells a session that never was from one whose row was lost.
func (s *Store) unknown(ctx context.Context, tx *sql.Tx, session string) error {
	var left int
	err := tx.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM records WHERE session=? LIMIT 1)", session).Scan(&left)
	switch {
	case err != nil:
		return classify("session "+session, err)
	case left > 0:
		return &journal.CorruptError{Where: "session " + session, Reason: "there are records of a session that is not known"}
	}
	return fmt.Errorf("%w: %s", journal.ErrNotFound, session)
}

func missing(where string, seq uint64) error {
	return &journal.CorruptError{Where: fmt.Sprintf("%s seq %d", where, seq), Reason: "the record is missing"}
}

func scanRecord(rows *sql.Rows, session string) (journal.Record, error) {
	var r journal.Record
	var us int64
	var sum uint32
	if err := rows.Scan(&r.Seq, &r.Type, &us, &r.Key, &sum, &r.Line); err != nil {
		return r, classify("session "+session, err)
	}
	r.Time = micro(us)
	if crc32.Checksum(r.Line, castagnoli) != sum {
		return r, &journal.CorruptError{Where: fmt.Sprintf("session %s seq %d", session, r.Seq), Reason: "the record does not match its checksum"}
	}
	return r, nil
}

// Blob implements journal.Store.
func (s *Store) Blob(ctx context.Context, digest string) (journal.Blob, error) {
	b := journal.Blob{Digest: digest}
	err := s.db.QueryRowContext(ctx, "SELECT mime, body FROM blobs WHERE digest=?", digest).Scan(&b.MIME, &b.Body)
	if errors.Is(err, sql.ErrNoRows) {
		return b, s.noBlob(ctx, digest)
	}
	if err != nil {
		return b, classify("blob "+digest, err)
	}
	if sum := sha256.Sum256(b.Body); digest != digestPrefix+hex.EncodeToString(sum[:]) {
		return journal.Blob{}, &journal.CorruptError{Where: "blob " + digest, Reason: "the body does not match its digest"}
	}
	return b, nil
}

// noBlob says why a body is not there: what a session refers to was not taken
// away by any deletion.
func (s *Store) noBlob(ctx context.Context, digest string) error {
	var of string
	switch err := s.db.QueryRowContext(ctx, "SELECT session FROM blob_refs WHERE digest=? LIMIT 1", digest).Scan(&of); {
	case err == nil:
		return &journal.CorruptError{Where: "blob " + digest, Reason: "the body is not there, and session " + of + " refers to it"}
	case !errors.Is(err, sql.ErrNoRows):
		return classify("blob "+digest, err)
	}
	return fmt.Errorf("no stored body %s", digest)
}
