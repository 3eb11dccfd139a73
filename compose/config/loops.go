package config

import (
	"slices"

	"github.com/looprig/looprig/compose/config/doc"
)

// MaxLoopDelegates bounds the agents that one loop may give tasks to.
const MaxLoopDelegates = 64

// DefaultLoop is the loop that an input is for where none is named. Where a
// configuration has no loop of this name, its first one is.
const DefaultLoop = "main"

// LoopLimits bound each turn of one loop; 0 leaves the session's limit.
type LoopLimits struct {
	Steps     int
	ToolCalls int
}

// ReadLoops takes an object of loops by name. The default loop comes first.
func ReadLoops(r *doc.Reader, loops *doc.Obj) []Loop {
	var out []Loop
	members := loops.Members()
	var names []string
	for _, m := range members {
		names = append(names, m.Key)
	}
	for _, m := range members {
		if err := CheckName(m.Key); err != nil {
			loops.Fail(m.Key, "%s", err)
		}
		l := r.Object(m.Value, loops.Path(m.Key))
		out = append(out, Loop{
			Name: m.Key, System: l.String("system", ""), Model: readModelName(l, "model"), Policy: ReadLoopPolicy(r, l.Sub("policy")),
			Delegates: readDelegates(l, names), Limits: readLoopLimits(l.Sub("limits")),
		})
		l.Done()
	}
	if i := slices.IndexFunc(out, func(l Loop) bool { return l.Name == DefaultLoop }); i > 0 {
		first := out[i]
		out = slices.Insert(slices.Delete(out, i, i+1), 0, first)
	}
	return out
}

// readDelegates takes the names of other loops, each once. A loop may name
// itself: depth and number of delegates are bounded.
func readDelegates(l *doc.Obj, names []string) []string {
	var out []string
	for _, n := range l.Strings("delegates") {
		switch {
		case !slices.Contains(names, n):
			l.Fail("delegates", "no loop is called %q%s", n, doc.DidYouMean(n, names))
		case slices.Contains(out, n):
			l.Fail("delegates", "%s is there twice", n)
		case len(out) == MaxLoopDelegates:
			l.Fail("delegates", "more than %d", MaxLoopDelegates)
			return out
		default:
			out = append(out, n)
		}
	}
	return out
}

func readLoopLimits(o *doc.Obj) LoopLimits {
	l := LoopLimits{Steps: o.Int("steps", 0, 1, MaxSteps), ToolCalls: o.Int("toolCalls", 0, 1, MaxToolCalls)}
	o.Done()
	return l
}

// Delegated reports whether a loop is one that others give tasks to, and that is
// not opened itself: it is among somebody's delegates, and not the first, which
// is the default one.
func Delegated(loops []Loop, name string) bool {
	if len(loops) == 0 || loops[0].Name == name {
		return false
	}
	return slices.ContainsFunc(loops, func(l Loop) bool { return slices.Contains(l.Delegates, name) })
}
