package mcpadapter

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

func TestReadTurnsContentsIntoBlocks(t *testing.T) {
	const (
		text    = `{"uri":"file:///a","mimeType":"text/plain","text":"hello"}`
		blob    = `{"uri":"file:///b","mimeType":"image/png","blob":"AQID"}`
		neither = `{"uri":"file:///c","future":1}`
		cased   = `{"uri":"file:///d","Text":"x"}`
	)
	for name, tc := range map[string]struct {
		answer string
		edit   func(*client.Limits)
		kinds  string
		want   string // part of the error
	}{
		"all kinds":  {`{"contents":[` + text + `,` + blob + `,` + neither + `,` + cased + `]}`, nil, "resource resource unknown unknown", ""},
		"empty":      {`{"contents":[]}`, nil, "", ""},
		"none":       {`{"result":1}`, nil, "", "holds no contents"},
		"wrong type": {`{"contents":"x"}`, nil, "", "holds no contents"},
		"text over":  {`{"contents":[` + text + `]}`, func(l *client.Limits) { l.TextBytes = 13 }, "", "14 over the limit of 13 (setting limits.textBytes)"},
		"text at":    {`{"contents":[` + text + `]}`, func(l *client.Limits) { l.TextBytes = 14 }, "resource", ""},
		"blob over":  {`{"contents":[` + blob + `]}`, func(l *client.Limits) { l.BinaryItemBytes = 2 }, "", "3 over the limit of 2 (setting limits.binaryItemBytes)"},
		"items over": {`{"contents":[` + text + `,` + text + `]}`, func(l *client.Limits) { l.Blocks = 1 }, "", "2 over the limit of 1 (setting limits.blocks)"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				b := r.server("d", "x")
				if tc.edit != nil {
					tc.edit(&b.Server.Limits)
				}
				r.servers["d"].OnRead = func(context.Context, string) (json.RawMessage, error) { return json.RawMessage(tc.answer), nil }
				r.must(r.start(nil, b))
				r.must(r.m.Wait(t.Context(), "d"))
				got, err := r.m.Read(t.Context(), "d", "file:///a")
				if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
					t.Fatalf("got %v, want %q", err, tc.want)
				}
				var re *RequestError
				if err != nil && (!errors.As(err, &re) || re.Binding != "d" || re.Op != "resources/read") {
					t.Errorf("error %#v", err)
				}
				var kinds []string
				for _, b := range got.Content {
					kinds = append(kinds, string(b.Kind))
				}
				if k := strings.Join(kinds, " "); k != tc.kinds || err == nil && (got.Name != "file:///a" || string(got.Raw) != tc.answer) {
					t.Errorf("kinds %q, fetched %+v", k, got)
				}
				for _, b := range got.Content {
					if b.Kind == content.KindUnknown && len(b.JSON) == 0 {
						t.Error("what has no kind is lost")
					}
				}
			})
		})
	}
}

