//go:build integration

package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/model"
)

// serve starts a server and a transport that leaves no connection behind.
func serve(t *testing.T, h http.HandlerFunc) (base string, hc *http.Client) {
	t.Helper()
	s := httptest.NewServer(h)
	tr := &http.Transport{}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL, &http.Client{Transport: tr}
}

func lists(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Connection", "close")
		_, _ = io.WriteString(w, body)
	}
}

func canaryKey(context.Context) (string, error) { return canary, nil }

// A key in the environment wins; then the first server of the list that has a
// model that can chat; what was passed over is named with its reason.
func TestDetect(t *testing.T) {
	d := Detect(t.Context(), DetectOptions{Env: []string{"OPENAI_API_KEY=", "GEMINI_API_KEY=" + canary}})
	key, err := d.Config.Key(t.Context())
	if !d.Found || d.Source != "env:GEMINI_API_KEY" || d.Config.Kind != Gemini || key != canary || err != nil || len(d.Tried) != 2 {
		t.Errorf("%+v", d)
	}
	if strings.Contains(fmt.Sprintf("%+v", d), canary) {
		t.Error("the key is printed")
	}
	hang := make(chan struct{})
	defer close(hang)
	slow, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})
	page, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		_, _ = io.WriteString(w, "<html>a page</html>")
	})
	empty, _ := serve(t, lists(`{"data":[{"id":"nomic-embed-text"}]}`))
	good, _ := serve(t, lists(`{"object":"list","data":[{"id":"nomic-embed-text"},{"id":"qwen3:8b"},{"id":"evil\u001b[2J"}]}`))
	locals := []Local{{"gone", "http://127.0.0.1:1/v1"}, {"slow", slow + "/v1"}, {"page", page + "/v1"}, {"empty", empty + "/v1"}, {"good", good + "/v1"}, {"later", good + "/v1"}}
	began := time.Now()
	d = Detect(t.Context(), DetectOptions{Locals: locals})
	if !d.Found || d.Source != "probe:good" || d.Config.Model != "qwen3:8b" || d.Config.Key != nil {
		t.Errorf("%+v", d)
	}
	if took := time.Since(began); took > 10*ProbeTimeout {
		t.Errorf("the probe took %s", took)
	}
	reasons := map[string]string{"gone": "cannot be reached", "slow": "no answer in time", "page": "no model server", "empty": "no model that can chat", "anthropic": "set ANTHROPIC_API_KEY"}
	for _, a := range d.Tried {
		if want := reasons[a.Name]; want != "" {
			delete(reasons, a.Name)
			if !strings.Contains(a.Reason, want) {
				t.Errorf("%s: %s", a.Name, a.Reason)
			}
		}
	}
	if len(reasons) > 0 {
		t.Errorf("not told: %v", reasons)
	}
	if d = Detect(t.Context(), DetectOptions{NoProbe: true, Locals: locals}); d.Found {
		t.Errorf("found %s without a probe", d.Source)
	}
}

// Each kind is listed in its own way, with the key and the bounds.
func TestList(t *testing.T) {
	var anthropicHeader, geminiHeader atomic.Value
	base, hc := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a/v1/models":
			anthropicHeader.Store(r.Header.Get("X-Api-Key") + r.Header.Get("Anthropic-Version"))
			lists(`{"data":[{"id":"claude-x","max_input_tokens":200000}]}`)(w, r)
		case "/g/models":
			geminiHeader.Store(r.Header.Get("X-Goog-Api-Key"))
			lists(`{"models":[{"name":"models/gemini-x","inputTokenLimit":1048576,"supportedGenerationMethods":["generateContent"]},{"name":"models/embed","supportedGenerationMethods":["embedContent"]}]}`)(w, r)
		case "/big/models":
			lists(`{"data":[`+strings.Repeat(`{"id":"x"},`, maxModels)+`{"id":"x"}]}`)(w, r)
		default:
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":{"message":"bad `+canary+`"}}`)
		}
	})
	conf := func(kind Kind, path string) Config {
		return Config{Kind: kind, Model: "m", BaseURL: base + path, Key: canaryKey, HTTP: hc, Name: path}
	}
	got := List(t.Context(), ListOptions{
		DetectOptions: DetectOptions{NoProbe: true},
		Configured:    []Config{conf(Anthropic, "/a"), conf(Gemini, "/g"), conf(OpenAIChat, "/big"), conf(OpenAIResponses, "/no"), conf(GeminiVertex, "/v")},
	})
	if len(got) != 5+len(vendors) || strings.Contains(fmt.Sprintf("%+v", got), canary) {
		t.Fatalf("%+v", got)
	}
	if !slices.Equal(got[0].Models, []Model{{"claude-x", 200000}}) || anthropicHeader.Load() != canary+"2023-06-01" {
		t.Errorf("%+v %v", got[0], anthropicHeader.Load())
	}
	if !slices.Equal(got[1].Models, []Model{{"gemini-x", 1048576}}) || geminiHeader.Load() != canary {
		t.Errorf("%+v %v", got[1], geminiHeader.Load())
	}
	for i, want := range map[int]string{2: "over the limit", 3: "refuses the key", 4: "no list of models", 5: "set ANTHROPIC_API_KEY"} {
		if got[i].Reachable || !strings.Contains(got[i].Reason, want) {
			t.Errorf("%+v", got[i])
		}
	}
}

