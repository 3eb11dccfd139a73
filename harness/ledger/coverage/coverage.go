// Package coverage holds a home's ledger to its journals: every call that was
// seen on its way to a server has an intent, every intent was seen and has an
// outcome, and what the ledger commits to is what the journal says. It must not
// import a store.
package coverage

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/harness/tool"
)

// Store is what is compared.
type Store interface {
	ledger.Reader
	LedgerSalts(ctx context.Context, entry uint64) ([]ledger.Salt, error)
	List(ctx context.Context, q journal.Query) ([]journal.Meta, error)
	Read(ctx context.Context, session string, from uint64) iter.Seq2[journal.Record, error]
}

// Row is what a session has: Wire = Intents = Outcomes + Indeterminate + Open.
type Row struct {
	Session string `json:"session"`
	// Wire counts the calls that the journal saw on their way to a server.
	Wire     int `json:"wire"`
	Intents  int `json:"intents"`
	Outcomes int `json:"outcomes"`
	// Indeterminate are outcomes that say that nobody knows.
	Indeterminate int `json:"indeterminate"`
	// Open calls have no outcome yet: their session runs, or was killed and not
	// gone on with.
	Open int `json:"open"`
	// Refused calls were never sent; Gates are the questions that were asked.
	Refused int `json:"refused"`
	Gates   int `json:"gates"`
	// Opened counts the commitments that were held to what the journal says.
	Opened int `json:"opened"`
	// Deleted says that the session was deleted, as an entry says: only the ledger
	// is left of it.
	Deleted bool `json:"deleted,omitempty"`
}

// mark is an entry about one call or gate.
type mark struct {
	seq     uint64
	value   string // the commitment
	outcome string
}

type side struct {
	row                      Row
	first                    uint64 // the session's first entry
	intents, outcomes, gates map[string]mark
}

// Check compares every session and returns a row for each, in order of their ids.
// It fails with a *ledger.BadEntryError that names the first entry that the
// journal does not bear out, or a *journal.CorruptError that names a call without
// its entry.
func Check(ctx context.Context, s Store) ([]Row, error) {
	// Sessions may run meanwhile: the journals are read as far as they went before
	// the ledger was, and what a running session did since is not missed.
	metas, err := s.List(ctx, journal.Query{Limit: math.MaxInt32})
	if err != nil {
		return nil, err
	}
	sides, err := readLedger(ctx, s)
	if err != nil {
		return nil, err
	}
	known := map[string]journal.Meta{}
	for _, m := range metas {
		known[m.Session] = m
		if sides[m.Session] == nil {
			sides[m.Session] = newSide(m.Session)
		}
	}
	var rows []Row
	for _, id := range slices.Sorted(maps.Keys(sides)) {
		d := sides[id]
		var err error
		if meta, there := known[id]; there {
			err = d.hold(ctx, s, meta)
		} else if !d.row.Deleted {
			err = d.whereabouts(ctx, s)
		}
		if err != nil {
			return rows, err
		}
		rows = append(rows, d.row)
	}
	return rows, nil
}

func newSide(id string) *side {
	return &side{row: Row{Session: id}, intents: map[string]mark{}, outcomes: map[string]mark{}, gates: map[string]mark{}}
}

func readLedger(ctx context.Context, r ledger.Reader) (map[string]*side, error) {
	sides := map[string]*side{}
	for st, err := range r.LedgerEntries(ctx, 1) {
		if err != nil {
			return nil, err
		}
		e, err := ledger.Open(st)
		if err != nil {
			return nil, err
		}
		if e.Session == "" {
			continue
		}
		d := sides[e.Session]
		if d == nil {
			d = newSide(e.Session)
			sides[e.Session] = d
		}
		d.take(e)
	}
	for _, d := range sides {
		d.row.Open = d.row.Intents - d.row.Outcomes - d.row.Indeterminate
	}
	return sides, nil
}

func (d *side) take(e ledger.Entry) {
	if d.first == 0 {
		d.first = e.Seq
	}
	switch {
	case e.Kind == ledger.KindRedaction && e.Detail == ledger.DetailDeleted:
		d.row.Deleted = true
	case e.Kind == ledger.KindIntent:
		d.row.Intents++
		d.intents[e.Call] = mark{seq: e.Seq, value: e.ArgsDigest}
	case e.Kind == ledger.KindOutcome:
		d.outcomes[e.Call] = mark{seq: e.Seq, outcome: e.Outcome}
		if e.Outcome == string(tool.Indeterminate) {
			d.row.Indeterminate++
		} else {
			d.row.Outcomes++
		}
	case e.Kind == ledger.KindDecision && e.GateKind != "":
		d.row.Gates++
		d.gates[e.Gate] = mark{seq: e.Seq, value: e.AnswerDigest}
	case e.Kind == ledger.KindDecision && e.Outcome != "":
		d.row.Refused++
	}
}

