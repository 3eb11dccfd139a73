package formview

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"charm.land/huh/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/theme"
	"pgregory.net/rapid"
)

const askName = `{"type":"object","required":["name","size"],"properties":{
 "name":{"type":"string","title":"Your name","minLength":2},
 "size":{"type":"integer","minimum":1,"maximum":10,"default":3},
 "color":{"type":"string","enum":["red","green","blue"]},
 "tags":{"type":"array","items":{"type":"string","enum":["a","b","c"]},"minItems":1},
 "loud":{"type":"boolean","default":true}}}`

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func open(t fataler, schema string, change ...func(*Options)) *Form {
	t.Helper()
	s, err := form.ParseElicitation([]byte(schema), form.Limits{})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return openSchema(t, s, change...)
}

func openSchema(t fataler, s form.Schema, change ...func(*Options)) *Form {
	t.Helper()
	keys, err := keymap.New(nil)
	if err != nil {
		t.Fatalf("%v", err)
	}
	th, err := theme.Choose(theme.Mono, true, true)
	if err != nil {
		t.Fatalf("%v", err)
	}
	o := Options{Schema: s, Keys: keys, Theme: th, Decline: true, Foreign: true}
	for _, c := range change {
		c(&o)
	}
	f, err := New(o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return f
}

// press types keys: names of keys, or text.
func press(f *Form, keys ...string) Outcome {
	out := Open
	for _, k := range keys {
		for _, msg := range presses(k) {
			out = f.Key(msg)
			f.View(70, 20)
		}
	}
	return out
}

func presses(k string) []tea.KeyPressMsg {
	named := map[string]tea.KeyPressMsg{
		"tab": {Code: tea.KeyTab}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift}, "enter": {Code: tea.KeyEnter},
		"up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "esc": {Code: tea.KeyEscape}, "space": {Code: tea.KeySpace, Text: " "},
		"backspace": {Code: tea.KeyBackspace}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd},
	}
	if msg, ok := named[k]; ok {
		return []tea.KeyPressMsg{msg}
	}
	if rest, ok := strings.CutPrefix(k, "ctrl+"); ok {
		return []tea.KeyPressMsg{{Code: rune(rest[0]), Mod: tea.ModCtrl}}
	}
	var out []tea.KeyPressMsg
	for _, r := range k {
		out = append(out, tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	return out
}

func view(f *Form, w, h int) string { return ansi.Strip(strings.Join(f.View(w, h), "\n")) }

func TestSubmitSendsWhatWasTouchedAndDefaults(t *testing.T) {
	t.Parallel()
	f := open(t, askName)
	if got := press(f, "Ada", "ctrl+s"); got != Submitted {
		t.Fatalf("outcome %d\n%s", got, view(f, 80, 24))
	}
	if got, want := string(f.Object()), `{"name":"Ada","size":3,"loud":true}`; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
}

func TestEveryKindIsEncodedAsItsOwnType(t *testing.T) {
	t.Parallel()
	f := open(t, askName)
	got := press(f, "Ada", "tab", "backspace", "7", "tab", "down", "down", "tab", "space", "down", "down", "space", "tab", "down", "ctrl+s")
	if got != Submitted {
		t.Fatalf("outcome %d\n%s", got, view(f, 80, 24))
	}
	if got, want := string(f.Object()), `{"name":"Ada","size":7,"color":"green","tags":["a","c"],"loud":false}`; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
}

func TestWrongAnswersFocusTheirField(t *testing.T) {
	t.Parallel()
	f := open(t, askName)
	if got := press(f, "Ada", "tab", "backspace", "99", "tab", "tab", "ctrl+s"); got != Open {
		t.Fatalf("99 was submitted: %s", f.Object())
	}
	if f.Position() != 2 || f.fields[1].err == "" {
		t.Errorf("focus on field %d, message %q", f.Position(), f.fields[1].err)
	}
	f = open(t, askName)
	if got := press(f, "ctrl+s"); got != Open || f.Position() != 1 || f.fields[0].err == "" {
		t.Errorf("a required field that is empty: outcome %d, focus %d, %q", got, f.Position(), f.fields[0].err)
	}
	if got := press(f, "shift+tab", "tab", "Ada", "ctrl+s"); got != Submitted {
		t.Errorf("going back from an invalid field is blocked:\n%s", view(f, 80, 24))
	}
}

func TestDeclineAndCancelDiffer(t *testing.T) {
	t.Parallel()
	if got := press(open(t, askName), "ctrl+d"); got != Declined {
		t.Errorf("ctrl+d: %d", got)
	}
	if got := press(open(t, askName), "esc"); got != Cancelled {
		t.Errorf("esc: %d", got)
	}
	f := open(t, askName, func(o *Options) { o.Decline = false })
	if got := press(f, "ctrl+d"); got != Open {
		t.Errorf("a form that cannot be declined: %d", got)
	}
}

func TestEnterNeverSubmitsFromAField(t *testing.T) {
	t.Parallel()
	f := open(t, askName)
	if got := press(f, "Ada", "enter", "enter", "enter", "enter", "enter"); got != Open {
		t.Fatalf("enter in the last field: %d", got)
	}
	if got := press(f, "enter"); got != Submitted {
		t.Fatalf("enter on the submit row: %d", got)
	}
}

func TestPasteNeverSubmits(t *testing.T) {
	t.Parallel()
	f := open(t, askName)
	f.Paste("Ada\nLovelace\n\x13\x04")
	if f.Object() != nil || f.Position() != 1 {
		t.Errorf("a paste moved on: field %d", f.Position())
	}
	if strings.Contains(view(f, 80, 24), "\x13") {
		t.Error("a pasted control character is shown raw")
	}
	f.Paste(strings.Repeat("x", maxPaste+1))
	if f.fields[0].err == "" {
		t.Error("a paste over the limit is not refused")
	}
}

// The faults of huh v2.0.3 that a server could trigger, one by one.

func TestNoFieldsIsAConfirmation(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{}); !errors.Is(err, ErrNoFields) {
		t.Errorf("a form without fields: %v", err)
	}
}

