package provider

import (
	"context"
	"strings"

	"github.com/looprig/looprig/compose/provider/anthropic"
	"github.com/looprig/looprig/compose/provider/gemini"
	"github.com/looprig/looprig/compose/provider/openaichat"
)

// Vendor is an endpoint that is known by name.
type Vendor struct {
	Name    string
	Kind    Kind
	BaseURL string
	// KeyEnv are the variables that may hold its key, the first that is set wins.
	KeyEnv []string
	// Model is used where a key is all that there is.
	Model string
}

// vendors in the order in which their keys are looked for.
var vendors = []Vendor{
	{"anthropic", Anthropic, anthropic.DefaultBaseURL, []string{"ANTHROPIC_API_KEY"}, "claude-sonnet-5-5"},
	{"openai", OpenAIResponses, openaichat.DefaultBaseURL, []string{"OPENAI_API_KEY"}, "gpt-5"},
	{"gemini", Gemini, gemini.DefaultBaseURL, []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, "gemini-2.5-flash"},
	{"openrouter", OpenAIChat, "https://openrouter.ai/api/v1", []string{"OPENROUTER_API_KEY"}, "openrouter/auto"},
	{"groq", OpenAIChat, "https://api.groq.com/openai/v1", []string{"GROQ_API_KEY"}, "openai/gpt-oss-120b"},
	{"xai", OpenAIChat, "https://api.x.ai/v1", []string{"XAI_API_KEY"}, "grok-4"},
	{"mistral", OpenAIChat, "https://api.mistral.ai/v1", []string{"MISTRAL_API_KEY"}, "mistral-large-latest"},
	{"deepseek", OpenAIChat, "https://api.deepseek.com/v1", []string{"DEEPSEEK_API_KEY"}, "deepseek-chat"},
}

// Vendors are the endpoints that are known by name, in the order in which their
// keys are looked for.
func Vendors() []Vendor { return append([]Vendor(nil), vendors...) }

// VendorNamed finds a vendor.
func VendorNamed(name string) (Vendor, bool) {
	for _, v := range vendors {
		if v.Name == name {
			return v, true
		}
	}
	return Vendor{}, false
}

// Local is a model server that is looked for on this machine. All of them speak
// Chat Completions.
type Local struct {
	Name    string
	BaseURL string
}

// Locals are the well-known servers at their usual addresses, in the order of
// preference.
func Locals() []Local {
	return []Local{
		{"ollama", "http://127.0.0.1:11434/v1"},
		{"lmstudio", "http://127.0.0.1:1234/v1"},
		{"llamacpp", "http://127.0.0.1:8080/v1"},
		{"vllm", "http://127.0.0.1:8000/v1"},
	}
}

// KeyFromEnv finds the first of the variables that is set. env has the form of
// os.Environ; of several entries for a variable the last counts. key is nil
// where none is set.
func KeyFromEnv(env []string, names ...string) (name string, key func(context.Context) (string, error)) {
	for _, n := range names {
		for i := len(env) - 1; i >= 0; i-- {
			k, v, ok := strings.Cut(env[i], "=")
			if !ok || k != n {
				continue
			}
			if v = strings.TrimSpace(v); v == "" {
				break
			}
			return n, func(context.Context) (string, error) { return v, nil }
		}
	}
	return "", nil
}

// config is a vendor's model with a key.
func (v Vendor) config(key func(context.Context) (string, error)) Config {
	return Config{Kind: v.Kind, BaseURL: v.BaseURL, Model: v.Model, Name: v.Name + "/" + v.Model, Key: key}
}
