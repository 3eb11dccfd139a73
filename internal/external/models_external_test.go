//go:build external

package external_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// formats are the wire formats of models, with where the mock serves each.
var formats = []struct{ kind, path, model string }{
	{"openai-chat", "/v1", "gpt-4o"},
	{"openai-responses", "/v1", "gpt-4o"},
	{"anthropic", "", "claude-sonnet-4-5"},
	{"gemini", "/v1beta", "gemini-2.5-flash"},
}

// reply is one prepared answer of the mock.
type reply struct {
	Match    map[string]any `json:"match"`
	Response map[string]any `json:"response"`
	// Latency between chunks in ms, and where the stream is cut.
	Latency   int                `json:"latency,omitempty"`
	ChunkSize int                `json:"chunkSize,omitempty"`
	Truncate  int                `json:"truncateAfterChunks,omitempty"`
	Chaos     map[string]float64 `json:"chaos,omitempty"`
}

func says(text string) map[string]any { return map[string]any{"content": text} }

func fails(status int, kind string) map[string]any {
	return map[string]any{"error": map[string]any{"message": "as prepared", "type": kind}, "status": status}
}

func wants(text string, calls ...[2]string) map[string]any {
	list := make([]map[string]string, len(calls))
	for i, c := range calls {
		list[i] = map[string]string{"name": c[0], "arguments": c[1]}
	}
	return map[string]any{"content": text, "toolCalls": list}
}

// mock starts the published mock of model servers with prepared answers and
// returns its address.
func mock(t *testing.T, replies ...reply) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"fixtures": replies})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "fixtures.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	var log tape
	t.Cleanup(func() { // runs when the mock has ended
		if t.Failed() {
			t.Logf("the mock says:\n%s", log.String())
		}
	})
	return served(t, "127.0.0.1", func(bin, port string) *exec.Cmd {
		cmd := exec.CommandContext(context.Background(), filepath.Join(bin, "llmock"), "-p", port, "-f", file, "--log-level", "warn", "--strict")
		cmd.Stdout, cmd.Stderr = &log, &log
		return cmd
	})
}

// testKey must be in no output and in no file.
const testKey = "key-canary-5d0c2b7e91"

func keyed() []string { return []string{"LOOPRIG_TEST_KEY=" + testKey} }

// row is what the tests look at in an event.
type row struct {
	Type, Code, Reason, Text, Outcome, Tool, Call string
	Decision                                      struct{ Verdict, Rule, Gate string }
	Envelope                                      struct{ Kind string }
	Kind                                          string
	ExitCode                                      int `json:"exit_code"`
}

func rows(t *testing.T, out string) []row {
	t.Helper()
	var all []row
	for line := range strings.Lines(out) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, r)
	}
	return all
}

func last(t *testing.T, all []row, typ string) row {
	t.Helper()
	for _, r := range slices.Backward(all) {
		if r.Type == typ {
			return r
		}
	}
	t.Fatalf("no %s among %d events", typ, len(all))
	return row{}
}

// The flows that a turn can take, over every wire format.
func TestModelFlows(t *testing.T) {
	add := func(a, b int) [2]string { return [2]string{"mcp__demo__add", fmt.Sprintf(`{"a":%d,"b":%d}`, a, b)} }
	addr := mock(
		t,
		reply{Match: map[string]any{"userMessage": "greet"}, Response: says("Hello, in several pieces."), ChunkSize: 3, Latency: 1},
		reply{Match: map[string]any{"userMessage": "both sums", "hasToolResult": false}, Response: wants("Adding.", add(1, 2), add(3, 4))},
		reply{Match: map[string]any{"userMessage": "both sums", "hasToolResult": true}, Response: says("They are 3 and 7.")},
		reply{Match: map[string]any{"userMessage": "cut off"}, Response: says("This is cut short and must not pass for an answer."), Truncate: 5, ChunkSize: 5, Latency: 40},
		reply{Match: map[string]any{"userMessage": "garbled"}, Response: says("x"), Chaos: map[string]float64{"malformedRate": 1}},
		reply{Match: map[string]any{"userMessage": "refused"}, Response: fails(400, "invalid_request_error")},
	)
	home := modelHome(t, addr)
	for _, f := range formats {
		t.Run(f.kind, func(t *testing.T) {
			ask := func(text string) (all []row, stdout string, code int) {
				t.Helper()
				out, errOut, code := runWith(t, home, keyed(), "--headless", "-p", text, "--model", f.kind, "--allow", "mcp:demo:*", "--output", "json", "--include-ephemeral")
				if strings.Contains(out+errOut, testKey) {
					t.Error("the key is in the output")
				}
				return rows(t, out), out, code
			}
			all, _, code := ask("greet")
			pieces := 0
			for _, r := range all {
				if r.Type == "model.delta" {
					pieces++
				}
			}
			if done := last(t, all, "turn.completed"); code != 0 || done.Text != "Hello, in several pieces." || pieces < 3 {
				t.Errorf("greet: exit %d in %d pieces: %+v", code, pieces, done)
			}
			all, _, code = ask("both sums")
			calls := 0
			for _, r := range all {
				if r.Type == "tool.completed" && r.Outcome == "ok" && r.Tool == "mcp:demo:add" {
					calls++
				}
			}
			if code != 0 || calls != 2 || last(t, all, "turn.completed").Text != "They are 3 and 7." {
				t.Errorf("both sums: exit %d, %d calls", code, calls)
			}
			for text, want := range map[string]string{"cut off": "stream_broken", "garbled": "stream_broken", "refused": "invalid_request"} {
				all, out, code := ask(text)
				if failed := last(t, all, "turn.failed"); code != 4 || failed.Code != "model_error" || !strings.Contains(failed.Reason, want) {
					t.Errorf("%s: exit %d: %+v", text, code, failed)
				}
				if strings.Contains(out, `"turn.completed"`) {
					t.Errorf("%s: half an answer passed for one", text)
				}
			}
		})
	}
}

