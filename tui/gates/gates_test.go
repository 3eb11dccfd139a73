package gates

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/theme"
	"pgregory.net/rapid"
)

var t0 = time.Date(2026, 11, 30, 14, 2, 11, 0, time.UTC)

type rig struct {
	g   *Gate
	now time.Time
}

func open(t interface{ Fatal(...any) }, e gate.Envelope, asked bool) *rig {
	th, err := theme.Choose(theme.Mono, true, true)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keymap.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	e.ID = "g1"
	return &rig{g: New(Options{Envelope: e, Keys: keys, Theme: th, Now: t0, Asked: asked}), now: t0}
}

func (r *rig) press(k string) Action {
	named := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
		"space": {Code: tea.KeySpace, Text: " "}, "f6": {Code: tea.KeyF6}, "ctrl+s": {Code: 's', Mod: tea.ModCtrl}, "ctrl+d": {Code: 'd', Mod: tea.ModCtrl},
	}
	msg, ok := named[k]
	if !ok {
		msg = tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
	}
	return r.g.Key(msg, r.now)
}

func (r *rig) view(w, h int) string {
	return ansi.Strip(strings.Join(r.g.View(w, h, r.now, 1, 1), "\n"))
}

func yes() *bool { v := true; return &v }

func permission(calls ...gate.CallPrompt) gate.Envelope {
	return gate.Envelope{Kind: gate.KindPermission, OpenedAt: t0, Subject: gate.Subject{Binding: "ci"}, Prompt: gate.Prompt{Title: "ci wants to run a tool", Origin: gate.OriginHost, Calls: calls}}
}

func call(id string, careful bool) gate.CallPrompt {
	c := gate.CallPrompt{Call: id, Tool: "mcp:ci:jobs.rerun", Args: json.RawMessage(`{"run":88123,"arch":"arm64"}`), ArgsDigest: "sha256:aa", ToolDigest: "sha256:bb", Trust: tool.TrustAccepted, Pin: "sha256:9f2c"}
	if careful {
		c.Hints.Destructive = yes()
	}
	return c
}

func TestTypedAheadKeysAreAbsorbedUntilQuiet(t *testing.T) {
	t.Parallel()
	r := open(t, permission(call("c1", false)), false)
	for range 10 {
		if got := r.press("a"); got.Do != Nothing {
			t.Fatalf("a typed-ahead key answered: %+v", got)
		}
		r.now = r.now.Add(Quiet / 2)
	}
	if !strings.Contains(r.view(80, 24), "armed in") {
		t.Errorf("the wait is not shown:\n%s", r.view(80, 24))
	}
	r.now = r.now.Add(Quiet)
	if got := r.press("a"); got.Do != Answer || got.Response.Action != gate.ActionOnce {
		t.Errorf("after the quiet time: %+v", got)
	}
}

func TestAGateThatWasAskedForTakesKeysAtOnce(t *testing.T) {
	t.Parallel()
	r := open(t, permission(call("c1", false)), true)
	if got := r.press("d"); got.Response.Action != gate.ActionDeny {
		t.Errorf("%+v", got)
	}
}

func TestCarefulCallsHaveNoDefault(t *testing.T) {
	t.Parallel()
	unpinned := call("c", false)
	unpinned.Trust = tool.TrustPending
	once := call("c", false)
	once.Trust = tool.TrustOnce
	policy := call("c", false)
	policy.Explicit = true
	for name, c := range map[string]gate.CallPrompt{"destructive": call("c", true), "pending": unpinned, "once": once, "policy": policy} {
		r := open(t, permission(c), true)
		if got := r.press("enter"); got.Do != Nothing {
			t.Errorf("%s: enter alone did %+v", name, got)
		}
		r.press("down")
		if got := r.press("enter"); got.Do != Answer || got.Response.Action != gate.ActionOnce {
			t.Errorf("%s: enter on a selected choice did %+v", name, got)
		}
	}
	if got := open(t, permission(call("c", false)), true).press("enter"); got.Response.Action != gate.ActionOnce {
		t.Errorf("a harmless pinned call has a default: %+v", got)
	}
}

