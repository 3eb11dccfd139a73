package mcpadapter

import (
	"sync"

	"github.com/looprig/looprig/mcpadapter/client"
)

// Eras keeps beyond the process which protocol revision the server of a launch
// or endpoint was found to speak, so that a later start need not probe for it.
// Keys are fingerprints; a launch that changes has another one. It is safe for
// concurrent use and must not block.
type Eras interface {
	// Known is the revision, "" when it is not known.
	Known(launchKey string) string
	Found(launchKey, revision string)
}

// maxEras bounds what a process remembers; what is over it is probed for again.
const maxEras = 4096

// memory is what this process has found.
type memory struct {
	mu    sync.Mutex
	known map[string]string
}

func (m *memory) get(key string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known[key]
}

func (m *memory) put(key, revision string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= maxEras {
		m.known = map[string]string{}
	}
	m.known[key] = revision
}

// era is the memory of one run's server.
type era struct{ rt *runtime }

var _ client.Eras = era{}

// key is the launch's fingerprint; without one, the binding's declaration, which
// is good for this process alone.
func (e era) key() (key string, pinned bool) {
	e.rt.mu.Lock()
	key = e.rt.decision.Fingerprint
	e.rt.mu.Unlock()
	if key != "" {
		return key, true
	}
	return bindingDigest(e.rt.cfg, e.rt.m.deps.DigestKey), false
}

// Known implements client.Eras.
func (e era) Known() string {
	key, pinned := e.key()
	if rev := e.rt.m.eras.get(key); rev != "" || !pinned || e.rt.m.deps.Eras == nil {
		return rev
	}
	return e.rt.m.deps.Eras.Known(key)
}

// Found implements client.Eras.
func (e era) Found(revision string) {
	key, pinned := e.key()
	e.rt.m.eras.put(key, revision)
	if pinned && e.rt.m.deps.Eras != nil {
		e.rt.m.deps.Eras.Found(key, revision)
	}
}
