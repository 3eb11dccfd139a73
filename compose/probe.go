package compose

import (
	"context"

	"github.com/looprig/looprig/compose/provider"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/harness/model/operator"
	"github.com/looprig/looprig/mcpadapter"
)

// prober is who gives a session the model that was found for it, as records name
// it: no person did.
const prober = "probe"

// probe is the look for a model server on this machine that an interactive run
// owes: its first frame does not wait for it.
type probe struct {
	look provider.DetectOptions
	// done is closed when it is over, whatever came of it.
	done chan struct{}
}

// owesProbe puts the look for a local server off until the interface is there.
func (a *App) owesProbe(look provider.DetectOptions) {
	if !look.NoProbe {
		a.probe = &probe{look: look, done: make(chan struct{})}
	}
}

// runProbe looks for the model that is owed and gives it to every loop whose
// answers a person would give otherwise. It returns within provider.ProbeTimeout
// or so, and at once where nothing is owed.
func (a *App) runProbe(ctx context.Context) {
	if a.probe == nil {
		return
	}
	defer close(a.probe.done)
	client, note, err := a.models.found(provider.Detect(ctx, a.probe.look))
	if client == nil || err != nil || ctx.Err() != nil {
		return
	}
	by := gate.Answerer{Kind: gate.AnswererScript, ID: prober}
	given := false
	for _, l := range a.Session.Loops() {
		if l.Model != operator.Name || a.wantsOperator(l.Name) {
			continue
		}
		if _, err := a.Session.SetModel(ctx, l.ID, client, by); err != nil {
			return // what cannot be recorded has latched the session, which says so
		}
		given = true
		a.windowOf(l.ID, client.Info())
	}
	if given {
		_ = a.Session.Publish(ctx, &event.Notice{Code: "model_found", Level: string(mcpadapter.LevelInfo), Text: note})
	}
}

// wantsOperator says whether a loop is configured to have no model.
func (a *App) wantsOperator(loop string) bool {
	for _, l := range a.conf.Loops {
		if l.Name == loop {
			return l.Model == operator.Name
		}
	}
	return false
}

// awaitProbe waits until it is settled who answers.
func (a *App) awaitProbe(ctx context.Context) error {
	if a.probe == nil {
		return nil
	}
	select {
	case <-a.probe.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sessionModel is the model that the session's first loop has now.
func (a *App) sessionModel(ctx context.Context) (model.Client, error) {
	if a.Session == nil || a.opt.Scripted != nil {
		return a.client, nil
	}
	if loops := a.Session.Loops(); len(loops) > 0 && loops[0].Model != a.client.Info().Name {
		return a.models.named(ctx, loops[0].Model)
	}
	return a.client, nil
}
