package demo

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// eras are the revisions that every test of a behaviour runs under.
var eras = []string{"2025-11-25", "2026-07-28"}

func eachEra(t *testing.T, f func(t *testing.T, revision string)) {
	t.Helper()
	for _, revision := range eras {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			f(t, revision)
		})
	}
}

// peer is a client that is connected to a demo server.
type peer struct {
	*mcp.ClientSession
	mu       sync.Mutex
	progress []float64
	asked    []*mcp.ElicitParams
	// changed gets a value for every tools list_changed.
	changed chan struct{}
	// completed gets the id of every finished elicitation.
	completed chan string
	updated   chan string
	logged    chan string
}

// script is how a peer answers.
type script struct {
	elicit func(*mcp.ElicitParams) (*mcp.ElicitResult, error)
	sample string
	opt    Options
	sleep  func(context.Context, time.Duration) error
}

func connect(t *testing.T, revision string, sc script) *peer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	s := newServer(sc.opt)
	if sc.sleep != nil {
		s.sleep = sc.sleep
	}
	st, ct := mcp.NewInMemoryTransports()
	ss, err := s.sdk.Connect(ctx, st, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{
		changed: make(chan struct{}, 100), completed: make(chan string, 10),
		updated: make(chan string, 100), logged: make(chan string, 100),
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, p.options(sc))
	p.ClientSession, err = client.Connect(ctx, ct, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Close()
		_ = ss.Wait()
		cancel()
	})
	return p
}

func (p *peer) options(sc script) *mcp.ClientOptions {
	o := &mcp.ClientOptions{
		Capabilities:           &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { p.changed <- struct{}{} },
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { p.updated <- r.Params.URI },
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			s, _ := r.Params.Data.(string)
			p.logged <- s
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.progress = append(p.progress, r.Params.Progress)
		},
		ElicitationCompleteHandler: func(_ context.Context, r *mcp.ElicitationCompleteNotificationRequest) {
			p.completed <- r.Params.ElicitationID
		},
	}
	if sc.elicit != nil {
		o.Capabilities.Elicitation = &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
		}
		o.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			p.mu.Lock()
			p.asked = append(p.asked, r.Params)
			p.mu.Unlock()
			return sc.elicit(r.Params)
		}
	}
	if sc.sample != "" {
		o.CreateMessageHandler = func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: sc.sample}}, nil
		}
	}
	return o
}

func (p *peer) call(t *testing.T, name string, args any) *mcp.CallToolResult {
	t.Helper()
	res, err := p.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res
}

func textOf(res *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func structured(t *testing.T, res *mcp.CallToolResult) string {
	t.Helper()
	b, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// want fails unless the result has this text and error flag.
func want(t *testing.T, res *mcp.CallToolResult, text string, isError bool) {
	t.Helper()
	if got := textOf(res); got != text || res.IsError != isError {
		t.Errorf("got %q (error %v), want %q (error %v)", got, res.IsError, text, isError)
	}
}

func receive[T any](t *testing.T, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(5 * time.Second):
		t.Fatalf("no %s came", what)
		panic("unreachable")
	}
}

func TestPlainTools(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, revision string) {
		p := connect(t, revision, script{})
		if got := p.InitializeResult().ProtocolVersion; got != revision {
			t.Fatalf("negotiated %s, want %s", got, revision)
		}
		res := p.call(t, "add", map[string]any{"a": 2, "b": 3})
		want(t, res, "5", false)
		if got := structured(t, res); got != `{"sum":5}` {
			t.Errorf("structured = %s", got)
		}
		want(t, p.call(t, "echo", map[string]any{"text": "x\ny"}), "x\ny", false)
		want(t, p.call(t, "fail", map[string]any{"message": "no luck"}), "no luck", true)
		want(t, p.call(t, "fail", nil), "this tool always fails", true)
		if got := len(textOf(p.call(t, "big-result", map[string]any{"kilobytes": 3}))); got != 3<<10 {
			t.Errorf("big-result has %d bytes", got)
		}
		want(t, p.call(t, "lookup", map[string]any{"key": "Turn"}), table["turn"], false)
		if res := p.call(t, "lookup", map[string]any{"key": "nothing"}); !res.IsError || !strings.Contains(textOf(res), "generation") {
			t.Errorf("an unknown word gives %q", textOf(res))
		}
		if res := p.call(t, "add", map[string]any{"a": "two", "b": 3}); !res.IsError {
			t.Error("a wrong argument is not refused")
		}
		want(t, p.call(t, "ask-name", nil), "this client does not offer elicitation, so the question cannot be asked", true)
		want(t, p.call(t, "think", nil), "this client does not offer sampling, so its model cannot be asked", true)
	})
}

func TestListingsKeepFieldOrderAndPage(t *testing.T) {
	t.Parallel()
	p := connect(t, "2026-07-28", script{opt: Options{PageSize: 3}})
	var names []string
	for tool, err := range p.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
		if tool.Title == "" || tool.Description == "" || tool.Annotations == nil {
			t.Errorf("%s lacks a title, a description or annotations", tool.Name)
		}
		if tool.Name == "add" && !tool.Annotations.ReadOnlyHint {
			t.Error("add is not marked read-only")
		}
	}
	if got := strings.Join(names, " "); got != "add ask-confirm ask-name ask-url big-result echo evolve fail lookup slow think" {
		t.Errorf("tools = %s", got)
	}
}

func TestSlowReportsProgress(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, revision string) {
		var waited []time.Duration
		p := connect(t, revision, script{sleep: func(_ context.Context, d time.Duration) error {
			waited = append(waited, d)
			return nil
		}})
		params := &mcp.CallToolParams{Name: "slow", Arguments: map[string]any{"seconds": 8, "steps": 4}}
		params.SetProgressToken("p1")
		res, err := p.CallTool(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		want(t, res, "done after 4 steps", false)
		if len(waited) != 5 || waited[1] != 2*time.Second {
			t.Errorf("waited %v", waited)
		}
		deadline := time.Now().Add(5 * time.Second)
		for {
			p.mu.Lock()
			n := len(p.progress)
			p.mu.Unlock()
			if n == 4 {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d progress messages, want 4", n)
			}
			time.Sleep(time.Millisecond)
		}
	})
}

func TestSlowHonoursCancellation(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, revision string) {
		started, ended := make(chan struct{}), make(chan error, 1)
		p := connect(t, revision, script{sleep: func(ctx context.Context, d time.Duration) error {
			if d == 0 {
				return nil
			}
			close(started)
			<-ctx.Done()
			ended <- ctx.Err()
			return ctx.Err()
		}})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-started
			cancel()
		}()
		if _, err := p.CallTool(ctx, &mcp.CallToolParams{Name: "slow"}); !errors.Is(err, context.Canceled) {
			t.Errorf("the call ended with %v", err)
		}
		if err := receive(t, ended, "cancellation at the server"); !errors.Is(err, context.Canceled) {
			t.Errorf("the tool saw %v", err)
		}
	})
}

func TestServeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer func() { _ = w.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, r, io.Discard, Options{}) }()
	cancel()
	if err := receive(t, done, "end of Serve"); !errors.Is(err, context.Canceled) {
		t.Errorf("Serve = %v", err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{Delay: -1}, {Delay: MaxDelay + 1}, {PageSize: -1}} {
		if err := Serve(t.Context(), strings.NewReader(""), io.Discard, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
