package gate

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestCheckQuestion(t *testing.T) {
	t.Parallel()
	many := make([]string, MaxChoices+1)
	for i := range many {
		many[i] = strings.Repeat("x", i+1)
	}
	for name, c := range map[string]struct {
		question string
		choices  []string
		multiple bool
		ok       bool
	}{
		"text":            {question: "Which branch?", ok: true},
		"choices":         {question: "Which?", choices: []string{"a", "b"}, ok: true},
		"several":         {question: "Which?", choices: []string{"a", "b"}, multiple: true, ok: true},
		"empty":           {question: " \n"},
		"long":            {question: strings.Repeat("x", MaxQuestionBytes+1)},
		"one choice":      {question: "?", choices: []string{"a"}},
		"empty choice":    {question: "?", choices: []string{"a", " "}},
		"long choice":     {question: "?", choices: []string{"a", strings.Repeat("x", MaxChoiceBytes+1)}},
		"same choices":    {question: "?", choices: []string{"a", "a"}},
		"look the same":   {question: "?", choices: []string{"a", " a"}},
		"many":            {question: "?", choices: many},
		"several of none": {question: "?", multiple: true},
	} {
		if err := CheckQuestion(c.question, c.choices, c.multiple); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnswersOfQuestions(t *testing.T) {
	t.Parallel()
	h := NewHost(HostOptions{})
	person := Answerer{Kind: AnswererPerson, ID: "tester"}
	ask := func(multiple bool, choices ...string) string {
		t.Helper()
		env, err := h.Open(Request{Kind: KindAskUser, Prompt: Prompt{Title: "t", Body: "?", Origin: OriginModel, Choices: choices, Multiple: multiple}})
		if err != nil {
			t.Fatal(err)
		}
		return env.ID
	}
	if _, err := h.Open(Request{Kind: KindAskUser, Prompt: Prompt{Title: "t"}}); err == nil {
		t.Error("an empty question was opened")
	}
	text, one, several := ask(false), ask(false, "a", "b", "c"), ask(true, "a", "b", "c")
	for name, c := range map[string]struct {
		gate string
		r    Response
	}{
		"no text":            {text, Response{Action: ActionAnswer}},
		"blank text":         {text, Response{Action: ActionAnswer, Text: " "}},
		"long text":          {text, Response{Action: ActionAnswer, Text: strings.Repeat("x", MaxTextBytes+1)}},
		"no UTF-8":           {text, Response{Action: ActionAnswer, Text: "\xff"}},
		"a choice of none":   {text, Response{Action: ActionAnswer, Text: "x", Chosen: []int{0}}},
		"dismissed answer":   {text, Response{Action: ActionDismiss, Text: "x"}},
		"text for choices":   {one, Response{Action: ActionAnswer, Text: "a"}},
		"nothing chosen":     {one, Response{Action: ActionAnswer}},
		"two of one":         {one, Response{Action: ActionAnswer, Chosen: []int{0, 1}}},
		"no such choice":     {several, Response{Action: ActionAnswer, Chosen: []int{0, 3}}},
		"a negative one":     {several, Response{Action: ActionAnswer, Chosen: []int{-1}}},
		"another's action":   {text, Response{Action: ActionAccept}},
		"values of no form":  {text, Response{Action: ActionAnswer, Text: "x", Values: []byte(`{}`)}},
		"choices of no call": {text, Response{Action: ActionAnswer, Text: "x", Calls: map[string]Action{"c1": ActionOnce}}},
	} {
		c.r.Answerer = person
		var bad *InvalidAnswerError
		if err := h.Respond(c.gate, c.r); !errors.As(err, &bad) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for id, r := range map[string]Response{
		text: {Action: ActionAnswer, Text: "main"}, one: {Action: ActionAnswer, Chosen: []int{2}}, several: {Action: ActionAnswer, Chosen: []int{2, 0, 2}},
	} {
		r.Answerer = person
		if err := h.Respond(id, r); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := h.Await(t.Context(), several); err != nil || !slices.Equal(r.Chosen, []int{0, 2}) {
		t.Errorf("%+v %v", r, err)
	}
	if r, err := h.Await(t.Context(), text); err != nil || r.Text != "main" {
		t.Errorf("%+v %v", r, err)
	}
	form, err := h.Open(Request{Kind: KindConfirm, Prompt: Prompt{Title: "t"}})
	if err != nil {
		t.Fatal(err)
	}
	var bad *InvalidAnswerError
	if err := h.Respond(form.ID, Response{Action: ActionAccept, Chosen: []int{0}, Answerer: person}); !errors.As(err, &bad) {
		t.Errorf("choices answered a confirmation: %v", err)
	}
	if r := Unanswered(KindAskUser, ReasonPolicy, "x"); r.Action != ActionDismiss {
		t.Errorf("%+v", r)
	}
	if err := h.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
