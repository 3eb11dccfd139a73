package gate

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxTextBytes bounds Response.Text, in bytes.
const MaxTextBytes = 256 << 10

// checkSampling refuses a sampling gate that shows no request: nobody could
// answer it knowingly.
func checkSampling(req Request) error {
	if req.Kind != KindSampling {
		return nil
	}
	p := req.Prompt.Sampling
	if p == nil {
		return errors.New("a sampling gate needs the request that it shows")
	}
	if p.Stage != SamplingRequest && p.Stage != SamplingReply {
		return fmt.Errorf("unknown stage of a sampling gate %q", string(p.Stage))
	}
	return nil
}

// Writes reports that the prompt waits for a person to write the reply: run
// then needs a text.
func (p SamplingPrompt) Writes() bool { return p.Stage == SamplingReply && p.Written }

// CanEdit reports that the action edit is allowed.
func (p SamplingPrompt) CanEdit() bool { return p.Stage == SamplingReply || p.Editable }

// fitText checks the text of an answer: an edit needs one where an edit is
// allowed, a reply that a person writes needs one, nothing else has one.
func fitText(env Envelope, r Response, invalid func(string, string) error) (string, error) {
	const field = "text"
	p := env.Prompt.Sampling
	takes, needs := false, false
	if env.Kind == KindSampling && p != nil {
		switch r.Action {
		case ActionEdit:
			if !p.CanEdit() {
				return "", invalid("", "what this request sends is not one text that can be edited")
			}
			takes, needs = true, true
		case ActionRun:
			takes, needs = p.Writes(), p.Writes()
		default:
		}
	}
	switch {
	case needs && strings.TrimSpace(r.Text) == "":
		return "", invalid(field, "it is empty")
	case r.Text != "" && !takes:
		return "", invalid(field, "a text belongs to the edit of a sampling request or to a reply that is written")
	case len(r.Text) > MaxTextBytes:
		return "", invalid(field, fmt.Sprintf("it is %d bytes, more than %d", len(r.Text), MaxTextBytes))
	case !utf8.ValidString(r.Text):
		return "", invalid(field, "it is not UTF-8")
	}
	return r.Text, nil
}
