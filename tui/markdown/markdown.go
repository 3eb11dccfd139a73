// Package markdown renders a model's Markdown for a terminal. Text is cleaned
// before it is parsed; links show their real target and are never live; raw
// HTML is shown as the text that it is. Size and nesting are bounded: what
// exceeds them is shown as plain text, nothing is left out.
//
// Parse may take milliseconds and is meant for a command; Doc.Lines is cheap.
// The package must not be used for a server's text, which is always plain.
package markdown

import (
	"strings"

	"github.com/looprig/looprig/internal/safetext"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// The bounds.
const (
	// MaxBytes is the largest text that is parsed.
	MaxBytes = 32 << 10
	// MaxDepth is how deep lists and quotes nest on the screen.
	MaxDepth = 8
	// maxMarkers bounds the quote marks or list marks that open one line, and
	// maxBrackets the open brackets of the text, either of which costs a parser
	// more than it is worth.
	maxMarkers  = 24
	maxBrackets = 2000
)

// Doc is parsed text, independent of width and theme. It is immutable.
type Doc struct {
	rows []row
	// Plain says that the text was not parsed as Markdown, and why.
	Plain string
}

type rowKind uint8

const (
	rowText rowKind = iota
	rowHeading
	rowCode
	rowRule
	rowBlank
)

// row is one paragraph, heading or line of code. first stands before its first
// line and rest before the others.
type row struct {
	kind        rowKind
	first, rest string
	spans       []span
}

type style uint8

const (
	styleStrong style = 1 << iota
	styleEmphasis
	styleCode
	styleLink
	styleQuote
)

type span struct {
	text  string
	style style
}

// Parse reads Markdown. It never fails.
func Parse(raw string) Doc {
	clean := string(safetext.ToBlock(raw))
	if why := unfit(clean); why != "" {
		return plainDoc(clean, why)
	}
	src := []byte(clean)
	root := goldmark.New().Parser().Parse(text.NewReader(src))
	b := &builder{src: src}
	b.children(root, frame{})
	for len(b.rows) > 0 && b.rows[len(b.rows)-1].kind == rowBlank {
		b.rows = b.rows[:len(b.rows)-1]
	}
	return Doc{rows: b.rows}
}

// unfit says why a text is not parsed.
func unfit(s string) string {
	if len(s) > MaxBytes {
		return "too long to format"
	}
	if strings.Count(s, "[") > maxBrackets || strings.Count(s, "*")+strings.Count(s, "_") > 2*maxBrackets {
		return "too many marks to format"
	}
	for line := range strings.SplitSeq(s, "\n") {
		marks := 0
		for _, r := range line {
			if r == '>' || r == '-' || r == '+' || r == '*' {
				marks++
			} else if r != ' ' {
				break
			}
		}
		if marks > maxMarkers && strings.Trim(line, " -*") != "" {
			return "nested too deep to format"
		}
	}
	return ""
}

func plainDoc(s, why string) Doc {
	d := Doc{Plain: why}
	for line := range strings.SplitSeq(s, "\n") {
		d.rows = append(d.rows, row{kind: rowText, spans: []span{{text: line}}})
	}
	return d
}

// frame is what surrounds a block.
type frame struct {
	first, rest string
	depth       int
	tight       bool
	quote       bool
}

type builder struct {
	src  []byte
	rows []row
}

func (b *builder) children(n ast.Node, f frame) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		b.block(c, f)
		f.first = f.rest
	}
}

func (b *builder) block(n ast.Node, f frame) {
	if f.depth > MaxDepth {
		b.add(row{first: f.first, rest: f.rest, spans: []span{{text: b.raw(n)}}})
		return
	}
	switch n := n.(type) {
	case *ast.Heading:
		b.add(row{kind: rowHeading, first: f.first, rest: f.rest, spans: b.inlines(n, 0)})
		b.blank(f)
	case *ast.ThematicBreak:
		b.add(row{kind: rowRule, first: f.first, rest: f.rest})
		b.blank(f)
	case *ast.FencedCodeBlock, *ast.CodeBlock, *ast.HTMLBlock:
		b.code(n, f)
	case *ast.Blockquote:
		b.children(n, frame{first: f.first + "│ ", rest: f.rest + "│ ", depth: f.depth + 1, quote: true})
		if n := len(b.rows); n > 0 && b.rows[n-1].kind == rowBlank {
			b.rows = b.rows[:n-1]
		}
		b.blank(f)
	case *ast.List:
		b.list(n, f)
	default:
		st := style(0)
		if f.quote {
			st = styleQuote
		}
		b.add(row{first: f.first, rest: f.rest, spans: b.inlines(n, st)})
		if _, tight := n.(*ast.TextBlock); !tight {
			b.blank(f)
		}
	}
}

