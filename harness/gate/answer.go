package gate

import (
	"errors"
	"slices"

	"github.com/looprig/looprig/harness/form"
)

// Unanswered is the response of a gate that closed without an answer. A gate
// that policy refused is declined; one that timed out, was withdrawn or ended
// with its session is cancelled. Kinds without those actions deny or refuse.
func Unanswered(k Kind, why CloseReason, detail string) Response {
	r := Response{Close: why, Detail: detail}
	switch k {
	case KindPermission:
		r.Action = ActionDeny
	case KindUntrustedServer:
		r.Action = ActionRefuse
	case KindAskUser:
		r.Action = ActionDismiss
	default:
		r.Action = ActionCancel
		if why == ReasonPolicy {
			r.Action = ActionDecline
		}
	}
	return r
}

// fit checks that an answer fits its gate and gives it its one form: values are
// encoded by the form, and what belongs to other kinds is left out.
func fit(env Envelope, r Response) (Response, error) {
	invalid := func(field, reason string) error {
		return &InvalidAnswerError{Gate: env.ID, Field: field, Reason: reason}
	}
	out := Response{Action: r.Action, Answerer: r.Answerer, Reason: r.Reason}
	if err := fitCalls(env, r, invalid); err != nil {
		return Response{}, err
	}
	if err := fitGrant(env, r, invalid); err != nil {
		return Response{}, err
	}
	if env.Kind == KindPermission {
		out.Calls, out.When, out.Cover, out.Terms = r.Calls, r.When, r.Cover, r.Terms
		if out.Action == "" {
			out.Action = ActionDeny
		}
	}
	if !slices.Contains(Actions(env.Kind), out.Action) {
		return Response{}, invalid("", "a gate of kind "+string(env.Kind)+" has no such action")
	}
	switch {
	case env.Kind == KindForm && r.Action == ActionSubmit:
		values, err := fitValues(env.Prompt.Schema, r)
		if err != nil {
			return Response{}, describe(err, invalid)
		}
		out.Values = values
	case len(r.Values) > 0:
		return Response{}, invalid("", "values belong to the submission of a form")
	}
	var err error
	if env.Kind == KindAskUser {
		out.Text, out.Chosen, err = fitQuestion(env, r, invalid)
	} else {
		out.Text, err = fitText(env, r, invalid)
	}
	if err != nil {
		return Response{}, err
	}
	if len(r.Chosen) > 0 && env.Kind != KindAskUser {
		return Response{}, invalid("chosen", "choices belong to the answer of a question")
	}
	if env.Kind == KindUntrustedServer && r.Action != ActionRefuse {
		repeated := r.Fingerprint == env.Prompt.Fingerprint
		if (r.Action == ActionAccept && r.Fingerprint == "") || (r.Fingerprint != "" && !repeated) {
			return Response{}, invalid("", "the fingerprint is not the one that was shown")
		}
		out.Fingerprint = r.Fingerprint
	}
	return out, nil
}

// fitCalls checks the choices of a permission gate over several calls.
func fitCalls(env Envelope, r Response, invalid func(string, string) error) error {
	if env.Kind != KindPermission {
		if len(r.Calls) > 0 {
			return invalid("", "choices for calls belong to a permission")
		}
		return nil
	}
	for id, a := range r.Calls {
		if !slices.ContainsFunc(env.Prompt.Calls, func(c CallPrompt) bool { return c.Call == id }) {
			return invalid("", "a choice names a call that was not asked about")
		}
		if !slices.Contains(Actions(KindPermission), a) {
			return invalid("", "a choice for a call is no permission action")
		}
	}
	if r.Action != "" {
		return nil
	}
	for _, c := range env.Prompt.Calls {
		if _, ok := r.Calls[c.Call]; !ok {
			return invalid("", "a call has no choice")
		}
	}
	if len(env.Prompt.Calls) == 0 {
		return invalid("", "no action")
	}
	return nil
}

// maxWhenBytes bounds a grant's predicate.
const maxWhenBytes = 8 << 10

// fitGrant checks what narrows and widens the grants of a permission.
func fitGrant(env Envelope, r Response, invalid func(string, string) error) error {
	if r.When == "" && r.Cover == "" && len(r.Terms) == 0 {
		return nil
	}
	if env.Kind != KindPermission {
		return invalid("", "conditions of a grant belong to a permission")
	}
	for id := range r.Terms {
		if !slices.ContainsFunc(env.Prompt.Calls, func(c CallPrompt) bool { return c.Call == id }) {
			return invalid("", "terms name a call that was not asked about")
		}
	}
	when, cover := r.When == "", r.Cover == "" // said for all, and meant for some call
	for _, c := range env.Prompt.Calls {
		action := r.For(c.Call)
		t, own := r.Terms[c.Call]
		if !own {
			// What was said for all is for those that it can be for.
			grants := action == ActionSession || action == ActionAlways
			when, cover = when || grants, cover || action == ActionSession
			if !grants || r.Cover != "" && action != ActionSession {
				continue
			}
			t = Terms{When: r.When, Cover: r.Cover}
		}
		if why := misgranted(c, action, t); why != "" {
			return invalid("", why)
		}
	}
	switch {
	case !when:
		return invalid("", badPredicate)
	case !cover:
		return invalid("", badCover)
	}
	return nil
}

const (
	badPredicate = "a predicate belongs to a grant, and has at most 8 KiB"
	badCover     = "only a session grant without a predicate covers a server's read-only tools"
)

// misgranted says why terms do not fit the choice for a call, or "".
func misgranted(c CallPrompt, a Action, t Terms) string {
	switch {
	case t.When != "" && (a != ActionSession && a != ActionAlways || len(t.When) > maxWhenBytes):
		return badPredicate
	case t.Cover == "":
		return ""
	case t.Cover != CoverReadOnly || a != ActionSession || t.When != "":
		return badCover
	case len(c.ReadOnly) == 0:
		return "the server's read-only tools were not offered"
	}
	return ""
}

func fitValues(s *FormSchema, r Response) ([]byte, error) {
	if s == nil {
		return nil, errors.New("the gate has no form")
	}
	obj := r.Values
	if len(obj) == 0 {
		obj = []byte("{}")
	}
	v, err := s.Decode(obj)
	if err != nil {
		return nil, err
	}
	return s.Encode(v)
}

// describe names the first field at fault.
func describe(err error, invalid func(string, string) error) error {
	if fe, ok := errors.AsType[*form.FieldError](err); ok {
		return invalid(fe.Field, fe.Message)
	}
	return invalid("", err.Error())
}

// For returns the action for one call of a permission gate.
func (r Response) For(call string) Action {
	if a, ok := r.Calls[call]; ok {
		return a
	}
	return r.Action
}

// TermsFor returns what goes with the choice for one call of a permission gate.
func (r Response) TermsFor(call string) Terms {
	if t, ok := r.Terms[call]; ok {
		return t
	}
	return Terms{Reason: r.Reason, When: r.When, Cover: r.Cover}
}
