package gate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of an ask-user gate.
const (
	MaxQuestionBytes = 4 << 10
	MaxChoices       = 20
	MaxChoiceBytes   = 200
)

// CheckQuestion refuses a question that cannot be put to anybody: an empty or
// overlong one, one choice alone, choices that are empty, overlong, the same or
// too many, and several answers where there are no choices.
func CheckQuestion(question string, choices []string, multiple bool) error {
	switch {
	case strings.TrimSpace(question) == "":
		return errors.New("the question is empty")
	case len(question) > MaxQuestionBytes:
		return fmt.Errorf("the question is over %d bytes", MaxQuestionBytes)
	case len(choices) == 1:
		return errors.New("one choice alone is none")
	case len(choices) > MaxChoices:
		return fmt.Errorf("there are more than %d choices", MaxChoices)
	case multiple && len(choices) == 0:
		return errors.New("multiple belongs to choices")
	}
	for i, c := range choices {
		switch {
		case strings.TrimSpace(c) == "":
			return errors.New("a choice is empty")
		case len(c) > MaxChoiceBytes:
			return fmt.Errorf("a choice is over %d bytes", MaxChoiceBytes)
		case slices.ContainsFunc(choices[:i], func(o string) bool { return strings.TrimSpace(o) == strings.TrimSpace(c) }):
			return errors.New("two choices are the same")
		}
	}
	return nil
}

// checkQuestion refuses an ask-user gate that nobody could answer.
func checkQuestion(req Request) error {
	if req.Kind != KindAskUser {
		return nil
	}
	return CheckQuestion(req.Prompt.Body, req.Prompt.Choices, req.Prompt.Multiple)
}

// fitQuestion checks the answer to a question: a text where there are no
// choices, else at least one of them, and no more than one unless several are
// allowed.
func fitQuestion(env Envelope, r Response, invalid func(string, string) error) (text string, chosen []int, err error) {
	p := env.Prompt
	if r.Action != ActionAnswer {
		if r.Text != "" || len(r.Chosen) > 0 {
			return "", nil, invalid("", "a dismissed question has no answer")
		}
		return "", nil, nil
	}
	if len(p.Choices) == 0 {
		switch {
		case len(r.Chosen) > 0:
			return "", nil, invalid("chosen", "the question has no choices")
		case strings.TrimSpace(r.Text) == "":
			return "", nil, invalid("text", "it is empty")
		case len(r.Text) > MaxTextBytes:
			return "", nil, invalid("text", fmt.Sprintf("it is %d bytes, more than %d", len(r.Text), MaxTextBytes))
		case !utf8.ValidString(r.Text):
			return "", nil, invalid("text", "it is not UTF-8")
		}
		return r.Text, nil, nil
	}
	chosen = slices.Compact(slices.Sorted(slices.Values(r.Chosen)))
	switch {
	case r.Text != "":
		return "", nil, invalid("text", "the question is answered by its choices")
	case len(chosen) == 0:
		return "", nil, invalid("chosen", "nothing is chosen")
	case chosen[0] < 0 || chosen[len(chosen)-1] >= len(p.Choices):
		return "", nil, invalid("chosen", "there is no such choice")
	case len(chosen) > 1 && !p.Multiple:
		return "", nil, invalid("chosen", "only one may be chosen")
	}
	return "", chosen, nil
}