func TestFiltersAreOff(t *testing.T) {
	t.Parallel()
	f := open(t, askName)
	got := press(f, "Ada", "tab", "tab", "/zzz", "enter", "/zzz", "space", "esc")
	if got != Cancelled {
		t.Fatalf("outcome %d", got)
	}
	for _, fl := range f.fields {
		if fl.broken {
			t.Errorf("field %s broke down", fl.f.Name)
		}
	}
}

func TestEqualTitlesAreToggledApart(t *testing.T) {
	t.Parallel()
	opts := []form.Option{}
	for i := range 4 {
		opts = append(opts, form.Option{Value: json.RawMessage(fmt.Sprint(i)), Label: "same " + strings.Repeat("very long ", 20)})
	}
	f := openSchema(t, form.Schema{Fields: []form.Field{{Name: "m", Kind: form.KindMulti, Options: opts}}})
	press(f, "down", "down", "up")
	f.View(40, 10)
	if got := press(f, "space", "ctrl+s"); got != Submitted {
		t.Fatalf("outcome %d", got)
	}
	if got := string(f.Object()); got != `{"m":[1]}` {
		t.Errorf("sent %s", got)
	}
}

func TestSelectChoosesNothingByItself(t *testing.T) {
	t.Parallel()
	f := open(t, `{"type":"object","properties":{"c":{"type":"string","enum":["x","y"]},"b":{"type":"boolean"}}}`)
	if got := press(f, "tab", "tab", "enter"); got != Submitted {
		t.Fatalf("outcome %d", got)
	}
	if got := string(f.Object()); got != `{}` {
		t.Errorf("untouched, and sent %s", got)
	}
}

