package ledger

import (
	"context"
	"encoding/base64"
	"fmt"
)

// Report is what a verification found.
type Report struct {
	Entries uint64 `json:"entries"`
	Head    string `json:"head"`
	// Root is the root of the tree over all entries, in base64.
	Root     string `json:"root"`
	Intents  int    `json:"intents"`
	Outcomes int    `json:"outcomes"`
	// Open lists calls ("session/call") with an intent and no outcome: sent or
	// about to be, outcome unknown. At most MaxOpenListed; OpenTotal counts all.
	Open      []string `json:"open,omitempty"`
	OpenTotal int      `json:"open_total"`
}

// MaxOpenListed bounds Report.Open.
const MaxOpenListed = 100

// Verify walks the whole chain. It returns a *BadEntryError for the first entry
// that is missing, altered, out of place or duplicated.
func Verify(ctx context.Context, r Reader) (Report, error) {
	v := walk{open: map[string]struct{}{}}
	for s, err := range r.LedgerEntries(ctx, 1) {
		if err != nil {
			return v.rep, err
		}
		if err := v.entry(s); err != nil {
			return v.rep, err
		}
	}
	v.rep.OpenTotal, v.rep.Open = len(v.open), firstKeys(v.open, MaxOpenListed)
	root := v.tree.Root()
	v.rep.Root = base64.StdEncoding.EncodeToString(root[:])
	return v.rep, ctx.Err()
}

// walk is the state of a verification.
type walk struct {
	rep  Report
	tree Tree
	open map[string]struct{}
}

func (v *walk) entry(s Stored) error {
	e, err := verifyNext(s, v.rep.Entries, v.rep.Head)
	if err != nil {
		return err
	}
	v.tree.Append(LeafHash(s.Body))
	v.rep.Entries, v.rep.Head = e.Seq, e.Hash
	return v.count(e)
}

func (v *walk) count(e Entry) error {
	key := e.Session + "/" + e.Call
	switch e.Kind {
	case KindIntent:
		if _, twice := v.open[key]; twice {
			return &BadEntryError{Seq: e.Seq, Reason: "a second intent for call " + key}
		}
		v.open[key] = struct{}{}
		v.rep.Intents++
	case KindOutcome:
		if _, ok := v.open[key]; !ok {
			return &BadEntryError{Seq: e.Seq, Reason: "an outcome without an intent for call " + key}
		}
		delete(v.open, key)
		v.rep.Outcomes++
	case KindDecision, KindPin, KindReconfiguration:
	default:
		return &BadEntryError{Seq: e.Seq, Reason: fmt.Sprintf("unknown kind %q", string(e.Kind))}
	}
	return nil
}

func verifyNext(s Stored, lastSeq uint64, lastHash string) (Entry, error) {
	if s.Seq != lastSeq+1 {
		return Entry{}, &BadEntryError{Seq: lastSeq + 1, Reason: fmt.Sprintf("missing: the next entry is number %d", s.Seq)}
	}
	e, err := Open(s)
	if err != nil {
		return Entry{}, err
	}
	if e.Prev != lastHash {
		return Entry{}, &BadEntryError{Seq: e.Seq, Reason: "it does not follow the entry before it"}
	}
	return e, nil
}
