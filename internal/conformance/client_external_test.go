//go:build external

package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/mcpadapter/catalog"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/transport/streamhttp"
)

// What the suite tells the client under test by its environment, beside the
// server's URL, which is the last argument.
const (
	scenarioVar = "MCP_CONFORMANCE_SCENARIO"
	revisionVar = "MCP_CONFORMANCE_PROTOCOL_VERSION"
	contextVar  = "MCP_CONFORMANCE_CONTEXT"
)

// clientBound is less than the suite's own limit for a client, so that it is the
// client that says what it waited for.
const clientBound = 25 * time.Second

// script is what the suite wants to be called, where a scenario cares.
type script struct {
	ToolCalls []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolCalls"`
}

// clientMain is the client under test: it connects and uses everything that the
// server offers. It knows no scenario.
func clientMain() int {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx, cancel := context.WithTimeout(context.Background(), clientBound)
	defer cancel()
	if err := connectAndUse(ctx, log, os.Args[len(os.Args)-1]); err != nil {
		log.Error("the client failed", "error", err)
		return 1
	}
	return 0
}

func connectAndUse(ctx context.Context, log *slog.Logger, url string) (err error) {
	c, err := newClient(log, url, os.Getenv(revisionVar))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	var wanted script
	if raw := os.Getenv(contextVar); raw != "" {
		if err := json.Unmarshal([]byte(raw), &wanted); err != nil {
			return fmt.Errorf("%s: %w", contextVar, err)
		}
	}
	c.Start()
	if err := c.Wait(ctx); err != nil {
		return err
	}
	gen := c.Generation()
	log.Info("connected", "revision", gen.Revision, "tools", len(gen.Tools), "resources", len(gen.Resources), "prompts", len(gen.Prompts))
	u := user{client: c, gen: gen, log: log}
	if len(wanted.ToolCalls) > 0 {
		for _, call := range wanted.ToolCalls {
			u.call(ctx, call.Name, call.Arguments)
		}
	} else {
		u.everything(ctx)
	}
	return errors.Join(u.failed...)
}

func newClient(log *slog.Logger, url, revision string) (*client.Client, error) {
	tr, err := streamhttp.New(streamhttp.Config{URL: url})
	if err != nil {
		return nil, err
	}
	def := client.Definition{
		Name: "conformance", Transport: tr, Revision: revision, Version: "conformance", StartTimeout: clientBound,
		Elicitation: true, Sampling: &client.SamplingPolicy{}, Roots: []string{os.TempDir()},
	}
	return client.New(def, client.Deps{Elicit: acceptDefaults, Sample: reply, Observer: client.Observer{
		State: func(s client.StateChange) { log.Info("state", "to", s.State, "code", s.Code, "text", s.Text) },
		Notice: func(code, level, text string) {
			log.Info("notice", "code", code, "level", level, "text", text)
		},
		Trace: func(sent bool, frame []byte) { log.Info("frame", "sent", sent, "frame", string(frame)) },
	}})
}

// acceptDefaults accepts a form with what it proposes, and with nothing where it
// proposes nothing.
func acceptDefaults(_ context.Context, req client.ElicitRequest) (client.ElicitResult, error) {
	if req.Mode != "form" {
		return client.ElicitResult{Action: "decline"}, nil
	}
	f, err := form.ParseElicitation(req.Schema, form.DefaultElicitationLimits())
	if err != nil {
		return client.ElicitResult{}, err
	}
	content, err := f.Encode(form.Values{})
	return client.ElicitResult{Action: "accept", Content: content}, err
}

// reply is a model that has one thing to say.
func reply(context.Context, client.SampleRequest) (client.SampleResult, error) {
	return client.SampleResult{
		Role: "assistant", Model: "none", StopReason: "endTurn",
		Content: []json.RawMessage{json.RawMessage(`{"type":"text","text":"yes"}`)},
	}, nil
}

// user uses one catalog and keeps what failed.
type user struct {
	client *client.Client
	gen    *catalog.Generation
	log    *slog.Logger
	failed []error
}

func (u *user) everything(ctx context.Context) {
	for _, t := range u.gen.Tools {
		if t.Withheld != "" {
			u.log.Info("withheld", "tool", t.Name, "reason", t.Withheld)
			continue
		}
		u.call(ctx, t.Name, u.arguments(t))
	}
	for _, r := range u.gen.Resources {
		_, err := u.client.ReadResource(ctx, r.URI)
		u.note("read "+r.URI, err)
	}
	for _, p := range u.gen.Prompts {
		_, err := u.client.GetPrompt(ctx, p.Name, nil)
		u.note("get "+p.Name, err)
	}
}

func (u *user) call(ctx context.Context, name string, args json.RawMessage) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, args); err != nil {
		u.note("call "+name, err)
		return
	}
	reply, err := u.client.Invoke(ctx, client.Invocation{ID: "call-" + name, Name: name, Args: compact.Bytes()})
	if err == nil {
		u.log.Info("called", "tool", name, "attempts", reply.Attempts)
	}
	u.note("call "+name, err)
}

func (u *user) note(what string, err error) {
	if err != nil {
		u.failed = append(u.failed, fmt.Errorf("%s: %w", what, err))
	}
}

// arguments makes up what a tool requires: a value of each type. An argument that
// is called schema gets another tool's input schema as it was received.
func (u *user) arguments(t catalog.Tool) json.RawMessage {
	var s struct {
		Properties map[string]struct {
			Type json.RawMessage `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	_ = json.Unmarshal(t.InputSchema, &s) // a tool that is offered has an object for a schema
	args := map[string]json.RawMessage{}
	for _, name := range s.Required {
		switch kind := string(s.Properties[name].Type); {
		case name == "schema":
			args[name] = u.otherSchema(t.Name)
		case strings.Contains(kind, "number"), strings.Contains(kind, "integer"):
			args[name] = json.RawMessage("5")
		case strings.Contains(kind, "boolean"):
			args[name] = json.RawMessage("true")
		case strings.Contains(kind, "array"):
			args[name] = json.RawMessage("[]")
		case strings.Contains(kind, "object"):
			args[name] = json.RawMessage("{}")
		default:
			args[name] = json.RawMessage(`"us-west1"`)
		}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
}

func (u *user) otherSchema(name string) json.RawMessage {
	for _, t := range u.gen.Tools {
		if t.Name != name {
			return t.InputSchema
		}
	}
	return json.RawMessage("{}")
}
