package event

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/tool"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// samples has one event of every type, each with every field that has no empty
// value of its own.
func samples() map[Type]Event {
	person := gate.Answerer{Kind: gate.AnswererPerson, ID: "tester"}
	yes := true
	priority := 0.5
	args := json.RawMessage(`{"a":2,"b":3}`)
	subject := gate.Subject{Loop: "main", Turn: "t3", Step: 1, Call: "c7", Binding: "demo"}
	decision := Decision{
		Verdict: "allow", Rule: "default", Considered: []string{"deny[0]", "default"}, ToolDigest: "sha256:aa",
		Gate: "g1", Answerer: &person, Reason: "fine",
	}
	blocks := []content.Block{
		content.Text("5"),
		{Kind: content.KindReasoning, Text: "two and three"},
		{Kind: content.KindImage, Data: []byte{1, 2, 3}, MIME: "image/png", Audience: []string{"user"}, Priority: &priority},
		{Kind: content.KindText, Blob: "sha256:bb", Bytes: 70000, BlobOf: content.BlobText, MIME: "text/plain; charset=utf-8"},
		{Kind: content.KindResourceLink, URI: "demo://readme", Name: "readme", Title: "Read me", Description: "About"},
		{Kind: content.KindToolUse, CallID: "c7", Name: "mcp__demo__add", JSON: args},
		{Kind: content.KindToolResult, CallID: "c7", IsError: true, Blocks: []content.Block{content.Text("no")}},
	}
	change := CatalogChange{
		Binding: "demo", From: 1, Generation: 2, Digest: "sha256:cc", Revision: "2025-11-25", Tools: 9, Prompts: 1,
		Resources: 2, Templates: 1, Tokens: 800, Added: []string{"tools/new"}, Removed: []string{"tools/old"},
		Changed: []string{"tools/lookup: description"},
	}
	pin := PinChanged{Binding: "demo", Layer: "launch", Fingerprint: "sha256:dd", Previous: "sha256:ee", By: "tester", Once: true}
	pinned := func(t Type) Event { p := pin; p.Type = t; return &p }
	list := []Event{
		&SessionStarted{App: "looprig 0.1.0", Model: "operator", Mode: "interactive", Title: "First", Journal: "sqlite"},
		&SessionClosed{ExitCode: 6, Reason: "no_interactive_gate", Coverage: Coverage{Calls: 6, Gated: 5, Ledgered: 6, Pinned: 4, Outcomes: 6, Indeterminate: 1}, Usage: []ModelUsage{{Model: "anthropic/x", Messages: 2, Usage: Usage{Input: 90, Output: 8, CostMicro: 390, Currency: "USD"}}}, Dropped: 3},
		&LoopStarted{Model: "operator"}, &LoopIdle{}, &LoopClosed{Reason: "session_closed"},
		&ToolsetAdopted{Source: "mcp", Generation: 2, Digest: "sha256:ff", Tools: 9, Deferred: 4, Bindings: []BindingGeneration{{"demo", 2, "sha256:cc"}}},
		&InputQueued{Input: "i2", Text: "later", Position: 1, Kind: "call"},
		&TurnStarted{Input: "i1", Origin: "person", Kind: "user", Text: "add \u202e two\x1b[2J", Toolset: "sha256:ff"},
		&TurnCompleted{Text: "2 + 3 = 5", Steps: 2, Calls: 1, Usage: Usage{Input: 10, Output: 5}, DurationMS: 12},
		&TurnFailed{Code: "model_error", Reason: "gone", DurationMS: 12},
		&TurnInterrupted{By: "person:tester", DurationMS: 12},
		&MessageCompleted{Step: 1, Role: content.RoleAssistant, Content: blocks, Usage: Usage{Input: 10, Output: 5}, Stop: "tool_use"},
		&ToolRequested{Step: 1, Call: "c7", Tool: "mcp:demo:add", ModelName: "mcp__demo__add", Args: args, By: "model"},
		&ToolStarted{Step: 1, Call: "c7", Tool: "mcp:demo:add", ModelName: "mcp__demo__add", Binding: "demo", Generation: 2, Args: args, ArgsDigest: "sha256:11", Decision: decision, Pinned: true},
		&ToolCompleted{
			Step: 1, Call: "c7", Tool: "mcp:demo:add", ModelName: "mcp__demo__add", Outcome: tool.ToolError, Reason: "it failed", Class: "lost",
			Sent: true, Attempts: 1, Content: blocks[:1], Structured: json.RawMessage(`{"sum":5}`), StructuredInvalid: "sum: not a string",
			Withheld: &Withheld{Bytes: 70000, Blocks: 2}, Decision: &decision, Args: args, DurationMS: 12, GateMS: 3, ServerMS: 4,
		},
		&GateOpened{Envelope: gate.Envelope{
			ID: "g1", Kind: gate.KindPermission, Subject: subject, OpenedAt: time.Unix(1_800_000_000, 0).UTC(), DeadlineMS: 60000, Restorable: true,
			Prompt: gate.Prompt{
				Title: "Allow mcp:demo:add?", Body: "text", Origin: gate.OriginHost, Target: "https://example.com", Warnings: []string{"look-alike"},
				Launch: []gate.Fact{{Label: "command", Value: "demo"}}, Fingerprint: "sha256:dd",
				Schema: &form.Schema{Title: "Name", Fields: []form.Field{{Name: "name", Kind: form.KindText, Required: true}}},
				Calls: []gate.CallPrompt{{
					Call: "c7", Tool: "mcp:demo:add", ModelName: "mcp__demo__add", Title: "Add", Args: args, ArgsDigest: "sha256:11",
					ToolDigest: "sha256:aa", Hints: tool.Hints{ReadOnly: &yes, Destructive: &yes, Idempotent: &yes, OpenWorld: &yes},
					Trust: tool.TrustAccepted, Pin: "sha256:dd", Rule: "default", Explicit: true,
				}},
				Sampling: &gate.SamplingPrompt{
					Stage: gate.SamplingRequest, System: "Be brief.", Model: "you (no key)", MaxTokens: 800, Hints: []string{"small"}, Context: "none",
					Messages: []gate.SamplingMessage{{Role: "user", Kind: "image", MIME: "image/png", Bytes: 3, Digest: "sha256:22"}, {Role: "user", Kind: "text", Text: "What is it?"}},
					Spent:    120, Budget: 50000, Reply: "A dot.", Written: true, Editable: true, Digest: "sha256:33",
				},
			},
			Private: gate.Private{URL: "https://example.com/canary"},
		}},
		&GateResolved{
			Gate: "g1", Kind: gate.KindPermission, Subject: subject, Reason: gate.ReasonAnswered, Detail: "detail", WaitMS: 900,
			Response: gate.Response{
				Action: gate.ActionOnce, Answerer: person, Values: json.RawMessage(`{"name":"Ada"}`), Reason: "fine",
				Calls: map[string]gate.Action{"c7": gate.ActionOnce}, Fingerprint: "sha256:dd", Text: "A full stop.", Close: gate.ReasonPolicy, Detail: "detail",
			},
		},
		&BindingChanged{Binding: "demo", State: "ready", Previous: "discovering", Code: "started", Class: "lost", Text: "host text", NextTryMS: 500, Generation: 2},
		&CatalogCandidate{CatalogChange: change}, &CatalogAdopted{CatalogChange: change},
		&CatalogRejected{Binding: "demo", Generation: 1, Class: "repeated_cursor", Reason: "a cursor came twice"},
		&BindingReconfigured{Binding: "demo", Op: "disable", By: "tester", Saved: true},
		&Notice{Binding: "demo", Code: "catalog_changed", Level: "info", Text: "gen 1 → 2"},
		pinned(TypePinPending), pinned(TypePinAccepted), pinned(TypePinRefused), pinned(TypePinChanged),
		&Expectation{Step: 1, Line: 12, Expression: ".text == \"5\"", OK: true, Value: json.RawMessage(`true`), Reason: "why"},
		&ModelDelta{Step: 1, Kind: "text", Text: "2 + "},
		&ToolProgress{Call: "c7", Progress: 1, Total: 3, Message: "one of three"},
		&BindingStderr{Binding: "demo", Line: "warning\u009b2J"},
		&BindingLog{Binding: "demo", Level: "info", Logger: "x", Data: json.RawMessage(`{"m":"hi"}`)},
		&BindingTrace{Binding: "demo", Sent: true, Data: json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), Bytes: 40, Cut: true},
		&ResourceUpdated{Binding: "demo", URI: "demo://clock"},
		&SessionRestored{
			App: "looprig 0.1.0", Mode: "interactive", Turns: 3, Messages: 12, Indeterminate: []string{"c7"}, Reinstalled: 1, Withdrawn: 1, Unfinished: true, Held: []string{"i2"},
			Fingerprint: Fingerprint{{Field: "policy", Value: "sha256:44", Severity: SeverityBreak}},
		},
		&ConfigDrift{Fields: []DriftField{{Field: "policy", Was: "sha256:44", Is: "sha256:55", Severity: SeverityBreak}}, Decision: "accepted", By: "person:tester"},
		&HistoryCompacted{Replaced: 20, Kept: 6, Before: 90000, After: 8000, Summary: "They added numbers.", Usage: Usage{Input: 90000, Output: 300}, Cause: "limit", Carried: 19},
		&ModelChanged{From: "operator", To: "anthropic/x", By: "person:tester"},
		&GrantChanged{
			Op: "given", Scope: "always", ID: "gr1", Tool: "mcp:demo:add", ToolDigest: "sha256:aa", Pin: "sha256:bb", Rule: "default", When: ".a < 10", By: "person:tester",
		},
		&FetchCompleted{Binding: "demo", What: "prompt", Name: "greet", Args: map[string]string{"who": "Ada"}, By: "tester", OK: true, GivenUp: true, DurationMS: 3},
		&SamplingCompleted{Binding: "demo", Model: "anthropic/x", Usage: Usage{Input: 12, Output: 4, CostMicro: 99, Currency: "USD"}},
	}
	out := map[Type]Event{}
	for i, e := range list {
		h := e.Head()
		h.Session, h.Time = "01JDZ3X0000000000000000000", time.Unix(1_800_000_000, 123_456_789).UTC()
		if t := TypeOf(e); Durable(t) {
			h.Seq = uint64(i + 1)
		}
		if strings.Contains(reflect.TypeOf(e).String(), "Session") {
			out[TypeOf(e)] = e
			continue
		}
		h.Loop = "main"
		if strings.HasPrefix(string(TypeOf(e)), "t") || strings.HasPrefix(string(TypeOf(e)), "m") {
			h.Turn = "t3"
		}
		out[TypeOf(e)] = e
	}
	return out
}

