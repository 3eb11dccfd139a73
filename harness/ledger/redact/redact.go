// Package redact works out what has to go for the texts of one call or one gate
// to be gone: the places that hold them, the copies of them in what was said
// elsewhere in the session, and the ledger's salts. The records themselves stay
// in place, so that the journal still tells what happened. It must not import a
// store.
package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
)

// Mark stands where a text was.
const Mark = "[redacted]"

// Copies of a text are looked for where it has at least so many bytes: shorter
// ones would be found in what has nothing to do with them.
const (
	minTyped = 2 // typed by a person, or an argument
	minGiven = 8 // out of a result
	// maxTexts bounds how many texts are looked for.
	maxTexts = 4096
)

// Plan is what a redaction removes. It is made of the records of a session, all
// of which it has to see (Learn) before it rewrites any.
type Plan struct {
	session string
	target  string // id of a call or gate
	found   bool
	// gates that concern the call, turns of an operator's call and their inputs,
	// and blobs.
	gates, turns, inputs, blobs map[string]bool
	// began has the input of each turn.
	began map[string]string
	texts []string
	seen  map[string]bool
}

// New plans the redaction of a call ("c7") or a gate ("g2") of a session.
func New(session, target string) *Plan {
	return &Plan{session: session, target: target, began: map[string]string{}, gates: map[string]bool{}, turns: map[string]bool{}, inputs: map[string]bool{}, blobs: map[string]bool{}, seen: map[string]bool{}}
}

// Found reports whether any record concerned the target.
func (p *Plan) Found() bool { return p.found }

// Learn takes in one record.
func (p *Plan) Learn(r journal.Record) error {
	e, err := event.Decode(r.Line)
	if err != nil {
		return fmt.Errorf("record %d: %w", r.Seq, err)
	}
	switch e := e.(type) {
	case *event.TurnStarted:
		p.began[e.Turn] = e.Input
	case *event.ToolRequested:
		if e.Call == p.target {
			p.found = true
			p.leaves(e.Args, minTyped)
			if e.By != "model" {
				p.turns[e.Turn] = true
			}
		}
	case *event.ToolStarted:
		if e.Call == p.target {
			p.leaves(e.Args, minTyped)
		}
	case *event.ToolCompleted:
		if e.Call == p.target {
			p.leaves(e.Args, minTyped)
			p.leaves(e.Structured, minGiven)
			p.text(e.Reason, minGiven)
			p.blocks(e.Content)
		}
	case *event.GateOpened:
		if p.gateConcerns(e.Envelope) {
			p.found = true
			p.gates[e.ID] = true
		}
	case *event.GateResolved:
		if p.gates[e.Gate] || e.Gate == p.target {
			p.found = true
			p.leaves(e.Response.Values, minTyped)
			p.text(e.Response.Text, minTyped)
			p.text(e.Response.Reason, minTyped)
			for _, id := range slices.Sorted(maps.Keys(e.Response.Terms)) {
				p.text(e.Response.Terms[id].Reason, minTyped)
			}
		}
	}
	return nil
}

func (p *Plan) gateConcerns(env gate.Envelope) bool {
	return env.ID == p.target || env.Subject.Call == p.target ||
		slices.ContainsFunc(env.Prompt.Calls, func(c gate.CallPrompt) bool { return c.Call == p.target })
}

// leaves takes the strings of a JSON value.
func (p *Plan) leaves(raw json.RawMessage, least int) {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			p.text(v, least)
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(v)
}

func (p *Plan) blocks(bs []content.Block) {
	for _, b := range bs {
		p.text(b.Text, minGiven)
		p.leaves(b.JSON, minGiven)
		if b.Blob != "" {
			p.blobs[b.Blob] = true
		}
		p.blocks(b.Blocks)
	}
}

// text has copies of a text looked for, also as it is spelled inside JSON.
func (p *Plan) text(s string, least int) {
	s = strings.TrimSpace(s)
	if len(s) < least || s == Mark || !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return
	}
	spelled, err := json.Marshal(s)
	for _, t := range []string{s, strings.Trim(string(spelled), `"`)} {
		if err == nil && !p.seen[t] && len(p.texts) < maxTexts {
			p.seen[t] = true
			p.texts = append(p.texts, t)
		}
	}
}

// Ready ends the learning: longer texts are replaced before what is part of them.
func (p *Plan) Ready() {
	for turn := range p.turns {
		p.inputs[p.began[turn]] = true
	}
	slices.SortFunc(p.texts, func(a, b string) int {
		if d := len(b) - len(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
}

// Fields names the values of an entry that go.
func (p *Plan) Fields(e ledger.Entry) []string {
	switch {
	case e.Session != p.session:
		return nil
	case e.Call == p.target && e.GateKind == "":
		return []string{ledger.FieldArgs, ledger.FieldResult, ledger.FieldPrompt, ledger.FieldAnswer}
	case e.GateKind != "" && (e.Gate == p.target || p.gates[e.Gate]):
		return []string{ledger.FieldPrompt, ledger.FieldAnswer}
	}
	return nil
}

// Clean is a text without copies of what goes.
func (p *Plan) Clean(s string) string {
	for _, t := range p.texts {
		s = replaceWords(s, t)
	}
	return s
}

// replaceWords replaces a text where it stands for itself, not inside of a word.
func replaceWords(s, text string) string {
	if !strings.Contains(s, text) {
		return s
	}
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(text)
	var out strings.Builder
	before := rune(' ')
	for s != "" {
		i := strings.Index(s, text)
		if i < 0 {
			break
		}
		if i > 0 {
			before, _ = utf8.DecodeLastRuneInString(s[:i])
		}
		after, _ := utf8.DecodeRuneInString(s[i+len(text):])
		if (inWord(before) && inWord(first)) || (inWord(last) && inWord(after)) {
			_, n := utf8.DecodeRuneInString(s[i:])
			out.WriteString(s[:i+n])
			before, s = first, s[i+n:]
			continue
		}
		out.WriteString(s[:i] + Mark)
		before, s = last, s[i+len(text):]
	}
	return out.String() + s
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// minLeft is the least length of a text of which remains are told: a shorter one is
// part of too many words.
const minLeft = 4

// Left reports whether a line still holds one of the texts, inside of a longer
// word or in a name.
func (p *Plan) Left(line []byte) bool {
	line = bytes.ReplaceAll(line, []byte(Mark), nil)
	return slices.ContainsFunc(p.texts, func(t string) bool { return len(t) >= minLeft && bytes.Contains(line, []byte(t)) })
}