// whereabouts looks again for a session that had no journal: it may have begun, or
// been deleted, since the journals were listed.
func (d *side) whereabouts(ctx context.Context, s Store) error {
	metas, err := s.List(ctx, journal.Query{Prefix: d.row.Session, Limit: 1})
	if err != nil || len(metas) > 0 {
		return err
	}
	sides, err := readLedger(ctx, s)
	if err != nil {
		return err
	}
	if now := sides[d.row.Session]; now != nil && now.row.Deleted {
		d.row.Deleted = true
		return nil
	}
	return &ledger.BadEntryError{Seq: d.first, Reason: "the journal of session " + d.row.Session + " is gone, and no entry says that it was deleted"}
}

// hold compares one session.
func (d *side) hold(ctx context.Context, s Store, meta journal.Meta) error {
	seen := map[string]bool{}
	for r, err := range s.Read(ctx, meta.Session, 1) {
		if err != nil {
			return err
		}
		if r.Seq > meta.Records {
			break
		}
		switch event.Type(r.Type) {
		case event.TypeToolStarted:
			var e event.ToolStarted
			if err := json.Unmarshal(r.Line, &e); err != nil {
				return fmt.Errorf("session %s, record %d: %w", meta.Session, r.Seq, err)
			}
			in, ok := d.intents[e.Call]
			if !ok {
				return missing(meta.Session, e.Call, "it was sent, and the ledger has no intent of it")
			}
			seen[e.Call] = true
			d.row.Wire++
			if err := d.open(ctx, s, in, ledger.FieldArgs, e.ArgsDigest, "the arguments are not those that the journal has"); err != nil {
				return err
			}
		case event.TypeToolCompleted:
			var e event.ToolCompleted
			if err := json.Unmarshal(r.Line, &e); err != nil {
				return fmt.Errorf("session %s, record %d: %w", meta.Session, r.Seq, err)
			}
			if err := d.completed(meta.Session, &e, seen); err != nil {
				return err
			}
		case event.TypeGateResolved:
			var e event.GateResolved
			if err := json.Unmarshal(r.Line, &e); err != nil {
				return fmt.Errorf("session %s, record %d: %w", meta.Session, r.Seq, err)
			}
			// Gates of before they had entries are told by the journal alone.
			if g, ok := d.gates[e.Gate]; ok {
				if err := d.open(ctx, s, g, ledger.FieldAnswer, session.AnswerDigest(e.Response), "the answer is not the one that the journal has"); err != nil {
					return err
				}
			}
		default: // no other record has something that the ledger commits to
		}
	}
	if meta.Open != "" {
		return nil
	}
	return d.unseen(seen, meta.Closed)
}

func (d *side) completed(id string, e *event.ToolCompleted, seen map[string]bool) error {
	if !seen[e.Call] {
		return nil // it was never sent
	}
	out, ok := d.outcomes[e.Call]
	switch {
	case !ok:
		return missing(id, e.Call, "it has an outcome, and the ledger has none of it")
	case out.outcome != string(e.Outcome):
		return &ledger.BadEntryError{Seq: out.seq, Reason: "the outcome of call " + e.Call + " is not the one that the journal has"}
	}
	return nil
}

// unseen finds the first intent that the journal knows nothing of, and calls that
// a session left open although it was closed.
func (d *side) unseen(seen map[string]bool, closed bool) error {
	var first *ledger.BadEntryError
	for call, in := range d.intents {
		reason := ""
		switch _, done := d.outcomes[call]; {
		case !seen[call]:
			reason = "an intent of call " + call + ", which the journal never saw start"
		case closed && !done:
			reason = "call " + call + " has no outcome, and its session is closed"
		default:
			continue
		}
		if first == nil || in.seq < first.Seq {
			first = &ledger.BadEntryError{Seq: in.seq, Reason: reason}
		}
	}
	if first == nil {
		return nil
	}
	return first
}

// open holds a commitment to what the journal says. One whose salt was redacted
// says nothing any more.
func (d *side) open(ctx context.Context, s Store, m mark, field, digest, reason string) error {
	salts, err := s.LedgerSalts(ctx, m.seq)
	if err != nil {
		return err
	}
	kept := slices.ContainsFunc(salts, func(x ledger.Salt) bool { return x.Field == field || x.Field == ledger.AllFields })
	switch {
	case ledger.Opens(m.value, field, digest, salts):
		d.row.Opened++
		return nil
	case !kept && strings.HasPrefix(m.value, "salted-"):
		return nil
	}
	return &ledger.BadEntryError{Seq: m.seq, Reason: reason}
}

func missing(id, call, reason string) error {
	return &journal.CorruptError{Where: "session " + id + " call " + call, Reason: reason}
}
