package session

import (
	"context"
	"errors"
	"testing"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
)

func samplingGate(stage gate.SamplingStage, written bool) gate.Request {
	return gate.Request{Kind: gate.KindSampling, Subject: gate.Subject{Binding: "tracker", Call: "c7"}, Prompt: gate.Prompt{
		Title: "tracker asks the model to write", Origin: gate.OriginHost,
		Sampling: &gate.SamplingPrompt{
			Stage: stage, Model: "you (no key)", MaxTokens: 800, Written: written, Editable: true, Digest: "sha256:11",
			Messages: []gate.SamplingMessage{{Role: "user", Kind: "text", Text: "Summarise\x1b[2J this."}},
		},
	}}
}

// Both halves of a request for the model are gates of the session's queue and
// events of its journal: what was shown, and what was answered.
func TestSamplingGatesAreJournaled(t *testing.T) {
	t.Parallel()
	w := open(t, Options{}, nil)
	ask := func(r gate.Request) <-chan gate.Response {
		out := make(chan gate.Response, 1)
		go func() {
			resp, err := w.OpenGate(w.ctx(), r)
			if err != nil {
				t.Error(err)
			}
			out <- resp
		}()
		return out
	}
	first := ask(samplingGate(gate.SamplingRequest, false))
	w.answer(gate.Response{Action: gate.ActionEdit, Text: "Summarise it."})
	if r := <-first; r.Action != gate.ActionEdit || r.Text != "Summarise it." || r.Answerer != person {
		t.Fatalf("%+v", r)
	}
	second := ask(samplingGate(gate.SamplingReply, true))
	id := w.gate().ID
	var invalid *gate.InvalidAnswerError
	if err := w.RespondGate(w.ctx(), id, gate.Response{Action: gate.ActionRun, Answerer: person}); !errors.As(err, &invalid) || invalid.Field != "text" {
		t.Fatalf("nobody wrote the reply: %v", err)
	}
	if err := w.RespondGate(w.ctx(), id, gate.Response{Action: gate.ActionRun, Text: "x", Answerer: gate.Answerer{Kind: "model", ID: "m"}}); !errors.Is(err, gate.ErrNotOperator) {
		t.Fatalf("a model answered for itself: %v", err)
	}
	w.answer(gate.Response{Action: gate.ActionRun, Text: "It is slow."})
	if r := <-second; r.Text != "It is slow." {
		t.Fatalf("%+v", r)
	}
	opened, resolved := of[*event.GateOpened](t, w.store), of[*event.GateResolved](t, w.store)
	if len(opened) != 2 || opened[0].Prompt.Sampling == nil || opened[0].Prompt.Sampling.Messages[0].Text != "Summarise\x1b[2J this." || opened[1].Prompt.Sampling.Stage != gate.SamplingReply {
		t.Fatalf("%+v", opened)
	}
	if len(resolved) != 2 || resolved[0].Response.Text != "Summarise it." || resolved[1].Response.Text != "It is slow." || resolved[1].Kind != gate.KindSampling || resolved[1].Subject.Call != "c7" {
		t.Fatalf("%+v", resolved)
	}
}

func TestSamplingThatNobodyAnswers(t *testing.T) {
	t.Parallel()
	headless := open(t, Options{Answer: func(context.Context, gate.Envelope) (gate.Response, bool) { return gate.Response{}, false }}, nil)
	r, err := headless.OpenGate(headless.ctx(), samplingGate(gate.SamplingRequest, false))
	if err != nil || r.Action != gate.ActionDecline || r.Close != gate.ReasonPolicy || r.Detail != string(gate.ReasonNoGate) {
		t.Errorf("headless: %+v %v", r, err)
	}
	// An answerer that approves a reply which a person must write approves nothing.
	hasty := open(t, Options{Answer: func(context.Context, gate.Envelope) (gate.Response, bool) {
		return gate.Response{Action: gate.ActionRun, Answerer: gate.Answerer{Kind: gate.AnswererAnswers, ID: "file"}}, true
	}}, nil)
	if r, err := hasty.OpenGate(hasty.ctx(), samplingGate(gate.SamplingRequest, false)); err != nil || r.Action != gate.ActionRun || r.Close != "" {
		t.Errorf("request: %+v %v", r, err)
	}
	if r, err := hasty.OpenGate(hasty.ctx(), samplingGate(gate.SamplingReply, true)); err != nil || r.Action != gate.ActionDecline || r.Close != gate.ReasonPolicy {
		t.Errorf("written reply: %+v %v", r, err)
	}
	w := open(t, Options{}, nil)
	ctx, cancel := context.WithCancel(w.ctx())
	cancel()
	if r, err := w.OpenGate(ctx, samplingGate(gate.SamplingRequest, false)); err != nil || r.Action != gate.ActionCancel || r.Close != gate.ReasonWithdrawn {
		t.Errorf("withdrawn: %+v %v", r, err)
	}
}
