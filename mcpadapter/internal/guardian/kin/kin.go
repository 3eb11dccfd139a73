// Package kin finds and ends the processes that a server has left behind. A
// server may fork twice, start a session of its own and ignore SIGTERM, so its
// process group alone does not name its family. A process belongs to a family
// when its environment carries the family's marker, when it is in the session
// or process group of a leader, when it holds one of the family's pipes, or
// when its parent belongs to the family.
//
// Invariants: a signal goes to a process only while its identity (number and
// start time) is the one that was found; the calling process is never a
// member; every wait is bounded. It imports neither the transports nor the MCP
// SDK.
package kin

import (
	"strings"
	"time"
)

// EnvName is the environment variable that carries the marker. Its value is a
// comma-separated list of process:connection pairs, outermost first, so that a
// looprig inside a looprig's server belongs to both.
const EnvName = "LOOPRIG_CHILD"

// Member is one process, identified against reuse of its number.
type Member struct {
	PID int
	// Start is the start time in clock ticks since boot; 0 where unknown.
	Start uint64
}

// Family describes which processes belong together.
type Family struct {
	// Token is one half of a marker pair: the process token for everything
	// that a looprig started, the connection token for one server. Empty
	// matches nothing.
	Token string
	// Since is the start time before which no process can be a member.
	Since uint64
	// Leaders are the servers as they were started, each a session leader.
	Leaders []Member
	// Known are members that were seen earlier and may have detached since.
	Known []Member
	// Pipes are the inode numbers of the pipes that only members should hold.
	Pipes []uint64
}

// Marker builds the value of EnvName for a child. outer is the value in the
// environment of this process, or "".
func Marker(outer, process, connection string) string {
	pair := process + ":" + connection
	if outer == "" || len(outer) > maxOuter {
		return pair
	}
	return outer + "," + pair
}

// maxOuter bounds the markers that are passed on: some thirty looprigs inside
// each other.
const maxOuter = 2 << 10

// carries reports whether the marker value names the token.
func carries(value, token string) bool {
	if token == "" {
		return false
	}
	for pair := range strings.SplitSeq(value, ",") {
		process, connection, _ := strings.Cut(pair, ":")
		if process == token || connection == token {
			return true
		}
	}
	return false
}

// Bounds limit End.
type Bounds struct {
	// Leave is how long members may take to leave by themselves first.
	Leave time.Duration
	// Grace is the wait between SIGTERM and SIGKILL.
	Grace time.Duration
	// Kill is how long SIGKILL is repeated before the rest is given up.
	Kill time.Duration
}

// pollFirst and pollMax are the waits between two looks at a dying family.
const (
	pollFirst = 2 * time.Millisecond
	pollMax   = 50 * time.Millisecond
)

// End ends every member: time to leave, SIGTERM, grace, then SIGKILL until two looks in a row
// find nobody. It returns the number of members that are still alive, which is
// zero unless a process cannot be killed. A family without members costs one
// look.
func (f *Family) End(b Bounds) int {
	alive := f.Alive()
	if len(alive) == 0 {
		return 0
	}
	f.learn(alive)
	f.watch(b.Leave, func(Member) {})
	signalled := map[Member]bool{}
	f.watch(b.Grace, func(m Member) {
		if !signalled[m] {
			signalled[m] = true
			terminate(m)
		}
	})
	return f.kill(b.Kill)
}

// Terminate sends SIGTERM to every member once.
func (f *Family) Terminate() {
	alive := f.Alive()
	f.learn(alive)
	for _, m := range alive {
		terminate(m)
	}
}

// watch looks again and again, until nobody is left or the time is over.
func (f *Family) watch(d time.Duration, each func(Member)) {
	deadline := time.Now().Add(d)
	for wait := pollFirst; time.Now().Before(deadline); wait = min(2*wait, pollMax) {
		alive := f.Alive()
		f.learn(alive)
		if len(alive) == 0 {
			return
		}
		for _, m := range alive {
			each(m)
		}
		time.Sleep(min(wait, time.Until(deadline)))
	}
}

// kill repeats SIGKILL until two looks in a row find nobody or the bound is
// reached: a process may fork behind the first look.
func (f *Family) kill(bound time.Duration) int {
	deadline := time.Now().Add(bound)
	quiet := 0
	for wait := pollFirst; ; wait = min(2*wait, pollMax) {
		alive := f.Alive()
		f.learn(alive)
		for _, m := range alive {
			destroy(m)
		}
		if len(alive) == 0 {
			quiet++
		} else {
			quiet = 0
		}
		if quiet == 2 || !time.Now().Before(deadline) {
			return len(alive)
		}
		time.Sleep(min(wait, time.Until(deadline)))
	}
}

// maxKnown bounds the members that a family remembers.
const maxKnown = 4096

// learn remembers members, so that one that clears its environment and
// detaches between two looks is still found.
func (f *Family) learn(found []Member) {
	for _, m := range found {
		if len(f.Known) >= maxKnown {
			return
		}
		if !contains(f.Known, m) {
			f.Known = append(f.Known, m)
		}
	}
}

func contains(list []Member, m Member) bool {
	for _, have := range list {
		if have == m {
			return true
		}
	}
	return false
}