func TestEveryContentKindKeepsItsAnnotations(t *testing.T) {
	t.Parallel()
	const notes = `"annotations":{"audience":["user"],"priority":0.5,"lastModified":"2025-01-12T15:00:58Z"},"_meta":{"a/b":1}`
	for kind, raw := range map[content.Kind]string{
		content.KindText:         `{"type":"text","text":"x",` + notes + `}`,
		content.KindImage:        `{"type":"image","data":"AQ==","mimeType":"image/png",` + notes + `}`,
		content.KindAudio:        `{"type":"audio","data":"AQ==","mimeType":"audio/wav",` + notes + `}`,
		content.KindResource:     `{"type":"resource","resource":{"uri":"x:y","text":"t"},` + notes + `}`,
		content.KindResourceLink: `{"type":"resource_link","uri":"file:///etc/passwd","name":"p",` + notes + `}`,
	} {
		b := mapBlock(json.RawMessage(raw))
		if b.Kind != kind || len(b.Audience) != 1 || b.Priority == nil || *b.Priority != 0.5 || b.LastModified != "2025-01-12T15:00:58Z" || string(b.Meta) != `{"a/b":1}` {
			t.Errorf("%s: %+v", kind, b)
		}
	}
	for size, want := range map[string]int64{`12`: 12, `1.2e3`: 1200, `-1`: 0, `1.5`: 0, `"12"`: 0, `null`: 0, `1e300`: 0} {
		b := mapBlock(json.RawMessage(`{"type":"resource_link","uri":"x:y","name":"n","size":` + size + `}`))
		if b.Kind != content.KindResourceLink || b.Size != want {
			t.Errorf("size %s: %+v", size, b)
		}
	}
	b := mapBlock(json.RawMessage(`{"type":"resource","resource":{"uri":"x:y","text":"t","_meta":{"in":1}},"_meta":{"out":1}}`))
	if string(b.Meta) != `{"out":1}` || string(b.ResourceMeta) != `{"in":1}` {
		t.Errorf("%+v", b)
	}
	// What is attached counts as text.
	lim := client.Limits{Blocks: 1, TextBytes: 64}
	if _, err := mapContent([]json.RawMessage{json.RawMessage(`{"type":"text","text":"x","_meta":{"a":"` + strings.Repeat("m", 64) + `"}}`)}, lim); err == nil {
		t.Error("unbounded _meta")
	}
	for _, raw := range []string{
		`{"type":"hologram","x":1}`, `{"type":"text"}`, `{"type":"image","data":"***"}`, `{"type":"text","TEXT":"x"}`, `"x"`,
		`{"type":"resource","resource":{"uri":"x:y","text":"t","blob":"AQ=="}}`,
	} {
		if b := mapBlock(json.RawMessage(raw)); b.Kind != content.KindUnknown || string(b.JSON) != raw {
			t.Errorf("%s: %+v", raw, b)
		}
	}
}

func TestResourcesKeepWhatTheServerSaysOfThem(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		b := r.server("d", "x")
		srv := r.servers["d"]
		srv.Set(protocol.Resources, `{"uri":"a:b","name":"n","mimeType":"text/plain","size":7,"annotations":{"audience":["user"],"priority":0.25,"lastModified":"2025-01-12"}}`,
			`{"uri":"a:c","name":"n","annotations":{"priority":"high"}}`)
		srv.Set(protocol.Templates, `{"uriTemplate":"a:{x}","name":"n","annotations":{"audience":["assistant"]}}`)
		r.must(r.start(nil, b))
		r.must(r.m.Wait(t.Context(), "d"))
		cat, _ := r.m.Catalog("d", 0)
		items := map[string]integration.Item{}
		for _, it := range cat.Items {
			items[it.Name] = it
		}
		if it := items["a:b"]; it.Size != 7 || !slices.Equal(it.Audience, []string{"user"}) || it.Priority == nil || *it.Priority != 0.25 || it.LastModified != "2025-01-12" || it.MIME != "text/plain" {
			t.Errorf("%+v", it)
		}
		if it := items["a:{x}"]; it.Kind != "template" || !slices.Equal(it.Audience, []string{"assistant"}) {
			t.Errorf("%+v", it)
		}
		if it := items["a:c"]; it.Kind != "resource" || it.Priority != nil || !strings.Contains(strings.Join(cat.Warnings, " "), "annotations are malformed") {
			t.Errorf("%+v %q", it, cat.Warnings)
		}
	})
}

