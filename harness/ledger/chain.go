package ledger

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Stored is an entry as a store keeps it: the canonical bytes and their hash.
type Stored struct {
	Seq  uint64
	Hash string
	Body []byte
	// Kept says that the store keeps the tree and the salts: Nodes are then the
	// nodes above the leaf that the entry completes (see Tree.Append), and Salts
	// which salts are there (see Commit): AllFields, or names of fields with commas
	// between them.
	Kept  bool
	Nodes []byte
	Salts string
}

// Reader yields stored entries in order of Seq, starting at from (1 is the
// first). It reports unreadable storage as an error.
type Reader interface {
	LedgerEntries(ctx context.Context, from uint64) iter.Seq2[Stored, error]
}

// body is what the hash covers: everything but the hash itself, in this order.
type body struct {
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	Prev string    `json:"prev"`
	Draft
}

// Seal gives a draft its place after the entry with number prevSeq and hash
// prevHash (0 and "" for an empty chain) and returns it with its canonical
// bytes. Times are kept in UTC with microseconds.
func Seal(d Draft, prevSeq uint64, prevHash string, now time.Time) (Entry, Stored, error) {
	b := body{Seq: prevSeq + 1, Time: now.UTC().Truncate(time.Microsecond), Prev: prevHash, Draft: d}
	raw, err := canonical(b)
	if err != nil {
		return Entry{}, Stored{}, err
	}
	e := Entry{Seq: b.Seq, Time: b.Time, Prev: b.Prev, Draft: d, Hash: leafHash(raw)}
	return e, Stored{Seq: e.Seq, Hash: e.Hash, Body: raw}, nil
}

// canonical is the one byte form of an entry: Go's JSON with the fields in the
// order of the struct, no HTML escaping, no trailing newline.
func canonical(b body) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(b); err != nil {
		return nil, fmt.Errorf("ledger: encode entry: %w", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// leafHash is the RFC 6962 section 2.1 leaf hash of the canonical bytes.
func leafHash(raw []byte) string {
	h := LeafHash(raw)
	return "sha256:" + hex.EncodeToString(h[:])
}

// Open decodes a stored entry and checks it on its own: that the bytes are
// canonical and that the hash is theirs.
func Open(s Stored) (Entry, error) {
	var b body
	if !scan(s.Body, &b) {
		var err error
		if b, err = decode(s); err != nil {
			return Entry{}, err
		}
	}
	if got := leafHash(s.Body); got != s.Hash {
		return Entry{}, &BadEntryError{Seq: s.Seq, Reason: "the entry does not match its hash"}
	}
	if b.Seq != s.Seq {
		return Entry{}, &BadEntryError{Seq: s.Seq, Reason: fmt.Sprintf("the entry says that it is number %d", b.Seq)}
	}
	return Entry{Seq: b.Seq, Time: b.Time, Prev: b.Prev, Draft: b.Draft, Hash: s.Hash}, nil
}

// decode is the authority on which bytes are canonical: those that come out
// again when what they say is encoded.
func decode(s Stored) (body, error) {
	var b body
	dec := json.NewDecoder(bytes.NewReader(s.Body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&b); err != nil {
		return b, &BadEntryError{Seq: s.Seq, Reason: "the entry cannot be read", Err: err}
	}
	if again, err := canonical(b); err != nil || !bytes.Equal(again, s.Body) {
		return b, &BadEntryError{Seq: s.Seq, Reason: "the entry's bytes are not in canonical form"}
	}
	return b, nil
}

// BadEntryError names the first entry that breaks the chain.
type BadEntryError struct {
	Seq    uint64
	Reason string
	Err    error
}

func (e *BadEntryError) Error() string { return fmt.Sprintf("ledger entry %d: %s", e.Seq, e.Reason) }

func (e *BadEntryError) Unwrap() error { return e.Err }

// IsBad reports whether err says that the chain is broken.
func IsBad(err error) bool {
	var bad *BadEntryError
	return errors.As(err, &bad)
}
