//go:build integration && linux

package acceptance

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// faultsVar set to "full" runs the sweeps whole; a number runs so many seeds.
const faultsVar = "LOOPRIG_FAULTS"

// seeds is how many seeds a sweep has: few in every run, all on demand.
func seeds(t *testing.T, few, all int) int {
	t.Helper()
	switch v := os.Getenv(faultsVar); {
	case v == "full":
		return all
	case v != "":
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatalf("%s=%q is neither full nor a number", faultsVar, v)
		}
		return n
	}
	return few
}

// faultsForVar bounds the time of a sweep, in Go's notation: what has not begun by
// then is not begun, and said.
const faultsForVar = "LOOPRIG_FAULTS_FOR"

// spent reports whether a sweep's time is over.
func spent(t *testing.T, began time.Time) bool {
	t.Helper()
	limit, err := time.ParseDuration(os.Getenv(faultsForVar))
	return err == nil && time.Since(began) > limit
}

// sweepSeed makes the moments of the sweeps of the binary; each seed of a sweep
// is sweepSeed and its number, so that one can be run again alone.
const sweepSeed = 20261202

// TestSweepKilledAtAnyTime kills the binary at random moments of a run, from its
// start to its end, and goes on with what is left.
func TestSweepKilledAtAnyTime(t *testing.T) {
	t.Parallel()
	n := seeds(t, 6, 1000)
	whole := wholeRun(t)
	slots := make(chan struct{}, 4)
	var wg sync.WaitGroup
	var mu sync.Mutex
	counts := map[string]int{}
	began := time.Now()
	for i := range n {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if spent(t, began) {
				mu.Lock()
				defer mu.Unlock()
				counts["not begun"]++
				return
			}
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				what := killedOnce(t, whole, rand.New(rand.NewPCG(sweepSeed, uint64(i))))
				mu.Lock()
				defer mu.Unlock()
				counts[what]++
			})
		})
	}
	wg.Wait()
	t.Logf("%d kills from seed %d in %s: %v", n, sweepSeed, time.Since(began).Round(time.Second), counts)
}

// sweepSteps is how many calls a run of the sweep has.
const sweepSteps = 24

// wholeRun is how long a run takes here that nobody kills. What runs beside each
// other takes longer.
func wholeRun(t *testing.T) time.Duration {
	t.Helper()
	w := newWorld(t)
	path := w.write("sweep.yaml", writes("fx", w.playing("fx", mutating(0)), 0, sweepSteps))
	ctx, cancel := context.WithTimeout(context.Background(), runWait)
	defer cancel()
	began := time.Now()
	w.collect(w.secretly(ctx, "--headless", "--tofu", "--output", "json", "--script", path)).want(0)
	return time.Since(began)
}

