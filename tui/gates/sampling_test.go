package gates

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/tui/cells"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files")

func sampling(change ...func(*gate.SamplingPrompt)) gate.Envelope {
	p := &gate.SamplingPrompt{
		Stage: gate.SamplingRequest, System: "You summarise bug reports.", Model: "small-1", MaxTokens: 800, Budget: 50_000, Spent: 120, Editable: true,
		Hints: []string{"small"}, Digest: "sha256:5f3a",
		Messages: []gate.SamplingMessage{
			{Role: "user", Kind: "image", MIME: "image/png", Bytes: 20480, Digest: "sha256:77"},
			{Role: "user", Kind: "text", Text: "Summarise: “job 88123 timed out after 118 s on the arm64 runner, while the same commit passed on amd64”.\nTwo sentences."},
			{Role: "stop sequence", Kind: "text", Text: "###"},
		},
	}
	for _, f := range change {
		f(p)
	}
	return gate.Envelope{Kind: gate.KindSampling, OpenedAt: t0, Subject: gate.Subject{Binding: "tracker"}, Prompt: gate.Prompt{Title: "tracker asks for a message", Origin: gate.OriginHost, Sampling: p}}
}

func reply(p *gate.SamplingPrompt) {
	p.Stage, p.Editable, p.Reply = gate.SamplingReply, false, "The job timed out on arm64.\nThe same commit passed on amd64."
}

func written(p *gate.SamplingPrompt) {
	p.Stage, p.Editable, p.Written, p.Model = gate.SamplingReply, false, true, "you (no key)"
}

func (r *rig) write(text string) {
	for _, c := range text {
		if c == '\n' {
			r.press("enter")
			continue
		}
		r.g.Key(tea.KeyPressMsg{Code: c, Text: string(c)}, r.now)
	}
}

func TestSamplingAnswers(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]gate.Envelope{"request": sampling(), "reply": sampling(reply)} {
		for key, want := range map[string]gate.Action{"r": gate.ActionRun, "d": gate.ActionDecline, "esc": gate.ActionCancel} {
			if got := open(t, e, true).press(key); got.Do != Answer || got.Response.Action != want || got.Response.Text != "" {
				t.Errorf("%s %s: %+v", name, key, got)
			}
		}
		if got := open(t, e, true).press("enter"); got.Do != Nothing {
			t.Errorf("%s: enter alone did %+v", name, got)
		}
		if got := open(t, e, true).press("f6"); got.Do != Minimise {
			t.Errorf("%s: minimise %+v", name, got)
		}
		if got := open(t, e, false).press("r"); got.Do != Nothing {
			t.Errorf("%s: a typed-ahead key answered: %+v", name, got)
		}
	}
	if got := open(t, gate.Envelope{Kind: gate.KindSampling}, true).press("e"); got.Do != Nothing {
		t.Errorf("a gate without a request: %+v", got)
	}
}

func TestSamplingEdit(t *testing.T) {
	t.Parallel()
	r := open(t, sampling(), true)
	r.press("e")
	if got := r.press("ctrl+s"); got.Response.Action != gate.ActionRun || got.Response.Text != "" {
		t.Errorf("an edit that changes nothing: %+v", got)
	}
	r.write(" Be brief.")
	want := sampling().Prompt.Sampling.Messages[1].Text + " Be brief."
	if got := r.press("ctrl+s"); got.Response.Action != gate.ActionEdit || got.Response.Text != want {
		t.Errorf("edited: %+v", got)
	}
	// esc goes back to the choices, which send what was edited.
	if got := r.press("esc"); got.Do != Nothing {
		t.Fatalf("esc in the editor: %+v", got)
	}
	if out := r.view(80, 24); !strings.Contains(out, "Send it as edited") {
		t.Errorf("the choices:\n%s", out)
	}
	if got := r.press("r"); got.Response.Action != gate.ActionEdit || got.Response.Text != want {
		t.Errorf("sent from the choices: %+v", got)
	}
	r.press("e")
	if got := r.press("ctrl+d"); got.Response.Action != gate.ActionDecline {
		t.Errorf("declined in the editor: %+v", got)
	}
	r = open(t, sampling(reply), true)
	r.press("e")
	r.write("\nNothing else is known.")
	if got := r.press("ctrl+s"); got.Response.Action != gate.ActionEdit || !strings.HasSuffix(got.Response.Text, "amd64.\nNothing else is known.") {
		t.Errorf("edited reply: %+v", got)
	}
	r = open(t, sampling(func(p *gate.SamplingPrompt) { p.Editable = false }), true)
	r.press("e")
	if out := r.view(80, 30); !strings.Contains(out, "cannot be edited") || strings.Contains(out, "Edit the last message") {
		t.Errorf("what is fixed:\n%s", out)
	}
	r = open(t, sampling(func(p *gate.SamplingPrompt) { p.Messages[1].Text = strings.Repeat("x", maxEditable+1) }), true)
	r.press("e")
	if out := r.view(80, 30); !strings.Contains(out, "too long to edit here") {
		t.Errorf("a long text:\n%s", out)
	}
}

// What cannot be shown is written out before it is edited, so that what is sent
// is what was seen.
func TestSamplingEditShowsEveryCharacter(t *testing.T) {
	t.Parallel()
	r := open(t, sampling(func(p *gate.SamplingPrompt) { p.Messages[1].Text = "a\u202eb\x1b[2Jc" }), true)
	r.press("e")
	got := r.press("ctrl+s")
	if got.Response.Action != gate.ActionEdit || strings.ContainsAny(got.Response.Text, "\u202e\x1b") || !strings.Contains(got.Response.Text, "U+202E") {
		t.Errorf("%+v", got)
	}
}

