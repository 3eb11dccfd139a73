package mcpadapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// The actions that a server gets as an answer.
const (
	actionAccept  = "accept"
	actionDecline = "decline"
	actionCancel  = "cancel"
)

// emptyObject is what an accepted question without fields carries.
var emptyObject = json.RawMessage("{}")

// elicit turns a question of the server into a gate and the gate's answer into
// the server's. What cannot be asked is declined, and a notice says why.
func (rt *runtime) elicit(ctx context.Context, req client.ElicitRequest) (client.ElicitResult, error) {
	limit := rt.cfg.Server.Limits.ElicitPending
	if !rt.enterQuestion(limit) {
		return rt.decline("%s", &limitError{"open questions", limit + 1, limit, "limits.elicitPending"}), nil
	}
	defer rt.leaveQuestion()
	switch req.Mode {
	case "", "form":
		return rt.elicitForm(ctx, req), nil
	case "url":
		return rt.elicitURL(ctx, req), nil
	}
	return rt.decline("its kind is not known"), nil
}

// formSettings are the limits of forms as they are configured.
var formSettings = map[string]string{
	"elicitation.schemaBytes": "limits.elicitSchemaBytes", "elicitation.fields": "limits.elicitFields",
	"elicitation.options": "limits.elicitOptions", "elicitation.valueBytes": "limits.elicitValueBytes",
}

// formText says why a form is refused, with the setting as it is configured.
func formText(err error) string {
	var r *form.Refusal
	if errors.As(err, &r) && formSettings[r.Setting] != "" {
		e := *r
		e.Setting = formSettings[r.Setting]
		return e.Error()
	}
	return err.Error()
}

func (rt *runtime) enterQuestion(limit int) bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.pending >= limit {
		return false
	}
	rt.pending++
	return true
}

func (rt *runtime) leaveQuestion() {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.pending--
}

// decline refuses a question in sight of the user.
func (rt *runtime) decline(format string, args ...any) client.ElicitResult {
	rt.cl.Notice("elicitation_declined", string(LevelWarn), "a question of the server was declined: %s", fmt.Sprintf(format, args...))
	return client.ElicitResult{Action: actionDecline}
}

// subject is the call that a question arose from where the revision tells, else
// the binding alone.
func (rt *runtime) subject(callID string) gate.Subject {
	s := gate.Subject{Binding: rt.cfg.Name}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if f, ok := rt.calls[callID]; ok && callID != "" {
		call := f.call
		s.Loop, s.Turn, s.Step, s.Call = call.Loop, call.Turn, call.Step, call.ID
	}
	return s
}

func (rt *runtime) elicitForm(ctx context.Context, req client.ElicitRequest) client.ElicitResult {
	lim := rt.cfg.Server.Limits
	if n := len(req.Message); n > lim.ElicitMessageBytes {
		return rt.decline("%s", &limitError{"its message", n, lim.ElicitMessageBytes, "limits.elicitMessageBytes"})
	}
	sch, err := form.ParseElicitation(req.Schema, lim.Form())
	if err != nil {
		return rt.decline("%s", formText(err))
	}
	if field, reason, found := form.Credential(sch, req.Message); found {
		if field != "" {
			reason = "field " + safetext.Ident(field).String() + ": " + reason
		}
		return rt.decline("it asks for a secret (%s)", reason)
	}
	if sch.HasFreeText() && rt.freeText() == client.FreeTextRefuse {
		return rt.decline("it has a field for free text, which this binding refuses (setting elicitation.freeText)")
	}
	open := gate.Request{
		Kind: gate.KindForm, Subject: rt.subject(req.CallID), Deadline: rt.cfg.Server.ElicitTimeout,
		Prompt: gate.Prompt{Title: "Question from " + rt.cfg.Name, Body: req.Message, Origin: gate.OriginServer, Schema: &sch},
	}
	if len(sch.Fields) == 0 {
		open.Kind, open.Prompt.Schema = gate.KindConfirm, nil
		open.Prompt.Title = rt.cfg.Name + " asks for confirmation"
	}
	resp, refused := rt.ask1(ctx, open)
	if refused != nil {
		return *refused
	}
	switch {
	case open.Kind == gate.KindConfirm && resp.Action == gate.ActionAccept:
		return client.ElicitResult{Action: actionAccept, Content: emptyObject}
	case open.Kind == gate.KindForm && resp.Action == gate.ActionSubmit:
		return rt.submit(ctx, open, sch, resp.Values)
	}
	return client.ElicitResult{Action: actionCancel}
}

