package config_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/looprig/looprig/compose/config"
)

func TestLoops(t *testing.T) {
	t.Parallel()
	c, err := config.LoadConfig(write(t, "config.yaml", `
loops:
  reviewer: {system: be strict, limits: {steps: 5, toolCalls: 9}, delegates: [reviewer]}
  writer: {model: operator}
  main: {delegates: [reviewer]}
`), env, true)
	if err != nil {
		t.Fatal(err)
	}
	want := []config.Loop{
		{Name: "main", Delegates: []string{"reviewer"}},
		{Name: "reviewer", System: "be strict", Limits: config.LoopLimits{Steps: 5, ToolCalls: 9}, Delegates: []string{"reviewer"}},
		{Name: "writer", Model: "operator"},
	}
	if !reflect.DeepEqual(c.Loops, want) {
		t.Errorf("%+v", c.Loops)
	}
	for name, delegated := range map[string]bool{"main": false, "reviewer": true, "writer": false} {
		if config.Delegated(c.Loops, name) != delegated {
			t.Errorf("%s: %v", name, !delegated)
		}
	}
	for src, want := range map[string]string{
		"loops:\n  main: {delegates: [reviewr]}\n  reviewer: {}\n": `2:10: loops.main.delegates: no loop is called "reviewr"`,
		"loops: {main: {delegates: [main, main]}}\n":               "main is there twice",
		"loops: {main: {delegate: [main]}}\n":                      "1:16: loops.main.delegate",
		"loops: {main: {limits: {step: 1}}}\n":                     "loops.main.limits.step",
		"loops: {main: {limits: {steps: 0}}}\n":                    "loops.main.limits.steps",
	} {
		if _, err := config.LoadConfig(write(t, "config.yaml", src), env, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", src, err)
		}
	}
}
