package doc

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// ParseYAML reads one YAML document of plain data: mappings with string keys,
// sequences and scalars. Aliases, anchors, merges, tags, duplicate keys and
// further documents are faults.
func ParseYAML(file string, src []byte) (n *Node, err error) {
	if len(src) > MaxBytes {
		return nil, Faults{{File: file, Message: fmt.Sprintf("%d bytes are over the limit of %d", len(src), MaxBytes)}}
	}
	// The parser is a library under input from outside: a panic in it is a
	// fault of the document, not of the program.
	defer func() {
		if r := recover(); r != nil {
			n, err = nil, Faults{{File: file, Message: "this cannot be read as YAML"}}
		}
	}()
	// The parser's time grows with the square of the nesting, so that is bounded
	// before it begins.
	tokens := lexer.Tokenize(string(src))
	if pos, deep := tooDeep(tokens); deep {
		return nil, Faults{{File: file, Pos: pos, Message: errDepth.Error()}}
	}
	parsed, perr := parser.Parse(tokens, 0)
	if perr != nil {
		return nil, Faults{yamlFault(file, perr)}
	}
	var docs []*ast.DocumentNode
	for _, d := range parsed.Docs {
		if d.Body != nil {
			docs = append(docs, d)
		}
	}
	switch len(docs) {
	case 0:
		return &Node{Kind: Null, Pos: Pos{1, 1}}, nil
	case 1:
	default:
		return nil, Faults{{File: file, Pos: posOf(docs[1].Body), Message: "a second document; one file holds one"}}
	}
	p := yamlParser{file: file}
	n = p.node(docs[0].Body, 0)
	if len(p.faults) > 0 {
		return nil, p.faults
	}
	return n, nil
}

// maxColumn bounds nesting by indentation: each level takes at least one column.
const maxColumn = 4 * MaxDepth

// tooDeep finds the first token that is nested deeper than any document of ours
// in brackets, or that opens a block further to the right than such a document
// needs.
func tooDeep(tokens token.Tokens) (Pos, bool) {
	depth, line, opened := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, opened = t.Position.Line, 0
		}
		switch t.Type { //nolint:exhaustive // only what nests matters
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		case token.SequenceEntryType, token.MappingKeyType:
			opened++
		}
		if depth > MaxDepth || opened > MaxDepth || (t.Type == token.SequenceEntryType && t.Position.Column > maxColumn) {
			return Pos{t.Position.Line, t.Position.Column}, true
		}
	}
	return Pos{}, false
}

func yamlFault(file string, err error) Fault {
	f := Fault{File: file, Message: strings.SplitN(err.Error(), "\n", 2)[0]}
	var ye yaml.Error
	if errors.As(err, &ye) {
		f.Message = ye.GetMessage()
		if t := ye.GetToken(); t != nil && t.Position != nil {
			f.Pos = Pos{t.Position.Line, t.Position.Column}
		}
	}
	return f
}

type yamlParser struct {
	file   string
	faults Faults
}

func posOf(n ast.Node) Pos {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0].Key
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return Pos{t.Position.Line, t.Position.Column}
	}
	return Pos{1, 1}
}

func (p *yamlParser) refuse(n ast.Node, format string, args ...any) *Node {
	p.faults = append(p.faults, Fault{File: p.file, Pos: posOf(n), Message: fmt.Sprintf(format, args...)})
	return &Node{Kind: Null, Pos: posOf(n)}
}

func (p *yamlParser) node(n ast.Node, depth int) *Node {
	if depth > MaxDepth {
		return p.refuse(n, "nesting is deeper than %d", MaxDepth)
	}
	out := &Node{Pos: posOf(n)}
	switch v := n.(type) {
	case *ast.NullNode:
	case *ast.BoolNode:
		out.Kind, out.Text = Bool, strconv.FormatBool(v.Value)
	case *ast.StringNode:
		out.Kind, out.Text = String, v.Value
	case *ast.LiteralNode:
		out.Kind, out.Text = String, v.Value.Value
	case *ast.IntegerNode:
		return p.number(n, v.Value)
	case *ast.FloatNode:
		return p.number(n, v.Value)
	case *ast.SequenceNode:
		out.Kind = Array
		for _, item := range v.Values {
			out.Items = append(out.Items, p.node(item, depth+1))
		}
	case *ast.MappingNode:
		p.mapping(out, v.Values, depth)
	case *ast.MappingValueNode:
		p.mapping(out, []*ast.MappingValueNode{v}, depth)
	case *ast.AliasNode, *ast.AnchorNode, *ast.MergeKeyNode:
		return p.refuse(n, "anchors, aliases and merges are not allowed: write the value out")
	case *ast.TagNode:
		return p.refuse(n, "tags are not allowed")
	case *ast.InfinityNode, *ast.NanNode:
		return p.refuse(n, "%s is not a number that JSON has", n.String())
	default:
		return p.refuse(n, "this kind of value is not allowed here")
	}
	return out
}

func (p *yamlParser) mapping(out *Node, values []*ast.MappingValueNode, depth int) {
	out.Kind = Object
	seen := map[string]bool{}
	for _, v := range values {
		var key string
		switch k := v.Key.(type) {
		case *ast.StringNode:
			key = k.Value
		case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
			key = k.GetToken().Value
		default:
			p.refuse(v.Key, "anchors, aliases, merges and composite keys are not allowed")
			continue
		}
		if seen[key] {
			p.refuse(v.Key, "duplicate key %q", key)
			continue
		}
		seen[key] = true
		out.Members = append(out.Members, Member{Key: key, Pos: posOf(v.Key), Value: p.node(v.Value, depth+1)})
	}
}

var jsonNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`) })

// number keeps the digits as written where JSON has the same form, and converts
// YAML's other forms (hexadecimal, underscores, a leading plus).
func (p *yamlParser) number(n ast.Node, value any) *Node {
	text := n.GetToken().Value
	if !jsonNumber().MatchString(text) {
		if f, ok := value.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
			return p.refuse(n, "%s is out of range", text)
		}
		b, err := json.Marshal(value)
		if err != nil {
			return p.refuse(n, "%s is not a number that JSON has", text)
		}
		text = string(b)
	}
	return &Node{Kind: Number, Pos: posOf(n), Text: text}
}
