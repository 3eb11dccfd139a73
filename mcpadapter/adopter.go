package mcpadapter

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/mcpadapter/catalog"
)

// maxNameClashes bounds how many of our tools one installation gives up because
// another slot of the loop has their names.
const maxNameClashes = 64

// Adopter carries loops to new toolsets. A toolset that differs from the
// installed one is handed over at once; the installer's contract puts it into
// effect at the loop's next idle boundary, so that a turn never sees it and the
// next one cannot miss it.
type Adopter struct {
	m         *Manager
	installer ToolInstaller
	ctx       context.Context
	cancel    context.CancelFunc
	stop      func()
	wg        sync.WaitGroup // one worker for each loop

	mu     sync.Mutex
	loops  map[string]*followed
	closed bool
}

// followed is one loop.
type followed struct {
	id, name string
	dirty    chan struct{}
	gone     chan struct{}

	op sync.Mutex // one installation at a time

	// The fields below are guarded by Adopter.mu.
	running   bool
	installed bool
	signature string
	gens      map[uint64]adopted // by run
	later     []event.Event      // adoptions that take effect when the turn ends
}

// adopted is a generation that a loop has.
type adopted struct {
	number uint64
	digest string
}

// StartAdoption begins to carry loops to new generations. It fails with
// ErrNotBound before the session is bound.
func (m *Manager) StartAdoption(session LoopWatcher, installer ToolInstaller) (*Adopter, error) {
	m.mu.Lock()
	switch {
	case m.closed:
		m.mu.Unlock()
		return nil, ErrManagerClosed
	case m.session == "":
		m.mu.Unlock()
		return nil, ErrNotBound
	}
	a := &Adopter{m: m, installer: installer, loops: map[string]*followed{}}
	a.ctx, a.cancel = context.WithCancel(m.ctx)
	m.adopters = append(m.adopters, a)
	m.mu.Unlock()
	stop := session.WatchLoops(a.ctx, a.observe)
	a.mu.Lock()
	a.stop = stop
	closed := a.closed
	a.mu.Unlock()
	if closed { // the Manager was closed meanwhile
		stop()
		return nil, ErrManagerClosed
	}
	return a, nil
}

// observe follows a loop. It does not block.
func (a *Adopter) observe(loopID, name string, state LoopState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.loops[loopID]
	if state == LoopClosed {
		if l != nil {
			delete(a.loops, loopID)
			close(l.gone)
		}
		return
	}
	if l == nil {
		if l = a.follow(loopID, name); l == nil {
			return
		}
	}
	l.running = state == LoopRunning
	if state == LoopIdle || state == LoopOpened {
		for _, ev := range l.later {
			a.m.pump.event(ev)
		}
		l.later = nil
		l.signal()
	}
}

// follow begins to serve a loop. The lock is held.
func (a *Adopter) follow(loopID, name string) *followed {
	if a.closed {
		return nil
	}
	l := &followed{
		id: loopID, name: name, dirty: make(chan struct{}, 1), gone: make(chan struct{}), gens: map[uint64]adopted{},
	}
	a.loops[loopID] = l
	a.wg.Add(1)
	go a.m.deps.crash().Guard(func() { a.work(l) })
	return l
}

// ended reports whether the loop is followed no more.
func (l *followed) ended() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}

func (l *followed) signal() {
	select {
	case l.dirty <- struct{}{}:
	default:
	}
}

// work installs what changed until the loop or the adoption ends.
func (a *Adopter) work(l *followed) {
	defer a.wg.Done()
	for {
		select {
		case <-l.dirty:
		case <-l.gone:
			return
		case <-a.ctx.Done():
			return
		}
		if err := a.install(a.ctx, l); err != nil && a.ctx.Err() == nil && !l.ended() {
			a.m.notice("", "adoption_failed", LevelError, err, "loop %s keeps its present tools: %s",
				safetext.Ident(l.name), err.Error())
		}
	}
}

