package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/tool"
)

func (w *world) Preview(_ context.Context, c integration.Change) (integration.Preview, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.By == "" || len(c.Values) == 0 {
		return integration.Preview{}, errors.New("a change without values")
	}
	return w.preview, w.viewErr
}

func launch() integration.Preview {
	p := integration.Preview{
		Facts:       []integration.Fact{{Label: "executable", Value: "/usr/bin/npx"}, {Label: "sha256", Value: strings.Repeat("ab", 32)}},
		Warnings:    []string{"npx fetches code when it starts"},
		Fingerprint: "sha256:" + strings.Repeat("77", 32),
	}
	for i := range 30 {
		p.Facts = append(p.Facts, integration.Fact{Label: fmt.Sprint("argument ", i+1), Value: fmt.Sprintf("--flag-%d\x1b[2J", i+1)})
	}
	return p
}

func TestAnAdditionShowsWhatItWouldRun(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.w.preview = launch()
	r.press("/mcp add", "enter", "enter", "fresh", "tab", "npx", "ctrl+s")
	r.see("Add fresh?", "npx fetches code", "/usr/bin/npx", "--flag-1", "lines 1–", "[x] kept in ~/.looprig/mcp.json")
	r.dontSee("--flag-30", "\x1b")
	r.press("G")
	r.see("Add fresh?", "--flag-30", "fingerprint", "Confirming pins exactly this: when")
	r.press("s")
	r.see("[ ] kept in", "this session only")
	r.press("n")
	r.see("add · A program", "npx")
	r.press("ctrl+s", "y")
	if len(r.w.changes) != 1 || r.w.changes[0].Op != integration.OpAdd || !r.w.changes[0].Save {
		t.Fatalf("%+v", r.w.changes)
	}
}

func TestARefusedPreviewKeepsTheForm(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.press("/mcp add", "enter", "enter", "fresh", "tab", "nope", "tab", "--some words")
	r.w.viewErr = form.Errors{{Field: "command", Message: "is not an executable"}}
	r.press("ctrl+s")
	r.see("is not an executable", "fresh", "nope", "--some words")
	r.dontSee("Add fresh?")
	r.w.viewErr = form.Errors{{Message: "entry:1:9: the args are odd"}}
	r.press("ctrl+s")
	r.see("✗ the args are odd")
	r.w.viewErr = errors.New("entry:1:91: the directory is not there")
	r.press("ctrl+s")
	r.see("✗ the directory is not there", "fresh", "nope", "--some words")
	r.dontSee("entry:")
	if top := strings.Split(r.screen(), "\n"); !strings.Contains(strings.Join(top[:12], "\n"), "the directory is not there") {
		t.Errorf("the fault is not at the top:\n%s", r.screen())
	}
	r.w.viewErr = nil
	r.press("ctrl+s")
	r.see("Add fresh?")
	r.dontSee("the directory is not there")
	if len(r.w.changes) != 0 {
		t.Fatalf("%+v", r.w.changes)
	}
}

func TestAFormSurvivesAnyErrorOfItsChange(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.w.applyErr = errors.New("disk full")
	r.press("/mcp add", "enter", "enter", "fresh", "tab", "cmd", "ctrl+s", "y")
	r.see("✗ disk full", "fresh", "cmd")
	r.w.applyErr = nil
	r.press("ctrl+s", "y")
	r.see("fresh: add done")
}

func TestAnAdditionThatDidNotComeUpIsReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.w.applyErr = errors.New("the process exited")
	r.press("/mcp add", "enter", "enter", "fresh", "tab", "cmd", "ctrl+s")
	r.w.bindings = append(r.w.bindings, integration.Binding{Name: "fresh", State: integration.StateFailed, Enabled: true})
	r.press("y")
	r.see("replace · fresh", "✗ the process exited", "cmd", "[ replace ]")
	r.w.applyErr = nil
	r.press("2", "ctrl+s", "y")
	c := r.w.changes[len(r.w.changes)-1]
	if c.Op != integration.OpReplace || c.Binding != "fresh" || !strings.Contains(string(c.Values), "cmd2") {
		t.Errorf("%+v", c)
	}
}

func TestRemovingSaysFromWhere(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.press("/mcp remove files", "enter")
	r.see("Remove files?", "removes it from ~/.looprig/mcp.json")
	r.press("s")
	r.see("for this session only: it stays in ~/.looprig/mcp.json", "s from the file as well")
	r.press("n", "/mcp remove demo", "enter")
	r.see("Remove demo?", "and from ~/.looprig/mcp.json where", "names no server")
}

func TestWhatWasAskedStandsAboveItsAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	h := r.w.head()
	r.emit(&event.ModelDelta{Header: h, Step: 1, Kind: "text", Text: "the answer"}, &event.TurnStarted{Header: h, Kind: "user", Text: "the question"})
	out := r.screen()
	if q, a := strings.Index(out, "the question"), strings.Index(out, "the answer"); q < 0 || a < q {
		t.Errorf("question at %d, answer at %d:\n%s", q, a, out)
	}
}

func TestFootersNameOnlyKeysThatWork(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.emit(r.w.open(formGate()))
	r.dontSee("F1 help", "^p palette", "F2 bindings")
	r.see("F6 put aside")
	r.settle()
	r.press("f6", "f2")
	r.see("esc back", "? help")
	r.press("a")
	r.dontSee("a add ·")
	r.see("1 gate waiting")
}

func TestFiltersSayWhenNothingMatches(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 36)
	r.press("f2", "/", "zzz")
	r.see("nothing matches; esc clears the filter")
	r.dontSee("a adds one")
	r.press("esc", "f3", "/", "zzz")
	r.see("nothing matches; esc clears the filter")
	r = newRig(t, 120, 36, func(o *Options) { o.Session.(*world).bindings = nil })
	r.press("f3")
	r.see("there is no binding yet")
	r.dontSee(`""`)
}

func TestTheDetailOfABindingScrolls(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 18)
	for i := range 40 {
		r.w.bindings[0].Warnings = append(r.w.bindings[0].Warnings, fmt.Sprint("warning ", i))
	}
	r.press("f2", "enter")
	r.see("┃", "esc list", "warning 1")
	r.press("G")
	r.see("warn rate limit")
	r.press("esc", "j", "enter")
	r.see("files  ● ready")
}

func TestCallsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 36)
	r.press("/call demo add {a:1", "enter")
	r.see(`not JSON at byte 2, "a:1"`)
	r.press("ctrl+c", `/call demo add {"a":1`, "enter")
	r.see("they end too early")
	if got := r.m.unknownTool("demo zzz", &tool.UnknownToolError{Spelling: "demo zzz"}); !strings.Contains(got, "demo has add, wipe, nested") {
		t.Error(got)
	}
	if got := r.m.unknownTool("demo ad", &tool.UnknownToolError{Spelling: "demo ad", Suggestions: []string{"mcp:demo:add"}}); !strings.Contains(got, "did you mean") {
		t.Error(got)
	}
}

func TestListsThatAreCutSaySo(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.press("ctrl+p")
	r.see(" more")
	r.press("esc", "/mcp ")
	r.dontSee(" more")
	r.press("ctrl+c", "/")
	r.see(fmt.Sprintf("+%d more", len(Commands())-6))
}

func TestFoundItemsAreCountedAsItems(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 36)
	r.emit(&event.CatalogCandidate{Header: r.w.head(), CatalogChange: event.CatalogChange{Binding: "demo", Generation: 1, Added: []string{"a", "b"}}})
	r.see("gen 1: +2 items")
}
