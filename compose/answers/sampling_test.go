package answers

import (
	"strings"
	"testing"

	"github.com/looprig/looprig/compose/config/doc"
	"github.com/looprig/looprig/harness/gate"
)

func samplingSet(t *testing.T, text string) (*Set, error) {
	t.Helper()
	root, err := doc.ParseYAML("a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r := &doc.Reader{File: "a.yaml"}
	rules := Read(r, root.Items, "")
	return New(gate.AnswererScript, "s", rules), r.Err()
}

func samplingGate(stage gate.SamplingStage, written bool) gate.Envelope {
	return gate.Envelope{ID: "g1", Kind: gate.KindSampling, Subject: gate.Subject{Binding: "demo"}, Prompt: gate.Prompt{
		Sampling: &gate.SamplingPrompt{Stage: stage, Written: written, Editable: stage == gate.SamplingRequest},
	}}
}

func TestOneRuleAnswersBothStages(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][3]string{ // request; a written reply; a model's reply
		"- {gate: sampling, answer: run, reply: mine}":                                {"run ", "run mine", "edit mine"},
		"- {gate: sampling, binding: demo, answer: run}":                              {"run ", "-", "run "},
		"- {gate: sampling, answer: edit, text: other}":                               {"edit other", "-", "run "},
		"- {gate: sampling, answer: edit, text: other, reply: mine}":                  {"edit other", "run mine", "edit mine"},
		"- {gate: sampling, answer: decline}":                                         {"decline ", "decline ", "decline "},
		"- {gate: sampling, stage: reply, answer: cancel}":                            {"-", "cancel ", "cancel "},
		"- {gate: sampling, stage: reply, answer: edit, reply: mine}":                 {"-", "run mine", "edit mine"},
		"- {gate: sampling, stage: request, answer: run}":                             {"run ", "-", "-"},
		"- {gate: sampling, binding: other, answer: run, reply: x}":                   {"-", "-", "-"},
		"- {gate: sampling, answer: run, reply: one, times: 1}":                       {"run ", "run one", "-"},
		"- {gate: sampling, stage: reply, answer: run, reply: a, times: 2}":           {"-", "run a", "edit a"},
		"[{gate: confirm, answer: accept}, {gate: sampling, answer: refuse}]":         {"decline ", "decline ", "decline "},
		"[{gate: sampling, answer: run, times: 1}, {gate: sampling, answer: cancel}]": {"run ", "-", "cancel "},
	} {
		set, err := samplingSet(t, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for i, env := range []gate.Envelope{samplingGate(gate.SamplingRequest, false), samplingGate(gate.SamplingReply, true), samplingGate(gate.SamplingReply, false)} {
			resp, ok := set.Answer(t.Context(), env)
			got := "-"
			if ok {
				got = string(resp.Action) + " " + resp.Text
			}
			if got != want[i] {
				t.Errorf("%s: gate %d gets %q, not %q", text, i, got, want[i])
			}
		}
	}
}

// A reply that has to be written and was not prepared is said, not guessed.
func TestAMissingReplyIsAMisfit(t *testing.T) {
	t.Parallel()
	set, err := samplingSet(t, "- {gate: sampling, answer: run}")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := set.Answer(t.Context(), samplingGate(gate.SamplingReply, true)); ok || len(set.Misfits()) != 1 || !strings.Contains(set.Misfits()[0].Reason, "give it as reply") {
		t.Errorf("misfits %+v", set.Misfits())
	}
}

func TestSamplingAnswersAreStrict(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"- {gate: sampling, answer: edit}":                          "needs its text",
		"- {gate: sampling, answer: run, text: x}":                  "needs answer edit",
		"- {gate: sampling, answer: decline, reply: x}":             "needs answer run or edit",
		"- {gate: sampling, stage: request, answer: run, reply: x}": "the stage reply",
		"- {gate: sampling, stage: reply, answer: edit, text: x}":   "given as reply",
		"- {gate: sampling, stage: reply, answer: edit}":            "given as reply",
		"- {gate: sampling, answer: accept}":                        "does not answer a sampling gate",
		"- {gate: form, answer: decline, reply: x}":                 "reply belongs to a sampling gate",
		"- {gate: sampling, stage: both, answer: run}":              "is not one of request, reply",
	} {
		if _, err := samplingSet(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	set, err := samplingSet(t, "- {gate: sampling, answer: run, reply: x, times: 2}")
	if err != nil {
		t.Fatal(err)
	}
	set.Answer(t.Context(), samplingGate(gate.SamplingRequest, false))
	set.Answer(t.Context(), samplingGate(gate.SamplingReply, true))
	if left := set.Unused(); len(left) != 1 || !strings.Contains(left[0], "1 of 2") {
		t.Errorf("left %q", left)
	}
}
