// Package protocol is one MCP session over one wire.Conn: revision
// negotiation, requests, server-initiated requests and notifications. It wraps
// the official SDK and puts a tap in front of it: every inbound frame is
// validated before the SDK sees it, and the raw bytes of schemas, results and
// request states are kept. Together with the demo server and test servers it
// is the only importer of the SDK; no SDK type leaves it.
//
// Invariants: no inbound frame can panic the process; every wait is bounded;
// a result is delivered from the bytes that the server sent, never from a
// re-encoding. It must not import harness/session, journal, ledger, compose or
// tui.
package protocol

import (
	"context"
	"encoding/json"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// The protocol revisions that are supported, newest first.
const (
	Revision20260728 = "2026-07-28"
	Revision20251125 = "2025-11-25"
	Revision20250618 = "2025-06-18"
	Revision20250326 = "2025-03-26"
	Revision20241105 = "2024-11-05"
	// RevisionAuto probes for 2026-07-28 and falls back to initialize.
	RevisionAuto = "auto"
)

// Family is a kind of listing.
type Family string

// The families of a catalog.
const (
	Tools     Family = "tools"
	Prompts   Family = "prompts"
	Resources Family = "resources"
	Templates Family = "templates"
)

// Options configure Connect.
type Options struct {
	Dialer wire.Dialer
	Wire   wire.Options
	// Revision is RevisionAuto or one supported revision, which is then pinned
	// and never probed for.
	Revision string
	// KnownRevision, with RevisionAuto, is the era that an earlier connection
	// to the same launch found: a legacy revision skips the probe.
	KnownRevision string
	// ProbeTimeout bounds server/discover (default 3 s); after it a fresh
	// connection is made for initialize.
	ProbeTimeout time.Duration
	// Limits of what the tap lets through.
	Limits Limits
	// Handlers receive what the server sends unasked.
	Handlers Handlers
	// Roots are offered to the server; nil does not advertise the capability.
	Roots []Root
	// SamplingTools allows tools in sampling requests, on revisions that have
	// them; without it such requests are refused.
	SamplingTools bool
	// ClientVersion is reported to the server next to the name "looprig".
	ClientVersion string
}

// Root is a folder or file that the server may take as the user's: URI is a
// file URI.
type Root struct {
	URI  string
	Name string
}

// Limits bound inbound values; zero fields take the defaults of DefaultLimits.
type Limits struct {
	JSONDepth           int           // 64
	JSONMembers         int           // 200,000 object members in one frame
	CursorBytes         int           // 4 KiB
	PageBytes           int           // 4 MiB, one listing page
	LogBytes            int           // 8 KiB
	ElicitMessageBytes  int           // 4 KiB
	ElicitSchemaBytes   int           // 16 KiB
	RequestStateBytes   int           // 64 KiB
	RoundTrips          int           // 10 rounds of one multi-round-trip call
	InputRequests       int           // 8 input requests in one round, and 8 pending elicitations
	QueuedNotifications int           // 1024; oldest dropped, counted
	ConcurrentRequests  int           // 8
	MalformedFrames     int           // 100 before the connection fails typed
	ElicitTimeout       time.Duration // 5 min
	ListenBackoff       time.Duration // 200 ms, doubling to 30 s
}

// Handlers receive server-initiated traffic. Every field may be nil: what has
// no handler is not advertised. They are called on goroutines that the session
// owns, each under recover; a handler that panics yields a typed failure.
type Handlers struct {
	// Elicit answers elicitation/create and the elicitation input requests of
	// a multi-round-trip result. The context ends when the server cancels, the
	// call that caused it ends, or the session closes.
	Elicit func(ctx context.Context, req ElicitRequest) (ElicitResult, error)
	// Sample answers sampling/createMessage and the sampling input requests of a
	// multi-round-trip result. It may wait for people: ElicitTimeout does not
	// apply, the context ends as that of Elicit does.
	Sample func(ctx context.Context, req SampleRequest) (SampleResult, error)
	// ElicitComplete reports notifications/elicitation/complete.
	ElicitComplete func(elicitationID string)
	// ListChanged reports that a listing of the family is stale, before any
	// answer that came behind the notification is delivered: it runs on the
	// goroutine that reads, and must not wait. declared says whether the server
	// had announced that it would send this. When a server refuses the headers
	// of a call and its tools turn out to have changed, this is reported as well,
	// on the goroutine of the call.
	ListChanged func(family Family, declared bool)
	// ResourceUpdated reports a change of one subscribed resource.
	ResourceUpdated func(uri string)
	// Log reports a logging notification; data is raw JSON within LogBytes.
	Log func(level, logger string, data json.RawMessage)
	// Tolerated reports something that was let through although it is not as
	// the revision asks (code is host-written, detail is raw server text).
	Tolerated func(code, detail string)
	// Dropped reports counters of what was refused or dropped: malformed
	// frames, queue overflow, late replies.
	Dropped func(code string, count int)
	// Refused reports a request of the server that was answered with an error
	// before any handler saw it: reason is host-written and is to be shown,
	// detail is raw server text or "".
	Refused func(method, reason, detail string)
}

// ElicitRequest is one question of the server.
type ElicitRequest struct {
	// Mode is "form" or "url".
	Mode    string
	Message string
	// Schema is requestedSchema as received (form mode), key order kept.
	Schema json.RawMessage
	// URL and ElicitationID are set in url mode.
	URL           string
	ElicitationID string
	// CallID is the logical call that caused it where the revision says so
	// (2026-07-28), else "".
	CallID string
}

// ElicitResult is the answer: Action is "accept", "decline" or "cancel";
// Content is the validated object for an accepted form.
type ElicitResult struct {
	Action  string
	Content json.RawMessage
}

// SampleRequest is one request of the server for a message of the model.
// Strings are raw.
type SampleRequest struct {
	// CallID is the logical call that caused it where that can be observed
	// (2026-07-28), else "".
	CallID   string
	System   string
	Messages []SampleMessage
	// MaxTokens is what the server asks for; it is positive.
	MaxTokens     int
	Temperature   *float64
	StopSequences []string
	// IncludeContext is "none", "thisServer" or "allServers"; "" is "none".
	IncludeContext string
	// Preferences are the server's wishes for a model.
	Preferences ModelPreferences
	// Tools are raw tool definitions, ToolChoice the raw choice; nil without.
	Tools      []json.RawMessage
	ToolChoice json.RawMessage
}

// SampleMessage is one message of a SampleRequest.
type SampleMessage struct {
	Role string // "user" or "assistant"
	// Content holds the raw content blocks, each an object with a type.
	Content []json.RawMessage
}

// ModelPreferences are hints, never orders. Priorities are 0 to 1, negative
// where the server gave none.
type ModelPreferences struct {
	Hints                     []string
	Cost, Speed, Intelligence float64
}

// SampleResult is the model's message. An error of the handler is answered
// with its text when it is a *Error with a host-written Message: under its Code
// where it has one, under CodeRejected when its class is ClassRefused.
type SampleResult struct {
	Role string // "assistant"
	// Content holds raw content blocks; one on revisions before 2025-11-25.
	Content []json.RawMessage
	Model   string
	// StopReason is "endTurn", "maxTokens", "stopSequence" or "toolUse".
	StopReason string
}

// CompleteRequest asks for values of an argument while it is typed.
type CompleteRequest struct {
	// Prompt or Template names what the argument belongs to: a prompt's name or
	// a URI template.
	Prompt, Template string
	Argument, Value  string
	// Known are the arguments that have a value already.
	Known map[string]string
}

// Completion is the server's suggestions, at most MaxCompletions, raw.
type Completion struct {
	Values  []string
	Total   int
	HasMore bool
}

// MaxCompletions bounds the values of one Completion, as the specification
// does.
const MaxCompletions = 100

// Info is what negotiation found.
type Info struct {
	Revision      string
	ServerName    string
	ServerVersion string
	Instructions  string
	// Capabilities is the raw JSON object that the server declared.
	Capabilities json.RawMessage
	// ProbeFailed is why server/discover was not answered usefully, in
	// host-written words; "" when it was, or was not tried.
	ProbeFailed string
	// ProbeSilent says that the probe got no answer at all: Revision is then a
	// guess that the server went along with, and no finding to be kept.
	ProbeSilent bool
}

// Page is one page of a listing: raw items in the server's order. Null items
// are dropped and counted.
type Page struct {
	Items      []json.RawMessage
	NextCursor string
	NullItems  int
	// Excluded are the tools that were taken out of Items because they ask for
	// headers that the protocol does not allow (2026-07-28 over HTTP).
	Excluded []Excluded
	// Raw is the page's result as received.
	Raw json.RawMessage
}

// Excluded is a tool that may not be offered. Name is raw, Reason host-written.
type Excluded struct{ Name, Reason string }

// CallRequest is one logical tool call.
type CallRequest struct {
	// ID names the logical call to Handlers.Elicit.
	ID   string
	Name string
	// Args is sent byte for byte; it must be one compact JSON object.
	Args json.RawMessage
	// Progress, when set, makes the request carry a progress token.
	Progress func(Progress)
	// Attempt, when set, is called before each send (1, 2, …): the first
	// attempt is the call, later ones are rounds of the same logical call, or
	// its one repetition after the server refused its headers.
	Attempt func(n int)
}

// Progress is one progress notification of a call.
type Progress struct {
	Progress float64
	// Total is 0 when unknown.
	Total   float64
	Message string
}

// Result is a tool call's outcome as received.
type Result struct {
	// Raw is the whole result object.
	Raw json.RawMessage
	// Content holds the raw content blocks; null ones are dropped.
	Content    []json.RawMessage
	Structured json.RawMessage
	IsError    bool
}
