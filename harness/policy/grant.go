package policy

import (
	"context"
	"errors"
	"time"

	"github.com/looprig/looprig/harness/tool"
)

// Standing is a grant that outlives its session: an operator's "always". Like
// every grant it covers one definition of one tool, and is worth nothing for
// another.
type Standing struct {
	// ID names the grant in listings and for its revocation.
	ID       string        `json:"id"`
	Identity tool.Identity `json:"tool"`
	Digest   string        `json:"tool_digest"`
	// Rule is the rule that had led to the question.
	Rule string `json:"rule"`
	// When, when set, narrows the grant to calls whose arguments make this jq
	// expression yield exactly one true.
	When    string    `json:"when,omitempty"`
	Created time.Time `json:"created"`
	// By and Session say who granted it, and where.
	By      string `json:"by"`
	Session string `json:"session,omitempty"`
}

// GrantStore keeps standing grants, for all sessions and processes of a home. It
// is safe for concurrent use by goroutines and processes.
type GrantStore interface {
	// Grants lists all of them, oldest first.
	Grants(ctx context.Context) ([]Standing, error)
	// AddGrant keeps one, durably. A grant with the same identity, digest, rule
	// and predicate is kept once. Beyond MaxGrants it fails with ErrTooManyGrants.
	AddGrant(ctx context.Context, g Standing) error
	// RevokeGrant removes one; it fails with ErrNoGrant where there is none.
	RevokeGrant(ctx context.Context, id string) error
}

// Errors of grant stores.
var (
	ErrNoGrant       = errors.New("no such grant")
	ErrTooManyGrants = errors.New("too many grants are kept: revoke some")
)
