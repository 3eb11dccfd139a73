package answers

import (
	"fmt"
	"slices"

	"github.com/looprig/looprig/compose/config/doc"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/internal/safetext"
)

// readQuestion takes what answers a model's question: a text, or choices by
// their own words.
func (a *Rule) readQuestion(o *doc.Obj) {
	a.Choose = o.Strings("choose")
	if a.Gate != gate.KindAskUser {
		return
	}
	switch {
	case a.Action == gate.ActionDismiss && (a.Text != "" || len(a.Choose) > 0):
		o.Fail("answer", "a question that is dismissed has no text and no choice")
	case a.Action == gate.ActionAnswer && o.Has("text") == o.Has("choose"):
		o.Fail("answer", "the answer to a question is a text, or with choose the words of what is chosen")
	case o.Has("text") && a.Text == "", o.Has("choose") && len(a.Choose) == 0:
		o.Fail("answer", "the answer is empty")
	case len(a.Text) > gate.MaxTextBytes:
		o.Fail("text", "%d bytes (limit %d)", len(a.Text), gate.MaxTextBytes)
	}
}

// question answers a model's question. An answer that does not fit it is not
// sent: the run fails and says why.
func (s *Set) question(env gate.Envelope, r *Rule, resp gate.Response) (gate.Response, bool) {
	if r.Action != gate.ActionAnswer {
		return resp, true
	}
	misfit := func(format string, args ...any) (gate.Response, bool) {
		s.misfits = append(s.misfits, Misfit{Gate: env.ID, Rule: r.place(), Reason: fmt.Sprintf(format, args...)})
		return gate.Response{}, false
	}
	choices := env.Prompt.Choices
	switch {
	case len(choices) == 0 && len(r.Choose) > 0:
		return misfit("the question has no choices: give the answer as text")
	case len(choices) > 0 && r.Text != "":
		return misfit("the question is answered by its choices: give them with choose: %s", offered(choices))
	case len(r.Choose) > 1 && !env.Prompt.Multiple:
		return misfit("the question takes one choice, not %d", len(r.Choose))
	}
	resp.Text = r.Text
	for _, word := range r.Choose {
		i := slices.Index(choices, word)
		if i < 0 {
			return misfit("%q is no choice; there are: %s", word, offered(choices))
		}
		resp.Chosen = append(resp.Chosen, i)
	}
	slices.Sort(resp.Chosen)
	return resp, true
}

func offered(choices []string) string {
	out := ""
	for i, c := range choices {
		if i > 0 {
			out += ", "
		}
		out += fmt.Sprintf("%q", safetext.ToLineN(c, 80))
	}
	return out
}
