// Package provider makes model clients of configuration: Anthropic, OpenAI's two
// formats with every compatible endpoint, Gemini. It finds what can be used
// without configuration (keys in the environment, servers on this machine) and
// lists what can be reached. It and the packages below it are the only importers
// of providers' SDKs. It must not import the session, the adapter or an
// interface.
//
// A key is held in a function and fetched for each request; no error, event or
// printed Config contains one.
package provider

import (
	"github.com/looprig/looprig/compose/provider/anthropic"
	"github.com/looprig/looprig/compose/provider/gemini"
	"github.com/looprig/looprig/compose/provider/internal/upstream"
	"github.com/looprig/looprig/compose/provider/openaichat"
	"github.com/looprig/looprig/compose/provider/openairesponses"
	"github.com/looprig/looprig/harness/model"
)

// Config is one model at one endpoint.
type Config = upstream.Config

// Kind is a wire format with its way of authorising.
type Kind = upstream.Kind

// ConfigError is a configuration that cannot work.
type ConfigError = upstream.ConfigError

// The kinds.
const (
	Anthropic       = upstream.Anthropic
	AnthropicVertex = upstream.AnthropicVertex
	OpenAIChat      = upstream.OpenAIChat
	OpenAIResponses = upstream.OpenAIResponses
	Gemini          = upstream.Gemini
	GeminiVertex    = upstream.GeminiVertex
)

// Kinds are all kinds, for messages and completion.
func Kinds() []Kind {
	return []Kind{Anthropic, AnthropicVertex, OpenAIChat, OpenAIResponses, Gemini, GeminiVertex}
}

// New makes the client of a model. Nothing is sent before the first request. It
// fails with a *ConfigError.
func New(cfg Config) (model.Client, error) {
	var c model.Client
	var err error
	switch cfg.Kind {
	case Anthropic, AnthropicVertex:
		c, err = anthropic.New(cfg)
	case OpenAIChat:
		c, err = openaichat.New(cfg)
	case OpenAIResponses:
		c, err = openairesponses.New(cfg)
	case Gemini, GeminiVertex:
		c, err = gemini.New(cfg)
	default:
		return nil, &ConfigError{Field: "kind", Reason: "is none of the kinds that exist (anthropic, anthropic-vertex, openai-chat, openai-responses, gemini, gemini-vertex)"}
	}
	if err != nil {
		return nil, err // not a client that is nil inside
	}
	return c, nil
}
