//go:build integration && linux

package acceptance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/fixture"
)

// reach is a server of a scenario that a script can use: its entry, and what it
// has received and sent so far.
type reach struct {
	entry string
	log   func() fixture.Entries
}

// opener makes a server of a scenario; extra are further keys of its entry.
type opener func(w *world, name, scenario, extra string, settings ...string) reach

// everyWay are all ways to reach a server, a process included.
func everyWay() map[string]opener {
	out := map[string]opener{}
	for _, era := range []string{fixture.EraLegacy, fixture.EraModern} {
		out["stdio "+era] = func(w *world, name, scenario, extra string, settings ...string) reach {
			return reach{w.server(name, scenario, extra, append(settings, "era="+era)...), func() fixture.Entries { return w.log(name) }}
		}
	}
	for way, y := range ways {
		out[way] = func(w *world, name, scenario, extra string, settings ...string) reach {
			s := w.site(scenario, y, settings...)
			return reach{s.entry(name, extra), s.Log}
		}
	}
	return out
}

// refreshesPerSecond bounds the listings of a family in any one second.
const refreshesPerSecond = 2

// Ten thousand announcements of a change cost two listings in a second, and the
// last of them is followed by one.
func TestAnnouncementsAreCoalesced(t *testing.T) {
	t.Parallel()
	for name, reached := range everyWay() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := reached(w, "fx", "flood-list-changed", "")
			// quick waits for the listing that the flood has made stale.
			r := w.script("version: 1\nservers: {" + s.entry + "}\nsteps:\n  - call: {tool: mcp__fx__flood}\n" +
				"    expect: ['.outcome == \"ok\"']\n  - call: {tool: mcp__fx__quick}\n    expect: ['.outcome == \"ok\"']\n  - sleep: 1100ms\n").want(0)
			var listings []time.Time
			var flood time.Time
			for _, e := range s.log() {
				switch {
				case e.Dir == "in" && e.Method == "tools/list":
					listings = append(listings, e.Time)
				case e.Tool() == "flood":
					flood = e.Time
				}
			}
			after := 0
			for i, at := range listings {
				if at.After(flood) {
					after++
				}
				if i >= refreshesPerSecond && at.Sub(listings[i-refreshesPerSecond]) < time.Second {
					t.Errorf("%d listings within %s", refreshesPerSecond+1, at.Sub(listings[i-refreshesPerSecond]))
				}
			}
			if after == 0 {
				t.Errorf("the announcements were not followed by a listing\n%s", r.outline())
			}
			t.Logf("%d listings, %d of them behind the announcements", len(listings), after)
			w.gone("fx", killWait)
		})
	}
}

// slowest is how long a request may take beside a flood, on a busy machine too;
// queued behind it, it takes several times as long.
const slowest = 3 * time.Second

// A hundred thousand log messages neither hold up what is asked beside them nor
// fill the memory.
func TestLogFlood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r, idle := w.measured("version: 1\nservers: {" + w.server("good", "basic", "") + "}\nsteps:\n  - call: {tool: mcp__good__alpha}\n" + settle)
	r.want(0)
	for name, reached := range everyWay() {
		if name != "stdio "+fixture.EraModern && name != "http 2025-11-25" {
			continue // the flood itself is long, and what bounds it is behind the transports
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := reached(w, "fx", "flood", "logLevel: info", "kind=logs")
			r, top := w.measured("version: 1\nservers: {" + s.entry + "}\nsteps:\n  - parallel: [{call: {tool: mcp__fx__flood}}, " +
				strings.Repeat(`{read: {binding: fx, uri: "fixture://one"}}, `, 3) + "{status: {}}]\n" +
				"    expect: ['[.steps[].outcome] | all(. == \"ok\")', '[.steps[1:][].duration_ms] | max < " + fmt.Sprint(slowest.Milliseconds()) + "']\n" + settle)
			r.want(0)
			t.Logf("peak %d MiB, idle %d MiB", top>>20, idle>>20)
			if top == 0 || top > idle+memoryBudget {
				t.Errorf("the peak is %d MiB, idle %d MiB", top>>20, idle>>20)
			}
			w.gone("fx", killWait)
		})
	}
}
