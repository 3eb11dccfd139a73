// Package catalog holds what one MCP server offers as an immutable, numbered
// and digested generation: fetching it page by page under limits, naming its
// tools for models, and telling two generations apart.
//
// Invariants: a Generation does not change; what is over a limit is refused by
// name and never cut; the digest covers everything that could steer a model or
// a person, and nothing else (neither key order nor white space). The package
// must not import loops, sessions, gates or interfaces.
package catalog

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/looprig/looprig/harness/schema"
	"github.com/looprig/looprig/harness/tool"
)

// Generation is one snapshot. Strings that a server wrote are raw.
type Generation struct {
	// Number counts the different generations of one client from 1.
	Number uint64
	// Digest ("sha256:<hex>") covers the canonical contents, RawDigest the
	// pages as received.
	Digest    string
	RawDigest string

	Revision     string
	Capabilities json.RawMessage
	Server       Server
	Instructions string

	Tools     []Tool
	Prompts   []Prompt
	Resources []Resource
	Templates []Resource

	// Warnings and Tolerances are host-written; names in them are cleaned.
	Warnings   []string
	Tolerances []string
	FetchedAt  time.Time
	// Bytes is about what the items take up in memory.
	Bytes int

	families map[Family]familyPages
}

// Server is what a server calls itself.
type Server struct{ Name, Version string }

// Tool is one tool as listed.
type Tool struct {
	Name string
	// ModelName is what models call it; "" when it could not get a name.
	ModelName   string
	Title       string
	Description string
	// InputSchema and OutputSchema are kept as received.
	InputSchema  json.RawMessage
	OutputSchema json.RawMessage
	Hints        tool.Hints
	// Digest covers the whole item in canonical form.
	Digest string
	// Tokens estimates the cost in a model's context.
	Tokens int
	// Withheld says, host-written, why the tool is not offered; "" if it is.
	Withheld string

	// Input is the compiled input schema of a tool that is not withheld; Output
	// is nil when there is no usable output schema.
	Input  *schema.Schema
	Output *schema.Schema

	item item
}

// Prompt is one prompt as listed.
type Prompt struct {
	Name, Title, Description string
	Arguments                []Argument
	Digest                   string

	item item
}

// Argument is one argument of a prompt.
type Argument struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}

// Resource is one resource, or one template with URI its RFC 6570 template.
type Resource struct {
	URI, Name, Title, Description, MIME string
	// Size is what the server says that it holds, in bytes; 0 where it does not.
	Size   int64
	Notes  Annotations
	Digest string

	item item
}

// Annotations are a server's hints on a resource, raw.
type Annotations struct {
	Audience     []string `json:"audience"`
	Priority     *float64 `json:"priority"`
	LastModified string   `json:"lastModified"`
}

// ByteSize reads a size in bytes as a server writes it, 0 for what is none.
func ByteSize(raw []byte) int64 {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		f, err := strconv.ParseFloat(string(raw), 64)
		if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
			return 0
		}
		n = int64(f)
	}
	return max(n, 0)
}

// Tool finds a tool by its raw name.
func (g *Generation) Tool(name string) (Tool, bool) {
	if g == nil {
		return Tool{}, false
	}
	for i := range g.Tools {
		if g.Tools[i].Name == name {
			return g.Tools[i], true
		}
	}
	return Tool{}, false
}

// Tokens estimates what all offered tools cost in a model's context, with the
// instructions that come with them.
func (g *Generation) Tokens() int {
	n := 0
	if slices.ContainsFunc(g.Tools, func(t Tool) bool { return t.Withheld == "" }) {
		n = (min(len(g.Instructions), tool.MaxInstructions) + bytesPerToken - 1) / bytesPerToken
	}
	for i := range g.Tools {
		if g.Tools[i].Withheld == "" {
			n += g.Tools[i].Tokens
		}
	}
	return n
}