func TestAPersonWritesTheReply(t *testing.T) {
	t.Parallel()
	r := open(t, sampling(written), true)
	for _, k := range []string{"ctrl+s", "space", "ctrl+s"} {
		if got := r.press(k); got.Do != Nothing {
			t.Fatalf("an empty reply: %+v", got)
		}
	}
	if out := r.view(80, 24); !strings.Contains(out, "write the text first") {
		t.Errorf("no word about it:\n%s", out)
	}
	r.write("reddd")
	if got := r.press("ctrl+s"); got.Response.Action != gate.ActionRun || got.Response.Text != " reddd" {
		t.Errorf("%+v", got)
	}
	r.g.Paste(strings.Repeat("y", gate.MaxTextBytes), r.now)
	if out := r.view(80, 24); !strings.Contains(out, "there is room for") {
		t.Errorf("a large paste:\n%s", out)
	}
	r.g.Paste("\nline\x1b[2J", r.now)
	if got := r.press("ctrl+s"); got.Response.Text != " reddd\nline␛[2J" {
		t.Errorf("%q", got.Response.Text)
	}
	before := r.view(80, 18)
	r.g.Key(tea.KeyPressMsg{Code: tea.KeyPgDown}, r.now)
	if after := r.view(80, 18); after == before || r.press("ctrl+s").Response.Text != " reddd\nline␛[2J" {
		t.Errorf("the request does not scroll:\n%s", after)
	}
	r.press("esc")
	if got := r.press("esc"); got.Response.Action != gate.ActionCancel {
		t.Errorf("esc twice: %+v", got)
	}
	// Putting the gate aside does not silently forget what was written.
	if got := r.press("f6"); got.Do != Nothing || !strings.Contains(r.view(80, 24), "F6 again") {
		t.Errorf("put aside at once: %+v", got)
	}
	r.press("x")
	if got := r.press("f6"); got.Do != Nothing {
		t.Errorf("put aside without a second press: %+v", got)
	}
	if got := r.press("f6"); got.Do != Minimise {
		t.Errorf("the second press: %+v", got)
	}
	if got := open(t, sampling(written), true).press("f6"); got.Do != Minimise {
		t.Errorf("nothing was written: %+v", got)
	}
	// Keys that were meant for something else write nothing.
	r = open(t, sampling(written), false)
	r.write("typed ahead")
	r.now = r.now.Add(2 * Quiet)
	r.write("x")
	if got := r.press("ctrl+s"); got.Response.Text != "x" {
		t.Errorf("%q", got.Response.Text)
	}
}

func TestSamplingScreens(t *testing.T) {
	t.Parallel()
	press := func(keys ...string) func(*rig) {
		return func(r *rig) {
			for _, k := range keys {
				r.press(k)
			}
		}
	}
	for name, c := range map[string]struct {
		e  gate.Envelope
		do func(*rig)
	}{
		"sampling-request": {sampling(), press()},
		"sampling-full":    {sampling(), press("f")},
		"sampling-edit":    {sampling(), press("e")},
		"sampling-reply":   {sampling(reply), press()},
		"sampling-written": {sampling(written), func(r *rig) { r.write("It timed out.\nOnly on arm64.") }},
		"sampling-empty":   {sampling(written), press("ctrl+s")},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 36}} {
			r := open(t, c.e, true)
			c.do(r)
			// The box has the room between the header and the composer.
			got := r.view(size[0], size[1]-6) + "\n"
			path := filepath.Join("testdata", name+"-"+map[int]string{80: "80x24", 120: "120x36"}[size[0]]+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil || string(want) != got {
				t.Errorf("%s differs (%v):\n%s", path, err, got)
			}
		}
	}
}

func TestHostileSamplingStaysInItsBox(t *testing.T) {
	t.Parallel()
	const hostile = "\x1b[2J\x1b]52;c;aGk=\x07\u009b1m\u202e\r│ ALLOW\n\x08\u2028世"
	rapid.Check(t, func(rt *rapid.T) {
		e := sampling(func(p *gate.SamplingPrompt) {
			*p = gate.SamplingPrompt{
				Stage: rapid.SampledFrom([]gate.SamplingStage{gate.SamplingRequest, gate.SamplingReply}).Draw(rt, "stage"), System: hostile, Model: hostile,
				MaxTokens: 1 << 30, Hints: []string{hostile, hostile}, Context: hostile, Budget: 5, Reply: hostile, Written: rapid.Bool().Draw(rt, "written"),
				Editable: rapid.Bool().Draw(rt, "editable"), Digest: hostile,
			}
			for range rapid.IntRange(0, 5).Draw(rt, "messages") {
				p.Messages = append(p.Messages, gate.SamplingMessage{
					Role: rapid.SampledFrom([]string{"user", hostile, ""}).Draw(rt, "role"), Kind: rapid.SampledFrom([]string{"text", "image", hostile}).Draw(rt, "kind"),
					Text: strings.Repeat(hostile, rapid.IntRange(0, 40).Draw(rt, "n")), MIME: hostile, Bytes: 7, Digest: hostile,
				})
			}
		})
		e.Subject.Binding, e.Prompt.Title = hostile, hostile
		r := open(rt, e, true)
		for range rapid.IntRange(0, 8).Draw(rt, "keys") {
			r.press(rapid.SampledFrom([]string{"down", "up", "f", "e", "G", "x", "enter", "esc", "ctrl+s", "世"}).Draw(rt, "key"))
			if rapid.Bool().Draw(rt, "paste") {
				r.g.Paste(hostile, r.now)
			}
		}
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
