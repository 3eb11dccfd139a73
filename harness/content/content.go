// Package content holds the blocks that messages and results are made of. It
// is pure data: no IO, no rendering, no knowledge of MCP or of any model
// provider. Text in a block is raw (it came from a person, a model or a
// server); whoever shows it passes it through internal/safetext.
package content

import (
	"encoding/json"
	"unicode/utf8"
)

// Kind names what a block holds.
type Kind string

// The kinds of block. KindUnknown keeps a block that no kind fits, whole, in
// Block.JSON, so that nothing a server sent is lost.
const (
	KindText         Kind = "text"
	KindReasoning    Kind = "reasoning"
	KindImage        Kind = "image"
	KindAudio        Kind = "audio"
	KindResource     Kind = "resource"
	KindResourceLink Kind = "resource_link"
	KindToolUse      Kind = "tool_use"
	KindToolResult   Kind = "tool_result"
	KindStructured   Kind = "structured"
	KindUnknown      Kind = "unknown"
)

// Block is one piece of content. Which fields are set depends on Kind. A block
// is immutable once it is part of a message or an event.
type Block struct {
	Kind Kind `json:"kind"`
	// Text of text, reasoning and textual resource blocks.
	Text string `json:"text,omitempty"`
	// Data of image, audio and binary resource blocks.
	Data []byte `json:"data,omitempty"`
	// Blob refers to a body that is stored apart ("sha256:<hex>"); Bytes is
	// then its length and Text or Data is empty.
	Blob  string `json:"blob,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
	// BlobOf says what the body is: "text", "data" or "json".
	BlobOf string `json:"blob_of,omitempty"`
	MIME   string `json:"mime,omitempty"`
	// URI, Name, Title and Description of resources and resource links.
	URI         string `json:"uri,omitempty"`
	Name        string `json:"name,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// JSON is the value of a structured block, the arguments of a tool use, or
	// the whole of an unknown block.
	JSON json.RawMessage `json:"json,omitempty"`
	// CallID joins a tool use and its result.
	CallID string `json:"call_id,omitempty"`
	// IsError marks a tool result that is an error.
	IsError bool `json:"is_error,omitempty"`
	// Blocks are the parts of a tool result.
	Blocks []Block `json:"blocks,omitempty"`
	// State is what a model's provider wants back, unchanged, with this block.
	State *State `json:"state,omitempty"`
	// Audience, Priority and LastModified are a server's annotations, raw.
	Audience     []string `json:"audience,omitempty"`
	Priority     *float64 `json:"priority,omitempty"`
	LastModified string   `json:"last_modified,omitempty"`
	// Size is what a server says that the resource of a link holds, in bytes; 0
	// where it does not say.
	Size int64 `json:"size,omitempty"`
	// Meta is what a server attached to the block, ResourceMeta to the resource
	// in it: raw JSON that is for programs and is never shown to a model.
	Meta         json.RawMessage `json:"meta,omitempty"`
	ResourceMeta json.RawMessage `json:"resource_meta,omitempty"`
}

// State is what a provider attached to a block of its own message: a signature
// of reasoning, an encrypted reasoning item, its own id of a call. Whoever holds
// a history keeps it and nobody but that provider reads it.
type State struct {
	// Origin names who can read it: a kind of provider and a model
	// ("gemini/gemini-3-pro"). Another model is not given it.
	Origin string `json:"origin"`
	// Data is the provider's own.
	Data json.RawMessage `json:"data"`
}

// Text makes a text block.
func Text(s string) Block { return Block{Kind: KindText, Text: s} }

// Role says who speaks in a message.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of a loop's history.
type Message struct {
	Role   Role    `json:"role"`
	Blocks []Block `json:"blocks"`
}

// PlainText joins the text blocks, a newline between two.
func PlainText(blocks []Block) string {
	var out []byte
	for _, b := range blocks {
		if b.Kind != KindText {
			continue
		}
		if len(out) > 0 {
			out = append(out, '\n')
		}
		out = append(out, b.Text...)
	}
	return string(out)
}

// The values of Block.BlobOf.
const (
	BlobText = "text"
	BlobData = "data"
	BlobJSON = "json"
)

// Filled is the block with the body that it refers to in its place. A block that
// refers to none is returned as it is.
func (b Block) Filled(body []byte) Block {
	if b.Blob == "" {
		return b
	}
	switch b.blobOf(body) {
	case BlobText:
		b.Text = string(body)
	case BlobJSON:
		b.JSON = body
	default:
		b.Data = body
	}
	b.Blob, b.BlobOf, b.Bytes = "", "", 0
	return b
}

// blobOf is BlobOf, or what the kind suggests where a record says nothing.
func (b Block) blobOf(body []byte) string {
	switch {
	case b.BlobOf != "":
		return b.BlobOf
	case b.Kind == KindText || b.Kind == KindReasoning:
		return BlobText
	case b.Kind == KindStructured || b.Kind == KindUnknown || b.Kind == KindToolUse:
		return BlobJSON
	case b.Kind == KindResource && utf8.Valid(body):
		return BlobText
	}
	return BlobData
}
