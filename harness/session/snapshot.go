package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/journal"
)

const (
	// SnapshotEvery is how many records lie between two snapshots of a session.
	SnapshotEvery = 5000
	// snapshotVersion changes with what past holds or means.
	snapshotVersion = 2
	// maxSnapshotBytes bounds a snapshot; a session with more than that is read
	// from its records.
	maxSnapshotBytes = 256 << 20
	// maxForkDepth bounds a chain of forks.
	maxForkDepth = 64
)

// ruleNone is the rule of a call that was refused before any was looked at.
const ruleNone = "none"

// loader reads pasts out of a store.
type loader struct {
	store  journal.Store
	limits Limits
	// plain leaves snapshots alone.
	plain bool
	// known is what has been read of the session already, or nil.
	known *past
}

func (ld loader) empty(ctx context.Context) *past {
	return &past{limits: ld.limits, fill: func(b []content.Block) ([]content.Block, error) { return filled(ctx, ld.store, b) }}
}

// filled is whole, without a copy of what refers to nothing.
func filled(ctx context.Context, store journal.Store, blocks []content.Block) ([]content.Block, error) {
	apart := false
	for _, b := range blocks {
		apart = apart || b.Blob != "" || len(b.Blocks) > 0
	}
	if !apart {
		return blocks, nil
	}
	out, err := whole(ctx, store, blocks)
	for i := range out {
		// The type that a body got for being stored apart is not the block's own.
		if blocks[i].Blob != "" && (out[i].MIME == mimeText || out[i].MIME == mimeJSON) && out[i].Kind != content.KindResource {
			out[i].MIME = ""
		}
	}
	return out, err
}

// load reads what a session's records up to a sequence number amount to, all of
// them for 0.
func (ld loader) load(ctx context.Context, session string, upto uint64) (*past, error) {
	return ld.loadDeep(ctx, session, upto, 0)
}

func (ld loader) loadDeep(ctx context.Context, session string, upto uint64, depth int) (*past, error) {
	if depth > maxForkDepth {
		return nil, &LimitError{What: "forks of forks", Limit: maxForkDepth}
	}
	p := ld.known
	if p == nil || depth > 0 || upto != 0 || p.limits != ld.limits {
		p = ld.snapshot(ctx, session, upto)
	}
	if p == nil {
		p = ld.empty(ctx)
	}
	for rec, err := range ld.store.Read(ctx, session, p.Seq+1) {
		if err != nil {
			return nil, fmt.Errorf("read the session: %w", err)
		}
		if upto != 0 && rec.Seq > upto {
			break
		}
		if rec.Seq == p.Seq+1 && !matters(event.Type(rec.Type)) {
			p.Seq = rec.Seq
			continue
		}
		e, err := decodeRecord(session, p.Seq+1, rec)
		if err != nil {
			return nil, err
		}
		if started, ok := e.(*event.SessionStarted); ok && started.Parent != "" && rec.Seq == 1 {
			if p, err = ld.inherited(ctx, started, depth); err != nil {
				return nil, err
			}
		}
		if err := p.apply(e); err != nil {
			return nil, err
		}
		p.Seq = rec.Seq
	}
	if upto != 0 && p.Seq != upto {
		return nil, &journal.CorruptError{Where: fmt.Sprintf("session %s seq %d", session, upto), Reason: "the record is missing"}
	}
	return p, nil
}

// matters reports whether a past is another after events of the type.
func matters(t event.Type) bool {
	switch t {
	case event.TypeNotice, event.TypeBindingChanged, event.TypeCatalogCandidate, event.TypeCatalogAdopted, event.TypeCatalogRejected,
		event.TypePinPending, event.TypePinAccepted, event.TypePinRefused, event.TypePinChanged, event.TypeExpectation,
		event.TypeLoopIdle, event.TypeConfigDrift:
		return false
	default:
		return true
	}
}