func TestPermissionAnswers(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]gate.Action{"a": gate.ActionOnce, "s": gate.ActionSession, "d": gate.ActionDeny} {
		if got := open(t, permission(call("c", true)), true).press(key); got.Response.Action != want {
			t.Errorf("%s: %+v", key, got)
		}
	}
	if got := open(t, permission(call("c", true)), true).press("esc"); got.Do != Minimise {
		t.Errorf("esc: %+v", got)
	}
	r := open(t, permission(call("c", true)), true)
	r.press("e")
	for _, k := range []string{"n", "o", "a", "d"} {
		r.press(k)
	}
	if got := r.press("enter"); got.Response.Action != gate.ActionDeny || got.Response.Reason != "noad" {
		t.Errorf("a reason: %+v", got)
	}
}

func TestABatchAnswersCallByCall(t *testing.T) {
	t.Parallel()
	r := open(t, permission(call("c1", true), call("c2", false), call("c3", true)), true)
	if got := r.press("enter"); got.Do != Nothing {
		t.Fatalf("enter without a selection: %+v", got)
	}
	r.press("down")
	r.press("space")
	r.press("down")
	r.press("down")
	r.press("down")
	got := r.press("a")
	want := map[string]gate.Action{"c1": gate.ActionOnce, "c2": gate.ActionOnce, "c3": gate.ActionDeny}
	if fmt.Sprint(got.Response.Calls) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got.Response.Calls, want)
	}
	for range 3 {
		r.press("up")
	}
	r.press("space")
	r.press("down")
	r.press("space")
	r.press("down")
	r.press("down")
	if got := r.press("a"); got.Do != Nothing {
		t.Errorf("nothing is checked, and %+v", got)
	}
	out := r.view(80, 40)
	for _, w := range []string{"[ ] 1. ci ▸ jobs.rerun", "3 calls"} {
		if w != "3 calls" && !strings.Contains(out, w) || w == "3 calls" && !strings.Contains(out, "permission · 3 calls") {
			t.Errorf("no %q in\n%s", w, out)
		}
	}
}

func TestEveryByteOfLargeArgumentsIsReachable(t *testing.T) {
	t.Parallel()
	c := call("c", true)
	c.Args = json.RawMessage(`{"head":1,"blob":"` + strings.Repeat("x", 300_000) + `TAIL"}`)
	r := open(t, permission(c), true)
	if out := r.view(80, 24); strings.Contains(out, "TAIL") || !strings.Contains(out, fmt.Sprintf("%d bytes", len(c.Args))) {
		t.Fatalf("the first page:\n%s", out)
	}
	start := time.Now()
	r.press("G")
	out := r.view(80, 24)
	r.press("f")
	r.press("G")
	full := r.view(80, 24)
	if !strings.Contains(out, "recorded") || !strings.Contains(out+full, "TAIL") {
		t.Errorf("the end:\n%s\n%s", out, full)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("two frames took %v", took)
	}
}