// ask1 opens one gate. refused is the answer to the server when nobody gave an
// accepting one.
func (rt *runtime) ask1(ctx context.Context, req gate.Request) (resp gate.Response, refused *client.ElicitResult) {
	if rt.m.deps.Gates == nil {
		r := rt.decline("there is nobody to ask")
		return resp, &r
	}
	resp, err := rt.m.deps.Gates.OpenGate(ctx, req)
	switch {
	case err != nil && ctx.Err() == nil:
		r := rt.decline("it could not be put to anybody")
		return resp, &r
	case err != nil || ctx.Err() != nil:
		return resp, &client.ElicitResult{Action: actionCancel}
	case resp.Close != "" && resp.Close != gate.ReasonAnswered && resp.Action == gate.ActionDecline:
		rt.cl.Notice("elicitation_declined", string(LevelWarn), "a question of the server was declined: nobody could answer it (%s)", resp.Close)
		return resp, &client.ElicitResult{Action: actionDecline}
	case resp.Close != "" && resp.Close != gate.ReasonAnswered:
		return resp, &client.ElicitResult{Action: actionCancel}
	case !resp.Answerer.Operator():
		r := rt.decline("its answer did not come from an operator")
		return resp, &r
	case resp.Action == gate.ActionDecline:
		return resp, &client.ElicitResult{Action: actionDecline}
	case resp.Action == gate.ActionCancel:
		return resp, &client.ElicitResult{Action: actionCancel}
	}
	return resp, nil
}

// submit validates and encodes an answer, and has free text confirmed where the
// binding wants that.
func (rt *runtime) submit(ctx context.Context, asked gate.Request, sch form.Schema, raw json.RawMessage) client.ElicitResult {
	if len(raw) == 0 {
		raw = emptyObject
	}
	values, err := sch.Decode(raw)
	var encoded json.RawMessage
	if err == nil {
		encoded, err = sch.Encode(values)
	}
	if err != nil {
		rt.cl.Notice("elicitation_invalid", string(LevelError), "an answer was not sent, it does not fit the form: %s", err.Error())
		return client.ElicitResult{Action: actionCancel}
	}
	fields := freeTextFields(sch, values)
	if len(fields) == 0 || rt.freeText() != client.FreeTextConfirm {
		return client.ElicitResult{Action: actionAccept, Content: encoded}
	}
	_, refused := rt.ask1(ctx, gate.Request{
		Kind: gate.KindConfirm, Subject: asked.Subject, Deadline: asked.Deadline,
		Prompt: gate.Prompt{
			Title: "Send free text to " + rt.cfg.Name + "?", Origin: gate.OriginHost,
			Body: "What you typed is sent to the server and kept in the session's record as it is: " + strings.Join(fields, ", ") + ".",
		},
	})
	if refused != nil {
		return *refused
	}
	return client.ElicitResult{Action: actionAccept, Content: encoded}
}

// freeTextFields names the fields whose answers were typed freely.
func freeTextFields(sch form.Schema, values form.Values) []string {
	var out []string
	for _, f := range sch.Fields {
		if _, set := values[f.Name]; set && (f.Kind == form.KindText || f.Kind == form.KindRaw) {
			out = append(out, safetext.Ident(f.Name).String())
		}
	}
	return out
}

