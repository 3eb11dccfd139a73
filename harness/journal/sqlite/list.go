package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/search"
)

// List implements journal.Store. Sessions without a record are left out: they are
// being made, or whoever made them was killed before the first. A query with a text reads the sessions one after
// the other, newest first, until enough match.
func (s *Store) List(ctx context.Context, q journal.Query) ([]journal.Meta, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = journal.DefaultListLimit
	}
	prefix := strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(q.Prefix) + "%"
	fetch := limit
	if q.Text != "" {
		fetch = -1 // how many are read is known only afterwards
	}
	metas, err := s.list(ctx, prefix, fetch)
	if err != nil || q.Text == "" {
		return metas, err
	}
	text := search.For(q.Text)
	out := metas[:0]
	for _, m := range metas {
		if len(out) == limit {
			break
		}
		found := text.In(m.Title)
		if !found {
			if found, err = s.said(ctx, m.Session, text); err != nil {
				return nil, err
			}
		}
		if found {
			out = append(out, m)
		}
	}
	return out, nil
}

func (s *Store) list(ctx context.Context, prefix string, limit int) (out []journal.Meta, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT id, created, updated, title, mode, model, last_seq, turns, closed, parent, parent_seq, lease_holder, lease_expires
		FROM sessions WHERE last_seq>0 AND id LIKE ? ESCAPE '\' ORDER BY created DESC, id DESC LIMIT ?`, prefix, limit)
	if err != nil {
		return nil, classify("sessions", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var m journal.Meta
		var created, updated, expires int64
		var holder string
		if err := rows.Scan(&m.Session, &created, &updated, &m.Title, &m.Mode, &m.Model, &m.Records, &m.Turns, &m.Closed,
			&m.Parent, &m.ParentSeq, &holder, &expires); err != nil {
			return nil, classify("sessions", err)
		}
		m.Created, m.Updated = micro(created), micro(updated)
		if s.held(holder, expires) {
			m.Open = holder
		}
		out = append(out, m)
	}
	return out, classify("sessions", rows.Err())
}

// said reports whether a text is in what a session's records say.
func (s *Store) said(ctx context.Context, session string, text search.Text) (found bool, err error) {
	types, err := json.Marshal(search.Types)
	if err != nil {
		return false, err
	}
	// Bodies are read on the connection of the rows: with one more for each, as
	// many searches as there are connections would wait for each other.
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return false, classify("session "+session, err)
	}
	defer func() { err = errors.Join(err, ignoreDone(tx.Rollback())) }()
	rows, err := tx.QueryContext(ctx, "SELECT line FROM records WHERE session=? AND type IN (SELECT value FROM json_each(?))", session, string(types))
	if err != nil {
		return false, classify("session "+session, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	body := func(digest string) string {
		var text string
		if tx.QueryRowContext(ctx, "SELECT body FROM blobs WHERE digest=?", digest).Scan(&text) != nil {
			return "" // a body that was redacted says nothing
		}
		return text
	}
	for rows.Next() {
		var line []byte
		if err := rows.Scan(&line); err != nil {
			return false, classify("session "+session, err)
		}
		if text.InRecord(line, body) {
			return true, nil
		}
	}
	return false, classify("session "+session, rows.Err())
}
