package mcpadapter

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// Each bound of a question, of a call and of a result: what is at it passes,
// what is one over it is refused by name, with size and setting. The bounds of
// listings are tested with package catalog, those of sampling, subscriptions,
// completions and roots with what they belong to.
func TestEveryLimitOfQuestionsCallsAndResults(t *testing.T) {
	word := func(n int) string { return strings.Repeat("x", n) }
	schema := func(props string) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{` + props + `}}`)
	}
	list := func(n int, item func(i int) string) string {
		var out []string
		for i := range n {
			out = append(out, item(i))
		}
		return strings.Join(out, ",")
	}
	declined := func(r *rig) string {
		synctest.Wait()
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, n := range r.notices {
			if n.Code == "elicitation_declined" {
				return n.Text
			}
		}
		return ""
	}
	question := func(message string, sch json.RawMessage) func(t *testing.T, r *rig) string {
		return func(t *testing.T, r *rig) string {
			_, err := r.servers["d"].Last().Options.Handlers.Elicit(t.Context(), client.ElicitRequest{Mode: "form", Message: message, Schema: sch})
			r.must(err)
			return declined(r)
		}
	}
	result := func(res protocol.Result) func(t *testing.T, r *rig) string {
		return func(t *testing.T, r *rig) string {
			r.servers["d"].OnCall = func(context.Context, protocol.CallRequest) (*protocol.Result, error) { return &res, nil }
			got := r.prepare("mcp__d__x", "{}").Invoke(t.Context(), tool.Call{ID: "c"})
			if (got.Outcome == tool.OverLimit) != (got.Reason != "") {
				t.Errorf("outcome %s: %s", got.Outcome, got.Reason)
			}
			return got.Reason
		}
	}
	blocks := func(n int, block string) protocol.Result {
		var out []json.RawMessage
		for range n {
			out = append(out, json.RawMessage(block))
		}
		return protocol.Result{Content: out}
	}
	const image = `{"type":"image","mimeType":"image/png","data":"%s"}`
	for setting, tc := range map[string]struct {
		set  func(*client.Limits, int)
		n    int
		make func(n int) func(t *testing.T, r *rig) string
	}{
		"elicitMessageBytes": {func(l *client.Limits, n int) { l.ElicitMessageBytes = n }, 20, func(n int) func(*testing.T, *rig) string {
			return question(word(n), schema(`"a":{"type":"boolean"}`))
		}},
		"elicitSchemaBytes": {func(l *client.Limits, n int) { l.ElicitSchemaBytes = n }, 200, func(n int) func(*testing.T, *rig) string {
			raw := schema(`"a":{"type":"boolean","description":"` + word(n-len(schema(`"a":{"type":"boolean","description":""}`))) + `"}`)
			return question("", raw)
		}},
		"elicitFields": {func(l *client.Limits, n int) { l.ElicitFields = n }, 3, func(n int) func(*testing.T, *rig) string {
			return question("", schema(list(n, func(i int) string { return fmt.Sprintf(`"f%d":{"type":"boolean"}`, i) })))
		}},
		"elicitOptions": {func(l *client.Limits, n int) { l.ElicitOptions = n }, 3, func(n int) func(*testing.T, *rig) string {
			return question("", schema(`"a":{"type":"string","enum":[`+list(n, func(i int) string { return fmt.Sprintf(`"o%d"`, i) })+`]}`))
		}},
		"elicitValueBytes": {func(l *client.Limits, n int) { l.ElicitValueBytes = n }, 10, func(n int) func(*testing.T, *rig) string {
			return question("", schema(`"a":{"type":"string","enum":["`+word(n-2)+`"]}`))
		}},
		"elicitPending": {func(l *client.Limits, n int) { l.ElicitPending = n }, 2, func(n int) func(*testing.T, *rig) string {
			return func(t *testing.T, r *rig) string {
				r.mu.Lock()
				r.answer = func(ctx context.Context, _ gate.Request) (gate.Response, error) {
					<-ctx.Done()
					return gate.Response{Action: gate.ActionCancel, Close: gate.ReasonWithdrawn}, nil
				}
				r.mu.Unlock()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				for range n {
					go func() {
						_, _ = r.servers["d"].Last().Options.Handlers.Elicit(ctx, client.ElicitRequest{Schema: schema("")})
					}()
				}
				return declined(r)
			}
		}},
		"argumentBytes": {func(l *client.Limits, n int) { l.ArgumentBytes = n }, 20, func(n int) func(*testing.T, *rig) string {
			return func(t *testing.T, r *rig) string {
				_, err := r.def("mcp__d__x").Handler.Prepare(t.Context(), json.RawMessage(`{"a":"`+word(n-8)+`"}`))
				if err == nil {
					return ""
				}
				return err.Error()
			}
		}},
		"blocks": {func(l *client.Limits, n int) { l.Blocks = n }, 3, func(n int) func(*testing.T, *rig) string {
			return result(blocks(n, `{"type":"text","text":"x"}`))
		}},
		"textBytes": {func(l *client.Limits, n int) { l.TextBytes = n }, 10, func(n int) func(*testing.T, *rig) string {
			return result(blocks(1, `{"type":"text","text":"`+word(n)+`"}`))
		}},
		"structuredBytes": {func(l *client.Limits, n int) { l.StructuredBytes = n }, 20, func(n int) func(*testing.T, *rig) string {
			return result(protocol.Result{Structured: json.RawMessage(`{"a":"` + word(n-8) + `"}`)})
		}},
		"binaryItemBytes": {func(l *client.Limits, n int) { l.BinaryItemBytes = n }, 5, func(n int) func(*testing.T, *rig) string {
			return result(blocks(1, fmt.Sprintf(image, encoded(n))))
		}},
		"binaryItems": {func(l *client.Limits, n int) { l.BinaryItems = n }, 2, func(n int) func(*testing.T, *rig) string {
			return result(blocks(n, fmt.Sprintf(image, encoded(1))))
		}},
		"binaryBytes": {func(l *client.Limits, n int) { l.BinaryBytes = n }, 5, func(n int) func(*testing.T, *rig) string {
			return result(blocks(n, fmt.Sprintf(image, encoded(1))))
		}},
	} {
		for over := range 2 {
			t.Run(fmt.Sprint(setting, " over by ", over), func(t *testing.T) {
				bubble(t, func(t *testing.T, r *rig) {
					b := r.server("d", "x")
					tc.set(&b.Server.Limits, tc.n)
					r.must(r.start(nil, b))
					r.must(r.m.Wait(t.Context(), "d"))
					said := tc.make(tc.n+over)(t, r)
					want := fmt.Sprintf("%d over the limit of %d (setting limits.%s)", tc.n+1, tc.n, setting)
					if over == 0 && said != "" || over == 1 && !strings.Contains(said, want) {
						t.Errorf("%d with a limit of %d: %q, want %q", tc.n+over, tc.n, said, want)
					}
				})
			})
		}
	}
}

// encoded is the base64 form of n bytes.
func encoded(n int) string {
	raw, _ := json.Marshal(make([]byte, n)) // JSON writes bytes in base64
	return strings.Trim(string(raw), `"`)
}
