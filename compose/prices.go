package compose

import (
	"strings"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/harness/session"
)

// providerOf is the entry of providers that a model's name begins with.
func (m *models) providerOf(name string) (config.Provider, bool) {
	head, _, _ := strings.Cut(name, "/")
	for _, p := range m.conf.Providers {
		if p.Name == head {
			return p, true
		}
	}
	return config.Provider{}, false
}

// sessionLimits are the session's limits as far as the configuration sets them.
func sessionLimits(l config.Limits) session.Limits {
	return session.Limits{
		StepsPerTurn: l.Steps, CallsPerTurn: l.ToolCalls, ParallelCalls: l.ParallelCalls, QueuedInputs: l.QueuedInputs,
	}
}