func TestEveryRowOfAMultiChoiceIsVisible(t *testing.T) {
	t.Parallel()
	f := open(t, askName)
	press(f, "tab", "tab", "tab")
	out := view(f, 80, 24)
	for _, want := range []string{"[ ] a", "[ ] b", "[ ] c"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestSizesGrowBack(t *testing.T) {
	t.Parallel()
	f := open(t, askName)
	press(f, "Ada", "tab", "tab")
	before := view(f, 80, 24)
	for _, s := range [][2]int{{10, 3}, {1, 1}, {300, 80}, {40, 12}} {
		if n := len(f.View(s[0], s[1])); n > s[1] {
			t.Errorf("%d lines in a height of %d", n, s[1])
		}
	}
	if after := view(f, 80, 24); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}

// exploding is a widget that panics.
type exploding struct{ huh.Field }

func (exploding) Update(tea.Msg) (huh.Model, tea.Cmd) { panic("boom") }
func (exploding) View() string                        { panic("boom") }

func TestAPanicTurnsIntoAPlainField(t *testing.T) {
	t.Parallel()
	f := open(t, `{"type":"object","properties":{"n":{"type":"integer"}}}`)
	f.fields[0].widget = exploding{}
	f.View(60, 10)
	if got := press(f, "4", "2", "ctrl+s"); got != Submitted || string(f.Object()) != `{"n":42}` {
		t.Errorf("outcome %d, object %s\n%s", got, f.Object(), view(f, 60, 10))
	}
}

func TestRawFieldsAndPrefill(t *testing.T) {
	t.Parallel()
	s, err := form.ParseArguments([]byte(`{"type":"object","required":["p"],"properties":{"p":{"type":"object","properties":{"x":{"type":"integer"}}},"q":{"type":"string"}}}`), form.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	f := openSchema(t, s)
	if got := press(f, `{"x":`, "enter", `1}`, "ctrl+s"); got != Submitted {
		t.Fatalf("outcome %d\n%s", got, view(f, 80, 24))
	}
	if got := string(f.Object()); got != `{"p":{"x":1}}` {
		t.Errorf("sent %s", got)
	}
	f = openSchema(t, s, func(o *Options) {
		o.Prefill = form.Values{"p": json.RawMessage(`{"x":2}`), "q": json.RawMessage(`"a\nb"`)}
	})
	if got := press(f, "ctrl+s"); got != Submitted || string(f.Object()) != `{"p":{"x":2},"q":"a\nb"}` {
		t.Errorf("a prefilled value that nobody touched: %d %s", got, f.Object())
	}
}

func TestServerErrorsFindTheirField(t *testing.T) {
	t.Parallel()
	f := open(t, askName)
	f.SetError(fmt.Errorf("add: %w", form.Errors{{Field: "color", Message: "is taken"}, {Message: "and more"}}))
	if f.Position() != 3 || !strings.Contains(view(f, 80, 24), "is taken") || !strings.Contains(view(f, 80, 24), "and more") {
		t.Errorf("field %d\n%s", f.Position(), view(f, 80, 24))
	}
}

func TestHostileFormsAreInertAndBounded(t *testing.T) {
	t.Parallel()
	hostile := "\x1b[2J\x1b]0;x\x07\u009b1m\u202e\r\x08\u2028"
	kinds := []form.Kind{form.KindText, form.KindNumber, form.KindInteger, form.KindBoolean, form.KindChoice, form.KindMulti, form.KindRaw}
	rapid.Check(t, func(rt *rapid.T) {
		s := form.Schema{Title: hostile, Description: strings.Repeat(hostile+"\n", rapid.IntRange(0, 60).Draw(rt, "lines"))}
		for i := range rapid.IntRange(1, 6).Draw(rt, "fields") {
			k := rapid.SampledFrom(kinds).Draw(rt, "kind")
			fl := form.Field{Name: fmt.Sprint(hostile, i), Title: hostile + strings.Repeat("世", i*30), Description: hostile, Kind: k, Note: hostile, Minimum: json.Number(hostile),
				Required: rapid.Bool().Draw(rt, "required"), Nullable: rapid.Bool().Draw(rt, "nullable")}
			if k == form.KindChoice || k == form.KindMulti {
				for j := range rapid.IntRange(1, 20).Draw(rt, "options") {
					fl.Options = append(fl.Options, form.Option{Value: json.RawMessage(fmt.Sprint(j)), Label: strings.Repeat(hostile, j%3) + "x"})
				}
			}
			s.Fields = append(s.Fields, fl)
		}
		f := openSchema(rt, s)
		for range rapid.IntRange(1, 12).Draw(rt, "keys") {
			press(f, rapid.SampledFrom([]string{"tab", "shift+tab", "down", "up", "space", "x", "enter", "ctrl+s", "ctrl+x", "G", "home", "end", "世", "/"}).Draw(rt, "key"))
			w, h := rapid.IntRange(1, 130).Draw(rt, "w"), rapid.IntRange(1, 40).Draw(rt, "h")
			lines := f.View(w, h)
			if len(lines) > h {
				rt.Fatalf("%d lines in %d", len(lines), h)
			}
			for _, l := range lines {
				if n := cells.Width(l); n > max(w, 12) {
					rt.Fatalf("%d cells in %d: %q", n, w, l)
				}
				for _, r := range ansi.Strip(l) {
					if r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0x2028 {
						rt.Fatalf("raw %U in %q", r, l)
					}
				}
				if strings.Contains(l, "\x1b]") || strings.Contains(l, "\x1b[2J") {
					rt.Fatalf("a raw sequence in %q", l)
				}
			}
		}
		for _, fl := range f.fields {
			if fl.broken {
				rt.Fatalf("the widget of a %s field panicked", fl.f.Kind)
			}
		}
	})
}
