package gates

import (
	"fmt"
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/tool"
)

// Each call of a batch is marked with an answer of its own, and all go out as one.
func TestEachCallOfABatchHasItsOwnAnswer(t *testing.T) {
	t.Parallel()
	reader := call("c5", false)
	reader.ReadOnly = []string{"a", "b"}
	r := open(t, permission(call("c1", true), call("c2", false), call("c3", false), call("c4", true), reader, call("c6", false), call("c7", true)), true)
	for _, k := range []string{"down", "a", "down", "s", "down", "A", "x", "down", "e", "n", "o", "enter", "down", "r"} {
		if got := r.press(k); got.Do != Nothing {
			t.Fatalf("%s sent %+v", k, got)
		}
	}
	out := r.view(100, 40)
	for _, want := range []string{"[ ] 4. ci ▸ jobs.rerun", "deny: no", "always, these arguments", "session, read-only tools", "As marked, and the other 1 checked once"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for range 3 {
		r.press("down")
	}
	got := r.press("enter")
	want := gate.Response{
		Action: gate.ActionOnce,
		Calls: map[string]gate.Action{
			"c1": gate.ActionOnce, "c2": gate.ActionSession, "c3": gate.ActionAlways, "c4": gate.ActionDeny,
			"c5": gate.ActionSession, "c6": gate.ActionOnce, "c7": gate.ActionDeny,
		},
		Terms: map[string]gate.Terms{
			"c3": {When: `. == {"run":88123,"arch":"arm64"}`}, "c4": {Reason: "no"}, "c5": {Cover: gate.CoverReadOnly},
		},
	}
	if got.Do != Answer || fmt.Sprint(got.Response) != fmt.Sprint(want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// A mark is taken back by the key that checks; what a call cannot have is said;
// and denying all denies those that are marked as well.
func TestMarksOfABatch(t *testing.T) {
	t.Parallel()
	unpinned := call("c2", false)
	unpinned.Trust = tool.TrustPending
	r := open(t, permission(call("c1", true), unpinned), true)
	for _, k := range []string{"down", "s", "space"} {
		r.press(k)
	}
	if out := r.view(80, 40); !strings.Contains(out, "[ ] 1.") || strings.Contains(out, "as it is marked") {
		t.Errorf("the mark is still there:\n%s", out)
	}
	for _, k := range []string{"x", "down", "s", "A", "r"} {
		if got := r.press(k); got.Do != Nothing || r.g.fault == "" {
			t.Errorf("%s: %+v, and nothing is said", k, got)
		}
	}
	for _, k := range []string{"d", "up", "a", "down", "down"} {
		r.press(k)
	}
	if out := r.view(80, 40); !strings.Contains(out, "Answer each call as it is marked") || strings.Contains(out, "Always") {
		t.Errorf("all are marked:\n%s", out)
	}
	if got := r.press("a"); fmt.Sprint(got.Response.Calls) != fmt.Sprint(map[string]gate.Action{"c1": gate.ActionOnce, "c2": gate.ActionDeny}) {
		t.Errorf("%+v", got)
	}
	if got := r.press("d"); got.Response.Action != gate.ActionDeny || got.Response.Calls != nil {
		t.Errorf("%+v", got)
	}
}
