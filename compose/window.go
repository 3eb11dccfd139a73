package compose

import (
	"strings"

	"github.com/looprig/looprig/compose/provider"
	"github.com/looprig/looprig/harness/model"
)

// defaultWindow is the context of a model of which nobody says how large it is:
// small enough for most. A model with less says so when it overflows.
const defaultWindow = 32_768

// Where the size of a context is from, for people.
const (
	windowConfigured = "config.yaml"
	windowListed     = "its endpoint"
	windowKnown      = "known models"
	windowAssumed    = "assumed; set contextTokens"
)

// knownWindow is the context of the models whose names begin so.
type knownWindow struct {
	prefix string
	tokens int
}

// knownWindows are from the vendors' own pages on their models (Anthropic
// "Models overview", OpenAI "Models", Google "Gemini models"), longer prefixes
// first. Where a vendor bounds the input apart, that bound is meant; larger
// contexts that have to be asked for are not.
var knownWindows = []knownWindow{
	{"claude-2.0", 100_000},
	{"claude-", 200_000},
	{"gpt-5-chat", 128_000},
	{"gpt-5", 272_000},
	{"gpt-4.1", 1_047_576},
	{"gpt-4o", 128_000},
	{"gpt-4-turbo", 128_000},
	{"gpt-4-32k", 32_768},
	{"gpt-4", 8_192},
	{"gpt-3.5-turbo", 16_385},
	{"o1-mini", 128_000},
	{"o1-preview", 128_000},
	{"o1", 200_000},
	{"o3", 200_000},
	{"o4-mini", 200_000},
	{"gemini-1.5-pro", 2_097_152},
	{"gemini-1.5", 1_048_576},
	{"gemini-2", 1_048_576},
	{"gemini-3", 1_048_576},
}

// WindowOf is the context of a model by its name alone, and where that is from.
func WindowOf(name string) (tokens int, source string) {
	name = strings.ToLower(name[strings.LastIndexByte(name, '/')+1:]) // gateways put the vendor before it
	for _, k := range knownWindows {
		if strings.HasPrefix(name, k.prefix) {
			return k.tokens, windowKnown
		}
	}
	return defaultWindow, windowAssumed
}

// window is the context of a model of a listing, and where that is from.
func (m *models) window(cfg provider.Config, listed int) (tokens int, source string) {
	entry, _ := m.providerOf(cfg.Name)
	switch own := entry.Described(cfg.Model).ContextTokens; {
	case own > 0:
		return own, windowConfigured
	case cfg.ContextTokens > 0:
		return cfg.ContextTokens, windowConfigured
	case listed > 0:
		return listed, windowListed
	}
	return WindowOf(cfg.Model)
}

// sized is a configuration with the context of its model.
func (m *models) sized(cfg provider.Config) provider.Config {
	cfg.ContextTokens, _ = m.window(cfg, 0)
	return cfg
}

// described is a client as a run uses it, with its price where one is given.
func (m *models) described(cfg provider.Config, s spoken) model.Client {
	entry, ok := m.providerOf(cfg.Name)
	if p := entry.Described(cfg.Model).Price; ok && p != nil {
		return pricedModel{s, p}
	}
	return s
}

// pricedModel is a model that has a price.
type pricedModel struct {
	spoken
	price *model.Price
}

var (
	_ model.Client      = pricedModel{}
	_ model.ToolChecker = pricedModel{}
	_ model.ToolLimiter = pricedModel{}
)

// Info implements model.Client.
func (p pricedModel) Info() model.Info {
	info := p.spoken.Info()
	info.Price = p.price
	return info
}

// ContextSize is how many tokens the context of a model has, and where that is
// from: "config.yaml", "its endpoint", "known models", or that it is assumed.
type ContextSize struct {
	Tokens int
	Source string
}

// contexts are the sizes of the contexts of a listing's models.
func (m *models) contexts(l provider.Listing) []ContextSize {
	entry, _ := m.providerOf(l.Name)
	out := make([]ContextSize, len(l.Models))
	for i, x := range l.Models {
		out[i].Tokens, out[i].Source = m.window(provider.Config{Name: l.Name, Model: x.ID, ContextTokens: entry.ContextTokens}, x.ContextTokens)
	}
	return out
}
