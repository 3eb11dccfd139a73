package compose

import (
	"context"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/integration"
)

var (
	_ integration.Reader  = (*Port)(nil)
	_ integration.Watcher = (*Port)(nil)
)

// Read implements integration.Reader.
func (p *Port) Read(ctx context.Context, binding, uri string) (integration.Fetched, error) {
	return p.fetched(ctx, event.FetchCompleted{Binding: binding, What: fetchedResource, Name: uri}, func() (integration.Fetched, error) {
		return p.app.Manager.Read(ctx, binding, uri)
	})
}

// Prompt implements integration.Reader.
func (p *Port) Prompt(ctx context.Context, binding, name string, args map[string]string) (integration.Fetched, error) {
	return p.fetched(ctx, event.FetchCompleted{Binding: binding, What: fetchedPrompt, Name: name, Args: args}, func() (integration.Fetched, error) {
		return p.app.Manager.Prompt(ctx, binding, name, args)
	})
}

// What an operator can fetch, as event.FetchCompleted has it.
const (
	fetchedResource = "resource"
	fetchedPrompt   = "prompt"
)

// fetched asks and leaves on record that somebody did, whatever came of it.
func (p *Port) fetched(ctx context.Context, e event.FetchCompleted, ask func() (integration.Fetched, error)) (integration.Fetched, error) {
	began := p.app.now()
	out, err := ask()
	e.By, e.OK, e.GivenUp = p.app.opt.By, err == nil, err != nil && ctx.Err() != nil
	e.DurationMS = p.app.now().Sub(began).Milliseconds()
	// What was fetched is worth having where it cannot be put on record: the
	// session is then latched, and says so itself.
	_ = p.app.Session.Publish(context.WithoutCancel(ctx), &e)
	return out, err
}

// Complete implements integration.Reader.
func (p *Port) Complete(ctx context.Context, req integration.CompleteRequest) (integration.Completion, error) {
	return p.app.Manager.Complete(ctx, req)
}

// Subscribe implements integration.Reader.
func (p *Port) Subscribe(ctx context.Context, binding, uri string) error {
	return p.app.Manager.Subscribe(ctx, binding, uri)
}

// Unsubscribe implements integration.Reader.
func (p *Port) Unsubscribe(ctx context.Context, binding, uri string) error {
	return p.app.Manager.Unsubscribe(ctx, binding, uri)
}

// Logs implements integration.Watcher.
func (p *Port) Logs(binding string) []integration.LogEntry { return p.app.Manager.Logs(binding) }

// Trace implements integration.Watcher.
func (p *Port) Trace(binding string) []integration.Frame { return p.app.Manager.Trace(binding) }
