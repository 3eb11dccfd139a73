package answers

import (
	"github.com/looprig/looprig/compose/config/doc"
	"github.com/looprig/looprig/harness/gate"
)

// readSampling takes what belongs to a sampling gate alone.
func (a *Rule) readSampling(o *doc.Obj) {
	a.Stage = gate.SamplingStage(o.OneOf("stage", "", string(gate.SamplingRequest), string(gate.SamplingReply)))
	a.Text, a.Reply = o.String("text", ""), o.String("reply", "")
	if a.Gate != gate.KindSampling {
		return
	}
	goesOn := a.Action == gate.ActionRun || a.Action == gate.ActionEdit
	switch {
	case a.Action == gate.ActionEdit && a.Text == "" && a.Stage != gate.SamplingReply:
		o.Fail("answer", "an edited request needs its text")
	case a.Action == gate.ActionEdit && a.Reply == "" && a.Stage == gate.SamplingReply:
		o.Fail("answer", "an edited reply is given as reply")
	case o.Has("text") && (a.Action != gate.ActionEdit || a.Stage == gate.SamplingReply):
		o.Fail("text", "text is what an edited request sends: it needs answer edit, and the reply is given as reply")
	case o.Has("reply") && (!goesOn || a.Stage == gate.SamplingRequest):
		o.Fail("reply", "a reply needs answer run or edit, and the stage reply")
	case len(a.Text) > gate.MaxTextBytes:
		o.Fail("text", "%d bytes (limit %d)", len(a.Text), gate.MaxTextBytes)
	case len(a.Reply) > gate.MaxTextBytes:
		o.Fail("reply", "%d bytes (limit %d)", len(a.Reply), gate.MaxTextBytes)
	}
}

func stageOf(env gate.Envelope) gate.SamplingStage {
	if env.Kind != gate.KindSampling || env.Prompt.Sampling == nil {
		return ""
	}
	return env.Prompt.Sampling.Stage
}

// samplingAnswer answers one stage of a server's request for the model. One
// rule is for both: its action and text are for the request, its reply is what
// the second stage answers, written or in place of the model's. Without one the
// model's reply is sent as it is.
func (s *Set) samplingAnswer(env gate.Envelope, r *Rule) (gate.Response, bool) {
	resp := s.response(r.Action)
	if stageOf(env) != gate.SamplingReply {
		r.used++
		if r.Action == gate.ActionEdit {
			resp.Text = r.Text
		}
		return resp, true
	}
	r.replies++
	if r.Action != gate.ActionRun && r.Action != gate.ActionEdit {
		return resp, true
	}
	written := env.Prompt.Sampling.Writes()
	switch {
	case r.Reply == "" && written:
		s.misfits = append(s.misfits, Misfit{Gate: env.ID, Rule: r.place(), Reason: "no model writes this reply: give it as reply"})
		return gate.Response{}, false
	case r.Reply == "":
		resp.Action = gate.ActionRun
	case written:
		resp.Action, resp.Text = gate.ActionRun, r.Reply
	default:
		resp.Action, resp.Text = gate.ActionEdit, r.Reply
	}
	return resp, true
}