func TestPromptsAreMessages(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		b := r.server("d", "x")
		srv := r.servers["d"]
		srv.Set(protocol.Prompts, `{"name":"p","arguments":[{"name":"who","required":true},{"name":"how"}]}`)
		answer := `{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"Hi"}},{"role":"assistant","content":[{"type":"resource_link","uri":"x:y","name":"n"},{"type":"new"}]}]}`
		srv.OnPrompt = func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(answer), nil
		}
		r.must(r.start(nil, b))
		r.must(r.m.Wait(t.Context(), "d"))
		if _, err := r.m.Prompt(t.Context(), "d", "p", map[string]string{"how": "x"}); err == nil || !strings.Contains(err.Error(), "who is required") {
			t.Errorf("a missing argument: %v", err)
		}
		if _, err := r.m.Prompt(t.Context(), "d", "p", map[string]string{"who": "x", "hwo\x1b": "y"}); err == nil || !strings.HasSuffix(err.Error(), `the prompt has no argument "hwo\x1b"; it takes who, how`) {
			t.Errorf("an unknown argument: %v", err)
		}
		if got := srv.Last().Requests(); len(got) != 0 {
			t.Errorf("sent %q", got)
		}
		got, err := r.m.Prompt(t.Context(), "d", "p", map[string]string{"who": "Ada", "how": "x"})
		if err != nil || got.Description != "d" || len(got.Messages) != 2 || len(got.Content) != 3 ||
			got.Messages[1].Role != content.RoleAssistant || got.Content[1].Kind != content.KindResourceLink || got.Content[2].Kind != content.KindUnknown {
			t.Fatalf("%+v %v", got, err)
		}
		if want := []string{`prompts/get p {"how":"x","who":"Ada"}`}; !slices.Equal(srv.Last().Requests(), want) {
			t.Errorf("sent %q", srv.Last().Requests())
		}
		for bad, want := range map[string]string{
			`{"messages":[{"role":"system","content":{"type":"text","text":"x"}}]}`: "neither the user's",
			`{"description":"x"}`: "holds no messages",
		} {
			answer = bad
			if _, err := r.m.Prompt(t.Context(), "d", "p", map[string]string{"who": "Ada"}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", bad, err)
			}
		}
	})
}

func TestRequestsSayWhyTheyCannotBeServed(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		off := r.server("off", "x")
		off.Disabled = true
		b := r.server("d", "x")
		r.make(nil, b, off)
		read := func(name string) error { _, err := r.m.Read(t.Context(), name, "x:y"); return err }
		if err := read("d"); !errors.Is(err, ErrNotStarted) {
			t.Errorf("before the start: %v", err)
		}
		r.must(r.m.Start(t.Context()))
		r.must(r.m.Wait(t.Context(), "d"))
		var unknown *UnknownBindingError
		if err := read("nobody"); !errors.As(err, &unknown) {
			t.Errorf("unknown: %v", err)
		}
		var re *RequestError
		if err := read("off"); !errors.As(err, &re) || !errors.Is(err, ErrNotServing) {
			t.Errorf("disabled: %v", err)
		}
		srv := r.servers["d"]
		srv.OnRead = func(context.Context, string) (json.RawMessage, error) {
			return nil, &protocol.Error{Class: protocol.ClassRemote, Op: "resources/read", Message: "the server answered with an error", Code: -32002, Detail: "no such\x1b[2J", Sent: true}
		}
		if err := read("d"); !errors.As(err, &re) || re.Class != protocol.ClassRemote || re.Detail == "" || strings.Contains(err.Error(), "\x1b") || errors.Is(err, ErrNotServing) {
			t.Errorf("remote: %#v", err)
		}
		srv.OnConnect = func(context.Context, int, protocol.Options) error {
			return &protocol.Error{Class: protocol.ClassLaunch, Op: "connect", Message: "no"}
		}
		srv.Last().Lose("gone")
		time.Sleep(time.Second)
		if err := read("d"); !errors.Is(err, ErrNotServing) || !strings.Contains(err.Error(), "reconnecting") {
			t.Errorf("away: %v", err)
		}
		if _, err := r.m.Complete(t.Context(), integration.CompleteRequest{Binding: "nobody"}); !errors.As(err, &unknown) {
			t.Errorf("complete: %v", err)
		}
		if err := errors.Join(r.m.Subscribe(t.Context(), "nobody", "x"), r.m.Unsubscribe(t.Context(), "nobody", "x")); !errors.As(err, &unknown) {
			t.Errorf("subscribe: %v", err)
		}
	})
}

