package provider

import (
	"context"
	"strings"
	"sync"
	"time"
)

// ProbeTimeout is how long servers on this machine are waited for, all together.
const ProbeTimeout = 300 * time.Millisecond

// DetectOptions say where to look for a model.
type DetectOptions struct {
	// Env has the form of os.Environ.
	Env []string
	// NoProbe leaves the servers on this machine alone.
	NoProbe bool
	// Locals are the servers to look for; nil is Locals().
	Locals []Local
	// Timeout bounds the probe; 0 is ProbeTimeout.
	Timeout time.Duration
}

// Attempt is one place where no model was found.
type Attempt struct {
	// Name is the vendor or server, Reason why it cannot be used. Both are
	// host-written, but for what an endpoint said, which is cleaned.
	Name, Reason string
}

// Detection is what was found.
type Detection struct {
	// Found says whether Config can be used.
	Found  bool
	Config Config
	// Source is where it is from: "env:ANTHROPIC_API_KEY", "probe:ollama".
	Source string
	// Tried are the places that were looked at before, in order.
	Tried []Attempt
}

// Detect finds a model that needs no configuration: a vendor whose key is in the
// environment, then a server on this machine that has a model. It does not ask
// vendors anything. It never fails; nothing found is Detection.Found false.
func Detect(ctx context.Context, o DetectOptions) Detection {
	var d Detection
	for _, v := range vendors {
		if name, key := KeyFromEnv(o.Env, v.KeyEnv...); key != nil {
			d.Found, d.Config, d.Source = true, v.config(key), "env:"+name
			return d
		}
		d.Tried = append(d.Tried, Attempt{v.Name, "no key: set " + strings.Join(v.KeyEnv, " or ")})
	}
	if o.NoProbe {
		d.Tried = append(d.Tried, Attempt{"local servers", "the probe is turned off"})
		return d
	}
	locals := o.Locals
	if locals == nil {
		locals = Locals()
	}
	timeout := o.Timeout
	if timeout <= 0 {
		timeout = ProbeTimeout
	}
	for i, l := range probe(ctx, locals, timeout) {
		id := chatModel(l.Models)
		if !l.Reachable || id == "" {
			if l.Reachable {
				l.Reason = "the server has no model that can chat"
			}
			d.Tried = append(d.Tried, Attempt{l.Name, l.Reason})
			continue
		}
		d.Found, d.Source = true, "probe:"+l.Name
		d.Config = Config{Kind: OpenAIChat, BaseURL: locals[i].BaseURL, Model: id, Name: l.Name + "/" + id}
		return d
	}
	return d
}

// probe asks all servers at once for their models.
func probe(ctx context.Context, locals []Local, timeout time.Duration) []Listing {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out := make([]Listing, len(locals))
	var wg sync.WaitGroup
	for i, l := range locals {
		wg.Go(func() {
			out[i] = ask(ctx, l.Name, "probe", Config{Kind: OpenAIChat, BaseURL: l.BaseURL, Model: "-"})
		})
	}
	wg.Wait()
	return out
}

// chatModel is the first model that is not for embedding or ranking.
func chatModel(models []Model) string {
	for _, m := range models {
		name := strings.ToLower(m.ID)
		if !strings.Contains(name, "embed") && !strings.Contains(name, "rerank") {
			return m.ID
		}
	}
	return ""
}