// freeText is the binding's rule for free text: what was configured, else by
// whether the server is pinned.
func (rt *runtime) freeText() string {
	if f := rt.cfg.Server.FreeText; f != "" {
		return f
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.cfg.Server.Builtin || rt.decision.Kind == Accepted && rt.decision.Fingerprint != "" {
		return client.FreeTextAllow
	}
	return client.FreeTextConfirm
}

// elicitURL asks whether to open an address. Nothing that the server wrote
// reaches the prompt, and nothing is fetched.
func (rt *runtime) elicitURL(ctx context.Context, req client.ElicitRequest) client.ElicitResult {
	open, err := rt.urlGate(req.URL, rt.subject(req.CallID))
	if err != nil {
		return rt.decline("%s", err.Error())
	}
	resp, refused := rt.ask1(ctx, open)
	switch {
	case refused != nil:
		return *refused
	case resp.Action == gate.ActionOpen, resp.Action == gate.ActionCopy:
		return client.ElicitResult{Action: actionAccept}
	}
	return client.ElicitResult{Action: actionCancel}
}

func (rt *runtime) urlGate(raw string, subject gate.Subject) (gate.Request, error) {
	t, err := checkURL(raw)
	if err != nil {
		return gate.Request{}, err
	}
	return gate.Request{
		Kind: gate.KindOpenURL, Subject: subject, Deadline: rt.cfg.Server.ElicitTimeout,
		Private: gate.Private{URL: t.full},
		Prompt: gate.Prompt{
			Title: rt.cfg.Name + " asks you to open a web page", Origin: gate.OriginHost,
			Body:   "Go on only if you expect this and know the site.",
			Target: t.origin, Warnings: t.warnings,
		},
	}, nil
}

// elicitComplete ends the waiting for an interaction outside the protocol.
func (rt *runtime) elicitComplete(id string) {
	rt.mu.Lock()
	ch := rt.waiting[id]
	delete(rt.waiting, id)
	rt.mu.Unlock()
	if ch != nil {
		close(ch)
	}
}

// The bounds of a URL-required error.
const maxRequiredURLs = 4

// requiredURL is one interaction that a call needs first.
type requiredURL struct {
	Mode string `json:"mode"`
	ID   string `json:"elicitationId"`
	URL  string `json:"url"`
}

// urlsRequired reads the interactions out of a URL-required error.
func urlsRequired(err error) (urls []requiredURL, ok bool) {
	var pe *client.Error
	if !errors.As(err, &pe) || pe.Code != protocol.CodeURLRequired {
		return nil, false
	}
	var data struct {
		Elicitations []requiredURL `json:"elicitations"`
	}
	if json.Unmarshal(pe.Data, &data) != nil || len(data.Elicitations) == 0 {
		return nil, false
	}
	return data.Elicitations, true
}

// openRequired asks for every interaction that a call needs; ok says that the
// call may be made once more.
func (rt *runtime) openRequired(ctx context.Context, call tool.Call, urls []requiredURL) (ok bool, reason string) {
	if !rt.cfg.Server.Elicitation {
		return false, "the server wants a web page opened first, and this binding may not ask for that"
	}
	if len(urls) > maxRequiredURLs {
		return false, fmt.Sprintf("the server wants %d web pages opened first (limit %d)", len(urls), maxRequiredURLs)
	}
	for _, u := range urls {
		open, err := rt.urlGate(u.URL, rt.subject(call.ID))
		if err != nil {
			rt.decline("%s", err.Error())
			return false, "the server wants a web page opened first; it was declined because " + err.Error()
		}
		done := rt.expect(u.ID)
		resp, refused := rt.ask1(ctx, open)
		if refused == nil {
			refused = rt.awaitInteraction(ctx, open, resp, done)
		}
		rt.elicitComplete(u.ID) // nobody waits any more
		if refused != nil {
			return false, "the server wants a web page opened first, which was not done (" + refused.Action + ")"
		}
	}
	return true, ""
}

func (rt *runtime) expect(id string) <-chan struct{} {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	ch := make(chan struct{})
	if old := rt.waiting[id]; old != nil {
		close(old)
	}
	rt.waiting[id] = ch
	return ch
}

// awaitInteraction waits until the server reports the end of the interaction or
// a person says so. An answerer that is no person cannot tell: then the call is
// made at once.
func (rt *runtime) awaitInteraction(ctx context.Context, asked gate.Request, resp gate.Response, done <-chan struct{}) *client.ElicitResult {
	if resp.Answerer.Kind != gate.AnswererPerson {
		return nil
	}
	gctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		select {
		case <-done:
			cancel()
		case <-gctx.Done():
		}
	}()
	_, refused := rt.ask1(gctx, gate.Request{
		Kind: gate.KindConfirm, Subject: asked.Subject, Deadline: asked.Deadline,
		Prompt: gate.Prompt{
			Title: "Go on with the call to " + rt.cfg.Name + "?", Origin: gate.OriginHost,
			Body: "Accept when you have finished in the browser. This question closes by itself when the server reports the end.",
		},
	})
	cancel()
	<-stop
	select {
	case <-done:
		return nil
	default:
		return refused
	}
}