// killedOnce kills one run and says when that was.
func killedOnce(t *testing.T, whole time.Duration, random *rand.Rand) string {
	t.Helper()
	w := newWorld(t)
	server := w.playing("fx", mutating(0))
	path := w.write("sweep.yaml", writes("fx", server, 0, sweepSteps))
	ctx, cancel := context.WithTimeout(context.Background(), runWait)
	defer cancel()
	cmd := w.secretly(ctx, "--headless", "--tofu", "--output", "json", "--script", path)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Half of the kills come by the clock, which meets the start and the end too;
	// half after so many calls, which meets the work on a machine of any speed.
	calls, later := random.IntN(sweepSteps), time.Duration(random.Int64N(int64(whole)/sweepSteps))
	if random.IntN(2) == 0 {
		calls, later = 0, time.Duration(random.Int64N(int64(whole)))
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	over := func() bool { return len(ended) > 0 }
	if calls > 0 {
		w.await("the moment", runWait, func() bool { return over() || len(w.log("fx").Calls("")) >= calls })
	}
	time.Sleep(later) // the random moment itself, not a synchronisation
	_ = cmd.Process.Kill()
	<-ended
	w.gone("fx", killWait)
	what := "killed in the work"
	sessions := w.sessions()
	switch {
	case cmd.ProcessState.ExitCode() == 0:
		what = "ended before the kill"
	case len(sessions) == 0:
		// The next run that writes makes the database, if it was not made whole.
		w.run("call", "demo", "add", "--arg", "a=1", "--arg", "b=2").want(0)
		w.verify()
		return "killed before there was a session"
	case len(w.received("fx")) == 0:
		what = "killed before the first call"
	}
	w.invariants(stdout.Bytes())
	e := w.goOn(server, sweepSteps)
	// A kill may come between the last event of a session and the end of its process.
	killed := cmd.ProcessState.ExitCode() != 0
	if len(e.Indeterminate) > 1 || e.Unfinished && !killed || killed && !e.Unfinished && e.Turns != sweepSteps {
		t.Errorf("%+v after exit %d", e, cmd.ProcessState.ExitCode())
	}
	if len(e.Indeterminate) == 1 {
		what += ", inside a call"
	}
	w.invariants(nil)
	w.sound(w.sessions()[0])
	return what
}

// A server that kills looprig when it receives the n-th call, before it replies:
// ids are matched one to one, exactly one call is indeterminate, and nothing is
// sent again.
func TestSweepServerKillsItsClient(t *testing.T) {
	t.Parallel()
	n := seeds(t, 3, sweepSteps)
	for i := range min(n, sweepSteps) {
		at := 1 + i*sweepSteps/min(n, sweepSteps)
		t.Run(strconv.Itoa(at), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.playing("fx", mutating(at))
			ctx, cancel := context.WithTimeout(context.Background(), runWait)
			defer cancel()
			path := w.write("sweep.yaml", writes("fx", server, 0, sweepSteps))
			r := w.collect(w.secretly(ctx, "--headless", "--tofu", "--output", "json", "--script", path))
			if r.code != -1 {
				t.Fatalf("it ended by itself with %d: %s", r.code, r.stderr)
			}
			w.gone("fx", killWait)
			if got := len(w.received("fx")); got != at {
				t.Fatalf("%d calls were received, not %d", got, at)
			}
			w.invariants(r.stdout)
			rep := w.verify()
			if rep.Intents != at || rep.Outcomes != at-1 || rep.OpenTotal != 1 {
				t.Errorf("%+v", rep)
			}
			want := "c" + strconv.Itoa(at)
			e := w.goOn(w.playing("fx", mutating(0)), sweepSteps)
			if !slices.Equal(e.Indeterminate, []string{want}) || !e.Unfinished {
				t.Errorf("%+v, not %s", e, want)
			}
			w.invariants(nil)
			session := w.sessions()[0]
			w.sound(session)
			shown := w.run("sessions", "show", session).want(0)
			if !bytes.Contains(shown.stdout, []byte(want+" mcp:fx:write indeterminate")) {
				t.Errorf("nobody sees it:\n%s", shown.stdout)
			}
		})
	}
}

// A mutating tool whose server dies inside the call: model and person see that its
// outcome is not known, now and after a resume, and it was received once.
func TestSweepServerDiesInACall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dying := strings.Replace(mutating(1), "{killParent: true}, {stall: true}", "{exit: 3}", 1)
	b := newBrain(t, func(a asked) thought {
		switch {
		case strings.Contains(a.body, "what happened"):
			return thought{text: fmt.Sprintf("seen: %t", strings.Contains(a.body, "indeterminate"))}
		case len(a.results()) > 0:
			return thought{text: fmt.Sprintf("at once: %t", strings.Contains(a.results()["u1"], "indeterminate"))}
		}
		return thought{calls: []toolUse{{id: "u1", name: "mcp__fx__write", args: `{"n":1}`}}}
	})
	w.seed("config.yaml", b.config())
	ctx, cancel := context.WithTimeout(context.Background(), runWait)
	defer cancel()
	text := "version: 1\nservers: {" + w.playing("fx", dying) + "}\nmodel: brain\nallow: [\"mcp:fx:*\"]\nsteps:\n  - user: %s\n    expect: ['.text == \"%s\"']\n"
	first := w.write("first.yaml", fmt.Sprintf(text, "write", "at once: true"))
	r := w.collect(w.secretly(ctx, "--headless", "--tofu", "--output", "json", "--script", first))
	r.parse()
	r.want(0)
	then := w.write("then.yaml", fmt.Sprintf(text, "what happened", "seen: true"))
	r = w.collect(w.secretly(ctx, "--headless", "--tofu", "--output", "json", "--continue", "--script", then))
	r.parse()
	r.want(0)
	if n := len(w.log("fx").Calls("write")); n != 1 {
		t.Errorf("it was received %d times", n)
	}
	shown := w.run("sessions", "show", w.sessions()[0]).want(0)
	if !bytes.Contains(shown.stdout, []byte("c1 mcp:fx:write indeterminate")) {
		t.Errorf("nobody sees it:\n%s", shown.stdout)
	}
	w.invariants(nil)
}

