// Package journal is the contract of the append-only session journal: ordered,
// gap-free, durable when Append returns, and fenced so that two writers never
// both append. Ledger entries that must be durable together with journal
// records travel in the same batch. Implementations are packages below it; one
// conformance suite (journaltest) is run against each. It must not import the
// session or any adapter.
package journal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/policy"
)

// Record is one durable event.
type Record struct {
	// Seq is 1, 2, 3 … without gaps, assigned by the writer.
	Seq  uint64
	Type string
	Time time.Time
	// Line is the event's encoding, kept byte for byte.
	Line []byte
	// Key, when set, makes the append idempotent: a record whose key is
	// already in the session is not appended again.
	Key string
}

// Batch is appended as a whole or not at all.
type Batch struct {
	// ExpectedSeq is the sequence number of the last record before the batch.
	ExpectedSeq uint64
	Records     []Record
	// Ledger entries are sealed into the home's chain in the same transaction.
	Ledger []ledger.Draft
	// Blobs are stored once under their digest in the same transaction.
	Blobs []Blob
	// Grants are the standing grants that the records tell of, given or taken back
	// in the same transaction. Only a GrantStore is handed any.
	Grants []GrantChange
}

// GrantChange gives a standing grant, unless one covers the same calls already, or
// takes one back, if it is still there.
type GrantChange struct {
	Given  *policy.Grant
	Revoke string // the id of a grant
}

// GrantStore is a Store that keeps standing grants beside its journals, and obeys
// Batch.Grants: however a process ends, there is a grant if and only if it is on
// record.
type GrantStore interface {
	Store
	policy.Store
}

// Blob is a body that records refer to.
type Blob struct {
	Digest string // "sha256:<hex>" of Body
	MIME   string
	Body   []byte
}

// Meta describes a session in listings.
type Meta struct {
	Session string    `json:"session"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	Title   string    `json:"title"`
	Mode    string    `json:"mode"`
	Model   string    `json:"model"`
	Records uint64    `json:"records"`
	Turns   int       `json:"turns"`
	// Closed says that the last record is session.closed.
	Closed bool `json:"closed"`
	// Parent is the session that this one was forked from, ParentSeq the last of
	// the parent's records that belong to its history. "" and 0 for others.
	Parent    string `json:"parent,omitempty"`
	ParentSeq uint64 `json:"parent_seq,omitempty"`
	// Open names the living holder of the session's lease, "" for none.
	Open string `json:"open,omitempty"`
}

// Snapshot is what a session's records up to Seq amount to, as its owner encodes
// it. It is a cache: the records alone decide, and a snapshot that is missing,
// damaged or of another Version is made again from them.
type Snapshot struct {
	Session string
	Seq     uint64
	Version int
	Body    []byte
}

// Query selects sessions, newest first.
type Query struct {
	// Prefix of the session id, or "".
	Prefix string
	// Text, when set, must occur in the session's title, in what was said or in
	// the name of a tool that was called, whatever the case of its letters.
	Text string
	// Limit is the most that is returned; 0 means DefaultListLimit.
	Limit int
}

// DefaultListLimit bounds a listing that names no limit.
const DefaultListLimit = 100

// Lease is the right to append to one session. It is fenced: once another
// holder has taken over, appends with the old one fail with ErrFenced.
type Lease struct {
	Session string
	Holder  string
	Token   uint64
}

// Store keeps journals. It is safe for concurrent use by goroutines and, where
// the implementation says so, by processes.
type Store interface {
	// Create makes an empty journal and takes its lease.
	Create(ctx context.Context, meta Meta, holder string) (Lease, error)
	// Acquire takes the lease of an existing session for ttl (renewed by each
	// Append and by Renew). It fails with ErrLeased while another living holder
	// has it.
	Acquire(ctx context.Context, session, holder string, ttl time.Duration) (Lease, error)
	Renew(ctx context.Context, lease Lease, ttl time.Duration) error
	Release(ctx context.Context, lease Lease) error
	// Append makes a batch durable. It returns the sealed ledger entries. It
	// fails with ErrConflict when ExpectedSeq is not the last sequence number,
	// ErrFenced when the lease is lost, and a *LatchedError after the first
	// write error (contention is waited for and does not count). A batch whose
	// records all have keys that the session has already was appended before:
	// nothing of it is appended again, and no entries are returned.
	Append(ctx context.Context, lease Lease, batch Batch) ([]ledger.Entry, error)
	// Read yields the records from a sequence number on, in order.
	Read(ctx context.Context, session string, from uint64) iter.Seq2[Record, error]
	// Blob returns a stored body.
	Blob(ctx context.Context, digest string) (Blob, error)
	// List leaves out sessions without a record: they are being made, or whoever
	// made them was killed before the first; Create removes the latter.
	List(ctx context.Context, q Query) ([]Meta, error)
	// Watch is Read that goes on with the records that are appended, by any
	// process, until ctx ends (whose error it then yields) or session.closed was
	// yielded.
	Watch(ctx context.Context, session string, from uint64) iter.Seq2[Record, error]
	// Delete removes a session with its records, its snapshot and the blobs that
	// nothing else refers to, so that their bytes are gone from the files. The
	// ledger keeps its entries. It fails with ErrLeased while a living holder has
	// the session and with ErrForked while another session builds on it.
	Delete(ctx context.Context, session string) error
	// SaveSnapshot replaces the session's snapshot. It fails with ErrFenced when
	// the lease is lost and with ErrConflict when Seq is not in the journal.
	SaveSnapshot(ctx context.Context, lease Lease, s Snapshot) error
	// Snapshot returns the session's snapshot; ok is false where there is none
	// that is whole.
	Snapshot(ctx context.Context, session string) (s Snapshot, ok bool, err error)
	Close() error
}

// Errors of stores.
var (
	ErrNotFound = errors.New("no such session")
	ErrExists   = errors.New("session exists")
	ErrConflict = errors.New("journal: sequence conflict")
	ErrLeased   = errors.New("session is open in another process")
	ErrFenced   = errors.New("journal: the lease was lost")
	ErrClosed   = errors.New("journal: store is closed")
	ErrForked   = errors.New("another session was forked from it")
)

// LatchedError says that an earlier write failed: nothing more is appended
// until the store is opened again.
type LatchedError struct{ Err error }

func (e *LatchedError) Error() string {
	return fmt.Sprintf("journal: writing has stopped after an error: %v", e.Err)
}

func (e *LatchedError) Unwrap() error { return e.Err }

// CorruptError says that stored bytes are not what was written.
type CorruptError struct {
	// Where is "session 01J… seq 12", "ledger seq 4", "database".
	Where  string
	Reason string
	Err    error
}

func (e *CorruptError) Error() string { return "corrupt store: " + e.Where + ": " + e.Reason }

func (e *CorruptError) Unwrap() error { return e.Err }
