// Package gate defines questions that only somebody outside a loop may answer:
// the kinds, the envelope with its durable public part, and the answer with
// the identity of whoever gave it. The queue that holds open gates is Host. It
// must not import the session, an adapter or an interface.
package gate

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
)

// Kind names what a gate asks.
type Kind string

// The kinds of gate.
const (
	KindPermission      Kind = "permission"
	KindForm            Kind = "form"
	KindConfirm         Kind = "confirm"
	KindOpenURL         Kind = "open_url"
	KindUntrustedServer Kind = "untrusted_server"
	KindSampling        Kind = "sampling"
	KindAskUser         Kind = "ask_user"
)

// FormSchema is the form of package form under the name that hosts know.
type FormSchema = form.Schema

// Action is what an answer does.
type Action string

// The actions. Which of them a kind allows is told by Actions.
const (
	ActionOnce    Action = "once"    // permission: this call; untrusted server: this process
	ActionSession Action = "session" // permission: until the session ends
	ActionAlways  Action = "always"  // permission: until the definition changes or it is revoked
	ActionDeny    Action = "deny"    // permission
	ActionSubmit  Action = "submit"  // form
	ActionAccept  Action = "accept"  // confirm; untrusted server: exactly this fingerprint
	ActionDecline Action = "decline"
	ActionCancel  Action = "cancel"
	ActionOpen    Action = "open" // open_url
	ActionCopy    Action = "copy" // open_url
	ActionRefuse  Action = "refuse"
	ActionRun     Action = "run"     // sampling: send as shown, or the reply that a person wrote
	ActionEdit    Action = "edit"    // sampling: send Response.Text instead
	ActionAnswer  Action = "answer"  // ask user: Response.Text, or the chosen ones of the choices
	ActionDismiss Action = "dismiss" // ask user: no answer
)

// Actions lists the actions that answer a gate of the kind.
func Actions(k Kind) []Action {
	switch k {
	case KindPermission:
		return []Action{ActionOnce, ActionSession, ActionAlways, ActionDeny}
	case KindForm:
		return []Action{ActionSubmit, ActionDecline, ActionCancel}
	case KindConfirm:
		return []Action{ActionAccept, ActionDecline, ActionCancel}
	case KindOpenURL:
		return []Action{ActionOpen, ActionCopy, ActionDecline, ActionCancel}
	case KindUntrustedServer:
		return []Action{ActionAccept, ActionOnce, ActionRefuse}
	case KindSampling:
		return []Action{ActionRun, ActionEdit, ActionDecline, ActionCancel}
	case KindAskUser:
		return []Action{ActionAnswer, ActionDismiss}
	}
	return nil
}

// CloseReason is why a gate is no longer open.
type CloseReason string

// The close reasons.
const (
	ReasonAnswered      CloseReason = "answered"
	ReasonPolicy        CloseReason = "policy"
	ReasonTimedOut      CloseReason = "timed_out"
	ReasonWithdrawn     CloseReason = "withdrawn"
	ReasonSessionClosed CloseReason = "session_closed"
	// ReasonNoGate is the detail of ReasonPolicy when nobody could answer.
	ReasonNoGate CloseReason = "no_interactive_gate"
)

// Subject is what a gate is about. Empty fields are unknown or do not apply.
type Subject struct {
	Loop    string `json:"loop,omitempty"`
	Turn    string `json:"turn,omitempty"`
	Step    int    `json:"step,omitempty"`
	Call    string `json:"call,omitempty"`
	Binding string `json:"binding,omitempty"`
}

// Origin says who wrote a prompt's body.
type Origin string

// The origins of prompt text.
const (
	OriginHost   Origin = "host"
	OriginServer Origin = "server"
	OriginModel  Origin = "model"
)

// Prompt is the durable, public part of a question. Title is host-written;
// Body is raw text of Origin.
type Prompt struct {
	Title  string `json:"title"`
	Body   string `json:"body,omitempty"`
	Origin Origin `json:"origin"`
	// Schema of a form gate.
	Schema *FormSchema `json:"schema,omitempty"`
	// Calls of a permission gate: one, or those of one step together.
	Calls []CallPrompt `json:"calls,omitempty"`
	// Target of an open-url gate: scheme://host, the host in A-label form.
	Target string `json:"target,omitempty"`
	// Warnings are host-written (look-alike host, changed pin, mutable runner).
	Warnings []string `json:"warnings,omitempty"`
	// Launch describes an untrusted server: the whole command, line by line.
	Launch []Fact `json:"launch,omitempty"`
	// Fingerprint that an acceptance would pin.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Sampling of a sampling gate.
	Sampling *SamplingPrompt `json:"sampling,omitempty"`
	// Choices of an ask-user gate, raw text of the model; without any, the answer
	// is free text. Multiple allows more than one of them.
	Choices  []string `json:"choices,omitempty"`
	Multiple bool     `json:"multiple,omitempty"`
}