func TestCompleteAndSubscribe(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		b := r.server("d", "x")
		srv := r.servers["d"]
		srv.OnComplete = func(_ context.Context, req protocol.CompleteRequest) (protocol.Completion, error) {
			return protocol.Completion{Values: []string{req.Prompt + "|" + req.Template + "|" + req.Value}, Total: 3, HasMore: true}, nil
		}
		r.must(r.start(nil, b))
		r.must(r.m.Wait(t.Context(), "d"))
		for kind, want := range map[string]string{"prompt": "n||v", "template": "|n|v"} {
			got, err := r.m.Complete(t.Context(), integration.CompleteRequest{Binding: "d", Kind: kind, Name: "n", Argument: "a", Value: "v"})
			if err != nil || got.Values[0] != want || got.Total != 3 || !got.HasMore {
				t.Errorf("%s: %+v %v", kind, got, err)
			}
		}
		if _, err := r.m.Complete(t.Context(), integration.CompleteRequest{Binding: "d", Kind: "tool", Name: "n"}); err == nil {
			t.Error("a completion for a tool")
		}
		r.must(r.m.Subscribe(t.Context(), "d", "file:///a"))
		srv.Last().Options.Handlers.ResourceUpdated("file:///a")
		srv.Last().Options.Handlers.ResourceUpdated("file:///b")
		synctest.Wait()
		if got := of[*event.ResourceUpdated](r); len(got) != 1 || got[0].Binding != "d" || got[0].URI != "file:///a" {
			t.Errorf("events %+v", got)
		}
		if got := r.status("d").Subscriptions; !slices.Equal(got, []string{"file:///a"}) {
			t.Errorf("status %q", got)
		}
		srv.Last().Lose("gone") // a subscription still delivers after it
		time.Sleep(time.Minute)
		if got := of[*event.ResourceUpdated](r); len(got) != 2 { // nobody watched meanwhile
			t.Errorf("%d events of the gap", len(got))
		}
		srv.Last().Options.Handlers.ResourceUpdated("file:///a")
		synctest.Wait()
		if got := of[*event.ResourceUpdated](r); len(got) != 3 {
			t.Errorf("%d events after the reconnect", len(got))
		}
		r.must(r.m.Unsubscribe(t.Context(), "d", "file:///a"))
		if got := r.status("d").Subscriptions; len(got) != 0 {
			t.Errorf("status %q", got)
		}
	})
}

func TestDiscoveryDefersLargeCatalogs(t *testing.T) {
	tools := func(n int) (out []string) {
		for i := range n {
			out = append(out, strings.Repeat("t", i+1))
		}
		return out
	}
	for name, tc := range map[string]struct {
		discovery string
		tools     int
		padding   int // bytes of one description
		context   int
		deny      string
		deferred  int
	}{
		"auto, 20":             {"", 20, 0, 0, "", 0},
		"auto, 21":             {"auto", 21, 0, 0, "", 21},
		"auto, one denied":     {"auto", 21, 0, 0, "t", 0},
		"auto, tokens":         {"auto", 1, 39_900, 0, "", 0},
		"auto, tokens over":    {"auto", 1, 40_100, 0, "", 1},
		"auto, small context":  {"auto", 1, 300, 1000, "", 1},
		"auto, 5 % of context": {"auto", 1, 300, 2000, "", 0},
		"eager":                {"eager", 30, 0, 0, "", 0},
		"lazy":                 {"lazy", 1, 0, 0, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				b := r.server("d", tools(tc.tools)...)
				if tc.padding > 0 {
					r.servers["d"].Set(protocol.Tools, `{"name":"a","description":"`+strings.Repeat("x", tc.padding)+`","inputSchema":{"type":"object"}}`)
				}
				b.Server.Discovery = tc.discovery
				if tc.deny != "" {
					b.Server.ToolDeny = []string{tc.deny}
				}
				r.must(r.start(func(d *Deps) { d.ContextTokens = tc.context }, b))
				r.must(r.m.Wait(t.Context(), "d"))
				if got := r.status("d"); got.Deferred != tc.deferred {
					t.Errorf("%d of %d tools are deferred, %d tokens", got.Deferred, got.Tools, got.Tokens)
				}
				listed, marked := 0, 0
				if cat, ok := r.m.Catalog("d", 0); ok {
					for _, it := range cat.Items {
						if listed++; it.Deferred {
							marked++
						}
					}
				}
				if listed != tc.tools && tc.padding == 0 || marked != tc.deferred {
					t.Errorf("%d of %d items are marked as deferred, want %d", marked, listed, tc.deferred)
				}
				for _, d := range r.m.SessionTools("main", "main") {
					if d.Deferred != (tc.deferred > 0) {
						t.Errorf("%s deferred: %t", d.Name, d.Deferred)
					}
				}
			})
		})
	}
}

