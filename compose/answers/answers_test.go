package answers_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looprig/looprig/compose/answers"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/gate"
)

func load(t *testing.T, text string) ([]answers.Rule, gate.Action, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "answers.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return answers.Load(path)
}

func set(t *testing.T, text string) *answers.Set {
	t.Helper()
	rules, def, err := load(t, text)
	if err != nil {
		t.Fatal(err)
	}
	s := answers.New(gate.AnswererAnswers, "test", rules)
	s.SetFallback(def)
	return s
}

func permission(tools ...string) gate.Envelope {
	env := gate.Envelope{ID: "g1", Kind: gate.KindPermission}
	for i, name := range tools {
		env.Prompt.Calls = append(env.Prompt.Calls, gate.CallPrompt{Call: string(rune('a' + i)), Tool: name})
	}
	return env
}

func TestFaultsAreNamedWithTheirPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"- {gate: form, anser: decline}":                                      `answers.yaml:1:`,
		"- {gate: form}":                                                      "submit or answer",
		"- {answer: once}":                                                    "names the gate",
		"- {gate: frm, answer: decline}":                                      "frm",
		"- {gate: form, submit: {}, answer: decline}":                         "not both",
		"- {gate: confirm, submit: {}}":                                       "submit answers a form",
		"- {gate: form, submit: [1]}":                                         "object of fields",
		"- {gate: permission, answer: accept}":                                "does not answer a permission gate",
		"- {gate: permission, tool: \"mcp__demo__*\", answer: once}":          "mcp:demo:",
		"- {gate: untrusted_server, answer: accept}":                          "exact fingerprint",
		"- {gate: form, answer: decline, times: 0}":                           "times",
		"- {gate: form, host: example.com, answer: decline}":                  "host belongs to a open_url gate",
		"- {gate: confirm, tool: \"mcp:demo:*\", answer: accept}":             "tool belongs to a permission gate",
		"answers: []\ndefault: allow":                                         "allow",
		"answers: []\nanswers: []":                                            "answers.yaml:2:",
		"- &a {gate: form, answer: decline}\n- *a":                            "answers.yaml:",
		"answers:\n- {gate: form, answer: decline}\nextra: 1":                 `answers.yaml:3:1: extra`,
		"- {gate: permission, tool: \"mcp:demo:*\", answer: sometimes, x: 1}": "sometimes",
	} {
		_, _, err := load(t, text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nlacks %q", text, err, want)
		}
	}
}

func TestFirstMatchWinsUntilItIsUsedUp(t *testing.T) {
	t.Parallel()
	s := set(t, `
- {gate: permission, tool: "mcp:demo:add", answer: once, times: 2}
- {gate: permission, binding: demo, answer: deny, reason: enough}
`)
	var got []string
	for range 3 {
		resp, ok := s.Answer(t.Context(), permission("mcp:demo:add"))
		got = append(got, string(resp.Action)+resp.Reason)
		if !ok || resp.Answerer.Kind != gate.AnswererAnswers || resp.Answerer.ID != "test" {
			t.Errorf("answered %t by %+v", ok, resp.Answerer)
		}
	}
	if s := strings.Join(got, " "); s != "once once denyenough" {
		t.Errorf("the answers are %s", s)
	}
	if _, ok := s.Answer(t.Context(), permission("mcp:other:add")); ok {
		t.Error("another binding's call was answered")
	}
	if left := s.Unused(); left != nil {
		t.Errorf("left over: %v", left)
	}
}

func TestUnusedTimesAreNamed(t *testing.T) {
	t.Parallel()
	s := set(t, "- {gate: confirm, answer: accept, times: 2}\n- {gate: form, answer: decline}\n")
	if _, ok := s.Answer(t.Context(), gate.Envelope{Kind: gate.KindConfirm}); !ok {
		t.Fatal("not answered")
	}
	left := s.Unused()
	if len(left) != 1 || !strings.Contains(left[0], "answers.yaml:1: this answer was used 1 of 2 times") {
		t.Errorf("left over: %v", left)
	}
}