// Install gives a loop its first toolset, at once when the loop is idle, and
// follows it from then on. Bindings that are not ready yet join later.
func (a *Adopter) Install(ctx context.Context, loopID, name string) error {
	a.mu.Lock()
	l := a.loops[loopID]
	if l == nil {
		l = a.follow(loopID, name)
	}
	a.mu.Unlock()
	if l == nil {
		return ErrManagerClosed
	}
	return a.install(ctx, l)
}

// Close ends the adoption; installed toolsets stay. It is idempotent.
func (a *Adopter) Close() error {
	a.mu.Lock()
	stop := a.stop
	a.stop, a.closed = nil, true
	a.mu.Unlock()
	a.cancel()
	if stop != nil {
		stop()
	}
	a.wg.Wait()
	a.m.mu.Lock()
	a.m.adopters = slices.DeleteFunc(slices.Clone(a.m.adopters), func(x *Adopter) bool { return x == a })
	a.m.mu.Unlock()
	return nil
}

// kick has every loop looked at again.
func (a *Adopter) kick() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, l := range a.loops {
		l.signal()
	}
}

// adoptIdle brings the loops that are idle up to date before it returns.
func (a *Adopter) adoptIdle(ctx context.Context) {
	a.mu.Lock()
	var idle []*followed
	for _, l := range a.loops {
		if !l.running {
			idle = append(idle, l)
		}
	}
	a.mu.Unlock()
	for _, l := range idle {
		if err := a.install(ctx, l); err != nil {
			l.signal() // the worker tries again and tells
		}
	}
}

// install hands the loop's toolset over if it differs from the installed one.
func (a *Adopter) install(ctx context.Context, l *followed) error {
	l.op.Lock()
	defer l.op.Unlock()
	set := a.m.build(l.id, l.name)
	sig := set.signature()
	a.mu.Lock()
	same := l.installed && l.signature == sig
	a.mu.Unlock()
	if !same {
		if err := a.replace(ctx, l, set, a.m.installs.Add(1)); err != nil {
			return err
		}
	}
	a.note(l, set, sig)
	return nil
}

// replace installs a toolset; a tool whose name another slot of the loop has is
// left out and told of.
func (a *Adopter) replace(ctx context.Context, l *followed, set toolset, count uint64) error {
	for range maxNameClashes {
		err := a.installer.ReplaceExternalTools(ctx, l.id, ToolSource, count, set.defs)
		var dup *DuplicateModelNameError
		if !errors.As(err, &dup) {
			return err
		}
		smaller := set.without(dup.Newcomer)
		if len(smaller.defs) == len(set.defs) {
			return err
		}
		for _, p := range set.parts {
			if p.rt.cfg.Name == dup.Newcomer.Binding {
				a.m.clash(p.rt, dup)
			}
		}
		set = smaller
	}
	return errors.New("too many tools have names that the loop's own tools have")
}

// note records what the loop has now and tells of every generation that is new
// to it: at once when the loop is idle, else when its turn ends.
func (a *Adopter) note(l *followed, set toolset, sig string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	l.installed, l.signature = true, sig
	gens := map[uint64]adopted{}
	for _, p := range set.parts {
		was := l.gens[p.rt.id]
		gens[p.rt.id] = adopted{p.gen.Number, p.gen.Digest}
		if was.number == p.gen.Number {
			continue
		}
		var prev *catalog.Generation
		if was.number > 0 {
			prev = p.rt.cl.Kept(was.number)
		}
		ev := &event.CatalogAdopted{Header: event.Header{Loop: l.id}, CatalogChange: change(p.rt.cfg.Name, prev, p.gen)}
		ev.From = was.number
		if l.running {
			l.later = append(l.later, ev)
		} else {
			a.m.pump.event(ev)
		}
	}
	l.gens = gens
}

// adopted is the oldest generation of a run among the loops that have one, 0 for
// a loop that may use it and has none yet.
func (a *Adopter) adopted(rt *runtime) (number uint64, any bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, l := range a.loops {
		if !rt.cfg.admits(l.id, l.name) {
			continue
		}
		if n := l.gens[rt.id].number; !any || n < number {
			number, any = n, true
		}
	}
	return number, any
}
