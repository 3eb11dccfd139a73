package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/looprig/looprig/compose/provider/anthropic"
	"github.com/looprig/looprig/compose/provider/gemini"
	"github.com/looprig/looprig/compose/provider/internal/upstream"
	"github.com/looprig/looprig/compose/provider/openaichat"
	"github.com/looprig/looprig/harness/model"
)

// Bounds of a listing.
const (
	// ListTimeout bounds the listing of all endpoints.
	ListTimeout   = 10 * time.Second
	maxModels     = 4096
	maxModelBytes = 256
)

// Listing is one endpoint and what it has.
type Listing struct {
	// Name is the vendor, the local server or the configured name.
	Name    string
	Kind    Kind
	BaseURL string
	// Source is "config", "env:NAME" or "probe".
	Source string
	// Reachable says that the endpoint listed its models; Reason why not.
	Reachable bool
	Reason    string
	// Code is that of the model.Error behind Reason, "timeout", or "".
	Code   string
	Models []Model
}

// Model is one model of an endpoint.
type Model struct {
	// ID is printable, as configuration wants it.
	ID string
	// ContextTokens is 0 where the endpoint does not say.
	ContextTokens int
}

// ListOptions say what to list.
type ListOptions struct {
	DetectOptions
	// Configured are the models of the configuration, listed first.
	Configured []Config
	// EndpointTimeout bounds the endpoints, all together; 0 is ListTimeout. The
	// servers on this machine have DetectOptions.Timeout.
	EndpointTimeout time.Duration
}

// List asks every endpoint that is configured, has a key in the environment or
// is looked for on this machine for its models, all at once. An endpoint that
// cannot be used is in the list with its reason.
func List(ctx context.Context, o ListOptions) []Listing {
	timeout := o.EndpointTimeout
	if timeout <= 0 {
		timeout = ListTimeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out := make([]Listing, len(o.Configured)+len(vendors))
	var wg sync.WaitGroup
	for i, c := range o.Configured {
		name := c.Name
		if name == "" {
			name = c.Origin()
		}
		wg.Go(func() { out[i] = ask(limited, name, "config", c) })
	}
	for i, v := range vendors {
		at := len(o.Configured) + i
		name, key := KeyFromEnv(o.Env, v.KeyEnv...)
		if key == nil {
			out[at] = Listing{Name: v.Name, Kind: v.Kind, BaseURL: v.BaseURL, Reason: "no key: set " + strings.Join(v.KeyEnv, " or ")}
			continue
		}
		wg.Go(func() { out[at] = ask(limited, v.Name, "env:"+name, v.config(key)) })
	}
	var found []Listing
	if !o.NoProbe {
		locals, wait := o.Locals, o.Timeout
		if locals == nil {
			locals = Locals()
		}
		if wait <= 0 {
			wait = ProbeTimeout
		}
		found = probe(ctx, locals, wait)
	}
	wg.Wait()
	return append(out, found...)
}

// Gone reports that the endpoint cannot be used at all: nothing answers, or the
// key is refused. An endpoint without a list of models is not gone.
func (l Listing) Gone() bool {
	switch l.Code {
	case "auth", "network", "timeout":
		return true
	}
	return false
}

// ask lists one endpoint.
func ask(ctx context.Context, name, source string, cfg Config) Listing {
	l := Listing{Name: name, Kind: cfg.Kind, BaseURL: cfg.BaseURL, Source: source}
	models, err := models(ctx, cfg)
	switch failed, typed := errors.AsType[*model.Error](err); {
	case err == nil:
		l.Reachable, l.Models = true, models
	case ctx.Err() != nil:
		l.Reason, l.Code = "no answer in time", "timeout"
	case typed:
		l.Reason, l.Code = failed.Message, failed.Code
	default:
		l.Reason = err.Error()
	}
	return l
}

// models asks one endpoint for its models.
func models(ctx context.Context, cfg Config) ([]Model, error) {
	auth, path := upstream.Auth(upstream.Bearer), "/models"
	switch cfg.Kind {
	case Anthropic:
		auth, path = upstream.Header("X-Api-Key"), "/v1/models?limit=1000"
		if cfg.BaseURL == "" {
			cfg.BaseURL = anthropic.DefaultBaseURL
		}
		cfg.BaseURL = strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/v1")
		headers := map[string]string{"Anthropic-Version": "2023-06-01"}
		for k, v := range cfg.Headers {
			headers[k] = v
		}
		cfg.Headers = headers
	case Gemini:
		auth, path = upstream.Header("x-goog-api-key"), "/models?pageSize=1000"
		if cfg.BaseURL == "" {
			cfg.BaseURL = gemini.DefaultBaseURL
		}
	case OpenAIChat, OpenAIResponses:
		if cfg.BaseURL == "" {
			cfg.BaseURL = openaichat.DefaultBaseURL
		}
	case AnthropicVertex, GeminiVertex:
		return nil, &model.Error{Code: "invalid_request", Message: "Vertex AI has no list of models"}
	}
	up, err := upstream.New(cfg, auth)
	if err != nil {
		return nil, err
	}
	resp, err := up.Get(ctx, path)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := upstream.Whole(resp)
	if err != nil {
		return nil, err
	}
	return parseModels(raw)
}

// parseModels reads the lists of all formats.
func parseModels(raw []byte) ([]Model, error) {
	type entry struct {
		ID            string   `json:"id"`
		Name          string   `json:"name"`
		Context       int      `json:"context_length"`
		Window        int      `json:"context_window"`
		MaxLen        int      `json:"max_model_len"`
		MaxInput      int      `json:"max_input_tokens"`
		InputLimit    int      `json:"inputTokenLimit"`
		LoadedContext int      `json:"loaded_context_length"`
		Methods       []string `json:"supportedGenerationMethods"`
	}
	var doc struct {
		Data   *[]entry `json:"data"`
		Models *[]entry `json:"models"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil || doc.Data == nil && doc.Models == nil {
		return nil, &model.Error{Code: "invalid_request", Message: "what answers there is no model server: it gave no list of models"}
	}
	list := doc.Data
	if list == nil {
		list = doc.Models
	}
	if len(*list) > maxModels {
		return nil, &model.Error{Code: "invalid_request", Message: fmt.Sprintf("the list of models is over the limit of %d", maxModels)}
	}
	var out []Model
	for _, e := range *list {
		id := e.ID
		if id == "" {
			id = strings.TrimPrefix(e.Name, "models/")
		}
		if !printable(id) || len(e.Methods) > 0 && !strings.Contains(strings.Join(e.Methods, " "), "generateContent") {
			continue
		}
		out = append(out, Model{id, max(e.Context, e.Window, e.MaxLen, e.MaxInput, e.InputLimit, e.LoadedContext)})
	}
	return out, nil
}

// printable says whether a text can be the name of a model: nothing that a
// terminal or a configuration file could take for something else.
func printable(id string) bool {
	if id == "" || len(id) > maxModelBytes {
		return false
	}
	return !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' })
}