// A redirect to another origin is not followed, least of all with a key; one on
// the same origin is.
func TestRedirects(t *testing.T) {
	var reached atomic.Int32
	other, _ := serve(t, func(_ http.ResponseWriter, _ *http.Request) { reached.Add(1) })
	var at atomic.Value
	base, hc := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away/chat/completions":
			http.Redirect(w, r, other+"/chat/completions", http.StatusTemporaryRedirect)
		case "/near/chat/completions":
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		default:
			at.Store(r.URL.Path + r.Header.Get("Authorization"))
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, strings.Join(streams[OpenAIChat], ""))
		}
	})
	for path, code := range map[string]string{"/away": "invalid_request", "/near": ""} {
		c, err := New(Config{Kind: OpenAIChat, Model: "m", BaseURL: base + path, Key: canaryKey, HTTP: hc})
		if err != nil {
			t.Fatal(err)
		}
		_, failed := saidBy(t, c, asking("hi"))
		if (failed == nil) != (code == "") || failed != nil && failed.Code != code {
			t.Errorf("%s: %+v", path, failed)
		}
	}
	if reached.Load() != 0 || at.Load() != "/thereBearer "+canary {
		t.Errorf("reached elsewhere %d times, %v", reached.Load(), at.Load())
	}
}

// half sends the beginning of a stream and then nothing until the client goes.
func half(kind Kind, gone chan<- struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range streams[kind][:len(streams[kind])-1] {
			_, _ = io.WriteString(w, e)
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
	}
}

// The user interrupts in mid-stream: the stream ends with the user's reason and
// the connection is closed. The same for an answer that falls silent.
func TestInterruptAndSilence(t *testing.T) {
	stopped := errors.New("interrupted")
	for _, kind := range []Kind{Anthropic, OpenAIChat, OpenAIResponses, Gemini} {
		gone := make(chan struct{}, 2)
		base, hc := serve(t, half(kind, gone))
		c, err := New(Config{Kind: kind, Model: "m", BaseURL: base, HTTP: hc})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		var last error
		for chunk, err := range c.Stream(ctx, asking("hi")) {
			if last = err; chunk.Kind == model.ChunkText {
				cancel(stopped)
			}
		}
		cancel(nil)
		if !errors.Is(last, stopped) {
			t.Errorf("%s: %v", kind, last)
		}
		wait(t, gone)
		c, err = New(Config{Kind: kind, Model: "m", BaseURL: base, HTTP: hc, IdleTimeout: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		m, failed := saidBy(t, c, asking("hi"))
		switch kind {
		case OpenAIChat:
			// The message was complete; only the end of the stream is missing.
			if failed != nil || m.stop != "refusal" {
				t.Errorf("%s: silence: %+v %+v", kind, m, failed)
			}
		default:
			if failed == nil || failed.Code != "stream_broken" || !failed.Retryable || !strings.Contains(failed.Message, "silent") {
				t.Errorf("%s: silence: %+v", kind, failed)
			}
		}
		wait(t, gone)
	}
}

func wait(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(10 * time.Second):
		t.Fatal("the connection stays open")
	}
}

// A failure of any size is read as far as its bound.
func TestHugeFailure(t *testing.T) {
	base, hc := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		junk := []byte(strings.Repeat("x", 64<<10))
		for range 256 {
			if _, err := w.Write(junk); err != nil {
				return
			}
		}
	})
	c, err := New(Config{Kind: Gemini, Model: "m", BaseURL: base, HTTP: hc})
	if err != nil {
		t.Fatal(err)
	}
	if _, failed := saidBy(t, c, asking("hi")); failed == nil || failed.Code != "overloaded" || len(failed.Message) > 2<<10 {
		t.Errorf("%+v", failed)
	}
}
