package record

import (
	"encoding/json"
	"strings"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
)

// question is one gate.
type question struct {
	env      gate.Envelope
	resolved *event.GateResolved
	turn     *turn // that it was asked in, nil for none
}

func (q *question) kind() gate.Kind { return q.env.Kind }

func (r *Recorder) asked(e *event.GateOpened) {
	q := &question{env: e.Envelope, turn: r.during(e.Subject)}
	if q.turn != nil {
		q.turn.gates = append(q.turn.gates, q)
	}
	r.gates = append(r.gates, q)
	r.open[e.ID] = q
}

// during is the turn of the script that a gate belongs to: the one that it names,
// or the one that runs.
func (r *Recorder) during(s gate.Subject) *turn {
	if t := r.turns[turnKey(event.Header{Loop: s.Loop, Turn: s.Turn})]; t != nil {
		return t.own()
	}
	for i := len(r.order) - 1; i >= 0 && s.Turn == ""; i-- {
		if t := r.order[i].own(); !t.ended {
			return t
		}
	}
	return nil
}

func (r *Recorder) answered(e *event.GateResolved) {
	q := r.open[e.Gate]
	if q == nil {
		r.note("a %s question was open before the recording began, and its answer is not in it", ident(string(e.Kind)))
		return
	}
	delete(r.open, e.Gate)
	q.resolved = e
}

// answer is one entry of the script's answers, or, without a text, the place of
// a question that found none.
type answer struct {
	text string
	kind gate.Kind
	key  string // what else it matches by
	// closed is what refuses the question in so many words.
	closed string
}

// answers renders what was answered, in the order in which it was asked.
func (r *Recorder) answers(scripted bool) []answer {
	var out []answer
	for _, q := range r.gates {
		switch {
		case q.turn != nil && q.turn.dropped != "":
			out = append(out, r.kept(q)...)
		case q.resolved == nil:
			r.note("a %s question was never answered", ident(string(q.kind())))
		default:
			out = append(out, r.answer(q, scripted)...)
		}
	}
	return needed(out)
}

// needed leaves out the places of questions that found no answer where the
// script has none for them either.
func needed(all []answer) []answer {
	out := all[:0:0]
	for i, a := range all {
		if a.text == "" {
			for _, later := range all[i+1:] {
				if later.text != "" && later.kind == a.kind && later.key == a.key {
					a.text = a.closed
					break
				}
			}
		}
		if a.text != "" {
			out = append(out, a)
		}
	}
	return out
}

// kept are the answers of a turn that is not in the script which hold beyond it.
func (r *Recorder) kept(q *question) []answer {
	if q.resolved == nil || q.kind() != gate.KindPermission {
		return nil
	}
	var out []answer
	for _, c := range q.env.Prompt.Calls {
		if lasting(q.resolved.Response.For(c.Call)) {
			out = append(out, answer{kind: gate.KindPermission, text: "{gate: permission, tool: " + quote(pattern(c.Tool)) + ", answer: session}"})
			r.note("%s was allowed for the session in a turn that is not in the script: it is asked about again, and allowed", ident(c.Tool))
		}
	}
	return out
}

func lasting(a gate.Action) bool { return a != gate.ActionOnce && a != gate.ActionDeny && a != "" }

func (r *Recorder) answer(q *question, scripted bool) []answer {
	if q.resolved.Reason != gate.ReasonAnswered {
		return r.unanswered(q)
	}
	switch q.kind() {
	case gate.KindPermission:
		return r.permission(q)
	case gate.KindForm, gate.KindConfirm, gate.KindOpenURL:
		return []answer{r.elicited(q, q.resolved.Response.Action, true)}
	case gate.KindSampling:
		return r.sampled(q, scripted)
	case gate.KindUntrustedServer:
		return []answer{r.trusted(q)}
	case gate.KindAskUser:
		return []answer{told(q)}
	}
	return r.further(q)
}

// told is the answer to a question of the model.
func told(q *question) answer {
	resp := q.resolved.Response
	text := "answer: dismiss"
	if resp.Action == gate.ActionAnswer {
		text = "text: " + quote(resp.Text)
		if choices := q.env.Prompt.Choices; len(choices) > 0 {
			var words []string
			for _, i := range resp.Chosen {
				if i >= 0 && i < len(choices) {
					words = append(words, quote(choices[i]))
				}
			}
			text = "choose: [" + strings.Join(words, ", ") + "]"
		}
	}
	return answer{kind: q.kind(), text: "{gate: ask_user, " + text + ", times: 1}"}
}

// unanswered is what the script has for a question that closed by itself.
func (r *Recorder) unanswered(q *question) []answer {
	switch q.resolved.Reason {
	case gate.ReasonPolicy:
	case gate.ReasonTimedOut:
		r.note("a %s question was not answered in time; the script refuses it at once", ident(string(q.kind())))
	default:
		r.note("a %s question was withdrawn before it was answered", ident(string(q.kind())))
	}
	switch q.kind() {
	case gate.KindPermission:
		var out []answer
		for _, c := range q.env.Prompt.Calls {
			p := quote(pattern(c.Tool))
			out = append(out, answer{kind: q.kind(), key: p, closed: "{gate: permission, tool: " + p + ", answer: deny, times: 1}"})
		}
		return out
	case gate.KindAskUser:
		return []answer{{kind: q.kind(), closed: "{gate: ask_user, answer: dismiss, times: 1}"}}
	case gate.KindForm, gate.KindConfirm, gate.KindOpenURL:
		a := r.elicited(q, gate.ActionDecline, false)
		a.closed, a.text = a.text, ""
		return []answer{a}
	default:
		return nil
	}
}

