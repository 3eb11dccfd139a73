package compose

import (
	"context"

	"github.com/looprig/looprig/harness/integration"
)

var (
	_ integration.Reader  = (*Port)(nil)
	_ integration.Watcher = (*Port)(nil)
)

// Read implements integration.Reader.
func (p *Port) Read(ctx context.Context, binding, uri string) (integration.Fetched, error) {
	return p.app.Manager.Read(ctx, binding, uri)
}

// Prompt implements integration.Reader.
func (p *Port) Prompt(ctx context.Context, binding, name string, args map[string]string) (integration.Fetched, error) {
	return p.app.Manager.Prompt(ctx, binding, name, args)
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
