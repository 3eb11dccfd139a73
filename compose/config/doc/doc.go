// Package doc is the one strict reader of what people write by hand: mcp.json,
// config.yaml, scripts and answers files. JSON and YAML become one tree whose
// nodes know their line and column; a Reader takes typed values out of it and
// collects every fault, unknown keys included. It must not know what any key
// means.
package doc

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Bounds of a document.
const (
	// MaxBytes is the largest file that is read.
	MaxBytes = 4 << 20
	// MaxDepth is the deepest nesting.
	MaxDepth = 64
	// MaxFaults is the most faults that are listed; further ones are counted.
	MaxFaults = 20
)

// Kind is the kind of a node.
type Kind uint8

// The kinds.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[k]
}

// Pos is a place in a file; lines and columns begin with 1.
type Pos struct{ Line, Col int }

// Node is one value.
type Node struct {
	Kind Kind
	Pos  Pos
	// Text of a string, the digits of a number, "true" or "false".
	Text    string
	Members []Member
	Items   []*Node
	// Raw is the value's own text for documents that were JSON.
	Raw []byte
}

// Member is one entry of an object.
type Member struct {
	Key   string
	Pos   Pos
	Value *Node
}

// Get returns the member's value, or nil.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for _, m := range n.Members {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// JSON gives the value as compact JSON, keys in the document's order.
func (n *Node) JSON() json.RawMessage {
	var b bytes.Buffer
	n.write(&b)
	return b.Bytes()
}

func (n *Node) write(b *bytes.Buffer) {
	switch n.Kind {
	case Null:
		b.WriteString("null")
	case Bool, Number:
		b.WriteString(n.Text)
	case String:
		writeString(b, n.Text)
	case Array:
		b.WriteByte('[')
		for i, item := range n.Items {
			if i > 0 {
				b.WriteByte(',')
			}
			item.write(b)
		}
		b.WriteByte(']')
	case Object:
		b.WriteByte('{')
		for i, m := range n.Members {
			if i > 0 {
				b.WriteByte(',')
			}
			writeString(b, m.Key)
			b.WriteByte(':')
			m.Value.write(b)
		}
		b.WriteByte('}')
	}
}

func writeString(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)       // a string always encodes
	b.Truncate(b.Len() - 1) // the encoder's newline
}

// Fault is one thing wrong with a document, with its place.
type Fault struct {
	File    string
	Pos     Pos
	Path    string // "mcpServers.docs.env.K"
	Message string
}

func (f Fault) Error() string {
	s := f.File
	if f.Pos.Line > 0 {
		s += fmt.Sprintf(":%d:%d", f.Pos.Line, f.Pos.Col)
	}
	if f.Path != "" {
		s += ": " + f.Path
	}
	return s + ": " + f.Message
}

// Position is "file:line:column".
func (f Fault) Position() string { return fmt.Sprintf("%s:%d:%d", f.File, f.Pos.Line, f.Pos.Col) }

// Faults is every fault that was found, in order.
type Faults []Fault

func (f Faults) Error() string {
	var b bytes.Buffer
	for i, one := range f {
		if i == MaxFaults {
			fmt.Fprintf(&b, "\nand %d more", len(f)-MaxFaults)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(one.Error())
	}
	return b.String()
}

// Unwrap gives the faults to errors.As.
func (f Faults) Unwrap() []error {
	out := make([]error, len(f))
	for i, one := range f {
		out[i] = one
	}
	return out
}
