package upstream

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/internal/safetext"
)

// Config is one model at one endpoint.
type Config struct {
	// Kind is how the endpoint is spoken to.
	Kind Kind
	// BaseURL is where the endpoint's paths begin, with the version where the
	// endpoint has one ("http://127.0.0.1:11434/v1"). Empty is the vendor's own.
	BaseURL string
	// Model is the endpoint's name of the model.
	Model string
	// Name is what configuration calls this model; empty is kind/model. Display
	// is what people see; empty is the model with the endpoint's host.
	Name, Display string
	// Key gives the key or access token. It is called for every request, so that
	// a key which expires can be fetched anew. Nil or an empty key sends none.
	Key func(context.Context) (string, error) `json:"-"`
	// Headers are sent with every request. Values count as secrets.
	Headers map[string]string `json:"-"`
	// HTTP is used as it is, with its transport and timeouts; redirects are
	// judged here all the same. Nil is a client with the bounds of this package
	// and the proxy of the user's environment.
	HTTP *http.Client `json:"-"`
	// ContextTokens is the size of the model's context, 0 when unknown.
	ContextTokens int
	// MaxTokens bounds a message where the request does not; 0 leaves it to the
	// endpoint, or to DefaultMaxTokens where the endpoint wants a number.
	MaxTokens int
	// Effort asks for reasoning: "low", "medium" or "high". Empty leaves it to
	// the model. ThinkingTokens is a budget, for providers that count.
	Effort         string
	ThinkingTokens int
	// NoStream asks for whole answers, for endpoints that cannot stream.
	NoStream bool
	// NoImages says that the model takes no images: they are named, not sent.
	NoImages bool
	// IdleTimeout is how long an answer may be silent; 0 is DefaultIdle.
	IdleTimeout time.Duration
}

// Kind is a wire format with its way of authorising.
type Kind string

// The kinds.
const (
	Anthropic       Kind = "anthropic"
	AnthropicVertex Kind = "anthropic-vertex"
	OpenAIChat      Kind = "openai-chat"
	OpenAIResponses Kind = "openai-responses"
	Gemini          Kind = "gemini"
	GeminiVertex    Kind = "gemini-vertex"
)

// DefaultMaxTokens bounds a message where an endpoint wants a bound and nobody
// gave one.
const DefaultMaxTokens = 8192

// ConfigError is a configuration that cannot work.
type ConfigError struct {
	Field  string
	Reason string
}

func (e *ConfigError) Error() string { return fmt.Sprintf("model provider: %s %s", e.Field, e.Reason) }

// Origin names who can read a state that this model attached.
func (c Config) Origin() string { return string(c.Kind) + "/" + c.Model }

// Info describes the model for people.
func (c Config) Info() model.Info {
	info := model.Info{Name: c.Name, Display: c.Display, ContextTokens: c.ContextTokens}
	if info.Name == "" {
		info.Name = c.Origin()
	}
	if info.Display == "" {
		info.Display = safetext.ToLineN(c.Model, 128).String()
		if u, err := url.Parse(c.BaseURL); err == nil && u.Host != "" {
			info.Display += " (" + safetext.ToLineN(u.Host, 128).String() + ")"
		}
	}
	return info
}

// Limit is the bound of a message: the request's, the configured one, else
// fallback.
func (c Config) Limit(asked, fallback int) int {
	switch {
	case asked > 0:
		return asked
	case c.MaxTokens > 0:
		return c.MaxTokens
	}
	return fallback
}

// endpoint checks the base URL. It fails with a *ConfigError.
func (c Config) endpoint() (*url.URL, error) {
	u, err := url.Parse(c.BaseURL)
	switch {
	case err != nil || u.Host == "":
		return nil, &ConfigError{"base_url", "is no URL"}
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, &ConfigError{"base_url", "must begin with https:// (or http:// for a server of your own)"}
	case u.User != nil:
		return nil, &ConfigError{"base_url", "must not contain a user or password: use a key"}
	case u.RawQuery != "" || u.Fragment != "":
		return nil, &ConfigError{"base_url", "must not have a query or fragment"}
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u, nil
}

// closeBy says whether a host is on this machine or in the user's own network,
// where a key may travel without TLS.
func closeBy(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	return host == "localhost" || !strings.Contains(host, ".") ||
		strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local") ||
		strings.HasSuffix(host, ".internal") || strings.HasSuffix(host, ".lan")
}

// Format prints a configuration without its secrets, whatever the verb.
func (c Config) Format(f fmt.State, _ rune) {
	keyed := "no key"
	if c.Key != nil {
		keyed = "a key"
	}
	fmt.Fprintf(f, "%s at %s with %s and %d headers", c.Origin(), c.BaseURL, keyed, len(c.Headers))
}

var _ fmt.Formatter = Config{}
