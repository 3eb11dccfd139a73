package compose

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/mcpadapter"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/pin"
	"github.com/looprig/looprig/mcpadapter/transport/stdio"
)

// trust decides whether launches may run and endpoints be contacted: by pins, by the explicit --tofu, or by
// a gate. Each binding is decided once per definition; Reconnect asks again.
type trust struct {
	app *App
	mu  sync.Mutex
	// settled holds decisions that were made before anything was started.
	settled map[string]mcpadapter.Decision
}

func newTrust(a *App) *trust { return &trust{app: a, settled: map[string]mcpadapter.Decision{}} }

// settle decides on every enabled binding before one of them is started, so
// that a refusal finds nothing running.
func (t *trust) settle(ctx context.Context) error {
	for _, e := range t.app.Port.entries() {
		s := e.server
		if s.Builtin != "" || !s.Enabled || !s.Valid() {
			continue
		}
		d, err := t.ask(ctx, e, func() {})
		if err != nil {
			return err
		}
		if d.Kind != mcpadapter.Accepted && d.Kind != mcpadapter.Once {
			return t.refused(s, d)
		}
		t.mu.Lock()
		t.settled[s.Name] = d
		t.mu.Unlock()
	}
	return nil
}

func (t *trust) refused(s config.Server, d mcpadapter.Decision) error {
	w := layerWords[layerOf(s)]
	e := exit.New(exit.GateRefused, "server %s is not trusted and was not %s: %s", s.Name, w.done, d.Reason)
	if d.Changed {
		e = exit.New(exit.Integrity, "server %s is not what was pinned and was not %s: its %s now has the fingerprint %s", s.Name, w.done, w.noun, d.Fingerprint)
	}
	e.Binding, e.Class = s.Name, "untrusted"
	if d.Changed && !s.Endpoint() {
		e.Message += elsewhere(s)
	}
	ways := "in the interface, with --tofu, or with an answer"
	if d.Changed || t.decidedOn(s.Name) {
		ways = "in the interface or with an answer" // --tofu is for what nobody has decided on
	}
	return e.WithHint(w.fact+"; accept it %s {gate: untrusted_server, binding: %s, fingerprint: %q, answer: accept}", s.Name, ways, s.Name, d.Fingerprint)
}

