package headless

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/looprig/looprig/compose/config/doc"
	"github.com/looprig/looprig/harness/model/operator"
	"github.com/looprig/looprig/internal/shellwords"
)

// PromptFile is what a prompt's step is called in messages and records.
const PromptFile = "-p"

// Prompt makes the script of one prompt for the operator model. Text that begins
// with /call is a call, as in the interface: `/call BINDING TOOL {"a":1}` or
// `/call BINDING TOOL a=1 b=two`, where a value is JSON if it can be.
func Prompt(text string) (*Script, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, errors.New("-p: the prompt is empty")
	}
	step := Step{Kind: StepUser, Line: 1, Text: text}
	if rest, ok := strings.CutPrefix(text, "/call "); ok {
		var err error
		if step, err = callStep(strings.TrimSpace(rest)); err != nil {
			return nil, err
		}
	}
	return &Script{File: PromptFile, Model: operator.Name, Steps: []Step{step}}, nil
}

func callStep(rest string) (Step, error) {
	words, object := rest, ""
	if i := strings.Index(rest, "{"); i >= 0 {
		words, object = rest[:i], rest[i:]
	}
	parts, err := shellwords.Split(words)
	if err != nil {
		return Step{}, fmt.Errorf("-p: %w", err)
	}
	var tool []string
	for len(parts) > 0 && !strings.Contains(parts[0], "=") {
		tool, parts = append(tool, parts[0]), parts[1:]
	}
	if len(tool) == 0 {
		return Step{}, errors.New("-p: /call names a tool: /call BINDING TOOL {\"argument\": …}")
	}
	if object != "" && len(parts) > 0 {
		return Step{}, errors.New("-p: give the arguments as JSON or as k=v, not both")
	}
	if object == "" {
		if object, err = pairs(parts); err != nil {
			return Step{}, err
		}
	}
	args, err := doc.ParseJSON(PromptFile, []byte(object))
	if err != nil {
		return Step{}, err
	}
	return Step{Kind: StepCall, Line: 1, Tool: strings.Join(tool, " "), Args: args}, nil
}

func pairs(parts []string) (string, error) {
	values := map[string]json.RawMessage{}
	for _, p := range parts {
		k, v, ok := strings.Cut(p, "=")
		if !ok || k == "" {
			return "", fmt.Errorf("-p: %q is not k=v", p)
		}
		raw := json.RawMessage(v)
		if !json.Valid(raw) {
			var err error
			if raw, err = json.Marshal(v); err != nil {
				return "", err
			}
		}
		values[k] = raw
	}
	b, err := json.Marshal(values)
	return string(b), err
}
