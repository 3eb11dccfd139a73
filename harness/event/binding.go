package event

import "encoding/json"

// The events of bindings. BindingChanged and Notice carry closed codes,
// host-written text and numbers only; what a server wrote appears in catalog
// item names and in the ephemeral events, never in a durable status.
type (
	// BindingChanged is one state change of a binding.
	BindingChanged struct {
		Header
		Binding  string `json:"binding"`
		State    string `json:"state"`
		Previous string `json:"previous,omitempty"`
		// Code is closed: why ("started", "connect_failed", "lost" …).
		Code string `json:"code"`
		// Class is the error class of a failure.
		Class      string `json:"class,omitempty"`
		Text       string `json:"text,omitempty"`
		NextTryMS  int64  `json:"next_try_ms,omitempty"`
		Generation uint64 `json:"generation,omitempty"`
	}
	// CatalogCandidate says that a new generation was fetched.
	CatalogCandidate struct {
		Header
		CatalogChange
	}
	// CatalogAdopted says that loops' next turns run under a generation.
	CatalogAdopted struct {
		Header
		CatalogChange
	}
	// CatalogRejected says that a listing was refused; the generation in use
	// stays.
	CatalogRejected struct {
		Header
		Binding    string `json:"binding"`
		Generation uint64 `json:"generation"` // the one that stays
		Class      string `json:"class"`
		Reason     string `json:"reason"`
	}
	// BindingReconfigured says that an operator changed a binding.
	BindingReconfigured struct {
		Header
		Binding string `json:"binding"`
		// Op is "enable", "disable", "add", "replace", "remove" or "reconnect".
		Op    string `json:"op"`
		By    string `json:"by"`
		Saved bool   `json:"saved,omitempty"`
	}
	// FetchCompleted says that an operator read a resource or got a prompt. What
	// came is not kept.
	FetchCompleted struct {
		Header
		Binding string `json:"binding"`
		What    string `json:"what"` // "resource" or "prompt"
		// Name is the resource's URI or the prompt's name, as it was asked for.
		Name string            `json:"name"`
		Args map[string]string `json:"args,omitempty"` // of a prompt
		By   string            `json:"by"`
		OK   bool              `json:"ok"`
		// GivenUp says that the operator did not wait for the answer.
		GivenUp    bool  `json:"given_up,omitempty"`
		DurationMS int64 `json:"duration_ms"`
	}
	// SamplingCompleted says what a message took that a model wrote because a server
	// had asked for one. Where a person wrote it, there is none.
	SamplingCompleted struct {
		Header
		Binding string `json:"binding"`
		Model   string `json:"model"`
		Usage   Usage  `json:"usage"`
	}
	// Notice is an out-of-band message about a binding.
	Notice struct {
		Header
		Binding string `json:"binding,omitempty"`
		Code    string `json:"code"`
		Level   string `json:"level"` // "info", "warn", "error"
		Text    string `json:"text"`
	}
)

// CatalogChange describes a generation against the one before it.
type CatalogChange struct {
	Binding    string   `json:"binding"`
	From       uint64   `json:"from"`
	Generation uint64   `json:"generation"`
	Digest     string   `json:"digest"`
	Revision   string   `json:"revision"`
	Tools      int      `json:"tools"`
	Prompts    int      `json:"prompts"`
	Resources  int      `json:"resources"`
	Templates  int      `json:"templates"`
	Tokens     int      `json:"tokens,omitempty"`
	Added      []string `json:"added,omitempty"`
	Removed    []string `json:"removed,omitempty"`
	Changed    []string `json:"changed,omitempty"` // "tools/lookup: description, inputSchema"
}

// PinChanged is a pin.pending, pin.accepted, pin.refused or pin.changed event;
// which one is told by its type.
type PinChanged struct {
	Header
	Binding     string `json:"binding"`
	Layer       string `json:"layer"` // "launch"
	Fingerprint string `json:"fingerprint"`
	Previous    string `json:"previous,omitempty"`
	By          string `json:"by,omitempty"`
	Once        bool   `json:"once,omitempty"`
}

// Expectation is the verdict on one `expect` of a script.
type Expectation struct {
	Header
	Step       int             `json:"step"`
	Line       int             `json:"line"`
	Expression string          `json:"expression"`
	OK         bool            `json:"ok"`
	Value      json.RawMessage `json:"value,omitempty"`
	Reason     string          `json:"reason,omitempty"`
}

// The ephemeral events.
type (
	// ModelDelta is a piece of streamed model text.
	ModelDelta struct {
		Header
		Step int    `json:"step"`
		Kind string `json:"kind"` // "text" or "reasoning"
		Text string `json:"text"`
	}
	// ToolProgress is a progress report of a running call.
	ToolProgress struct {
		Header
		Call     string  `json:"call"`
		Progress float64 `json:"progress"`
		Total    float64 `json:"total,omitempty"`
		Message  string  `json:"message,omitempty"`
	}
	// BindingStderr is one line that a server wrote to stderr.
	BindingStderr struct {
		Header
		Binding string `json:"binding"`
		Line    string `json:"line"`
	}
	// BindingLog is one log notification of a server.
	BindingLog struct {
		Header
		Binding string          `json:"binding"`
		Level   string          `json:"level"`
		Logger  string          `json:"logger,omitempty"`
		Data    json.RawMessage `json:"data"`
	}
	// BindingTrace is one protocol message of a binding, secrets masked by
	// whoever publishes it. What a server sent is raw.
	BindingTrace struct {
		Header
		Binding string `json:"binding"`
		// Sent is false for what the server sent.
		Sent bool `json:"sent"`
		// Data is the message; where Cut is set, a JSON string of its beginning.
		Data json.RawMessage `json:"data"`
		// Bytes is the size of the whole message.
		Bytes int  `json:"bytes"`
		Cut   bool `json:"cut"`
	}
	// ResourceUpdated says that a subscribed resource changed. It holds no
	// content: whoever wants it reads it again.
	ResourceUpdated struct {
		Header
		Binding string `json:"binding"`
		// URI as the server names it, raw.
		URI string `json:"uri"`
	}
)