// The files of the home may not grow past a limit: what is in it stays sound, the
// run ends with a failure that is no success, and no call is made without its
// intent.
func TestSweepLongestFile(t *testing.T) {
	t.Parallel()
	n := seeds(t, 2, 40)
	slots := make(chan struct{}, 2)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				w := newWorld(t)
				server := w.playing("fx", mutating(0))
				// The home is made first, so that the limit meets the work.
				w.run("call", "demo", "add", "--arg", "a=1", "--arg", "b=2").want(0)
				st, err := os.Stat(w.home + "/looprig.db")
				if err != nil {
					t.Fatal(err)
				}
				limit := st.Size() + int64(i+1)*int64(400<<10/n)
				path := w.write("sweep.yaml", writes("fx", server, 0, sweepSteps))
				ctx, cancel := context.WithTimeout(context.Background(), runWait)
				defer cancel()
				cmd := w.secretly(ctx, "--headless", "--tofu", "--output", "json", "--script", path)
				cmd.Args = append([]string{"prlimit", "--fsize=" + strconv.FormatInt(limit, 10)}, append([]string{w.looprig}, cmd.Args[1:]...)...)
				if cmd.Path, err = exec.LookPath("prlimit"); err != nil {
					t.Skip("there is no prlimit")
				}
				r := w.collect(cmd)
				if ctx.Err() != nil {
					t.Fatal("it did not end")
				}
				w.gone("fx", killWait)
				t.Logf("a limit of %d bytes: exit %d, %d calls", limit, r.code, len(w.received("fx")))
				if done := len(w.received("fx")) == sweepSteps; r.code != 0 && r.code != 1 || r.code == 0 && !done {
					t.Errorf("it ended with %d: %s", r.code, r.stderr)
				}
				w.invariants(r.stdout)
				w.goOn(server, sweepSteps)
				w.invariants(nil)
			})
		})
	}
	wg.Wait()
}

// Eight processes work in one home at the same time, one of which is killed again
// and again: each session is whole, and the ledger has one order.
func TestSweepEightProcesses(t *testing.T) {
	t.Parallel()
	rounds := seeds(t, 1, 40)
	for round := range rounds {
		random := rand.New(rand.NewPCG(sweepSeed+1, uint64(round)))
		w := newWorld(t)
		w.run("call", "demo", "add", "--arg", "a=1", "--arg", "b=2").want(0)
		var wg sync.WaitGroup
		outs := make([]*run, 8)
		for i := range outs {
			name := "fx" + strconv.Itoa(i)
			path := w.write(name+".yaml", writes(name, w.playing(name, mutating(0)), 1000*(i+1), 8))
			killed, after := i == 7, time.Duration(300+random.IntN(600))*time.Millisecond
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), runWait)
				defer cancel()
				if killed {
					kill, stop := context.WithTimeout(ctx, after)
					defer stop()
					ctx = kill
				}
				outs[i] = w.collect(w.secretly(ctx, "--headless", "--tofu", "--output", "json", "--script", path))
			})
		}
		wg.Wait()
		rep := w.verify()
		done, received := 0, map[string]int{}
		for i, r := range outs {
			name := "fx" + strconv.Itoa(i)
			w.gone(name, killWait)
			if i < 7 {
				r.parse()
				r.want(0)
				session := r.events[0].Session
				if !bytes.Equal(w.journal(session), r.stdout) {
					t.Errorf("the journal of session %s differs from what it printed", session)
				}
			}
			for key, n := range w.received(name) {
				received[key] += n
				done += n
			}
		}
		intents := w.intended()
		for key, n := range received {
			if intents[key] != n {
				t.Errorf("%s was received %d times and has %d intents", key, n, intents[key])
			}
		}
		if rep.Intents < done+1 || rep.Intents > done+2 || len(received) < 7*8 {
			t.Errorf("%d calls were received, the ledger has %+v", done, rep)
		}
		w.noCanary()
	}
}

// A disk that is full: a small file system in memory under the home, where the
// machine lets a test mount one.
func TestSweepFullDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := os.Mkdir(w.home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", w.home, "tmpfs", 0, "size=640k,mode=700"); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	defer func() {
		if err := unix.Unmount(w.home, 0); err != nil {
			t.Error(err)
		}
	}()
	server := w.playing("fx", mutating(0))
	path := w.write("sweep.yaml", writes("fx", server, 0, 200))
	ctx, cancel := context.WithTimeout(context.Background(), runWait)
	defer cancel()
	r := w.collect(w.secretly(ctx, "--headless", "--tofu", "--output", "json", "--script", path))
	w.gone("fx", killWait)
	got := len(w.received("fx"))
	t.Logf("exit %d after %d calls: %s", r.code, got, r.stderr)
	if r.code != 1 || got == 0 || got == 200 { // a failure of the store is nobody else's
		t.Errorf("exit %d after %d calls", r.code, got)
	}
	// More room, and the home goes on.
	if err := unix.Mount("", w.home, "", unix.MS_REMOUNT, "size=8m"); err != nil {
		t.Fatal(err)
	}
	w.invariants(r.stdout)
	w.goOn(server, 200)
	w.invariants(nil)
}
