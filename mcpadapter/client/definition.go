// Package client is one MCP server as its host sees it: the definition, the
// lifecycle (start, discover, refresh, lose, reconnect, retire, close), the
// requests and their bounded waits.
//
// Invariants: a call that may have reached the server is never sent again;
// every wait has a bound; a failed refresh never blanks a catalog; each
// goroutine is started and awaited by the Client that owns it. The package
// knows nothing of loops, sessions or gates and must not import
// harness/session, harness/journal, harness/ledger, compose or tui.
package client

import (
	"slices"
	"time"

	"github.com/looprig/looprig/mcpadapter/transport"
)

// The compatibility profiles of a Definition.
const (
	// CompatStrict tolerates nothing.
	CompatStrict = "strict"
	// CompatDefault tolerates undeclared list_changed, invalid output schemas,
	// absent input schemas and names that cannot be shown unchanged.
	CompatDefault = "default"
	// CompatLegacy tolerates what CompatDefault does and older habits.
	CompatLegacy = "legacy"
)

// What happens to free-text answers of forms, which are journaled as given.
const (
	FreeTextAllow   = "allow"
	FreeTextConfirm = "confirm" // a second, explicit confirmation
	FreeTextRefuse  = "refuse"  // such a form is declined
)

// How the tools of a server reach a model.
const (
	// DiscoveryAuto is eager for small catalogs and lazy for large ones.
	DiscoveryAuto = "auto"
	// DiscoveryEager gives every definition to the model.
	DiscoveryEager = "eager"
	// DiscoveryLazy defers them: the model searches for a tool first.
	DiscoveryLazy = "lazy"
)

// What happens before a sampling request reaches a model.
const (
	ApproveAsk   = "ask"   // a gate for the request and one for the reply
	ApproveReply = "reply" // a gate for the reply alone
	ApproveAuto  = "auto"  // none; the budget still holds
)

// SamplingPolicy bounds what a server may ask of the model. Zero numbers mean
// default.
type SamplingPolicy struct {
	// Model is the configured model that answers; "" is the session's.
	Model string
	// Approve is one of the Approve constants; "" means ApproveAsk.
	Approve string
	// TokenBudget bounds the tokens of one session: DefaultSamplingBudget.
	TokenBudget int
	// MaxTokens bounds one request (8192), Depth a chain of requests that cause
	// each other (2), Concurrency those at the same time (2).
	MaxTokens   int
	Depth       int
	Concurrency int
	// Tools lets requests carry tools for the model.
	Tools bool
}

// The defaults of a SamplingPolicy.
const (
	DefaultSamplingBudget      = 50_000
	DefaultSamplingTokens      = 8192
	DefaultSamplingDepth       = 2
	DefaultSamplingConcurrency = 2
)

func (p SamplingPolicy) withDefaults() SamplingPolicy {
	if p.Approve == "" {
		p.Approve = ApproveAsk
	}
	for _, f := range []struct {
		v   *int
		def int
	}{
		{&p.TokenBudget, DefaultSamplingBudget}, {&p.MaxTokens, DefaultSamplingTokens},
		{&p.Depth, DefaultSamplingDepth}, {&p.Concurrency, DefaultSamplingConcurrency},
	} {
		if *f.v <= 0 {
			*f.v = f.def
		}
	}
	return p
}

// The defaults of a Definition's waits.
const (
	DefaultStartTimeout   = 30 * time.Second
	DefaultRequestTimeout = 60 * time.Second
	DefaultElicitTimeout  = 5 * time.Minute
	DefaultCloseTimeout   = 6 * time.Second
)

// Definition says how one server is reached and what is allowed of it. The
// zero value of every field but Name and Transport is usable. A Definition is
// not changed once it was given to a Client.
type Definition struct {
	Name      string
	Transport transport.Transport
	// Revision is "" or "auto", or one supported protocol revision, which is
	// then pinned.
	Revision string
	// Builtin marks a server that is part of the host itself; it needs no
	// decision of trust.
	Builtin bool
	// StartTimeout bounds connecting and discovering together, RequestTimeout
	// one request (progress renews it, up to RequestCapFactor times), ElicitTimeout one
	// question of the server, CloseTimeout the closing. While questions are open
	// other times stand still, up to RequestCapFactor times ElicitTimeout. Zero
	// means default.
	StartTimeout   time.Duration
	RequestTimeout time.Duration
	ElicitTimeout  time.Duration
	CloseTimeout   time.Duration
	Limits         Limits
	// ToolAllow and ToolDeny are glob patterns over raw tool names ("*" is any
	// run of characters). An empty ToolAllow admits all; ToolDeny wins.
	ToolAllow []string
	ToolDeny  []string
	// Compat is a compatibility profile; "" means CompatDefault.
	Compat string
	// Elicitation lets the server ask questions; without it the capability is
	// not advertised.
	Elicitation bool
	// FreeText is one of the FreeText constants. "" means FreeTextAllow for a
	// server whose pin is accepted, FreeTextConfirm for others.
	FreeText string
	// Sampling lets the server ask for messages of the model. It is advertised
	// only where the host has a sampler as well; nil forbids it.
	Sampling *SamplingPolicy
	// Roots are absolute paths that the server is told of; nil does not
	// advertise the capability.
	Roots []string
	// Discovery is one of the Discovery constants; "" means DiscoveryAuto.
	Discovery string
	// LogLevel is asked of servers that log; "" leaves the server's choice.
	LogLevel string
	// TrustAnnotations lets the server's hints take part in policy.
	TrustAnnotations bool
	// Parallel allows calls of one step to run at the same time.
	Parallel bool
	// Version is the host's version, told to the server.
	Version string
}

// WithDefaults returns the definition with its zero fields filled in.
func (d Definition) WithDefaults() Definition {
	pick := func(v, def time.Duration) time.Duration {
		if v <= 0 {
			return def
		}
		return v
	}
	d.StartTimeout = pick(d.StartTimeout, DefaultStartTimeout)
	d.RequestTimeout = pick(d.RequestTimeout, DefaultRequestTimeout)
	d.ElicitTimeout = pick(d.ElicitTimeout, DefaultElicitTimeout)
	d.CloseTimeout = pick(d.CloseTimeout, DefaultCloseTimeout)
	d.Limits = d.Limits.withDefaults()
	// Nobody who keeps one of these changes what the definition says.
	d.ToolAllow, d.ToolDeny, d.Roots = slices.Clone(d.ToolAllow), slices.Clone(d.ToolDeny), slices.Clone(d.Roots)
	if d.Sampling != nil {
		p := d.Sampling.withDefaults()
		d.Sampling = &p
	}
	if d.Discovery == "" {
		d.Discovery = DiscoveryAuto
	}
	if d.Compat == "" {
		d.Compat = CompatDefault
	}
	if d.Revision == "" {
		d.Revision = "auto"
	}
	return d
}

// Offers reports whether ToolAllow and ToolDeny let a tool through, by its raw
// name.
func (d Definition) Offers(tool string) bool {
	matches := func(patterns []string) bool {
		for _, p := range patterns {
			if glob(p, tool) {
				return true
			}
		}
		return false
	}
	return (len(d.ToolAllow) == 0 || matches(d.ToolAllow)) && !matches(d.ToolDeny)
}

// glob matches a whole string: "*" is any run of bytes, "?" any one.
func glob(pattern, s string) bool {
	star, back := -1, 0
	p, i := 0, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, back = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			back++
			p, i = star+1, back
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
