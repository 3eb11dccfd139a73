//go:build integration && linux

package mcpadapter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/internal/fixture"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
	"github.com/looprig/looprig/mcpadapter/transport"
	"github.com/looprig/looprig/mcpadapter/transport/sse"
	"github.com/looprig/looprig/mcpadapter/transport/stdio"
	"github.com/looprig/looprig/mcpadapter/transport/streamhttp"
)

// roundsVariable overrides how many rounds of changes TestLiveReconfiguration
// makes: 200 before a release, fewer in every run.
const roundsVariable = "LOOPRIG_LIVE_ROUNDS"

const liveRounds = 40

// harbour makes bindings to servers that are real: processes, and servers over
// both transports of HTTP.
type harbour struct {
	t    *testing.T
	fake string
	logs string // one file for each process's scenario
	http []*fixture.HTTPServer
	sse  []*fixture.HTTPServer
}

func newHarbour(t *testing.T) *harbour {
	t.Helper()
	h := &harbour{t: t, fake: fixture.Build(t), logs: t.TempDir()}
	for _, era := range []string{fixture.EraLegacy, fixture.EraModern} {
		h.http = append(h.http, fixture.ServeScenario(t, "everything", map[string]string{"era": era, "ms": "5"}, fixture.HTTPOptions{}))
	}
	h.sse = append(h.sse, fixture.ServeScenario(t, "everything", map[string]string{"era": fixture.EraLegacy, "ms": "5"}, fixture.HTTPOptions{SSE: true}))
	return h
}

// programs are the processes: sound ones of both eras, one that is slow to
// start, one that ends when it is asked what it is, one with children that
// ignores the end of its input, one that ends in a call.
var programs = []struct {
	scenario string
	set      map[string]string
}{
	{"everything", map[string]string{"era": fixture.EraLegacy, "ms": "5"}},
	{"everything", map[string]string{"era": fixture.EraModern, "ms": "5"}},
	{"slow-start", map[string]string{"ms": "100"}},
	{"exit-on-discover", nil},
	{"stall", map[string]string{"children": "1"}},
	{"crash-in-call", nil},
}

// process is a transport to one of the programs.
func (h *harbour) process(kind int) transport.Transport {
	p := programs[kind%len(programs)]
	log := filepath.Join(h.logs, fmt.Sprintf("%d.log", kind%len(programs)))
	tr, err := stdio.New(stdio.Config{Command: h.fake, Args: fixture.Args(p.scenario, log, p.set)})
	if err != nil {
		h.t.Error(err)
	}
	return tr
}

// site is a transport to one of the servers over HTTP.
func (h *harbour) site(kind int) transport.Transport {
	var tr transport.Transport
	var err error
	if kind%3 == 2 {
		tr, err = sse.New(sse.Config{URL: h.sse[0].URL})
	} else {
		tr, err = streamhttp.New(streamhttp.Config{URL: h.http[kind%3].URL})
	}
	if err != nil {
		h.t.Error(err)
	}
	return tr
}

func (h *harbour) binding(name string, kind int) Binding {
	tr := h.process(kind / 2)
	if kind%2 == 1 {
		tr = h.site(kind / 2)
	}
	return Binding{Name: name, Server: client.Definition{
		Name: name, Transport: tr, Roots: []string{"/" + strconv.Itoa(kind)}, Elicitation: true, LogLevel: "info",
		StartTimeout: 5 * time.Second, CloseTimeout: 3 * time.Second,
	}}
}

// disturb ends something of a server over HTTP.
func (h *harbour) disturb(rng *rand.Rand) {
	all := append(append([]*fixture.HTTPServer{}, h.http...), h.sse...)
	all[rng.IntN(len(all))].Expire()
}

// pids are all processes that were started.
func (h *harbour) pids() []int {
	var out []int
	for i := range programs {
		es, err := fixture.ReadLog(filepath.Join(h.logs, fmt.Sprintf("%d.log", i)))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			h.t.Error(err)
		}
		out = append(out, es.PIDs()...)
	}
	return out
}

// running are those that still run; what nobody has waited for yet does not.
func running(pids []int) []int {
	var out []int
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || syscall.Kill(pid, 0) != nil {
			continue
		}
		if _, rest, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(rest, "Z") {
			out = append(out, pid)
		}
	}
	return out
}

