package mcpadapter

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/mcpadapter/catalog"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// MaxBindings bounds the bindings of one Manager.
const MaxBindings = 512

// maxHistory is how many past events a binding remembers.
const maxHistory = 64

// closeTime bounds the end of all bindings together; each has its own, shorter
// CloseTimeout.
const closeTime = 15 * time.Second

// Manager owns the bindings of one session. All methods are safe for
// concurrent use.
type Manager struct {
	deps Deps
	pump *pump

	installs atomic.Uint64 // numbers the installations on loops
	tracing  atomic.Bool   // protocol messages are published
	windows  windows       // of the loops' models
	eras     memory

	change sync.Mutex // held while bindings are started, changed or closed: one at a time

	mu       sync.Mutex
	started  bool
	closed   bool
	session  string
	entries  []*entry // in configuration order
	nextID   uint64
	retiring map[*runtime]struct{}
	adopters []*Adopter
	clashes  map[string]bool // told already
	meters   map[string]*meter
	ctx      context.Context // ends with the Manager
	cancel   context.CancelFunc
}

// entry is one configured binding. Its fields are guarded by Manager.mu.
type entry struct {
	cfg     Binding
	rt      *runtime            // nil while it does not run
	old     *runtime            // the one before, while it retires
	last    *catalog.Generation // the newest generation of the runs before
	trail   *trail              // of rt, or of the run before
	since   time.Time
	history []integration.History
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

// NewManager checks the bindings and returns a Manager that runs none of them
// yet; Close it in any case. It fails with *ConfigError.
func NewManager(bindings []Binding, deps Deps) (*Manager, error) {
	if deps.Clock == nil {
		deps.Clock = systemClock{}
	}
	if deps.DigestKey == nil {
		deps.DigestKey = make([]byte, 32)
		_, _ = rand.Read(deps.DigestKey) // never fails
	}
	var checked []Binding
	for _, b := range bindings {
		b, err := checkBinding(b, checked)
		if err != nil {
			return nil, err
		}
		checked = append(checked, b)
	}
	m := &Manager{
		deps: deps, session: deps.SessionID, retiring: map[*runtime]struct{}{}, clashes: map[string]bool{},
		meters: map[string]*meter{},
	}
	m.windows.set("", deps.ContextTokens)
	for name, n := range deps.LoopContextTokens {
		m.windows.set(name, n)
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	for _, b := range checked {
		m.entries = append(m.entries, &entry{cfg: b, since: deps.Clock.Now()})
	}
	m.pump = newPump(deps)
	return m, nil
}

// checkBinding validates a binding next to those that are configured.
func checkBinding(b Binding, others []Binding) (Binding, error) {
	fault := func(err error, format string, args ...any) (Binding, error) {
		return b, &ConfigError{Binding: safetext.ToLineN(b.Name, 80).String(), Reason: fmt.Sprintf(format, args...), Err: err}
	}
	if err := catalog.CheckBindingName(b.Name); err != nil {
		return fault(err, "%s", err.Error())
	}
	switch {
	case slices.ContainsFunc(others, func(o Binding) bool { return o.Name == b.Name }):
		return fault(nil, "the name is taken")
	case len(others) >= MaxBindings:
		return fault(nil, "more than %d bindings", MaxBindings)
	case b.Server.Name != "" && b.Server.Name != b.Name:
		return fault(nil, "its server is called %q; both names must be the same", b.Server.Name)
	case b.scope() != ScopeSession && b.scope() != ScopeLoop:
		return fault(nil, "unknown scope %q", b.Scope)
	case b.scope() == ScopeLoop && b.Loop == "":
		return fault(nil, "a loop-scoped binding names its loop")
	case b.scope() == ScopeSession && b.Loop != "":
		return fault(nil, "a session-scoped binding has no loop of its own")
	}
	b.Server.Name = b.Name
	if b.Fault != nil {
		return b, nil
	}
	if err := b.Server.Check(); err != nil {
		return fault(err, "%s", err.Error())
	}
	b.Server = b.Server.WithDefaults()
	return b, nil
}

// Start runs every enabled binding. It waits for the required ones and fails
// with *StartupError, everything being closed again, when one of them cannot
// start; optional ones go on in the background. ctx bounds the waiting alone.
func (m *Manager) Start(ctx context.Context) error {
	required, failures, err := m.launchAll()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	for _, rt := range required {
		// One that was reconfigured away meanwhile is nobody's requirement.
		if err := rt.awaitFirst(ctx); err != nil && rt.withdrawn() == "" {
			failures = append(failures, rt.failure(err))
		}
	}
	if m.ctx.Err() != nil {
		return ErrManagerClosed
	}
	if len(failures) == 0 {
		return nil
	}
	m.change.Lock()
	defer m.change.Unlock()
	m.shutdown(context.Background())
	return &StartupError{Failures: failures}
}

// launchAll runs what is enabled and waits for nothing.
func (m *Manager) launchAll() (required []*runtime, failures []BindingFailure, err error) {
	m.change.Lock()
	defer m.change.Unlock()
	m.mu.Lock()
	switch {
	case m.closed:
		m.mu.Unlock()
		return nil, nil, ErrManagerClosed
	case m.started:
		m.mu.Unlock()
		return nil, nil, ErrAlreadyStarted
	}
	m.started = true
	entries := slices.Clone(m.entries)
	m.mu.Unlock()
	for _, e := range entries {
		rt, failure := m.launch(e)
		switch {
		case e.cfg.Disabled:
			m.tellDisabled(e.cfg, integration.StateConfigured)
		case failure != nil && e.cfg.Required:
			failures = append(failures, *failure)
		case rt != nil && e.cfg.Required:
			required = append(required, rt)
		}
	}
	return required, failures, nil
}

func (rt *runtime) awaitFirst(ctx context.Context) error {
	select {
	case <-rt.first:
	case <-ctx.Done():
		return waitEnded(ctx)
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.firstErr
}

// waitEnded is the failure of a start that was still open when ctx ended:
// cancelled where somebody gave it up.
func waitEnded(ctx context.Context) error {
	err := &protocol.Error{Class: protocol.ClassTimeout, Op: "start", Message: "not ready when the waiting ended", Err: context.Cause(ctx)}
	if errors.Is(ctx.Err(), context.Canceled) {
		err.Class = protocol.ClassCancelled
	}
	return err
}

// launch runs an entry that is meant to run. It returns nothing for one that is
// disabled, and a failure for one that cannot run at all. The change lock is
// held.
func (m *Manager) launch(e *entry) (*runtime, *BindingFailure) {
	m.mu.Lock()
	cfg := e.cfg
	if cfg.Disabled || e.rt != nil {
		rt := e.rt
		m.mu.Unlock()
		return rt, nil
	}
	m.nextID++
	id, last := m.nextID, e.last
	for old := range m.retiring {
		if old.cfg.Name == cfg.Name {
			old.hush()
		}
	}
	m.mu.Unlock()
	if cfg.Fault != nil {
		text := safetext.ToLine(cfg.Fault.Text).String()
		m.tellState(cfg, client.StateChange{
			State: integration.StateInvalid, Code: codeInvalid, Class: protocol.ClassConfig, Text: text, Time: m.deps.Clock.Now(),
		})
		return nil, &BindingFailure{Binding: cfg.Name, Class: protocol.ClassConfig, Reason: cfg.Fault.Position + ": " + text}
	}
	rt, err := newRuntime(m, id, cfg, last)
	if err != nil {
		return nil, &BindingFailure{Binding: cfg.Name, Class: protocol.ClassConfig, Reason: err.Error(), Err: err}
	}
	m.mu.Lock()
	e.rt, e.trail = rt, rt.trail
	m.mu.Unlock()
	rt.start()
	return rt, nil
}

// BindSession attaches the session; events that were held are published.
func (m *Manager) BindSession(sessionID string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return ErrManagerClosed
	case sessionID == "":
		return ErrNotBound
	case m.session != "":
		return ErrAlreadyBound
	}
	m.session = sessionID
	m.pump.bind()
	return nil
}

// Close stops everything within a bounded time: calls in flight end with their
// outcome unknown. It is idempotent; ctx can only shorten it.
func (m *Manager) Close(ctx context.Context) error {
	m.cancel() // a reconfiguration that waits gives up
	m.change.Lock()
	defer m.change.Unlock()
	m.shutdown(ctx)
	return nil
}

// shutdown closes adopters, runtimes and the pump. The change lock is held.
func (m *Manager) shutdown(ctx context.Context) {
	m.cancel()
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return
	}
	m.closed = true
	adopters := m.adopters
	var live []*runtime
	for _, e := range m.entries {
		if e.rt != nil {
			live = append(live, e.rt)
		}
	}
	m.mu.Unlock()
	for _, a := range adopters {
		_ = a.Close()
	}
	now, stop := context.WithCancel(context.Background())
	stop() // nobody waits for calls in flight any more
	for _, rt := range live {
		rt.withdraw("closed")
		go m.deps.crash().Guard(func() {
			defer close(rt.ended)
			rt.retire(now)
		})
	}
	m.mu.Lock()
	for rt := range m.retiring {
		live = append(live, rt)
	}
	m.mu.Unlock()
	limit := time.NewTimer(closeTime)
	defer limit.Stop()
	for _, rt := range live {
		select {
		case <-rt.ended:
		case <-ctx.Done(): // the runtimes end by their own bounds
		case <-limit.C:
			m.notice(rt.cfg.Name, "close_slow", LevelWarn, nil, "the binding did not end within %s", closeTime)
			limit.Reset(0)
		}
	}
	m.pump.close()
}

// find returns the entry of that name. The lock is held.
func (m *Manager) find(name string) *entry {
	for _, e := range m.entries {
		if e.cfg.Name == name {
			return e
		}
	}
	return nil
}

// header begins an event of a binding.
func (m *Manager) header(b Binding) event.Header {
	h := event.Header{}
	if b.scope() == ScopeLoop {
		h.Loop = b.Loop
	}
	return h
}

func (m *Manager) notice(binding, code string, level Level, err error, format string, args ...any) {
	m.pump.notice(Notice{
		Time: m.deps.Clock.Now(), Binding: binding, Code: code, Level: level, Err: err,
		Text: safetext.ToLine(fmt.Sprintf(format, args...)).String(),
	})
}

// tellState records a change of a binding's state.
func (m *Manager) tellState(cfg Binding, s client.StateChange) {
	ev := &event.BindingChanged{
		Header: m.header(cfg), Binding: cfg.Name, State: string(s.State), Previous: string(s.Previous),
		Code: s.Code, Class: string(s.Class), Text: s.Text, Generation: s.Generation,
	}
	if !s.NextTry.IsZero() {
		ev.NextTryMS = max(0, s.NextTry.Sub(s.Time).Milliseconds())
	}
	m.pump.event(ev)
	text := string(s.State)
	if s.Text != "" {
		text += ": " + s.Text
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.find(cfg.Name); e != nil {
		e.history = append(e.history, integration.History{Time: s.Time, Code: s.Code, Text: text})
		if len(e.history) > maxHistory {
			e.history = slices.Delete(e.history, 0, len(e.history)-maxHistory)
		}
	}
}

func (m *Manager) tellDisabled(cfg Binding, previous client.State) {
	m.tellState(cfg, client.StateChange{
		Previous: previous, State: integration.StateDisabled, Code: codeDisabled, Time: m.deps.Clock.Now(),
	})
}

// changed tells the adopters that toolsets may have to be built anew.
func (m *Manager) changed() {
	m.mu.Lock()
	adopters := slices.Clone(m.adopters)
	m.mu.Unlock()
	for _, a := range adopters {
		a.kick()
	}
}

// adoptIdle brings loops that are idle up to date before it returns.
func (m *Manager) adoptIdle(ctx context.Context) {
	m.mu.Lock()
	adopters := slices.Clone(m.adopters)
	m.mu.Unlock()
	for _, a := range adopters {
		a.adoptIdle(ctx)
	}
}
