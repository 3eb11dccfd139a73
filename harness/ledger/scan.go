package ledger

import (
	"bytes"
	"strconv"
	"time"
)

// scan reads canonical bytes in one pass. It knows only the plain form that
// nearly all entries have: members in order, strings of printable ASCII without
// escapes, no empty optional member. ok false says nothing of the bytes: the
// general decoder decides then. ok true means that they are canonical.
func scan(raw []byte, b *body) (ok bool) {
	s := scanner{rest: raw}
	if !s.take(`{"seq":`) {
		return false
	}
	b.Seq = s.number()
	if !s.take(`,"time":`) {
		return false
	}
	text := s.text()
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Location() != time.UTC || t.Format(time.RFC3339Nano) != text || !s.take(`,"prev":`) {
		return false
	}
	b.Time, b.Prev = t, s.text()
	if !s.take(`,"kind":`) {
		return false
	}
	b.Kind = Kind(s.text())
	d := &b.Draft
	s.optional(`,"session":`, &d.Session)
	s.optional(`,"loop":`, &d.Loop)
	s.optional(`,"turn":`, &d.Turn)
	s.optional(`,"call":`, &d.Call)
	s.optional(`,"source":`, &d.Source)
	s.optional(`,"binding":`, &d.Binding)
	s.optional(`,"tool":`, &d.Tool)
	s.optional(`,"tool_digest":`, &d.ToolDigest)
	s.optional(`,"pin":`, &d.Pin)
	s.optional(`,"pin_key":`, &d.PinKey)
	s.optional(`,"args_digest":`, &d.ArgsDigest)
	s.optional(`,"prompt_digest":`, &d.PromptDigest)
	s.optional(`,"rule":`, &d.Rule)
	if s.take(`,"considered":[`) {
		d.Considered = append(d.Considered, s.text())
		for s.take(`,`) {
			d.Considered = append(d.Considered, s.text())
		}
		s.must(`]`)
	}
	s.optional(`,"verdict":`, &d.Verdict)
	s.optional(`,"gate":`, &d.Gate)
	s.optional(`,"gate_kind":`, &d.GateKind)
	s.optional(`,"answerer":`, &d.Answerer)
	s.optional(`,"answerer_kind":`, &d.AnswererKind)
	s.optional(`,"outcome":`, &d.Outcome)
	if s.take(`,"attempts":`) {
		d.Attempts = int(s.number())
		s.bad = s.bad || d.Attempts == 0
	}
	s.optional(`,"result_digest":`, &d.ResultDigest)
	s.optional(`,"detail":`, &d.Detail)
	s.optional(`,"answer_digest":`, &d.AnswerDigest)
	if s.take(`,"redacts":[`) {
		d.Redacts = append(d.Redacts, s.number())
		for s.take(`,`) {
			d.Redacts = append(d.Redacts, s.number())
		}
		s.must(`]`)
	}
	s.optional(`,"reason":`, &d.Reason)
	s.must(`}`)
	return !s.bad && len(s.rest) == 0
}

type scanner struct {
	rest []byte
	bad  bool
}

func (s *scanner) take(lit string) bool {
	if len(s.rest) < len(lit) || string(s.rest[:len(lit)]) != lit {
		return false
	}
	s.rest = s.rest[len(lit):]
	return true
}

func (s *scanner) must(lit string) { s.bad = !s.take(lit) || s.bad }

func (s *scanner) optional(name string, to *string) {
	if !s.take(name) {
		return
	}
	*to = s.text()
	s.bad = s.bad || *to == ""
}

// maxDigits keeps a number within what fits.
const maxDigits = 18

func (s *scanner) number() uint64 {
	n := 0
	for n < len(s.rest) && s.rest[n] >= '0' && s.rest[n] <= '9' {
		n++
	}
	if n == 0 || n > maxDigits || (n > 1 && s.rest[0] == '0') {
		s.bad = true
		return 0
	}
	v, err := strconv.ParseUint(string(s.rest[:n]), 10, 64)
	s.bad = s.bad || err != nil
	s.rest = s.rest[n:]
	return v
}

func (s *scanner) text() string {
	if len(s.rest) == 0 || s.rest[0] != '"' {
		s.bad = true
		return ""
	}
	end := bytes.IndexByte(s.rest[1:], '"')
	if end < 0 {
		s.bad = true
		return ""
	}
	b := s.rest[1 : 1+end]
	for _, c := range b {
		if c < 0x20 || c > 0x7e || c == '\\' {
			s.bad = true
			return ""
		}
	}
	s.rest = s.rest[end+2:]
	return string(b)
}