// hostEras is a host that keeps eras.
type hostEras struct{ known, found map[string]string }

func (e *hostEras) Known(key string) string    { return e.known[key] }
func (e *hostEras) Found(key, revision string) { e.found[key] = revision }

func TestErasAreKeptPerLaunch(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		b := r.server("d", "x")
		srv := r.servers["d"]
		srv.Info.Revision = "2025-06-18"
		host := &hostEras{known: map[string]string{"sha256:f": "2025-03-26"}, found: map[string]string{}}
		var asked []string
		srv.OnConnect = func(_ context.Context, _ int, opt protocol.Options) error {
			asked = append(asked, opt.KnownRevision)
			return nil
		}
		r.must(r.start(func(d *Deps) {
			d.Eras = host
			d.Trust = func(context.Context, TrustRequest) Decision { return Decision{Kind: Accepted, Fingerprint: "sha256:f"} }
		}, b))
		r.must(r.m.Wait(t.Context(), "d"))
		r.must(r.m.Reconfigure(t.Context(), DisableBinding{"d"}))
		r.must(r.m.Reconfigure(t.Context(), EnableBinding{"d"})) // a new run of the same launch
		if want := []string{"2025-03-26", "2025-06-18"}; !slices.Equal(asked, want) || host.found["sha256:f"] != "2025-06-18" {
			t.Errorf("known %q, found %v", asked, host.found)
		}
	})
}

// Another model's context decides anew, in toolsets that were handed over too.
func TestDeferralFollowsTheModel(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		b := r.server("d")
		r.servers["d"].Set(protocol.Tools, `{"name":"a","description":"`+strings.Repeat("x", 400)+`","inputSchema":{"type":"object"}}`)
		b.Server.Discovery = "auto"
		r.must(r.start(func(d *Deps) { d.ContextTokens, d.DeferPercent = 2000, 10 }, b))
		r.must(r.m.Wait(t.Context(), "d"))
		for _, step := range []struct {
			context  int
			deferred bool
		}{{2000, false}, {900, true}, {0, false}, {1_000_000_000, false}} {
			r.m.SetContextTokens("", step.context)
			for _, d := range r.m.SessionTools("main", "main") {
				if d.Deferred != step.deferred {
					t.Errorf("with %d tokens the tool is deferred: %t", step.context, d.Deferred)
				}
			}
			r.m.SetContextTokens("other", 900)
			for loop, want := range map[string]bool{"other": true, "main": step.deferred} {
				for _, d := range r.m.SessionTools(loop, loop) {
					if d.Deferred != want {
						t.Errorf("with %d tokens, and 900 of another loop, the tool is deferred for %s: %t", step.context, loop, d.Deferred)
					}
				}
			}
			if got := r.status("d").Deferred > 0; got != step.deferred {
				t.Errorf("with %d tokens the status says deferred: %t", step.context, got)
			}
		}
	})
}
