package mcpadapter

import (
	"fmt"

	"github.com/looprig/looprig/harness/tool"
)

// ToolSource names the slot of a loop's toolset that the adapter fills, and the
// source of its tools' identities.
const ToolSource = "mcp"

// ToolIdentity is the name by which permissions know a tool. It holds nothing
// of what a server says about itself.
type ToolIdentity struct {
	Binding string
	// Tool is the raw name.
	Tool string
}

// String is "mcp:<binding>:<raw tool>".
func (id ToolIdentity) String() string { return id.Neutral().String() }

// Neutral is the identity as the harness knows it.
func (id ToolIdentity) Neutral() tool.Identity {
	return tool.Identity{Source: ToolSource, Binding: id.Binding, Name: id.Tool}
}

// ToolInvokeIdentity is a tool as one call would meet it: what a grant or a
// record has to be bound to.
type ToolInvokeIdentity struct {
	ToolIdentity
	// Digest is the tool's, Pin the launch's or endpoint's fingerprint.
	Digest     string
	Pin        string
	Generation uint64
}

// String is the identity with its digest.
func (id ToolInvokeIdentity) String() string {
	return fmt.Sprintf("%s@%s", id.ToolIdentity, id.Digest)
}

// InvokeIdentity reads the identity of a definition that a Manager made; ok is
// false for definitions of other sources.
func InvokeIdentity(d tool.Definition) (id ToolInvokeIdentity, ok bool) {
	if d.Identity.Source != ToolSource {
		return ToolInvokeIdentity{}, false
	}
	return ToolInvokeIdentity{
		ToolIdentity: ToolIdentity{Binding: d.Identity.Binding, Tool: d.Identity.Name},
		Digest:       d.Digest, Pin: d.Pin, Generation: d.Generation,
	}, true
}