// Rounds of random changes against servers that run, over every transport, race
// with dials, with calls and with each other. They leave no process, no
// goroutine (TestMain) and no deadlock behind.
func TestLiveReconfiguration(t *testing.T) {
	rounds := liveRounds
	if n, err := strconv.Atoi(os.Getenv(roundsVariable)); err == nil && n > 0 {
		rounds = n
	}
	const workers = 4
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d, %d rounds", seed, rounds)
	h := newHarbour(t)
	names := []string{"a", "b", "c", "d", "e"}
	var bindings []Binding
	for i, n := range names {
		bindings = append(bindings, h.binding(n, i))
	}
	r := live(t, nil, bindings...)
	a, err := r.m.StartAdoption(r, r)
	r.must(err)
	r.must(a.Install(t.Context(), "main", "main"))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute+time.Duration(rounds)*time.Second)
	defer stop()
	var left, applied atomic.Int64
	left.Store(int64(rounds))
	var changing, using sync.WaitGroup
	for w := range workers {
		changing.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(w)))
			for left.Add(-1) >= 0 {
				name := names[rng.IntN(len(names))]
				wait, cancel := context.WithTimeout(ctx, time.Duration(rng.IntN(300))*time.Millisecond)
				var err error
				switch rng.IntN(8) {
				case 0:
					err = r.m.Reconnect(wait, name)
				case 1:
					h.disturb(rng)
				default:
					err = r.m.Reconfigure(wait, randomOperation(rng, name, h.binding(name, rng.IntN(12))))
				}
				if err == nil {
					applied.Add(1)
				}
				cancel()
			}
		})
	}
	done := make(chan struct{})
	for w := range workers {
		using.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(100+w)))
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				case <-time.After(2 * time.Millisecond):
				}
				name := names[rng.IntN(len(names))]
				if rng.IntN(4) == 0 {
					r.callAny(ctx, rng, name, fmt.Sprint("l", w, "-", n))
				} else {
					r.use(ctx, rng, name, fmt.Sprint("c", w, "-", n))
				}
			}
		})
	}
	changing.Wait()
	close(done)
	using.Wait()
	if ctx.Err() != nil {
		t.Fatal("the rounds did not end: something waits for ever")
	}
	if applied.Load() == 0 {
		t.Error("not one change was applied")
	}
	r.must(r.m.Reconfigure(ctx, AddBinding{h.binding("last", 0)}))
	r.must(r.m.Wait(ctx, "last"))
	r.must(r.m.Close(context.Background()))
	started := h.pids()
	t.Logf("%d of the changes applied at once, %d processes were started", applied.Load(), len(started))
	if len(started) == 0 {
		t.Error("no process was started")
	}
	until(t, "every process is gone", func() bool { return len(running(started)) == 0 })
}

// callAny calls one of a binding's tools, whichever.
func (r *rig) callAny(ctx context.Context, rng *rand.Rand, name, id string) {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	var defs []tool.Definition
	for _, d := range r.m.SessionTools("main", "main") {
		if d.Identity.Binding == name {
			defs = append(defs, d)
		}
	}
	if len(defs) == 0 {
		return
	}
	p, err := defs[rng.IntN(len(defs))].Handler.Prepare(ctx, []byte(`{}`))
	if err == nil && p.Check(ctx) == nil {
		p.Invoke(ctx, tool.Call{ID: id})
	}
}

// Roots that are replaced while a binding runs reach its server without another
// connection.
func TestRootsAreReplacedLive(t *testing.T) {
	t.Parallel()
	h := newHarbour(t)
	for name, c := range map[string]struct {
		tr   transport.Transport
		log  func() fixture.Entries
		told bool
	}{
		"stdio": {h.process(0), func() fixture.Entries {
			es, _ := fixture.ReadLog(filepath.Join(h.logs, "0.log"))
			return es
		}, true},
		"http":                              {h.site(0), h.http[0].Log, true},
		"http " + protocol.Revision20260728: {h.site(1), h.http[1].Log, false},
		"sse":                               {h.site(2), h.sse[0].Log, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := Binding{Name: "fx", Server: client.Definition{Name: "fx", Transport: c.tr, Roots: []string{"/before"}}}
			r := live(t, nil, b)
			ctx := t.Context()
			r.must(r.m.Wait(ctx, "fx"))
			asked := func() string {
				res := r.prepare("mcp__fx__roots", `{}`).Invoke(ctx, tool.Call{ID: "c"})
				return content.PlainText(res.Content) + res.Reason
			}
			if got := asked(); !strings.Contains(got, "file:///before") {
				t.Errorf("the roots before are %s", got)
			}
			b.Server.Roots = []string{"/after", "/and more"}
			r.must(r.m.Reconfigure(ctx, ReplaceBinding{"fx", b}))
			if got := asked(); !strings.Contains(got, "file:///after") || !strings.Contains(got, "file:///and%20more") || strings.Contains(got, "before") {
				t.Errorf("the roots after are %s", got)
			}
			if n := len(c.log().Received("notifications/roots/list_changed")); (n == 1) != c.told {
				t.Errorf("the server was told %d times", n)
			}
			if path := strings.Join(r.path("fx"), " "); strings.Contains(path, "reconnecting") || strings.Count(path, "ready") != 1 {
				t.Errorf("the states are %s", path)
			}
		})
	}
}
