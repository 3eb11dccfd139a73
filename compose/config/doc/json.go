package doc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// ParseJSON reads one JSON value. Duplicate keys, invalid UTF-8, trailing data
// and too deep nesting are faults with their position.
func ParseJSON(file string, src []byte) (*Node, error) {
	if len(src) > MaxBytes {
		return nil, Faults{{File: file, Message: fmt.Sprintf("%d bytes are over the limit of %d", len(src), MaxBytes)}}
	}
	p := &jsonParser{file: file, src: src, dec: jsontext.NewDecoder(bytes.NewReader(src))}
	n, err := p.value(0)
	if err != nil {
		return nil, p.fault(err)
	}
	if _, err := p.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, Faults{{File: file, Pos: p.pos(skipSpace(src, p.dec.InputOffset())), Message: "unexpected data after the value"}}
	}
	return n, nil
}

type jsonParser struct {
	file string
	src  []byte
	dec  *jsontext.Decoder
}

var errDepth = fmt.Errorf("nesting is deeper than %d", MaxDepth)

func (p *jsonParser) value(depth int) (*Node, error) {
	if depth > MaxDepth {
		return nil, errDepth
	}
	start := skipSpace(p.src, p.dec.InputOffset())
	tok, err := p.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	n := &Node{Pos: p.pos(start)}
	switch tok.Kind() {
	case 'n':
		n.Kind = Null
	case 't', 'f':
		n.Kind, n.Text = Bool, tok.String()
	case '0':
		n.Kind, n.Text = Number, tok.String()
	case '"':
		n.Kind, n.Text = String, tok.String()
	case '[':
		n.Kind = Array
		err = p.items(n, depth)
	case '{':
		n.Kind = Object
		err = p.members(n, depth)
	}
	if err != nil {
		return nil, err
	}
	n.Raw = p.src[start:p.dec.InputOffset()]
	return n, nil
}

func (p *jsonParser) items(n *Node, depth int) error {
	for p.dec.PeekKind() != ']' {
		item, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, item)
	}
	_, err := p.dec.ReadToken()
	return err
}

func (p *jsonParser) members(n *Node, depth int) error {
	for p.dec.PeekKind() != '}' {
		at := skipSpace(p.src, p.dec.InputOffset())
		key, err := p.dec.ReadToken()
		if err != nil {
			return err
		}
		m := Member{Key: key.String(), Pos: p.pos(at)}
		if m.Value, err = p.value(depth + 1); err != nil {
			return err
		}
		n.Members = append(n.Members, m)
	}
	_, err := p.dec.ReadToken()
	return err
}

// skipSpace moves over white space and separators to the start of a value.
func skipSpace(src []byte, off int64) int64 {
	for off < int64(len(src)) && bytes.IndexByte([]byte(" \t\r\n,:"), src[off]) >= 0 {
		off++
	}
	return off
}

func (p *jsonParser) pos(off int64) Pos {
	before := p.src[:min(off, int64(len(p.src)))]
	line := bytes.Count(before, []byte("\n"))
	last := bytes.LastIndexByte(before, '\n') + 1
	return Pos{Line: line + 1, Col: utf8.RuneCount(before[last:]) + 1}
}

func (p *jsonParser) fault(err error) error {
	f := Fault{File: p.file, Pos: p.pos(skipSpace(p.src, p.dec.InputOffset())), Message: err.Error()}
	var syn *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		f.Message = "the file ends before the value does"
	case errors.As(err, &syn):
		f.Pos = p.pos(syn.ByteOffset)
		f.Message = syn.Err.Error()
		if errors.Is(err, jsontext.ErrDuplicateName) {
			f.Message = "duplicate key"
			if name := syn.JSONPointer.LastToken(); name != "" {
				f.Message = fmt.Sprintf("duplicate key %q", name)
			}
		}
	}
	return Faults{f}
}
