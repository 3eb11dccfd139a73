package session

import (
	"context"
	"fmt"
	"sync"

	"github.com/looprig/looprig/harness/tool"
)

// budget is what a turn may use. That of a delegate's turn stands below that of
// the turn which started it: every step and call counts in all of them, so that
// no chain of delegates, and no number of them at once, uses more than the
// outermost turn may.
type budget struct {
	above *budget
	mu    *sync.Mutex // one for the whole chain

	maxSteps, maxCalls int
	steps, calls       int
}

func newBudget(above *budget, maxSteps, maxCalls int) *budget {
	b := &budget{above: above, maxSteps: maxSteps, maxCalls: maxCalls, mu: &sync.Mutex{}}
	if above != nil {
		b.mu = above.mu
	}
	return b
}

// takeStep counts a step, or says which limit forbids it.
func (b *budget) takeStep() *failure {
	b.mu.Lock()
	defer b.mu.Unlock()
	for x := b; x != nil; x = x.above {
		if x.steps >= x.maxSteps {
			return &failure{CodeLimitSteps, fmt.Sprintf("the turn %sreached its limit of %d steps (limits.steps)", b.whose(x), x.maxSteps)}
		}
	}
	for x := b; x != nil; x = x.above {
		x.steps++
	}
	return nil
}

// takeCalls counts n calls, or says which limit forbids them.
func (b *budget) takeCalls(n int) *failure {
	b.mu.Lock()
	defer b.mu.Unlock()
	for x := b; x != nil; x = x.above {
		if x.calls+n > x.maxCalls {
			return &failure{CodeLimitCalls, fmt.Sprintf("the turn %sasked for more than its limit of %d calls (limits.toolCalls)", b.whose(x), x.maxCalls)}
		}
	}
	for x := b; x != nil; x = x.above {
		x.calls += n
	}
	return nil
}

// left says what is used up, or that something is left.
func (b *budget) left() *tool.Refusal {
	b.mu.Lock()
	defer b.mu.Unlock()
	for x := b; x != nil; x = x.above {
		switch {
		case x.steps >= x.maxSteps:
			return &tool.Refusal{Outcome: tool.OverLimit, Reason: "the turn has no steps left for a delegate"}
		case x.calls >= x.maxCalls:
			return &tool.Refusal{Outcome: tool.OverLimit, Reason: "the turn has no calls left for a delegate"}
		}
	}
	return nil
}

func (b *budget) whose(x *budget) string {
	if x == b {
		return ""
	}
	return "that this delegate works for "
}

// smaller is the smaller of two limits, of which 0 is none.
func smaller(a, b int) int {
	if a <= 0 || (b > 0 && b < a) {
		return b
	}
	return a
}

// turnKey carries the turn of a call to the session's own tools.
type turnKey struct{}

func withTurn(ctx context.Context, t *turn) context.Context {
	return context.WithValue(ctx, turnKey{}, t)
}

func turnOf(ctx context.Context) *turn {
	t, _ := ctx.Value(turnKey{}).(*turn)
	return t
}
