// Package integration is the neutral port by which an interface sees and
// changes the sources of tools: their status, catalogs and changes, as data.
// It names no protocol. An adapter's host implements Port; the interface knows
// nothing else of tool sources. It must not import an adapter or an interface.
package integration

import (
	"context"
	"encoding/json"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/tool"
)

// State is where a binding is in its life.
type State string

// The states, in the order of a normal life.
const (
	StateConfigured     State = "configured"
	StateInvalid        State = "invalid"
	StateDisabled       State = "disabled"
	StateUntrusted      State = "untrusted"
	StateStarting       State = "starting"
	StateAuthenticating State = "authenticating"
	StateDiscovering    State = "discovering"
	StateReady          State = "ready"
	StateDegraded       State = "degraded"
	StateReconnecting   State = "reconnecting"
	StateFailed         State = "failed"
	StateRetiring       State = "retiring"
	StateClosing        State = "closing"
	StateClosed         State = "closed"
)

// Binding is the status of one binding. Strings that a server wrote (ServerName,
// ServerVersion, Stderr) are raw; everything else is host-written.
type Binding struct {
	Name     string `json:"name"`
	State    State  `json:"state"`
	Code     string `json:"code,omitempty"`
	Class    string `json:"class,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Kind     string `json:"kind"`   // "stdio", "http", "sse", "builtin"
	Origin   string `json:"origin"` // redacted
	Scope    string `json:"scope"`  // "session" or "loop"
	Loop     string `json:"loop,omitempty"`
	Required bool   `json:"required"`
	Enabled  bool   `json:"enabled"`
	// Generation that loops run under, and Candidate when a newer one waits.
	Generation    uint64 `json:"generation"`
	Candidate     uint64 `json:"candidate,omitempty"`
	Digest        string `json:"digest,omitempty"`
	Tools         int    `json:"tools"`
	Prompts       int    `json:"prompts"`
	Resources     int    `json:"resources"`
	Templates     int    `json:"templates"`
	Tokens        int    `json:"tokens"` // what the tools cost in a model's context
	Revision      string `json:"revision,omitempty"`
	ServerName    string `json:"server_name,omitempty"`
	ServerVersion string `json:"server_version,omitempty"`
	Pin           string `json:"pin,omitempty"`
	Trust         string `json:"trust,omitempty"` // accepted, once, pending, builtin
	PID           int    `json:"pid,omitempty"`
	// Since is when State began; NextTry when the next attempt is due.
	Since    time.Time  `json:"since"`
	NextTry  *time.Time `json:"next_try,omitempty"`
	Inflight int        `json:"inflight,omitempty"`
	// Warnings, Tolerances and WithheldEnv are for the detail view.
	Warnings    []string `json:"warnings,omitempty"`
	Tolerances  []string `json:"tolerances,omitempty"`
	WithheldEnv []string `json:"withheld_env,omitempty"`
	// Deferred counts the tools that a model has to search for.
	Deferred int `json:"deferred,omitempty"`
	// SamplingTokens are what the server's requests for the model have used.
	SamplingTokens int `json:"sampling_tokens,omitempty"`
	// Subscriptions are the resources whose changes are reported, raw URIs.
	Subscriptions []string  `json:"subscriptions,omitempty"`
	Stderr        []string  `json:"-"`
	History       []History `json:"-"`
	// Position is where an invalid entry's fault is: "mcp.json:12:7".
	Position string `json:"position,omitempty"`
}

// History is one past event of a binding; Text is host-written.
type History struct {
	Time time.Time
	Code string
	Text string
}

// Item is one entry of a catalog. Name, Title, Description are raw.
type Item struct {
	Kind         string          `json:"kind"` // "tool", "prompt", "resource", "template"
	Name         string          `json:"name"` // raw name or URI
	ModelName    string          `json:"model_name,omitempty"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	MIME         string          `json:"mime,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema,omitempty"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	Hints        tool.Hints      `json:"hints"`
	Digest       string          `json:"digest,omitempty"`
	Tokens       int             `json:"tokens,omitempty"`
	// Withheld says why a tool is not offered to loops, or "".
	Withheld string `json:"withheld,omitempty"`
	// Deferred says that a model has to search for the tool before it can call
	// it.
	Deferred bool `json:"deferred,omitempty"`
	// Size is what the server says that a resource holds, in bytes; 0 where it
	// does not say.
	Size int64 `json:"size,omitempty"`
	// Audience, Priority and LastModified are a server's annotations of a
	// resource or template, raw.
	Audience     []string `json:"audience,omitempty"`
	Priority     *float64 `json:"priority,omitempty"`
	LastModified string   `json:"last_modified,omitempty"`
	// Arguments of prompts.
	Arguments []Argument `json:"arguments,omitempty"`
}

// Argument is one argument of a prompt.
type Argument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// Catalog is one generation as data.
type Catalog struct {
	Binding      string   `json:"binding"`
	Generation   uint64   `json:"generation"`
	Digest       string   `json:"digest"`
	Revision     string   `json:"revision"`
	Instructions string   `json:"instructions,omitempty"`
	Items        []Item   `json:"items"`
	Warnings     []string `json:"warnings,omitempty"`
}

// Op is a change of a binding.
type Op string

// The operations.
const (
	OpEnable    Op = "enable"
	OpDisable   Op = "disable"
	OpAdd       Op = "add"
	OpReplace   Op = "replace"
	OpRemove    Op = "remove"
	OpReconnect Op = "reconnect"
)

// Change asks for an operation.
type Change struct {
	Op      Op
	Binding string
	// Kind and Values answer the form of Kinds for add and replace.
	Kind   string
	Values json.RawMessage
	// Save keeps the change beyond this session.
	Save bool
	// By identifies the operator.
	By string
}

// Preview is what an addition or a replacement would run, for a person to see
// whole before confirming it. Values are raw.
type Preview struct {
	// Facts are labelled lines: the executable, every argument, digests.
	Facts []Fact
	// Warnings are host-written.
	Warnings []string
	// Fingerprint is what the confirmation pins.
	Fingerprint string
}

// Fact is one labelled value.
type Fact struct {
	Label string
	Value string
}

// SourceKind is one kind of source that can be added, with its form.
type SourceKind struct {
	Name  string // "stdio"
	Title string
	Form  form.Schema
}

// Frame is one protocol message of a binding's trace, secrets masked. It is raw
// text of a server where Sent is false.
type Frame struct {
	Time time.Time       `json:"time"`
	Sent bool            `json:"sent"`
	Data json.RawMessage `json:"data"`
	// Bytes is the whole size; Data holds less when Cut is set, as a JSON string.
	Bytes int  `json:"bytes"`
	Cut   bool `json:"cut,omitempty"`
}

// LogEntry is one log message of a server; its strings are raw.
type LogEntry struct {
	Time   time.Time       `json:"time"`
	Level  string          `json:"level"`
	Logger string          `json:"logger,omitempty"`
	Data   json.RawMessage `json:"data"`
}

// Fetched is a resource or prompt that was asked for, as content.
type Fetched struct {
	Binding string          `json:"binding"`
	Name    string          `json:"name"` // the URI or the prompt's name, raw
	Content []content.Block `json:"content"`
	// Messages are a prompt's; Content joins their blocks.
	Messages []content.Message `json:"messages,omitempty"`
	// Description is a prompt's, raw.
	Description string `json:"description,omitempty"`
	// Raw is the whole result as received.
	Raw json.RawMessage `json:"-"`
}

// Completion are values for an argument that is being typed, raw.
type Completion struct {
	Values  []string `json:"values"`
	Total   int      `json:"total,omitempty"`
	HasMore bool     `json:"has_more,omitempty"`
}

// CompleteRequest asks for a Completion. Kind is "prompt" or "template", Name
// the prompt's name or the template.
type CompleteRequest struct {
	Binding, Kind, Name string
	Argument, Value     string
	Known               map[string]string
}

// Reader is the companion of a Port that asks servers for what a person wants to
// see. Its methods wait for the server, bounded by the binding's own times.
type Reader interface {
	// Read reads a resource.
	Read(ctx context.Context, binding, uri string) (Fetched, error)
	// Prompt gets a prompt with its arguments.
	Prompt(ctx context.Context, binding, name string, args map[string]string) (Fetched, error)
	// Complete suggests values for an argument.
	Complete(ctx context.Context, req CompleteRequest) (Completion, error)
	// Subscribe and Unsubscribe start and end reports of a resource's changes.
	Subscribe(ctx context.Context, binding, uri string) error
	Unsubscribe(ctx context.Context, binding, uri string) error
}

// Watcher is the companion of a Port that shows what a binding says beside its
// answers. It answers from memory, oldest first.
type Watcher interface {
	// Logs are the newest log messages that are still kept.
	Logs(binding string) []LogEntry
	// Trace are the newest protocol messages that are still kept.
	Trace(binding string) []Frame
}

// Port is what an interface needs of tool sources. Bindings, Catalog, Kinds and
// Current never block and never do IO; Apply may take as long as the change.
type Port interface {
	// Bindings is a snapshot in configuration order.
	Bindings() []Binding
	// Catalog returns a generation (0 = the newest) that is still kept.
	Catalog(binding string, generation uint64) (Catalog, bool)
	// Kinds lists what can be added.
	Kinds() []SourceKind
	// Current returns the kind and values that would pre-fill a replace form.
	Current(binding string) (kind string, values json.RawMessage, ok bool)
	// Preview checks an addition or a replacement and shows what it would run,
	// without running it. It may read files. Its errors are those of Apply: a
	// form.Errors names the fields to correct.
	Preview(ctx context.Context, c Change) (Preview, error)
	// Apply makes a change and returns when it has taken effect or failed. A
	// *form.Errors or a typed error says what to correct.
	Apply(ctx context.Context, c Change) error
}