// Calls that are asked about together have a choice each; one that nothing
// matches is not allowed by its neighbours.
func TestBatches(t *testing.T) {
	t.Parallel()
	s := set(t, "- {gate: permission, tool: \"mcp:demo:add\", answer: once}\n")
	resp, ok := s.Answer(t.Context(), permission("mcp:demo:add", "mcp:demo:evolve"))
	if !ok || resp.Action != gate.ActionDeny || len(resp.Calls) != 1 || resp.Calls["a"] != gate.ActionOnce {
		t.Errorf("answered %t with %+v", ok, resp)
	}
	if !strings.Contains(resp.Reason, "no answer matches") {
		t.Errorf("a call that nobody denied is said to be denied because of %q", resp.Reason)
	}
	if _, ok := s.Answer(t.Context(), permission("mcp:demo:x", "mcp:demo:y")); ok {
		t.Error("a batch that nothing matches was answered")
	}
}

func TestHostsAndFingerprintsMatchExactly(t *testing.T) {
	t.Parallel()
	fingerprint := "sha256:" + strings.Repeat("a", 64)
	s := set(t, `
- {gate: open_url, host: example.com, answer: accept}
- {gate: untrusted_server, binding: docs, fingerprint: "`+fingerprint+`", answer: accept}
`)
	for target, want := range map[string]bool{
		"https://example.com": true, "https://example.com.evil.test": false, "https://evil.test": false, "https://sub.example.com": false,
	} {
		resp, ok := s.Answer(t.Context(), gate.Envelope{Kind: gate.KindOpenURL, Prompt: gate.Prompt{Target: target}})
		if ok != want || ok && resp.Action != gate.ActionOpen {
			t.Errorf("%s: answered %t with %s", target, ok, resp.Action)
		}
	}
	server := gate.Envelope{Kind: gate.KindUntrustedServer, Subject: gate.Subject{Binding: "docs"}, Prompt: gate.Prompt{Fingerprint: fingerprint}}
	if resp, ok := s.Answer(t.Context(), server); !ok || resp.Action != gate.ActionAccept || resp.Fingerprint != fingerprint {
		t.Errorf("answered %t with %+v", ok, resp)
	}
	server.Prompt.Fingerprint = fingerprint[:len(fingerprint)-1] + "b"
	if _, ok := s.Answer(t.Context(), server); ok {
		t.Error("another fingerprint was accepted")
	}
}

func TestDefaultAnswersOnlyWhatItFits(t *testing.T) {
	t.Parallel()
	s := set(t, "answers: []\ndefault: decline\n")
	for kind, want := range map[gate.Kind]bool{gate.KindForm: true, gate.KindConfirm: true, gate.KindOpenURL: true, gate.KindUntrustedServer: false} {
		if resp, ok := s.Answer(t.Context(), gate.Envelope{Kind: kind}); ok != want || ok && resp.Action != gate.ActionDecline {
			t.Errorf("%s: answered %t with %s", kind, ok, resp.Action)
		}
	}
	if _, ok := s.Answer(t.Context(), permission("mcp:demo:add")); ok {
		t.Error("a permission was given by default")
	}
	if _, ok := set(t, "answers: []\ndefault: refuse\n").Answer(t.Context(), gate.Envelope{Kind: gate.KindForm}); ok {
		t.Error("refuse answered a form")
	}
}

func TestMisfitsNameTheField(t *testing.T) {
	t.Parallel()
	schema, err := form.ParseElicitation(json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0}},"required":["name"]}`), form.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	env := gate.Envelope{ID: "g7", Kind: gate.KindForm, Prompt: gate.Prompt{Schema: &schema}}
	for text, want := range map[string]string{
		"{name: Ada, age: 36}": "", "{name: Ada}": "", "{name: Ada, age: old}": "age", "{age: 1}": "name", "{name: Ada, nick: A}": "nick", "{name: Ada, age: -1}": "age",
	} {
		s := set(t, "- {gate: form, submit: "+text+"}\n")
		resp, ok := s.Answer(t.Context(), env)
		if !ok || resp.Action != gate.ActionSubmit {
			t.Errorf("%s: answered %t with %s", text, ok, resp.Action)
		}
		bad := s.Misfits()
		switch {
		case want == "" && bad != nil, want != "" && len(bad) != 1:
			t.Errorf("%s: misfits %+v", text, bad)
		case want != "" && (!strings.Contains(bad[0].Reason, want) || bad[0].Gate != "g7" || !strings.HasSuffix(bad[0].Rule, "answers.yaml:1")):
			t.Errorf("%s: misfit %+v", text, bad[0])
		}
	}
}
