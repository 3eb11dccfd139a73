package ledger

import (
	"bytes"
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
	// Redacted counts the entries of which a value was removed.
	Redacted int `json:"redacted,omitempty"`
}

// MaxOpenListed bounds Report.Open.
const MaxOpenListed = 100

// HeadError says that the chain is not the one that a head was taken of.
type HeadError struct {
	// Origin of the head, how many entries it has, and how many the ledger has.
	Origin        string
	Head, Entries uint64
	Reason        string
}

func (e *HeadError) Error() string {
	return fmt.Sprintf("ledger: %s (head %s: %d entries, ledger: %d entries)", e.Reason, e.Origin, e.Head, e.Entries)
}

// Verify walks the whole chain. It returns a *BadEntryError for the first entry
// that is missing, altered, out of place or duplicated. Of a store that keeps the
// tree and the salts, it also checks that the stored nodes are those of the
// entries and that no salt is gone without a redaction.
func Verify(ctx context.Context, r Reader) (Report, error) { return VerifyAgainst(ctx, r, nil) }

// VerifyAgainst is Verify that also holds the chain to checkpoints that were kept
// apart: it returns a *HeadError when the chain is shorter than one of them or
// does not begin with what it stands for. A bad entry is named first.
func VerifyAgainst(ctx context.Context, r Reader, heads []Checkpoint) (Report, error) {
	v := walk{open: map[string]struct{}{}, without: map[uint64]struct{}{}, redacted: map[uint64]struct{}{}, heads: heads}
	v.holdTo()
	for s, err := range r.LedgerEntries(ctx, 1) {
		if err != nil {
			return v.rep, err
		}
		if err := v.entry(s); err != nil {
			return v.rep, err
		}
	}
	if err := ctx.Err(); err != nil {
		return v.rep, err
	}
	return v.end()
}

// walk is the state of a verification.
type walk struct {
	rep  Report
	tree Tree
	buf  []byte
	open map[string]struct{}
	// without has the entries that lack a salt, redacted those that may.
	without, redacted map[uint64]struct{}
	heads             []Checkpoint
	// apart is the first head that the chain does not begin with.
	apart *HeadError
}

func (v *walk) entry(s Stored) error {
	e, err := verifyNext(s, v.rep.Entries, v.rep.Head)
	if err != nil {
		return err
	}
	v.buf = v.tree.Append(LeafHash(s.Body), v.buf)
	if s.Kept {
		if !bytes.Equal(v.buf, s.Nodes) {
			return &BadEntryError{Seq: s.Seq, Reason: "its stored nodes of the tree are not those of the entries"}
		}
		if unsalted(&e.Draft, s.Salts) {
			v.without[e.Seq] = struct{}{}
		}
	}
	if err := v.count(e); err != nil {
		return err
	}
	v.rep.Entries, v.rep.Head = e.Seq, e.Hash
	v.holdTo()
	return nil
}

// holdTo compares the tree with the heads of its size.
func (v *walk) holdTo() {
	for _, h := range v.heads {
		if h.Size == v.tree.size && v.apart == nil && h.Root != v.tree.Root() {
			v.apart = &HeadError{Origin: h.Origin, Head: h.Size,
				Reason: "the chain was made anew: its first entries are not those that the head was taken of"}
		}
	}
}

func (v *walk) count(e Entry) error {
	if e.Kind != KindRedaction && len(e.Redacts) > 0 {
		return &BadEntryError{Seq: e.Seq, Reason: "only a redaction names other entries"}
	}
	switch e.Kind {
	case KindIntent:
		key := e.Session + "/" + e.Call
		if _, twice := v.open[key]; twice {
			return &BadEntryError{Seq: e.Seq, Reason: "a second intent for call " + key}
		}
		v.open[key] = struct{}{}
		v.rep.Intents++
	case KindOutcome:
		key := e.Session + "/" + e.Call
		if _, ok := v.open[key]; !ok {
			return &BadEntryError{Seq: e.Seq, Reason: "an outcome without an intent for call " + key}
		}
		delete(v.open, key)
		v.rep.Outcomes++
	case KindRedaction:
		for _, n := range e.Redacts {
			if n == 0 || n >= e.Seq {
				return &BadEntryError{Seq: e.Seq, Reason: fmt.Sprintf("a redaction of entry %d, which is not before it", n)}
			}
			v.redacted[n] = struct{}{}
		}
	case KindDecision, KindPin, KindReconfiguration:
	default:
		return &BadEntryError{Seq: e.Seq, Reason: fmt.Sprintf("unknown kind %q", string(e.Kind))}
	}
	return nil
}

func (v *walk) end() (Report, error) {
	v.rep.OpenTotal, v.rep.Open = len(v.open), firstKeys(v.open, MaxOpenListed)
	v.rep.Redacted = len(v.redacted)
	root := v.tree.Root()
	v.rep.Root = base64.StdEncoding.EncodeToString(root[:])
	first := uint64(0)
	for n := range v.without {
		if _, ok := v.redacted[n]; !ok && (first == 0 || n < first) {
			first = n
		}
	}
	if first != 0 {
		return v.rep, &BadEntryError{Seq: first, Reason: "the salt of a commitment is gone, and no redaction says so"}
	}
	if v.apart != nil {
		v.apart.Entries = v.rep.Entries
		return v.rep, v.apart
	}
	for _, h := range v.heads {
		if h.Size > v.rep.Entries {
			return v.rep, &HeadError{Origin: h.Origin, Head: h.Size, Entries: v.rep.Entries,
				Reason: fmt.Sprintf("the head is ahead: entry %d is missing, because the tail was cut or an older copy restored", v.rep.Entries+1)}
		}
	}
	return v.rep, nil
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