// SamplingStage is which half of a server's request for the model is asked
// about.
type SamplingStage string

// The stages: first the prompt is approved, then, separately, the reply.
const (
	SamplingRequest SamplingStage = "request"
	SamplingReply   SamplingStage = "reply"
)

// SamplingPrompt is a server's request for a message of the model. What is
// shown is what is sent: Messages, System and Reply are the exact texts, raw.
type SamplingPrompt struct {
	Stage    SamplingStage     `json:"stage"`
	System   string            `json:"system,omitempty"`
	Messages []SamplingMessage `json:"messages"`
	// Model is who will write the reply, for people: "you (no key)".
	Model     string `json:"model"`
	MaxTokens int    `json:"max_tokens"`
	// Hints are the models that the server would like, raw.
	Hints []string `json:"hints,omitempty"`
	// Context says which context the server asked for; none is ever added.
	Context string `json:"context,omitempty"`
	// Spent and Budget are the tokens that the binding has used and may use.
	Spent  int `json:"spent"`
	Budget int `json:"budget,omitempty"`
	// Reply is the model's answer in the reply stage. Where Written is set there
	// is none: a person is the model, and the answer's Text is the reply.
	Reply   string `json:"reply,omitempty"`
	Written bool   `json:"written,omitempty"`
	// Editable says that the action edit is allowed: in the request stage the
	// last message is one text, which Response.Text replaces.
	Editable bool `json:"editable,omitempty"`
	// Digest covers what would be sent to the model.
	Digest string `json:"digest"`
}

