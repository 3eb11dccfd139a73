package event

// Fingerprint is what a session depends on, one field a part, sorted by Field:
// the models, the system texts, the policy, the loops and their delegation, and
// the declared bindings. Values are digests or short plain names, never text of
// the configuration.
type Fingerprint []FingerprintField

// FingerprintField is one part of a fingerprint.
type FingerprintField struct {
	// Field is a path: "loops.main.model", "loops.main.system", "policy",
	// "bindings.docs".
	Field string `json:"field"`
	Value string `json:"value"`
	// Severity says what a change of it means.
	Severity Severity `json:"severity"`
}

// Severity says how much a changed field matters.
type Severity string

// The severities, in rising order.
const (
	// SeverityInfo: the session goes on the same.
	SeverityInfo Severity = "info"
	// SeverityWarn: what the model can do or see has changed.
	SeverityWarn Severity = "warn"
	// SeverityBreak: what is allowed, or who decides, has changed.
	SeverityBreak Severity = "break"
)

// DriftField is one difference between what a session was configured with and
// what it would go on with. Was or Is is empty for what was added or removed.
type DriftField struct {
	Field    string   `json:"field"`
	Was      string   `json:"was,omitempty"`
	Is       string   `json:"is,omitempty"`
	Severity Severity `json:"severity"`
}

type (
	// SessionRestored says that a session goes on in another process. The
	// coverage counts and ids go on where the journal ends.
	SessionRestored struct {
		Header
		App  string `json:"app"`
		Mode string `json:"mode"`
		// Turns and Messages that the history holds.
		Turns    int `json:"turns"`
		Messages int `json:"messages"`
		// Indeterminate are the calls with an intent and no outcome: they may have
		// reached their servers, and are never sent again.
		Indeterminate []string `json:"indeterminate,omitempty"`
		// Reinstalled and Withdrawn count the gates that were open.
		Reinstalled int `json:"reinstalled,omitempty"`
		Withdrawn   int `json:"withdrawn,omitempty"`
		// Held are the inputs that were queued: they are not run by themselves.
		Held []string `json:"held,omitempty"`
		// Unfinished says that the journal did not end with session.closed.
		Unfinished bool `json:"unfinished,omitempty"`
		// Fingerprint that the session goes on with.
		Fingerprint Fingerprint `json:"fingerprint,omitempty"`
	}
	// ConfigDrift is a decision on a configuration that is not the session's.
	ConfigDrift struct {
		Header
		Fields []DriftField `json:"fields"`
		// Decision is "accepted" or "refused".
		Decision string `json:"decision"`
		By       string `json:"by"`
	}
	// HistoryCompacted says that the oldest messages of a loop were replaced by a
	// summary. The messages themselves stay in the journal.
	HistoryCompacted struct {
		Header
		Replaced int `json:"replaced"` // messages
		Kept     int `json:"kept"`
		// Before and After are estimated tokens of the history.
		Before int `json:"tokens_before"`
		After  int `json:"tokens_after"`
		// Summary is empty where none could be made: the messages were left out, and
		// Reason says why. Carried is the number of the replaced message, from 1, that
		// stays as it is behind the summary; 0 for none.
		Summary string `json:"summary"`
		Reason  string `json:"reason,omitempty"`
		Carried int    `json:"carried,omitempty"`
		Usage   Usage  `json:"usage"`
		// Cause is "limit", "overflow" or "asked".
		Cause string `json:"cause"`
	}
	// ModelChanged says that a loop's next turns use another model.
	ModelChanged struct {
		Header
		From string `json:"from"`
		To   string `json:"to"`
		By   string `json:"by"`
	}
	// GrantChanged says that an operator granted a tool or took that back, or that
	// a grant lapsed, because the tool's definition is not the one that it was
	// given for.
	GrantChanged struct {
		Header
		// Op is "given", "revoked" or "lapsed"; Scope "session" or "always".
		Op         string `json:"op"`
		Scope      string `json:"scope"`
		ID         string `json:"id,omitempty"`
		Tool       string `json:"tool"`
		ToolDigest string `json:"tool_digest,omitempty"`
		Pin        string `json:"pin,omitempty"`
		Rule       string `json:"rule,omitempty"`
		When       string `json:"when,omitempty"`
		By         string `json:"by"`
	}
)
