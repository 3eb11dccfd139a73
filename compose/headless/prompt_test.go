package headless_test

import (
	"testing"

	"github.com/looprig/looprig/compose/headless"
)

func TestPrompt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`hello there`:                        "user  hello there ",
		`/call demo add {"a": 1, "b": 2}`:    `call demo add  {"a":1,"b":2}`,
		`/call demo.echo text="two words"`:   `call demo.echo  {"text":"two words"}`,
		` /call demo add a=1 b=2.5 `:         `call demo add  {"a":1,"b":2.5}`,
		`/call mcp__demo__lookup`:            `call mcp__demo__lookup  {}`,
		`/call demo echo {"text":"a } = {"}`: `call demo echo  {"text":"a } = {"}`,
	} {
		s, err := headless.Prompt(text)
		if err != nil || len(s.Steps) != 1 {
			t.Errorf("%s: %v", text, err)
			continue
		}
		step := s.Steps[0]
		args := ""
		if step.Args != nil {
			args = string(step.Args.JSON())
		}
		if got := string(step.Kind) + " " + step.Tool + " " + step.Text + " " + args; got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"", " ", "/call ", "/call a=1", `/call demo add x=1 {"a":1}`, `/call demo add {"a":`, `/call demo 'x`} {
		if s, err := headless.Prompt(text); err == nil && s.Steps[0].Kind != headless.StepUser {
			t.Errorf("%q was taken as %+v", text, s.Steps[0])
		}
	}
}