// elsewhere names what may have made another launch of an entry that nobody
// changed: what it leaves to the place that looprig is called from.
func elsewhere(s config.Server) string {
	var out string
	if s.Cwd == "" {
		out = `; its entry names no "cwd", and the directory is part of a launch: it may only have been called from elsewhere`
	}
	if !strings.ContainsAny(s.Command, `/\`) {
		out += fmt.Sprintf("; %s is looked up on PATH, and the file that is found is part of a launch: it may be another PATH", safetext.Ident(s.Command))
	}
	return out
}

// decidedOn says whether a name has been accepted or refused before, however it
// was reached then.
func (t *trust) decidedOn(name string) bool {
	for _, l := range []pin.Layer{pin.LayerLaunch, pin.LayerEndpoint} {
		if _, known := t.app.pins.Lookup(name, l); known {
			return true
		}
	}
	return false
}

// refusedBefore is said where the last word on a name was a refusal.
const refusedBefore = "it was refused before, and not accepted since"

// disabledBefore is said of what was disabled for good, and is enabled by its entry
// alone.
const disabledBefore = "it was disabled, and its entry was enabled by hand: looprig mcp enable takes that back"

func reasonChanged(l pin.Layer) string { return "the pinned " + layerWords[l].noun + " has changed" }
func reasonNobody(l pin.Layer) string  { return "nobody accepted its " + layerWords[l].noun }

// decide is the adapter's question.
func (t *trust) decide(ctx context.Context, req mcpadapter.TrustRequest) mcpadapter.Decision {
	if i, ok := t.app.delegates.instance(req.Binding); ok {
		return t.decideInstance(ctx, i, req)
	}
	t.mu.Lock()
	d, ok := t.settled[req.Binding]
	delete(t.settled, req.Binding)
	t.mu.Unlock()
	if ok {
		return d
	}
	e, ok := t.app.Port.entry(req.Binding)
	if !ok {
		return mcpadapter.Decision{Kind: mcpadapter.Refused, Reason: "the binding is not configured"}
	}
	if e.binding.Server.Transport != req.Definition.Transport {
		return mcpadapter.Decision{Kind: mcpadapter.Pending, Reason: "the binding is being replaced"}
	}
	d, err := t.ask(ctx, e, req.Waiting)
	if err != nil {
		return mcpadapter.Decision{Kind: mcpadapter.Pending, Reason: err.Error()}
	}
	return d
}

// decideInstance decides on a delegate's own binding: as on its entry, whose pin
// it has.
func (t *trust) decideInstance(ctx context.Context, i instance, req mcpadapter.TrustRequest) mcpadapter.Decision {
	t.mu.Lock()
	d, ok := t.settled[i.server.Name]
	t.mu.Unlock()
	if ok {
		return d
	}
	d, err := t.ask(ctx, i.entry, req.Waiting)
	if err != nil {
		return mcpadapter.Decision{Kind: mcpadapter.Pending, Reason: err.Error()}
	}
	return d
}

// ask compares an entry with its pin and asks where that does not settle it.
func (t *trust) ask(ctx context.Context, e entry, waiting func()) (mcpadapter.Decision, error) {
	s := e.server
	fp, err := e.fingerprint()
	switch {
	case err != nil && s.Endpoint():
		return mcpadapter.Decision{Kind: mcpadapter.Refused, Reason: err.Error()}, nil //nolint:nilerr // it is the reason
	case err != nil:
		// What cannot be found cannot be run either: let the start fail with
		// its own, better error.
		return mcpadapter.Decision{Kind: mcpadapter.Once, Reason: err.Error()}, nil //nolint:nilerr // see above
	}
	verdict, previous := check(t.app.pins, s.Name, fp)
	switch verdict {
	case pin.IsAccepted:
		return mcpadapter.Decision{Kind: mcpadapter.Accepted, Fingerprint: fp.Digest}, nil
	case pin.Unknown:
		if t.app.opt.Tofu {
			return t.accept(ctx, s, fp, "", "tofu")
		}
	case pin.Changed:
	case pin.IsRefused: // asked again, so that each run has its refusal on record
		return t.openGate(ctx, s, fp, previous, refusedBefore, waiting)
	case pin.IsDisabled:
		return t.openGate(ctx, s, fp, previous, disabledBefore, waiting)
	}
	return t.openGate(ctx, s, fp, previous, "", waiting)
}

// openGate asks about what is new, has changed from previous or was, as before
// says, refused or disabled.
func (t *trust) openGate(ctx context.Context, s config.Server, fp pin.Fingerprint, previous, before string, waiting func()) (mcpadapter.Decision, error) {
	waiting()
	typ := event.TypePinPending
	if previous != "" {
		typ = event.TypePinChanged
	}
	if err := t.publish(ctx, typ, s.Name, fp, previous, "", false); err != nil {
		return mcpadapter.Decision{}, err
	}
	resp, err := t.app.Session.OpenGate(ctx, gate.Request{
		Kind: gate.KindUntrustedServer, Subject: gate.Subject{Binding: s.Name}, Prompt: prompt(s, fp, previous, before),
		Private: gate.Private{URL: fp.Address()},
	})
	if err != nil {
		return mcpadapter.Decision{}, err
	}
	switch {
	case resp.Close == "" && resp.Action == gate.ActionAccept:
		return t.accept(ctx, s, fp, previous, resp.Answerer.ID)
	case resp.Close == "" && resp.Action == gate.ActionOnce:
		err := t.publish(ctx, event.TypePinAccepted, s.Name, fp, previous, resp.Answerer.ID, true)
		return mcpadapter.Decision{Kind: mcpadapter.Once, Fingerprint: fp.Digest}, err
	case resp.Close == "" && resp.Action == gate.ActionRefuse:
		return t.refuse(ctx, s, fp, previous, resp.Answerer.ID)
	}
	d := mcpadapter.Decision{Kind: mcpadapter.Pending, Fingerprint: fp.Digest, Reason: reasonNobody(fp.Kind)}
	switch {
	case previous != "":
		d.Reason, d.Changed = reasonChanged(fp.Kind), true
	case before != "":
		d.Reason = before
	}
	return d, nil
}

func prompt(s config.Server, fp pin.Fingerprint, previous, before string) gate.Prompt {
	w := layerWords[fp.Kind]
	p := gate.Prompt{
		Title: fmt.Sprintf(w.first, s.Name), Origin: gate.OriginHost, Target: fp.Origin, Fingerprint: fp.Digest,
	}
	if previous != "" {
		p.Title = fmt.Sprintf(w.changed, s.Name)
		p.Warnings = append(p.Warnings, "the accepted fingerprint was "+previous)
	}
	if before != "" {
		p.Warnings = append(p.Warnings, before)
	}
	if fp.Mutable != "" {
		p.Warnings = append(p.Warnings, fp.Mutable)
	}
	if fp.Kind == pin.LayerEndpoint {
		p.Warnings = append(p.Warnings, fp.Warnings...)
	}
	for _, l := range fp.Lines {
		if l.Private() {
			continue // see revealed
		}
		p.Launch = append(p.Launch, gate.Fact{Label: l.Label, Value: l.Value})
	}
	return p
}

func (t *trust) accept(ctx context.Context, s config.Server, fp pin.Fingerprint, previous, by string) (mcpadapter.Decision, error) {
	if err := t.app.pins.Accept(s.Name, fp.Kind, fp.Digest, by, t.app.now()); err != nil {
		return mcpadapter.Decision{}, fmt.Errorf("keep the pin of %s: %w", s.Name, err)
	}
	err := t.publish(ctx, event.TypePinAccepted, s.Name, fp, previous, by, false)
	return mcpadapter.Decision{Kind: mcpadapter.Accepted, Fingerprint: fp.Digest}, err
}

func (t *trust) refuse(ctx context.Context, s config.Server, fp pin.Fingerprint, previous, by string) (mcpadapter.Decision, error) {
	if previous == "" { // the accepted pin of a changed launch stays
		if err := t.app.pins.Refuse(s.Name, fp.Kind, fp.Digest, by, t.app.now()); err != nil {
			return mcpadapter.Decision{}, fmt.Errorf("keep the refusal of %s: %w", s.Name, err)
		}
	}
	err := t.publish(ctx, event.TypePinRefused, s.Name, fp, previous, by, false)
	reason := "its " + layerWords[fp.Kind].noun + " was refused by " + by
	if previous != "" {
		reason = reasonChanged(fp.Kind)
	}
	return mcpadapter.Decision{Kind: mcpadapter.Refused, Fingerprint: fp.Digest, Reason: reason, Changed: previous != ""}, err
}

// publish records a step of a pin's life as an event and a ledger entry.
func (t *trust) publish(ctx context.Context, typ event.Type, binding string, fp pin.Fingerprint, previous, by string, once bool) error {
	ev := &event.PinChanged{Binding: binding, Layer: string(fp.Kind), Fingerprint: fp.Digest, Previous: previous, By: by, Once: once}
	ev.Type = typ
	detail := string(typ)
	if once {
		detail += ".once"
	}
	return t.app.Session.Publish(ctx, ev, ledger.Draft{
		Kind: ledger.KindPin, Session: t.app.Session.ID(), Binding: binding, Pin: fp.Digest, Answerer: by, Detail: detail,
	})
}

// failureCode is the exit code of one required binding's failure.
func failureCode(f mcpadapter.BindingFailure) exit.Code {
	var mismatch *stdio.SHA256MismatchError
	switch {
	case errors.As(f.Err, &mismatch), f.Class == classIntegrity:
		return exit.Integrity
	case f.Class == classUntrusted:
		return exit.GateRefused
	case f.Class == classConfig:
		return exit.Usage
	case f.Class == classAuth:
		return exit.Auth
	}
	return exit.Unreachable
}

const (
	classIntegrity client.Class = "integrity"
	classUntrusted client.Class = "untrusted"
	classConfig    client.Class = "config"
	classAuth      client.Class = "auth"
)