// decodeRecord reads the record that has to be the next.
func decodeRecord(session string, next uint64, rec journal.Record) (event.Event, error) {
	where := fmt.Sprintf("session %s seq %d", session, next)
	if rec.Seq != next {
		return nil, &journal.CorruptError{Where: where, Reason: "the record is missing"}
	}
	e, err := event.Decode(rec.Line)
	if err != nil {
		return nil, &journal.CorruptError{Where: where, Reason: "no event", Err: err}
	}
	return e, nil
}

// inherited is what a fork begins with: the history and the ids of its parent.
func (ld loader) inherited(ctx context.Context, started *event.SessionStarted, depth int) (*past, error) {
	p, err := ld.loadDeep(ctx, started.Parent, started.ParentSeq, depth+1)
	if err != nil {
		return nil, fmt.Errorf("the session that this one was forked from: %w", err)
	}
	p.settle()
	p.Seq, p.Coverage, p.Open, p.Closed, p.Usage = 0, event.Coverage{}, nil, false, nil
	p.Grants = nil // they were given for that session
	return p, nil
}

// settle ends what was running: in a fork it never ends.
func (p *past) settle() {
	for _, l := range p.Loops {
		l.Queue, l.Closed = nil, true
		if l.Turn == nil {
			continue
		}
		for _, c := range l.Turn.Calls {
			if c.Outcome == "" {
				r := fromBefore(c)
				b := resultBlock(c.ID, r, p.limits)
				c.Result = &b
			}
		}
		p.endTurn(&event.Header{Loop: l.ID, Turn: l.Turn.ID}, fromBefore(&pastCall{}))
	}
}

// snapshot is the newest usable snapshot of a session, or nil.
func (ld loader) snapshot(ctx context.Context, session string, upto uint64) *past {
	if ld.plain {
		return nil
	}
	// What is wrong with a snapshot is no fault of the session: the records decide.
	snap, ok, err := ld.store.Snapshot(ctx, session)
	if err != nil || !ok || snap.Version != snapshotVersion || (upto != 0 && snap.Seq > upto) {
		return nil
	}
	p := ld.empty(ctx)
	var kept struct {
		Limits [2]int `json:"limits"`
		Past   *past  `json:"past"`
	}
	kept.Past = p
	if json.Unmarshal(snap.Body, &kept) != nil || p.Seq != snap.Seq || p.Seq == 0 || kept.Limits != ld.caps() {
		return nil
	}
	return p
}

// caps are the limits that decide about how results read in a history.
func (ld loader) caps() [2]int { return [2]int{ld.limits.ModelTextBytes, ld.limits.ModelBlocks} }

// encode is the body of a snapshot. Its JSON keeps arguments as they are.
func (ld loader) encode(p *past) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		Limits [2]int `json:"limits"`
		Past   *past  `json:"past"`
	}{ld.caps(), p})
	if err == nil && out.Len() > maxSnapshotBytes {
		err = &LimitError{What: "bytes of a snapshot", Limit: maxSnapshotBytes}
	}
	return out.Bytes(), err
}

// save makes a snapshot of what is in the journal now.
func (ld loader) save(ctx context.Context, lease journal.Lease) error {
	p, err := ld.load(ctx, lease.Session, 0)
	if err != nil {
		return err
	}
	body, err := ld.encode(p)
	if err != nil {
		return err
	}
	return ld.store.SaveSnapshot(ctx, lease, journal.Snapshot{Session: lease.Session, Seq: p.Seq, Version: snapshotVersion, Body: body})
}

// dueSnapshot asks for a snapshot. It does not block.
func (h *hub) dueSnapshot() {
	select {
	case h.snapshot <- struct{}{}:
	default:
	}
}

// keepSnapshots makes snapshots as they become due, until the session ends.
func (s *Session) keepSnapshots() {
	ld := loader{store: s.o.Store, limits: s.o.Limits}
	for {
		select {
		case <-s.hub.snapshot:
			// A cache: without it the session is read from its records.
			if err := ld.save(s.ended, s.hub.lease); errors.Is(err, journal.ErrFenced) {
				return
			}
		case <-s.ended.Done():
			return
		}
	}
}