func TestGoldenFileOfEveryType(t *testing.T) {
	t.Parallel()
	all := samples()
	if len(all) != len(Types()) {
		t.Errorf("%d samples for %d types", len(all), len(Types()))
	}
	for _, typ := range Types() {
		e, ok := all[typ]
		if !ok {
			t.Errorf("no sample of %s", typ)
			continue
		}
		line, err := Encode(e)
		if err != nil {
			t.Errorf("%s: %v", typ, err)
			continue
		}
		path := filepath.Join("testdata", "events", string(typ)+".json")
		if *update {
			if err := os.WriteFile(path, append(line, '\n'), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("%s: %v", typ, err)
			continue
		}
		if got := append(bytes.Clone(line), '\n'); !bytes.Equal(got, want) {
			t.Errorf("%s changed\n got %s\nwant %s", typ, got, want)
		}
		back, err := Decode(line)
		if err != nil || reflect.TypeOf(back) != reflect.TypeOf(e) {
			t.Errorf("%s does not come back: %T %v", typ, back, err)
			continue
		}
		again, err := Encode(back)
		if err != nil || !bytes.Equal(again, line) {
			t.Errorf("%s is not stable\n got %s\nwant %s", typ, again, line)
		}
		if bytes.Contains(line, []byte("canary")) {
			t.Errorf("%s holds a private part", typ)
		}
	}
	files, err := os.ReadDir(filepath.Join("testdata", "events"))
	if err != nil || len(files) != len(Types()) {
		t.Errorf("%d golden files for %d types: %v", len(files), len(Types()), err)
	}
}

// Field names are lower-case words with underscores at every depth, so that a
// reader can rely on one spelling.
func TestKeysAreSnakeCase(t *testing.T) {
	t.Parallel()
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, x := range v {
				for _, r := range k {
					if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' {
						t.Errorf("%s.%s is not snake case", path, k)
					}
				}
				walk(path+"."+k, x)
			}
		case []any:
			for _, x := range v {
				walk(path, x)
			}
		}
	}
	for typ, e := range samples() {
		line, err := Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		walk(string(typ), v)
	}
}
