package mcpadapter

import (
	"context"
	"encoding/json"

	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/tool"
)

// Manager owns the bindings of one session. All methods are safe for
// concurrent use.
type Manager struct{}

// NewManager checks the bindings and returns a Manager that runs none of them
// yet. It fails with *ConfigError.
func NewManager(bindings []Binding, deps Deps) (*Manager, error) { return &Manager{}, nil }

// Start runs every enabled binding. It waits for the required ones and fails
// with *StartupError, everything being closed again, when one of them cannot
// start; optional ones go on in the background. ctx bounds the waiting alone.
func (m *Manager) Start(ctx context.Context) error { return nil }

// BindSession attaches the session; events that were held are published.
func (m *Manager) BindSession(sessionID string) error { return nil }

// StartAdoption begins to carry loops to new generations.
func (m *Manager) StartAdoption(session LoopWatcher, installer ToolInstaller) (*Adopter, error) {
	return &Adopter{}, nil
}

// SessionTools returns the tools of session-scoped bindings that the loop may
// use, in configuration order.
func (m *Manager) SessionTools(loopID, loopName string) []tool.Definition { return nil }

// LoopTools returns the tools of the loop's own bindings.
func (m *Manager) LoopTools(loopID string) []tool.Definition { return nil }

// Status is a snapshot of all bindings in configuration order. It never blocks.
func (m *Manager) Status() []integration.Binding { return nil }

// Catalog returns a generation (0 = the newest) that is still kept.
func (m *Manager) Catalog(binding string, generation uint64) (integration.Catalog, bool) {
	return integration.Catalog{}, false
}

// ConfigDigest covers every declared setting of every binding. It is available
// before Start and BindSession and changes with reconfigurations alone.
func (m *Manager) ConfigDigest() string { return "" }

// ConfigIdentity is the digest with its parts, binding by binding.
func (m *Manager) ConfigIdentity() ConfigIdentity { return ConfigIdentity{} }

// Reconfigure validates all operations together, then applies them in order.
// It returns when the bindings concerned have settled.
func (m *Manager) Reconfigure(ctx context.Context, ops ...Operation) error { return nil }

// ReconfigureAs is Reconfigure with a record of who asked.
func (m *Manager) ReconfigureAs(ctx context.Context, by Attribution, ops ...Operation) error {
	return nil
}

// Reconnect drops a binding's connection, if it has one, and connects anew at
// once; a pending decision of trust is asked for again.
func (m *Manager) Reconnect(ctx context.Context, name string) error { return nil }

// Wait waits until a binding serves calls (nil) or its latest attempt has
// failed (a BindingFailure).
func (m *Manager) Wait(ctx context.Context, name string) error { return nil }

// ReadResource reads a resource of a binding and returns the raw result.
func (m *Manager) ReadResource(ctx context.Context, binding, uri string) (json.RawMessage, error) {
	return nil, nil
}

// GetPrompt gets a prompt of a binding; args is a JSON object of strings or nil.
func (m *Manager) GetPrompt(ctx context.Context, binding, name string, args json.RawMessage) (json.RawMessage, error) {
	return nil, nil
}

// Request sends a raw request; tools/call is refused.
func (m *Manager) Request(ctx context.Context, binding, method string, params json.RawMessage) (json.RawMessage, error) {
	return nil, nil
}

// CloseLoop stops the bindings that belong to the loop alone.
func (m *Manager) CloseLoop(ctx context.Context, loopID string) error { return nil }

// Close stops everything within a bounded time. It is idempotent.
func (m *Manager) Close(ctx context.Context) error { return nil }

// ConfigIdentity identifies a configuration and what was discovered under it.
type ConfigIdentity struct {
	// Declared is the ConfigDigest.
	Declared string            `json:"declared"`
	Bindings []BindingIdentity `json:"bindings"`
}

// BindingIdentity is one binding's part of a ConfigIdentity.
type BindingIdentity struct {
	Name     string `json:"name"`
	Declared string `json:"declared"`
	// Generation and Catalog identify the adopted catalog; they are empty
	// before discovery.
	Generation uint64 `json:"generation,omitempty"`
	Catalog    string `json:"catalog,omitempty"`
}

// Adopter carries loops to new toolsets at idle boundaries.
type Adopter struct{}

// Install gives a loop its first toolset and follows it from then on.
func (a *Adopter) Install(ctx context.Context, loopID, name string) error { return nil }

// Close ends the adoption; installed toolsets stay.
func (a *Adopter) Close() error { return nil }