// Faults that pass are waited out, visibly, over every wire format.
func TestModelFaultsPass(t *testing.T) {
	for _, f := range formats {
		t.Run(f.kind, func(t *testing.T) {
			t.Parallel()
			var replies []reply
			for text, fault := range map[string]map[string]any{
				"limited": fails(429, "rate_limit_error"), "five hundred": fails(500, "server_error"), "overloaded": fails(529, "overloaded_error"),
			} {
				replies = append(
					replies,
					reply{Match: map[string]any{"userMessage": text, "sequenceIndex": 0}, Response: fault},
					reply{Match: map[string]any{"userMessage": text}, Response: says("after " + text)},
				)
			}
			home := modelHome(t, mock(t, replies...))
			for _, text := range []string{"limited", "five hundred", "overloaded"} {
				out, errOut, code := runWith(t, home, keyed(), "--headless", "-p", text, "--model", f.kind, "--output", "json")
				all := rows(t, out)
				if code != 0 || last(t, all, "turn.completed").Text != "after "+text {
					t.Errorf("%s: exit %d %s", text, code, errOut)
				}
				if !slices.ContainsFunc(all, func(r row) bool { return r.Type == "notice" && r.Code == "model_retry" }) {
					t.Errorf("%s: nothing said that it was tried again:\n%s", text, out)
				}
			}
		})
	}
}

// modelHome is a home whose providers are the mock, one of each format, named
// by it.
func modelHome(t *testing.T, addr string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("providers:\n")
	for _, f := range formats {
		fmt.Fprintf(&b, "  %s: {kind: %s, baseUrl: \"http://%s%s\", model: %s, keyEnv: LOOPRIG_TEST_KEY}\n", f.kind, f.kind, addr, f.path, f.model)
	}
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

// A slow answer that the user stops leaves a whole record, and a home that the
// next run works with.
func TestModelSlowAnswerIsInterrupted(t *testing.T) {
	for _, f := range formats {
		t.Run(f.kind, func(t *testing.T) {
			t.Parallel()
			home := modelHome(t, mock(t,
				reply{Match: map[string]any{"userMessage": "slowly"}, Response: says(strings.Repeat("word ", 200)), Latency: 200, ChunkSize: 5},
				reply{Match: map[string]any{"userMessage": "again"}, Response: says("quick")},
			))
			env := keyed()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, looprig, "--headless", "-p", "slowly", "--model", f.kind, "--output", "json", "--include-ephemeral")
			cmd.Env = append(append(os.Environ(), "LOOPRIG_HOME="+home, "XDG_STATE_HOME="+home), env...)
			var out tape
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for !strings.Contains(out.String(), `"model.delta"`) && ctx.Err() == nil {
				time.Sleep(pollEvery)
			}
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
				t.Errorf("the interrupted run ended with %v", err)
			}
			last(t, rows(t, out.String()), "turn.interrupted")
			if text, errOut, code := runWith(t, home, env, "--headless", "-p", "again", "--model", f.kind); code != 0 || strings.TrimSpace(text) != "quick" {
				t.Errorf("the next run: exit %d, %q %s", code, text, errOut)
			}
		})
	}
}

// tape keeps what a process writes, to be read meanwhile.
type tape struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (p *tape) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buf.Write(b)
}

func (p *tape) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buf.String()
}
