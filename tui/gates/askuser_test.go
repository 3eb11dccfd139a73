package gates

import (
	"slices"
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/gate"
)

func question(multiple bool, choices ...string) gate.Envelope {
	return gate.Envelope{Kind: gate.KindAskUser, OpenedAt: t0, Subject: gate.Subject{Loop: "main/reviewer-1", Call: "c1"}, Prompt: gate.Prompt{
		Title: "main/reviewer-1: The model asks", Body: "Which branch\x1b[2J?\nThe old one?", Origin: gate.OriginModel, Choices: choices, Multiple: multiple,
	}}
}

func TestQuestionOfText(t *testing.T) {
	t.Parallel()
	r := open(t, question(false), true)
	v := r.view(80, 24)
	for _, want := range []string{"question · main/reviewer-1: The model asks", "│ Which branch", "│ The old one?", "the model's, not looprig's", "dismiss"} {
		if !strings.Contains(v, want) {
			t.Errorf("%q is not shown:\n%s", want, v)
		}
	}
	if strings.ContainsRune(v, '\x1b') {
		t.Error("an escape sequence of the model's is on the screen")
	}
	for _, k := range "main" {
		r.press(string(k))
	}
	if got := r.press("ctrl+s"); got.Do != Answer || got.Response.Action != gate.ActionAnswer || got.Response.Text != "main" || got.Response.Values != nil {
		t.Errorf("%+v", got)
	}
}

func TestQuestionOfChoices(t *testing.T) {
	t.Parallel()
	one := open(t, question(false, "red", "blue", "blue "), true)
	one.view(80, 24)
	one.press("down")
	one.press("space")
	if got := one.press("ctrl+s"); got.Do != Answer || !slices.Equal(got.Response.Chosen, []int{1}) {
		t.Errorf("%+v\n%s", got, one.view(80, 24))
	}
	several := open(t, question(true, "red", "blue", "green"), true)
	several.view(80, 24)
	several.press("space")
	several.press("down")
	several.press("down")
	several.press("space")
	if got := several.press("ctrl+s"); got.Do != Answer || !slices.Equal(got.Response.Chosen, []int{0, 2}) {
		t.Errorf("%+v\n%s", got, several.view(80, 24))
	}
	none := open(t, question(true, "red", "blue"), true)
	if got := none.press("ctrl+s"); got.Do != Nothing {
		t.Errorf("nothing was chosen: %+v", got)
	}
}

func TestQuestionIsDismissed(t *testing.T) {
	t.Parallel()
	for _, k := range []string{"esc", "ctrl+d"} {
		r := open(t, question(false), true)
		r.view(80, 24)
		if got := r.press(k); got.Do != Answer || got.Response.Action != gate.ActionDismiss || got.Response.Text != "" {
			t.Errorf("%s: %+v", k, got)
		}
	}
	early := open(t, question(false, "yes", "no"), false)
	for _, k := range []string{"y", "enter", "space"} {
		if got := early.press(k); got.Do != Nothing {
			t.Errorf("a typed-ahead key answered: %+v", got)
		}
	}
}

// One key that goes back does not throw away what somebody has written.
func TestAWrittenAnswerTakesTwoPressesToForget(t *testing.T) {
	t.Parallel()
	r := open(t, question(false), true)
	r.press("m")
	if got := r.press("esc"); got.Do != Nothing || !strings.Contains(r.view(80, 24), "this forgets what is written") {
		t.Fatalf("%+v\n%s", got, r.view(80, 24))
	}
	if got := r.press("a"); got.Do != Nothing || strings.Contains(r.view(80, 24), "this forgets") {
		t.Fatalf("%+v\n%s", got, r.view(80, 24))
	}
	r.press("esc")
	if got := r.press("esc"); got.Do != Answer || got.Response.Action != gate.ActionDismiss {
		t.Errorf("%+v", got)
	}
}
