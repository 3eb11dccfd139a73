package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
)

// MaxRedacted bounds how many entries of the ledger one redaction concerns.
const MaxRedacted = 4096

// ErrNothingToRedact says that a redaction found nothing that is still there.
var ErrNothingToRedact = errors.New("there is nothing to redact, or it was redacted before")

// Redaction says what is removed.
type Redaction struct {
	Session string
	// Rewrite gives the lines of the session's records, and of those of its forks,
	// other bytes, as in RewriteRecords. It may be nil.
	Rewrite func(journal.Record) ([]byte, error)
	// Title does so with their titles. It may be nil.
	Title func(string) string
	// Fields names the fields of an entry of which the values go.
	Fields func(ledger.Entry) []string
	// Draft is the entry that records the redaction: its Kind, Session and Redacts
	// are filled in.
	Draft ledger.Draft
}

// Redacted is what a redaction did.
type Redacted struct {
	// Sessions are those whose records were looked at: the one that was named and
	// its forks.
	Sessions []string `json:"sessions"`
	// Records that were rewritten, and Entries of the ledger whose values can no
	// longer be opened.
	Records int      `json:"records"`
	Entries []uint64 `json:"entries"`
	// Plain are entries of before there were commitments: their digests stay.
	Plain []uint64 `json:"plain,omitempty"`
	// Entry records the redaction.
	Entry uint64 `json:"entry"`
}

// Redact removes texts from the journal and the salts of what the ledger says of
// them, and appends the entry that says so, in one transaction; it returns once
// the bytes are gone from the files. It fails as RewriteRecords does, and with
// ErrNothingToRedact.
func (s *Store) Redact(ctx context.Context, r Redaction) (Redacted, error) {
	var out Redacted
	_, err := s.erase(ctx, func(ctx context.Context, tx *sql.Tx) (_ []ledger.Entry, err error) {
		out, err = s.redact(ctx, tx, r)
		return nil, err
	})
	return out, err
}

func (s *Store) redact(ctx context.Context, tx *sql.Tx, r Redaction) (out Redacted, err error) {
	sessions, err := s.familyOf(ctx, tx, r.Session)
	if err != nil {
		return out, err
	}
	out.Sessions = sessions
	for _, id := range sessions {
		if r.Rewrite != nil {
			n, err := s.rewriteRecords(ctx, tx, id, r.Rewrite)
			if err != nil {
				return out, err
			}
			out.Records += n
		}
		if err := retitle(ctx, tx, id, r.Title); err != nil {
			return out, err
		}
	}
	if err := s.unsalt(ctx, tx, r.Fields, &out); err != nil {
		return out, err
	}
	if out.Records == 0 && len(out.Entries) == 0 {
		return out, refuse(ErrNothingToRedact)
	}
	d := r.Draft
	d.Kind, d.Session, d.Redacts = ledger.KindRedaction, r.Session, out.Entries
	sealed, err := s.seal(ctx, tx, []ledger.Draft{d})
	if err == nil {
		out.Entry = sealed[0].Seq
	}
	return out, err
}

// familyOf lists a session and its forks, none of which anybody may hold.
func (s *Store) familyOf(ctx context.Context, tx *sql.Tx, session string) (out []string, err error) {
	if err := s.checkUnheld(ctx, tx, session); err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, family+"SELECT id FROM family", session)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		out = append(out, id)
	}
	return out, rows.Err()
}

func retitle(ctx context.Context, tx *sql.Tx, session string, title func(string) string) error {
	if title == nil {
		return nil
	}
	var old string
	if err := tx.QueryRowContext(ctx, "SELECT title FROM sessions WHERE id=?", session).Scan(&old); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "UPDATE sessions SET title=? WHERE id=?", title(old), session)
	return err
}

// part is an entry of which values go.
type part struct {
	seq          uint64
	fields, left []string
}

// unsalt takes the salts of the fields that are asked for away.
func (s *Store) unsalt(ctx context.Context, tx *sql.Tx, fields func(ledger.Entry) []string, out *Redacted) error {
	parts, err := concerned(ctx, tx, fields, out)
	if err != nil {
		return err
	}
	for _, p := range parts {
		done, err := s.unsaltEntry(ctx, tx, p)
		if err != nil {
			return err
		}
		if done {
			out.Entries = append(out.Entries, p.seq)
		}
	}
	return nil
}

// concerned reads the whole ledger: entries are not indexed by what they are of,
// and whoever redacts writes the whole file anew anyway.
func concerned(ctx context.Context, tx *sql.Tx, fields func(ledger.Entry) []string, out *Redacted) (parts []part, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT seq, hash, body FROM ledger ORDER BY seq")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var st ledger.Stored
		if err := rows.Scan(&st.Seq, &st.Hash, &st.Body); err != nil {
			return nil, err
		}
		e, err := ledger.Open(st)
		if err != nil {
			return nil, refuse(err)
		}
		asked := fields(e)
		if len(asked) == 0 {
			continue
		}
		if slices.ContainsFunc(ledger.Plain(e.Draft), func(f string) bool { return slices.Contains(asked, f) }) {
			out.Plain = append(out.Plain, e.Seq)
		}
		p := part{seq: e.Seq}
		for _, f := range ledger.Salted(e.Draft) {
			if slices.Contains(asked, f) {
				p.fields = append(p.fields, f)
			} else {
				p.left = append(p.left, f)
			}
		}
		if len(p.fields) == 0 {
			continue
		}
		if parts = append(parts, p); len(parts) > MaxRedacted {
			return nil, refuse(fmt.Errorf("more than %d entries are concerned", MaxRedacted))
		}
	}
	return parts, rows.Err()
}

// unsaltEntry reports whether there was a salt to take away. The salt that all
// are derived from is replaced by those of the fields that stay.
func (s *Store) unsaltEntry(ctx context.Context, tx *sql.Tx, p part) (bool, error) {
	salts, err := saltsOf(ctx, tx, p.seq)
	if err != nil {
		return false, err
	}
	done := false
	for _, salt := range salts {
		switch {
		case salt.Field == ledger.AllFields:
			for _, f := range p.left {
				if _, err := tx.StmtContext(ctx, s.st.salt).ExecContext(ctx, p.seq, f, ledger.Derive(salt.Salt, f)); err != nil {
					return false, err
				}
			}
		case !slices.Contains(p.fields, salt.Field):
			continue
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM salts WHERE entry=? AND field=?", p.seq, salt.Field); err != nil {
			return false, err
		}
		done = true
	}
	return done, nil
}