func (b *builder) list(l *ast.List, f frame) {
	n := l.Start
	for item := l.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if l.IsOrdered() {
			mark = itoa(n) + ". "
			n++
		}
		pad := strings.Repeat(" ", len([]rune(mark)))
		b.children(item, frame{first: f.first + mark, rest: f.rest + pad, depth: f.depth + 1, tight: l.IsTight, quote: f.quote})
		f.first = f.rest
	}
	b.blank(f)
}

func (b *builder) code(n ast.Node, f frame) {
	lines := n.Lines()
	for i := range lines.Len() {
		seg := lines.At(i)
		line := strings.TrimRight(string(seg.Value(b.src)), "\n")
		b.add(row{kind: rowCode, first: f.first + "  ", rest: f.rest + "  ", spans: []span{{text: clean(line), style: styleCode}}})
		f.first = f.rest
	}
	if h, ok := n.(*ast.HTMLBlock); ok && h.HasClosure() {
		b.add(row{kind: rowCode, first: f.first + "  ", rest: f.rest + "  ", spans: []span{{text: clean(strings.TrimRight(string(h.ClosureLine.Value(b.src)), "\n")), style: styleCode}}})
	}
	b.blank(f)
}

func (b *builder) add(r row) { b.rows = append(b.rows, r) }

func (b *builder) blank(f frame) {
	if f.tight || len(b.rows) == 0 || b.rows[len(b.rows)-1].kind == rowBlank {
		return
	}
	b.rows = append(b.rows, row{kind: rowBlank, first: strings.TrimRight(f.rest, " ")})
}

func (b *builder) inlines(n ast.Node, st style) []span {
	var out []span
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		out = append(out, b.inline(c, st, 0)...)
	}
	return out
}

func (b *builder) inline(n ast.Node, st style, depth int) []span {
	if depth > MaxDepth {
		return []span{{text: b.raw(n), style: st}}
	}
	switch n := n.(type) {
	case *ast.Text:
		s := clean(string(util.UnescapePunctuations(n.Value(b.src))))
		if n.HardLineBreak() || n.SoftLineBreak() {
			s += "\n"
		}
		return []span{{text: s, style: st}}
	case *ast.String:
		return []span{{text: clean(string(n.Value)), style: st}}
	case *ast.CodeSpan:
		return b.nested(n, st|styleCode, depth)
	case *ast.Emphasis:
		if n.Level >= 2 {
			return b.nested(n, st|styleStrong, depth)
		}
		return b.nested(n, st|styleEmphasis, depth)
	case *ast.Link:
		return b.target(b.nested(n, st|styleLink, depth), n.Destination, st)
	case *ast.Image:
		out := append([]span{{text: "image ", style: st}}, b.nested(n, st, depth)...)
		return b.target(out, n.Destination, st)
	case *ast.AutoLink:
		return []span{{text: clean(string(n.Label(b.src))), style: st | styleLink}}
	case *ast.RawHTML:
		var s strings.Builder
		for i := range n.Segments.Len() {
			seg := n.Segments.At(i)
			s.Write(seg.Value(b.src))
		}
		return []span{{text: clean(s.String()), style: st}}
	}
	return b.nested(n, st, depth)
}

func (b *builder) nested(n ast.Node, st style, depth int) []span {
	var out []span
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		out = append(out, b.inline(c, st, depth+1)...)
	}
	return out
}

// target shows where a link goes, unless its text says so already.
func (b *builder) target(label []span, dest []byte, st style) []span {
	to := clean(string(dest))
	var shown strings.Builder
	for _, s := range label {
		shown.WriteString(s.text)
	}
	if to == "" || shown.String() == to {
		return label
	}
	return append(label, span{text: " (" + to + ")", style: st})
}

// raw is the source below a node, for what is nested too deep.
func (b *builder) raw(n ast.Node) string {
	var out strings.Builder
	var walk func(ast.Node, int)
	walk = func(n ast.Node, depth int) {
		if t, ok := n.(*ast.Text); ok {
			out.Write(t.Value(b.src))
			if t.SoftLineBreak() {
				out.WriteByte(' ')
			}
		}
		for c := n.FirstChild(); c != nil && depth < 2*maxBrackets; c = c.NextSibling() {
			walk(c, depth+1)
		}
	}
	walk(n, 0)
	return clean(out.String())
}

func clean(s string) string { return string(safetext.ToLineN(s, MaxBytes)) }

func itoa(n int) string {
	if n < 0 || n > 999999999 {
		n = 0
	}
	var buf [12]byte
	i := len(buf)
	for {
		i--
		buf[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(buf[i:])
		}
	}
}