// SamplingMessage is one block of the conversation that a server supplies.
type SamplingMessage struct {
	Role string `json:"role"`
	Kind string `json:"kind"` // "text", "image", "audio"
	Text string `json:"text,omitempty"`
	// MIME, Bytes and Digest describe what is not text.
	MIME   string `json:"mime,omitempty"`
	Bytes  int    `json:"bytes,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// Fact is one labelled value of a prompt.
type Fact struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

// CallPrompt is one call that a permission gate asks for, rendered from the
// exact bytes that will be sent.
type CallPrompt struct {
	Call       string          `json:"call"`
	Tool       string          `json:"tool"` // identity
	ModelName  string          `json:"model_name"`
	Title      string          `json:"title,omitempty"`
	Args       json.RawMessage `json:"args"`
	ArgsDigest string          `json:"args_digest"`
	ToolDigest string          `json:"tool_digest"`
	Hints      tool.Hints      `json:"hints"`
	Trust      tool.Trust      `json:"trust"`
	Pin        string          `json:"pin,omitempty"`
	// Rule names the policy rule that led to the question.
	Rule string `json:"rule,omitempty"`
	// Explicit says that no choice may be preselected.
	Explicit bool `json:"explicit,omitempty"`
	// ReadOnly lists the read-only tools of the call's server, raw names, where
	// they may be granted together: CoverReadOnly is offered.
	ReadOnly []string `json:"read_only_tools,omitempty"`
}

// Private is the part of a gate that no encoding ever holds.
type Private struct {
	// URL is the full address of an open-url gate.
	URL string
}

// Request asks for a gate to be opened.
type Request struct {
	Kind    Kind
	Subject Subject
	Prompt  Prompt
	Private Private
	// Deadline is how long an answer is waited for; zero means no limit.
	Deadline time.Duration
	// Restorable gates are reinstalled when a session is resumed.
	Restorable bool
}

// Envelope is an open gate. Its JSON holds the public part alone.
type Envelope struct {
	ID         string    `json:"gate"`
	Kind       Kind      `json:"kind"`
	Subject    Subject   `json:"subject"`
	Prompt     Prompt    `json:"prompt"`
	OpenedAt   time.Time `json:"opened_at"`
	DeadlineMS int64     `json:"deadline_ms,omitempty"`
	Restorable bool      `json:"restorable,omitempty"`
	Private    Private   `json:"-"`
}

// AnswererKind says what sort of party answered.
type AnswererKind string

// The kinds of answerer. There is no model among them: a model-originated
// action can never resolve a gate.
const (
	AnswererPerson  AnswererKind = "person"
	AnswererScript  AnswererKind = "script"
	AnswererAnswers AnswererKind = "answers"
	AnswererPolicy  AnswererKind = "policy"
)

// Answerer is the identity behind an answer.
type Answerer struct {
	Kind AnswererKind `json:"kind"`
	ID   string       `json:"id"`
}

// Operator reports whether the answerer may resolve gates.
func (a Answerer) Operator() bool {
	switch a.Kind {
	case AnswererPerson, AnswererScript, AnswererAnswers, AnswererPolicy:
		return a.ID != ""
	}
	return false
}

// Cover is what a grant is for, beyond the tool that was asked about.
type Cover string

// CoverReadOnly grants the tools that the prompt lists as the read-only ones of
// the call's server.
const CoverReadOnly Cover = "read_only"

// Terms are what goes with the choice for one call of a permission gate.
type Terms struct {
	Reason string `json:"reason,omitempty"`
	When   string `json:"when,omitempty"`
	Cover  Cover  `json:"cover,omitempty"`
}

// Response answers a gate.
type Response struct {
	Action   Action   `json:"action"`
	Answerer Answerer `json:"answerer,omitzero"`
	// Values is the object of a submitted form, encoded by form.Schema.Encode.
	Values json.RawMessage `json:"values,omitempty"`
	// Reason is an operator's sentence for the model on deny.
	Reason string `json:"reason,omitempty"`
	// Calls, for a permission gate over several calls, gives a choice to each
	// call id; a call that is missing takes Action.
	Calls map[string]Action `json:"calls,omitempty"`
	// When, with session or always, narrows what is granted to calls whose
	// arguments make this jq expression true.
	When string `json:"when,omitempty"`
	// Cover, with session, widens what is granted.
	Cover Cover `json:"cover,omitempty"`
	// Terms gives call ids a reason, a predicate and a cover of their own, as Calls
	// gives them a choice; a call that is missing takes Reason, When and Cover.
	Terms map[string]Terms `json:"terms,omitempty"`
	// Fingerprint must repeat the prompt's for an acceptance of a server.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Text of a sampling gate, at most MaxTextBytes of UTF-8: what an edit puts
	// in place of the text that was shown, and in a Written reply, with run or
	// edit, the reply itself. Of an ask-user gate without choices it is the answer.
	// No other answer has one.
	Text string `json:"text,omitempty"`
	// Chosen are the indexes of an ask-user gate's choices, in rising order.
	Chosen []int `json:"chosen,omitempty"`
	// Close is set by the host when nobody answered: why the gate closed.
	// Action is then decline or cancel (deny, refuse or dismiss where the kind has
	// it).
	Close CloseReason `json:"close,omitempty"`
	// Detail refines Close: "no_interactive_gate" or a host-written sentence.
	Detail string `json:"detail,omitempty"`
}

// Errors of gates.
var (
	// ErrGateClosed: the gate was answered, withdrawn or never existed.
	ErrGateClosed = errors.New("gate is closed")
	// ErrExpired: the gate's deadline passed before the answer. It is an
	// ErrGateClosed as well.
	ErrExpired = errors.Join(errors.New("gate has expired"), ErrGateClosed)
	// ErrNotOperator: the answerer may not resolve gates.
	ErrNotOperator = errors.New("only an operator may answer a gate")
)

// InvalidAnswerError says why an answer does not fit its gate. The gate stays
// open.
type InvalidAnswerError struct {
	Gate   string
	Field  string
	Reason string
}

func (e *InvalidAnswerError) Error() string {
	if e.Field != "" {
		return "answer to gate " + e.Gate + ": field " + safetext.Ident(e.Field).String() + ": " + e.Reason
	}
	return "answer to gate " + e.Gate + ": " + e.Reason
}

// Opener raises a gate and waits for its answer. When ctx ends first the gate
// is withdrawn and the response's Close says so; an error is returned only
// when the gate could not be opened at all.
type Opener interface {
	OpenGate(ctx context.Context, req Request) (Response, error)
}
