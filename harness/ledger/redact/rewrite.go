package redact

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/journal"
)

// nothing stands where arguments or values were.
var nothing = json.RawMessage("{}")

// Rewrite gives a record its line without what goes. nil keeps it.
func (p *Plan) Rewrite(r journal.Record) ([]byte, error) {
	e, err := event.Decode(r.Line)
	if err != nil {
		return nil, fmt.Errorf("record %d: %w", r.Seq, err)
	}
	line := r.Line
	// What the target's id names in a fork is another call or gate.
	if e.Head().Session == p.session && p.empty(e) {
		if line, err = event.Encode(e); err != nil {
			return nil, fmt.Errorf("record %d: %w", r.Seq, err)
		}
	}
	line, err = p.scrub(line)
	if err != nil {
		return nil, fmt.Errorf("record %d: %w", r.Seq, err)
	}
	if _, err := event.Decode(line); err != nil {
		return nil, fmt.Errorf("record %d cannot be redacted: %w", r.Seq, err)
	}
	return line, nil
}

// empty takes out of an event what the target is known to have there, and reports
// whether it changed anything.
func (p *Plan) empty(e event.Event) bool {
	switch e := e.(type) {
	case *event.ToolRequested:
		if e.Call != p.target {
			return false
		}
		e.Args = nothing
	case *event.ToolStarted:
		if e.Call != p.target {
			return false
		}
		e.Args, e.ArgsDigest = nothing, ""
	case *event.ToolCompleted:
		if e.Call != p.target {
			return p.emptyBlocks(e.Content)
		}
		if len(e.Args) > 0 {
			e.Args = nothing
		}
		if len(e.Structured) > 0 {
			e.Structured = nothing
		}
		if e.Reason != "" {
			e.Reason = Mark
		}
		e.StructuredInvalid = ""
		if len(e.Content) > 0 {
			e.Content = []content.Block{{Kind: content.KindText, Text: Mark}}
		}
	case *event.MessageCompleted:
		return p.emptyBlocks(e.Content)
	case *event.GateOpened:
		return p.emptyPrompt(e)
	case *event.GateResolved:
		if e.Gate != p.target && !p.gates[e.Gate] {
			return false
		}
		if len(e.Response.Values) > 0 {
			e.Response.Values = nothing
		}
		if e.Response.Text != "" {
			e.Response.Text = Mark
		}
		if e.Response.Reason != "" {
			e.Response.Reason = Mark
		}
		// A predicate may spell the arguments out.
		if e.Response.When != "" {
			e.Response.When = Mark
		}
		for id, t := range e.Response.Terms {
			if t.Reason != "" {
				t.Reason = Mark
			}
			if t.When != "" {
				t.When = Mark
			}
			e.Response.Terms[id] = t
		}
	case *event.TurnStarted:
		if e.Kind != "call" || !p.turns[e.Turn] {
			return false
		}
		e.Text = Mark
	case *event.InputQueued:
		if e.Kind != "call" || !p.inputs[e.Input] {
			return false
		}
		e.Text = Mark
	default:
		return false
	}
	return true
}

func (p *Plan) emptyPrompt(e *event.GateOpened) bool {
	changed := false
	for i := range e.Prompt.Calls {
		if c := &e.Prompt.Calls[i]; c.Call == p.target {
			c.Args, c.ArgsDigest, changed = nothing, "", true
		}
	}
	return changed
}

// emptyBlocks takes the target's use and result, and what refers to its bodies,
// out of a message.
func (p *Plan) emptyBlocks(bs []content.Block) bool {
	changed := false
	for i := range bs {
		b := &bs[i]
		switch {
		case b.CallID == p.target && b.Kind == content.KindToolUse:
			b.JSON, b.State, changed = nothing, nil, true
		case b.CallID == p.target:
			b.Text, b.JSON, b.Blob, b.Bytes, b.BlobOf = "", nil, "", 0, ""
			b.Blocks, changed = []content.Block{{Kind: content.KindText, Text: Mark}}, true
		case p.blobs[b.Blob] && b.Blob != "":
			*b, changed = content.Block{Kind: content.KindText, Text: Mark}, true
		default:
			changed = p.emptyBlocks(b.Blocks) || changed
		}
	}
	return changed
}

// texts are the members that hold what somebody said, values those below which
// every string may.
var (
	texts = map[string]bool{
		"text": true, "reason": true, "title": true, "body": true, "summary": true, "description": true, "system": true,
		"reply": true, "structured_invalid": true, "task": true,
	}
	values = map[string]bool{"args": true, "structured": true, "values": true, "json": true, "meta": true, "resource_meta": true, "schema": true}
)

// scrub replaces copies in the texts of a line. It returns the line itself where
// there are none.
func (p *Plan) scrub(line []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	w := &rewriter{p: p, dec: dec}
	if err := w.value(false, false); err != nil {
		return nil, err
	}
	if !w.changed {
		return line, nil
	}
	return event.Escape(w.out.Bytes()), nil
}

// rewriter copies a JSON text, token by token.
type rewriter struct {
	p       *Plan
	dec     *json.Decoder
	out     bytes.Buffer
	changed bool
}

// value copies one value: text says that a string is one that somebody said, all
// that every string below is.
func (w *rewriter) value(text, all bool) error {
	tok, err := w.dec.Token()
	if err != nil {
		return err
	}
	switch t := tok.(type) {
	case json.Delim:
		return w.compound(t, text, all)
	case string:
		if text || all {
			if clean := w.p.Clean(t); clean != t {
				w.changed, t = true, clean
			}
		}
		return w.encode(t)
	case json.Number:
		w.out.WriteString(t.String())
		return nil
	}
	return w.encode(tok)
}

func (w *rewriter) compound(open json.Delim, text, all bool) error {
	w.out.WriteByte(byte(open))
	for first := true; w.dec.More(); first = false {
		if !first {
			w.out.WriteByte(',')
		}
		if open == '[' {
			if err := w.value(text, all); err != nil {
				return err
			}
			continue
		}
		tok, err := w.dec.Token()
		if err != nil {
			return err
		}
		key, ok := tok.(string)
		if !ok {
			return fmt.Errorf("a member without a name")
		}
		if err := w.encode(key); err != nil {
			return err
		}
		w.out.WriteByte(':')
		if err := w.value(texts[key], all || values[key]); err != nil {
			return err
		}
	}
	end, err := w.dec.Token()
	if err != nil {
		return err
	}
	d, ok := end.(json.Delim)
	if !ok {
		return fmt.Errorf("a value without an end")
	}
	w.out.WriteByte(byte(d))
	return nil
}

func (w *rewriter) encode(v any) error {
	enc := json.NewEncoder(&w.out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	w.out.Truncate(w.out.Len() - 1) // the newline
	return nil
}
