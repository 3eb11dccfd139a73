// Package model is the contract between a loop and whatever decides what it
// does next: a hosted model, a scripted one, or the operator. Implementations
// live in packages below it (operator, scripted) and in compose/provider. It
// must not import a provider's SDK, the session or an interface.
package model

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/internal/safetext"
)

// Client is one model. It is safe for concurrent use.
type Client interface {
	// Info describes the model for people.
	Info() Info
	// Stream asks for the next message and yields chunks until the message is
	// complete, or one error, after which it ends. A stream that breaks in the
	// middle yields an error, never a silent half answer. It ends soon after
	// ctx ends, and when the consumer stops the iteration.
	Stream(ctx context.Context, req Request) iter.Seq2[Chunk, error]
}

// Info describes a model.
type Info struct {
	// Name is what configuration calls it: "operator", "scripted", …
	Name string
	// Display is what the interface shows: "you (no key)".
	Display string
	// ContextTokens is the size of the context, 0 when unknown.
	ContextTokens int
	// Price is what the model costs, nil where nobody gave one.
	Price *Price
	// Person says that nobody infers: whoever is there chooses what is called.
	Person bool
}

// Request is one step's question.
type Request struct {
	Loop     string
	System   string
	Messages []content.Message
	Tools    []Tool
	// Sampling says that a server asks, through Once, and no loop.
	Sampling bool
	// MaxTokens bounds the message; 0 leaves it to the client, as do a nil
	// Temperature and no StopSequences.
	MaxTokens     int
	Temperature   *float64
	StopSequences []string
}

// Tool is a tool as the model sees it.
type Tool struct {
	Name        string
	Description string
	InputSchema json.RawMessage
}

// ChunkKind names what a chunk carries.
type ChunkKind uint8

// The kinds of chunk.
const (
	ChunkText ChunkKind = iota + 1
	ChunkReasoning
	ChunkToolUse
	ChunkUsage
	ChunkStop
)

// Chunk is one piece of a streamed message.
type Chunk struct {
	Kind ChunkKind
	// Text of text and reasoning chunks, in order.
	Text string
	// State of a text or reasoning chunk ends the block that the chunk belongs
	// to and is kept in it (content.Block.State). Such a block may have no text
	// at all: it is kept for the provider's sake.
	State *content.State
	// ToolUse is one whole tool use.
	ToolUse *ToolUse
	// InputTokens and OutputTokens of a usage chunk.
	InputTokens, OutputTokens int
	// Of the input, tokens that a cache served and that were written to one; of
	// the output, those of reasoning. 0 where the model does not say.
	CacheReadTokens, CacheWriteTokens, ReasoningTokens int
	// Stop is why the message ended: "end", "tool_use", "max_tokens", "refusal".
	Stop string
}

// ToolUse is a call that the model asks for. Args is a JSON object as the
// model wrote it.
type ToolUse struct {
	ID   string
	Name string
	Args json.RawMessage
	// State goes into the block of the tool use (content.Block.State).
	State *content.State
}

// ToolChecker is a Client that knows which tools its model cannot be given. A
// tool that it refuses is withheld before the request: a provider would refuse
// the whole request for it.
type ToolChecker interface {
	// CheckTool fails with a *ToolError.
	CheckTool(Tool) error
}

// ToolLimiter is a Client whose model takes no more than so many tools in one
// request.
type ToolLimiter interface {
	// MaxTools is how many, 0 for no limit.
	MaxTools() int
}

// ToolError says why a model cannot be given a tool.
type ToolError struct {
	// Tool is the name as the model would see it, raw.
	Tool string
	// Code is closed: "name", "duplicate", "schema", "size".
	Code string
	// Reason is host-written; what it quotes of the tool is cleaned.
	Reason string
}

func (e *ToolError) Error() string {
	return fmt.Sprintf("tool %s: %s", safetext.Ident(e.Tool), e.Reason)
}

// Error is a model's failure.
type Error struct {
	// Code is closed: "auth", "rate_limit", "overloaded", "network",
	// "invalid_request", "context_overflow", "stream_broken", "no_reply".
	Code string
	// Message is host-written.
	Message string
	// Retryable says that the same request may succeed later, after
	// RetryAfter when that is known.
	Retryable  bool
	RetryAfter time.Duration
	Err        error
}

func (e *Error) Error() string { return fmt.Sprintf("model: %s: %s", e.Code, e.Message) }

func (e *Error) Unwrap() error { return e.Err }