func TestConfirmAndURLAndServer(t *testing.T) {
	t.Parallel()
	confirm := gate.Envelope{Kind: gate.KindConfirm, Prompt: gate.Prompt{Title: "demo asks", Body: "Sure?", Origin: gate.OriginServer}}
	for key, want := range map[string]gate.Action{"y": gate.ActionAccept, "n": gate.ActionDecline, "esc": gate.ActionCancel} {
		if got := open(t, confirm, true).press(key); got.Response.Action != want {
			t.Errorf("confirm %s: %+v", key, got)
		}
	}
	if got := open(t, confirm, true).press("enter"); got.Do != Nothing {
		t.Errorf("enter confirms: %+v", got)
	}
	url := gate.Envelope{Kind: gate.KindOpenURL, Prompt: gate.Prompt{Title: "docs asks to open a page", Origin: gate.OriginHost, Target: "https://xn--e1awd7f.com"}, Private: gate.Private{URL: "https://xn--e1awd7f.com/authorize?x=" + strings.Repeat("y", 400) + "END"}}
	r := open(t, url, true)
	if out := r.view(80, 24); !strings.Contains(out, "punycode yes") || strings.Contains(out, "END") {
		t.Errorf("the address:\n%s", out)
	}
	r.press("v")
	if out := r.view(80, 24); !strings.Contains(out, "END") {
		t.Errorf("the full address:\n%s", out)
	}
	if got := r.press("o"); got.Do != OpenURL || got.URL != url.Private.URL || got.Response.Action != gate.ActionOpen {
		t.Errorf("open: %+v", got)
	}
	if got := r.press("y"); got.Do != CopyURL || got.Response.Action != gate.ActionCopy {
		t.Errorf("copy: %+v", got)
	}
	url.Private.URL = ""
	if got := open(t, url, true).press("o"); got.Do != Nothing {
		t.Errorf("an unknown address is opened: %+v", got)
	}
	server := gate.Envelope{Kind: gate.KindUntrustedServer, Prompt: gate.Prompt{Title: "A new server", Origin: gate.OriginHost, Fingerprint: "sha256:f1",
		Warnings: []string{"npx fetches code when it starts"}, Launch: []gate.Fact{{Label: "command", Value: "npx"}, {Label: "argument 1", Value: "-y"}, {Label: "argument 2", Value: strings.Repeat("long", 60) + "TAIL"}}}}
	r = open(t, server, true)
	out := r.view(80, 30)
	for _, w := range []string{"argument 1", "TAIL", "sha256:f1", "⚠ npx fetches"} {
		if !strings.Contains(out, w) {
			t.Errorf("no %q in\n%s", w, out)
		}
	}
	if got := r.press("a"); got.Response.Action != gate.ActionAccept || got.Response.Fingerprint != "sha256:f1" {
		t.Errorf("accept: %+v", got)
	}
	for key, want := range map[string]gate.Action{"o": gate.ActionOnce, "d": gate.ActionRefuse} {
		if got := r.press(key); got.Response.Action != want {
			t.Errorf("server %s: %+v", key, got)
		}
	}
}

func TestTheTitleSaysWhoAsksBeforeHowManyThereAre(t *testing.T) {
	t.Parallel()
	s := form.Schema{Fields: []form.Field{{Name: "n", Kind: form.KindText}, {Name: "m", Kind: form.KindText}}}
	e := gate.Envelope{Kind: gate.KindForm, Subject: gate.Subject{Binding: "tracker"}, Prompt: gate.Prompt{Title: "tracker asks", Body: "Who?", Origin: gate.OriginServer, Schema: &s}}
	r := open(t, e, true)
	for w := 24; w < 120; w++ {
		if got := r.g.title(1, 3, w); !strings.Contains(got, "tracker") {
			t.Errorf("in %d cells the title is %q", w, got)
		}
	}
	if got := r.g.title(1, 3, 60); got != "form · tracker · field 1 of 2 · 1 of 3" {
		t.Errorf("with room the title is %q", got)
	}
}

func TestFormGate(t *testing.T) {
	t.Parallel()
	s := form.Schema{Fields: []form.Field{{Name: "n", Kind: form.KindText}}}
	e := gate.Envelope{Kind: gate.KindForm, Prompt: gate.Prompt{Title: "demo asks", Body: "Who?", Origin: gate.OriginServer, Schema: &s}}
	r := open(t, e, true)
	r.press("x")
	if got := r.press("ctrl+s"); got.Do != Answer || got.Response.Action != gate.ActionSubmit || string(got.Response.Values) != `{"n":"x"}` {
		t.Errorf("submit: %+v %s", got, got.Response.Values)
	}
	if got := r.press("ctrl+d"); got.Response.Action != gate.ActionDecline {
		t.Errorf("decline: %+v", got)
	}
	if got := r.press("esc"); got.Do != Nothing {
		t.Errorf("one press forgot what was written: %+v", got)
	}
	if got := r.press("esc"); got.Response.Action != gate.ActionCancel {
		t.Errorf("cancel: %+v", got)
	}
	if got := r.press("f6"); got.Do != Minimise {
		t.Errorf("minimise: %+v", got)
	}
	r.g.Failed(form.Errors{{Field: "n", Message: "is not a name"}})
	if out := r.view(80, 24); !strings.Contains(out, "is not a name") {
		t.Errorf("the error:\n%s", out)
	}
	e.Prompt.Schema = &form.Schema{}
	if got := open(t, e, true).press("y"); got.Response.Action != gate.ActionSubmit || string(got.Response.Values) != "{}" {
		t.Errorf("a form without fields: %+v", got)
	}
}