// permission has an answer for each call of the question.
func (r *Recorder) permission(q *question) []answer {
	var out []answer
	resp := q.resolved.Response
	for _, c := range q.env.Prompt.Calls {
		p := quote(pattern(c.Tool))
		action := resp.For(c.Call)
		if lasting(action) && action != gate.ActionSession {
			r.note("%s was allowed for good; the script allows it for its session", ident(c.Tool))
			action = gate.ActionSession
		}
		terms := resp.TermsFor(c.Call)
		text := "{gate: permission, tool: " + p + ", answer: " + string(action)
		if action == gate.ActionSession && terms.When != "" {
			text += ", when: " + quote(terms.When)
		}
		if action == gate.ActionSession && terms.Cover != "" {
			text += ", cover: " + string(terms.Cover)
		}
		if action == gate.ActionDeny && terms.Reason != "" {
			text += ", reason: " + quote(terms.Reason)
		}
		out = append(out, answer{kind: q.kind(), key: p, text: text + ", times: 1}"})
	}
	return out
}

// pattern is the pattern that matches one identity alone.
func pattern(identity string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`).Replace(identity)
}

// elicited is the answer to what a server asked.
func (r *Recorder) elicited(q *question, action gate.Action, whole bool) answer {
	a := answer{kind: q.kind()}
	var cond string
	if b := q.env.Subject.Binding; b != "" {
		cond = ", binding: " + name(b)
	}
	if _, host, ok := strings.Cut(q.env.Prompt.Target, "://"); ok && q.kind() == gate.KindOpenURL {
		cond += ", host: " + quote(strings.TrimSuffix(host, "/"))
	}
	a.key = cond
	if action == gate.ActionSubmit && whole {
		values, err := flow(q.resolved.Response.Values)
		if err == nil {
			a.text = "{gate: form" + cond + ", submit: " + values + ", times: 1}"
			return a
		}
		r.note("the answer to a form of server %s cannot be written down, and is declined: %s", ident(q.env.Subject.Binding), line(err.Error()))
		action = gate.ActionDecline
	}
	a.text = "{gate: " + string(q.kind()) + cond + ", answer: " + string(action) + ", times: 1}"
	return a
}

// trusted has no times: whether the question is asked depends on what the home
// has accepted before, and the fingerprint says exactly what the answer is for.
func (r *Recorder) trusted(q *question) answer {
	return answer{kind: q.kind(), text: trustedAnswer(q.env.Subject.Binding, q.env.Prompt.Fingerprint, string(q.resolved.Response.Action))}
}

func trustedAnswer(binding, fingerprint, action string) string {
	return "{gate: untrusted_server, binding: " + name(binding) + ", fingerprint: " + quote(fingerprint) + ", answer: " + action + "}"
}

// further says that a kind of question is not known here.
func (r *Recorder) further(q *question) []answer {
	r.note("a question of the kind %s was answered, which the script does not do", ident(string(q.kind())))
	return nil
}

// sampled has an answer for each half of a server's request for the model.
func (r *Recorder) sampled(q *question, scripted bool) []answer {
	p, resp := q.env.Prompt.Sampling, q.resolved.Response
	if p == nil {
		return r.further(q)
	}
	head := "{gate: sampling"
	if b := q.env.Subject.Binding; b != "" {
		head += ", binding: " + name(b)
	}
	head += ", stage: " + string(p.Stage) + ", answer: "
	text := string(resp.Action)
	switch {
	case p.Stage == gate.SamplingRequest && resp.Action == gate.ActionEdit:
		text += ", text: " + quote(resp.Text)
	case p.Stage == gate.SamplingReply && (resp.Action == gate.ActionRun || resp.Action == gate.ActionEdit):
		// Where replies are scripted, what a person wrote is one of them.
		text = string(gate.ActionRun)
		if byHand := p.Written && !r.writes(q, scripted); !byHand && (p.Written || resp.Action == gate.ActionEdit) {
			text = string(resp.Action) + ", reply: " + quote(resp.Text)
		}
	}
	return []answer{{kind: q.kind(), text: head + text + ", times: 1}"}}
}

// writes says that in the script, too, an operator writes the reply.
func (r *Recorder) writes(q *question, scripted bool) bool {
	return !scripted || r.samplingModel(q.env.Subject.Binding) == "operator"
}

// samplingReplies are what the scripted model says to servers.
func (r *Recorder) samplingReplies(scripted bool) []string {
	var out []string
	for _, q := range r.gates {
		p := q.env.Prompt.Sampling
		if q.kind() != gate.KindSampling || p == nil || p.Stage != gate.SamplingReply || (q.turn != nil && q.turn.dropped != "") {
			continue
		}
		switch {
		case !p.Written:
			out = append(out, p.Reply)
		case !r.writes(q, scripted) && q.resolved != nil && q.resolved.Response.Text != "":
			out = append(out, q.resolved.Response.Text)
		}
	}
	return out
}

// samplingModel is who writes replies for a binding, by its definition.
func (r *Recorder) samplingModel(binding string) string {
	model := ""
	see := func(s Server) {
		var entry struct {
			Sampling struct {
				Model string `json:"model"`
			} `json:"sampling"`
		}
		if s.Name == binding && json.Unmarshal(s.Entry, &entry) == nil {
			model = entry.Sampling.Model
		}
	}
	for _, s := range r.o.Servers {
		see(s)
	}
	for _, d := range r.o.Definitions {
		see(d.Server)
	}
	return model
}
