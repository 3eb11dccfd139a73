// Package ledger is the hash-chained record of decisions and calls across all
// sessions of a home. Each entry is stored whole; its leaf hash is SHA-256 with
// the RFC 6962 leaf prefix over its canonical bytes, and it names the leaf hash
// of the entry before it. A call leaves two entries: an intent that is durable
// before the first byte is sent, and an outcome. The package holds the pure
// part (entries, sealing, the tree, checkpoints, verification, exports); storing is the journal
// store's job. It must not import the session or an adapter.
package ledger

import "time"

// Kind names what an entry records.
type Kind string

// The kinds of entry.
const (
	KindIntent  Kind = "intent"
	KindOutcome Kind = "outcome"
	// KindDecision is a refusal, of which nothing was sent, or how a gate closed.
	KindDecision        Kind = "decision"
	KindPin             Kind = "pin"
	KindReconfiguration Kind = "reconfiguration"
	// KindRedaction says that the values behind commitments of other entries were
	// removed.
	KindRedaction Kind = "redaction"
	// KindCheckpoint is a signed note in an export, never an entry.
	KindCheckpoint Kind = "checkpoint"
)

// DetailDeleted is the detail of the redactions that come with the deletion of a
// session.
const DetailDeleted = "session"

// Draft is an entry before the chain gives it its place. Every field is covered
// by the hash. Free text does not belong in it: values appear as digests, which
// a store replaces by salted commitments (see Commit).
type Draft struct {
	Kind    Kind   `json:"kind"`
	Session string `json:"session,omitempty"`
	Loop    string `json:"loop,omitempty"`
	Turn    string `json:"turn,omitempty"`
	Call    string `json:"call,omitempty"`
	// Source is who asked: "model", "person", "script".
	Source     string `json:"source,omitempty"`
	Binding    string `json:"binding,omitempty"`
	Tool       string `json:"tool,omitempty"` // identity
	ToolDigest string `json:"tool_digest,omitempty"`
	// Pin is the launch or endpoint fingerprint; PinKey the pinned key id of
	// servers that have one.
	Pin    string `json:"pin,omitempty"`
	PinKey string `json:"pin_key,omitempty"`
	// ArgsDigest is over the exact bytes that are sent; PromptDigest over the
	// prompt as it was rendered for the answerer, when there was one.
	ArgsDigest   string `json:"args_digest,omitempty"`
	PromptDigest string `json:"prompt_digest,omitempty"`
	// Rule and Considered are the policy trace.
	Rule       string   `json:"rule,omitempty"`
	Considered []string `json:"considered,omitempty"`
	Verdict    string   `json:"verdict,omitempty"`
	Gate       string   `json:"gate,omitempty"`
	GateKind   string   `json:"gate_kind,omitempty"`
	// Answerer and AnswererKind identify who answered the gate.
	Answerer     string `json:"answerer,omitempty"`
	AnswererKind string `json:"answerer_kind,omitempty"`
	// Outcome, Attempts and ResultDigest belong to outcome entries.
	Outcome      string `json:"outcome,omitempty"`
	Attempts     int    `json:"attempts,omitempty"`
	ResultDigest string `json:"result_digest,omitempty"`
	// Detail is a closed code: "enable", "accepted", "no_interactive_gate" …
	Detail string `json:"detail,omitempty"`
	// AnswerDigest is over everything that was answered to the gate: values, text,
	// choices and the reason of a denial.
	AnswerDigest string `json:"answer_digest,omitempty"`
	// Redacts lists, in a redaction, the entries whose values were removed, in
	// rising order; Reason is why, one line in the words of who did it.
	Redacts []uint64 `json:"redacts,omitempty"`
	Reason  string   `json:"reason,omitempty"`
}

// Entry is a sealed draft.
type Entry struct {
	Seq  uint64    `json:"seq"` // 1, 2, 3 … without gaps
	Time time.Time `json:"time"`
	// Prev is the leaf hash of the entry before, "" for the first.
	Prev string `json:"prev"`
	Draft
	// Hash is the leaf hash ("sha256:<hex>") over the canonical bytes of
	// everything above. It is not part of them.
	Hash string `json:"hash"`
}
