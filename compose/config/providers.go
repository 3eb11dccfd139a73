package config

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/looprig/looprig/compose/config/doc"
	"github.com/looprig/looprig/compose/keyring"
)

// ProviderKinds are the ways of speaking to a model that an entry of providers
// can name.
var ProviderKinds = []string{"anthropic", "anthropic-vertex", "openai-chat", "openai-responses", "gemini", "gemini-vertex"}

// Upper bounds of a provider's entry.
const (
	MaxProviders      = 256
	MaxModelBytes     = 256
	MaxContextTokens  = 100_000_000
	MaxProviderTokens = 10_000_000
	MaxKeyCommand     = 64
	MaxIdleTimeout    = time.Hour
)

// Provider is one entry of providers: a model at an endpoint, under a name of
// the user's. It has no key: only where one is found.
type Provider struct {
	Name string
	// Kind is one of ProviderKinds, or "" where the name is that of a known vendor.
	Kind string
	// BaseURL and Model are empty where the vendor's own are meant.
	BaseURL, Model, Display string
	// KeyEnv is the variable that holds the key, KeyCommand the program with its
	// arguments that prints it, Keyring where the keyring of the operating system
	// has it. At most one of them is set.
	KeyEnv     string
	KeyCommand []string
	Keyring    keyring.Item
	// Headers go with every request. Values count as secrets.
	Headers map[string]string
	// The rest is 0, "" or false where the model's own is meant.
	ContextTokens, MaxTokens, ThinkingTokens int
	Effort                                   string
	NoStream, NoImages                       bool
	IdleTimeout                              time.Duration
	// Models describes models of the endpoint, by the endpoint's names.
	Models []ProviderModel
	Pos    doc.Pos
}

// Models says how a model is found where none is named.
type Models struct {
	// NoProbe leaves model servers on this machine alone.
	NoProbe bool
}

// reservedModels are names that no entry of providers can take.
var reservedModels = []string{"operator", "scripted"}

func (c *Config) readModels(o *doc.Obj) {
	c.Model = readModelName(o, "model")
	models := o.Sub("models")
	c.Models.NoProbe = !models.Bool("probe", true)
	models.Done()
	list := o.Sub("providers")
	members := list.Members()
	if len(members) > MaxProviders {
		list.Fail("", "more than %d providers", MaxProviders)
		return
	}
	for _, m := range members {
		switch err := CheckName(m.Key); {
		case slices.Contains(reservedModels, m.Key):
			list.Fail(m.Key, "%s is a model of looprig's own: call it something else", m.Key)
		case err != nil:
			list.Fail(m.Key, "%s", err)
		}
		c.Providers = append(c.Providers, readProvider(list.Sub(m.Key), m))
	}
}

// readModelName takes the name of a model: any, since whether there is such a
// model is known when it is needed.
func readModelName(o *doc.Obj, key string) string {
	name := o.String(key, "")
	switch {
	case name == "" && o.Has(key) && !o.Failed(key):
		o.Fail(key, "is empty: leave it out to have a model looked for")
	case name == "scripted":
		o.Fail(key, "scripted replies belong to a script")
	default:
		checkModel(o, key, name)
	}
	return name
}

func checkModel(o *doc.Obj, key, name string) {
	if len(name) > MaxModelBytes || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		o.Fail(key, "the name of a model is printable ASCII without spaces, at most %d bytes", MaxModelBytes)
	}
}

func readProvider(o *doc.Obj, m doc.Member) Provider {
	p := Provider{
		Name: m.Key, Pos: m.Pos, Kind: o.OneOf("kind", "", ProviderKinds...), BaseURL: o.String("baseUrl", ""),
		Model: o.String("model", ""), Display: o.String("display", ""),
		KeyEnv: o.String("keyEnv", ""), KeyCommand: o.Strings("keyCommand"), Headers: o.StringMap("headers"),
		ContextTokens: o.Int("contextTokens", 0, 1, MaxContextTokens), MaxTokens: o.Int("maxTokens", 0, 1, MaxProviderTokens),
		ThinkingTokens: o.Int("thinkingTokens", 0, 1, MaxProviderTokens), Effort: o.OneOf("effort", "", "low", "medium", "high"),
		NoStream: !o.Bool("stream", true), NoImages: !o.Bool("images", true),
		IdleTimeout: o.Duration("idleTimeout", 0, MaxIdleTimeout),
	}
	p.Models = readProviderModels(o)
	checkModel(o, "model", p.Model)
	for _, secret := range []string{"key", "apiKey", "token"} {
		if o.Has(secret) {
			o.Node(secret)
			o.Fail(secret, "a key is not written into this file: name its variable with keyEnv, its place in the keyring with keyring, or the program that prints it with keyCommand")
		}
	}
	switch {
	case p.KeyEnv != "" && !variableName().MatchString(p.KeyEnv):
		// What stands there may be the key itself: it is not repeated.
		o.Fail("keyEnv", "is not the name of a variable")
	case p.KeyEnv != "" && o.Has("keyCommand"):
		o.Fail("keyCommand", "give keyEnv or keyCommand, not both")
	case o.Has("keyCommand") && !o.Failed("keyCommand") && (len(p.KeyCommand) == 0 || p.KeyCommand[0] == "" || len(p.KeyCommand) > MaxKeyCommand):
		o.Fail("keyCommand", "is a program and its arguments, 1 to %d texts", MaxKeyCommand)
	case len(p.KeyCommand) > 0 && strings.ContainsAny(p.KeyCommand[0], `/\\`) && !filepath.IsAbs(p.KeyCommand[0]):
		o.Fail("keyCommand", "names its program by an absolute path, or by its name alone")
	}
	readKeyring(o, &p)
	o.Done()
	return p
}

func readKeyring(o *doc.Obj, p *Provider) {
	if !o.Has("keyring") {
		return
	}
	text := o.String("keyring", "")
	if o.Failed("keyring") {
		return
	}
	item, err := keyring.Parse(text)
	switch {
	case err != nil: // what stands there may be the key itself: it is not repeated
		o.Fail("keyring", "%s", err)
	case p.KeyEnv != "" || o.Has("keyCommand"):
		o.Fail("keyring", "give one of keyEnv, keyCommand and keyring")
	}
	p.Keyring = item
}