func TestAGateThatClosesByItselfAbsorbsKeys(t *testing.T) {
	t.Parallel()
	r := open(t, permission(call("c", true)), true)
	r.g.Close("withdrawn: the asker went away", r.now)
	for range 5 {
		if got := r.press("a"); got.Do != Nothing {
			t.Fatalf("a key fell through: %+v", got)
		}
		if r.g.Expired(r.now) {
			t.Fatal("the gate left while keys were coming")
		}
		r.now = r.now.Add(Quiet / 2)
	}
	if r.now = r.now.Add(Quiet); !r.g.Expired(r.now) {
		t.Error("the gate stays for ever")
	}
}

func TestAnswerInFlightTakesNoSecondAnswer(t *testing.T) {
	t.Parallel()
	r := open(t, permission(call("c", true)), true)
	r.press("a")
	r.g.Sent()
	if got := r.press("d"); got.Do != Nothing {
		t.Errorf("a second answer: %+v", got)
	}
	r.g.Failed(gate.ErrGateClosed)
	if got := r.press("d"); got.Do != Answer {
		t.Errorf("after a failure: %+v", got)
	}
}

func TestHostileGatesStayInTheirBox(t *testing.T) {
	t.Parallel()
	const hostile = "\x1b[2J\x1b]52;c;aGk=\x07\u009b1m\u202e\r│ ALLOW\n\x08\u2028世"
	rapid.Check(t, func(rt *rapid.T) {
		c := call("c", true)
		c.Tool, c.Title, c.Rule, c.Pin, c.ArgsDigest = "mcp:ci:"+hostile, hostile, hostile, hostile, hostile
		c.Args = json.RawMessage(rapid.SampledFrom([]string{`{"a":"` + hostile + `"}`, hostile, `{"` + strings.Repeat("k", 300) + `":1,"\u001b":2}`, `[1]`, ``}).Draw(rt, "args"))
		calls := []gate.CallPrompt{c}
		if rapid.Bool().Draw(rt, "batch") {
			calls = append(calls, c, c, c, c, c, c)
		}
		s := form.Schema{Title: hostile, Fields: []form.Field{{Name: hostile, Title: hostile, Kind: form.KindText}}}
		e := gate.Envelope{
			Kind:    rapid.SampledFrom([]gate.Kind{gate.KindPermission, gate.KindConfirm, gate.KindForm, gate.KindOpenURL, gate.KindUntrustedServer}).Draw(rt, "kind"),
			Subject: gate.Subject{Binding: hostile}, Private: gate.Private{URL: hostile + strings.Repeat("u", 500)}, DeadlineMS: 5000, OpenedAt: t0,
			Prompt: gate.Prompt{Title: hostile, Body: hostile, Origin: gate.OriginServer, Schema: &s, Calls: calls, Target: hostile, Warnings: []string{hostile}, Launch: []gate.Fact{{Label: hostile, Value: hostile}}, Fingerprint: hostile},
		}
		r := open(rt, e, true)
		for range rapid.IntRange(0, 6).Draw(rt, "keys") {
			r.press(rapid.SampledFrom([]string{"down", "up", "f", "v", "e", "s", "d", "G", "x", "enter", "esc"}).Draw(rt, "key"))
		}
		r.g.fault = hostile
		w, h := rapid.IntRange(12, 140).Draw(rt, "w"), rapid.IntRange(3, 40).Draw(rt, "h")
		lines := r.g.View(w, h, t0, 1, 2)
		if len(lines) > h {
			rt.Fatalf("%d lines in %d", len(lines), h)
		}
		for _, l := range lines {
			if n := cells.Width(l); n > w {
				rt.Fatalf("%d cells in %d: %q", n, w, l)
			}
			for _, x := range ansi.Strip(l) {
				if x < 0x20 || x >= 0x7f && x < 0xa0 || x == 0x202e || x == 0x2028 {
					rt.Fatalf("raw %U in %q", x, l)
				}
			}
			if strings.Contains(l, "\x1b]") || strings.Contains(l, "\x1b[2J") {
				rt.Fatalf("a raw sequence in %q", l)
			}
		}
	})
}
