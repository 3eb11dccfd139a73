package gates

import (
	"fmt"
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/tool"
)

func TestGrantsSayWhatTheyGrant(t *testing.T) {
	t.Parallel()
	reader := call("c", true)
	reader.ReadOnly = []string{"a", "b", "c"}
	cases := []struct {
		keys string
		want gate.Response
	}{
		{"A", gate.Response{Action: gate.ActionAlways}},
		{"r", gate.Response{Action: gate.ActionSession, Cover: gate.CoverReadOnly}},
		{"xA", gate.Response{Action: gate.ActionAlways, When: `. == {"run":88123,"arch":"arm64"}`}},
		{"xs", gate.Response{Action: gate.ActionSession, When: `. == {"run":88123,"arch":"arm64"}`}},
		{"xxs", gate.Response{Action: gate.ActionSession}},
		{"xa", gate.Response{Action: gate.ActionOnce}},
	}
	for _, c := range cases {
		r := open(t, permission(reader), true)
		var got Action
		for _, k := range c.keys {
			got = r.press(string(k))
		}
		if got.Do != Answer || fmt.Sprint(got.Response) != fmt.Sprint(c.want) {
			t.Errorf("%s: %+v, want %+v", c.keys, got, c.want)
		}
	}
	out := open(t, permission(reader), true).view(80, 24)
	for _, want := range []string{"Allow this tool for this session", "The 3 read-only tools of ci, for this session", "Always, this exact tool, until its definition changes", "nothing is preselected: a destructive tool", "x only these arguments"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if full := open(t, permission(reader), true).view(80, 40); !strings.Contains(full, "r allows a, b, c") {
		t.Errorf("it is not said which:\n%s", full)
	}
	r := open(t, permission(reader), true)
	r.press("x")
	if out := r.view(80, 24); !strings.Contains(out, "Always these arguments only, until the tool changes") || strings.Contains(out, "read-only tools") {
		t.Errorf("narrowed:\n%s", out)
	}
}

func TestWhatCannotBeGrantedIsNotOffered(t *testing.T) {
	t.Parallel()
	unpinned, nameless, long := call("c", false), call("c", false), call("c", false)
	unpinned.Trust, nameless.ToolDigest = tool.TrustPending, ""
	long.Args = []byte(`{"x":"` + strings.Repeat("y", 9000) + `"}`)
	for name, c := range map[string]gate.CallPrompt{"unpinned": unpinned, "no digest": nameless} {
		r := open(t, permission(c), true)
		for _, k := range []string{"s", "A", "r", "x"} {
			if got := r.press(k); got.Do != Nothing {
				t.Errorf("%s: %s granted %+v", name, k, got)
			}
		}
		if out := r.view(80, 24); strings.Contains(out, "Always") {
			t.Errorf("%s: offered\n%s", name, out)
		}
	}
	if got := open(t, permission(call("c", false)), true).press("r"); got.Do != Nothing {
		t.Errorf("read-only tools that were not offered: %+v", got)
	}
	r := open(t, permission(long), true)
	r.press("x")
	if got := r.press("A"); got.Response.When != "" || got.Response.Action != gate.ActionAlways {
		t.Errorf("%+v", got)
	}
}

func TestABatchCanBeGrantedForGood(t *testing.T) {
	t.Parallel()
	r := open(t, permission(call("c1", false), call("c2", true)), true)
	got := r.press("A")
	if fmt.Sprint(got.Response.Calls) != fmt.Sprint(map[string]gate.Action{"c1": gate.ActionAlways, "c2": gate.ActionDeny}) {
		t.Errorf("%+v", got)
	}
}

// What enter would take is on the screen, however small that is.
func TestTheSelectedRowIsAlwaysVisible(t *testing.T) {
	t.Parallel()
	calls := []gate.CallPrompt{call("c0", false)}
	for n := 1; n <= 8; n++ {
		for _, h := range []int{24, 12, 11, 8, 5} {
			r := open(t, permission(calls...), true)
			for step := range 2 * (n + 6) {
				if v := r.view(40, h); !strings.Contains(v, "│ ▸ ") || strings.Count(v, "\n")+1 > h {
					t.Errorf("%d calls, height %d, %d steps on: the selected row is not shown:\n%s", n, h, step, v)
				}
				if step < n+6 {
					r.press("down")
				} else {
					r.press("up")
				}
			}
		}
		calls = append(calls, call("c"+string(rune('0'+n)), false))
	}
	r := open(t, permission(calls...), true)
	if v := r.view(40, 11); !strings.Contains(v, "Deny all") {
		t.Errorf("no answer but yes is shown:\n%s", v)
	}
}

func TestAPastedReasonIsOneSentence(t *testing.T) {
	t.Parallel()
	r := open(t, permission(call("c1", false)), true)
	r.press("e")
	r.g.Paste("not\rhere\r\nbut \u202ethere\n", r.now)
	if got := r.press("enter"); got.Response.Reason != "not here but ‹U+202E›there" {
		t.Errorf("%q", got.Response.Reason)
	}
}
