package compose

import (
	"maps"
	"slices"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/mcpadapter/pin"
	"github.com/looprig/looprig/mcpadapter/transport/sse"
	"github.com/looprig/looprig/mcpadapter/transport/stdio"
	"github.com/looprig/looprig/mcpadapter/transport/streamhttp"
)

// Words of a layer: what is trusted, what is done with it, and what it does.
type words struct {
	noun, done, fact, first, changed string
}

var layerWords = map[pin.Layer]words{
	pin.LayerLaunch: {
		noun: "launch", done: "started", fact: "looprig mcp get %s shows what it runs",
		first:   "Server %s has not run here before. This is what it would run.",
		changed: "Server %s is not what was accepted. This is what it would run now.",
	},
	pin.LayerEndpoint: {
		noun: "endpoint", done: "contacted", fact: "looprig mcp get %s shows where it is",
		first:   "Server %s has not been contacted from here before. This is where it is.",
		changed: "Server %s is not where it was accepted. This is where it would be now.",
	},
}

// fingerprint is what a person accepts of an entry: how it is started, or where
// it is reached. It is taken of the transport that will be dialled. Nothing is
// started and nothing contacted.
func (e entry) fingerprint() (pin.Fingerprint, error) {
	if launch, ok := e.binding.Server.Transport.(*stdio.Transport); ok {
		return pin.Launch(launch)
	}
	if t, ok := e.binding.Server.Transport.(addressed); ok {
		return pin.Endpoint(pin.Address{Kind: t.Kind(), URL: t.URL(), Headers: t.HeaderNames()})
	}
	return pin.Endpoint(addressOf(e.server))
}

// addressed is a transport that knows its whole address.
type addressed interface {
	Kind() string
	URL() string
	HeaderNames() []string
}

var (
	_ addressed = (*streamhttp.Transport)(nil)
	_ addressed = (*sse.Transport)(nil)
)

func addressOf(s config.Server) pin.Address {
	return pin.Address{Kind: s.Type, URL: s.URL, Headers: slices.Sorted(maps.Keys(s.Headers))}
}

func layerOf(s config.Server) pin.Layer {
	if s.Endpoint() {
		return pin.LayerEndpoint
	}
	return pin.LayerLaunch
}

// check says what was decided about a fingerprint. A name whose other layer was
// decided on is not new: a program that became an address is a change of what
// was accepted, and stays refused where that was.
func check(store *pin.Store, name string, fp pin.Fingerprint) (verdict pin.Verdict, previous string) {
	verdict = store.Check(name, fp.Kind, fp.Digest)
	switch verdict {
	case pin.Changed:
		if known, ok := store.Lookup(name, fp.Kind); ok {
			previous = known.Fingerprint
		}
	case pin.Unknown:
		known, ok := store.Lookup(name, otherLayer(fp.Kind))
		switch {
		case ok && known.State == pin.Accepted:
			return pin.Changed, known.Fingerprint
		case ok && known.State == pin.Refused:
			return pin.IsRefused, ""
		}
	case pin.IsAccepted, pin.IsRefused, pin.IsDisabled:
	}
	return verdict, previous
}

func otherLayer(l pin.Layer) pin.Layer {
	if l == pin.LayerEndpoint {
		return pin.LayerLaunch
	}
	return pin.LayerEndpoint
}

// revealed puts the whole address before the facts of a question about an
// endpoint. It is for the eyes of the person who answers: no record has it.
func revealed(env gate.Envelope) gate.Envelope {
	if env.Kind != gate.KindUntrustedServer || env.Private.URL == "" {
		return env
	}
	facts := []gate.Fact{{Label: "address", Value: env.Private.URL}}
	for _, f := range env.Prompt.Launch {
		if !(pin.Line{Label: f.Label}).Replaces() {
			facts = append(facts, f)
		}
	}
	env.Prompt.Launch = facts
	return env
}

// OriginOf is scheme, host and port of an endpoint, "" for anything else.
func OriginOf(s config.Server) string {
	if !s.Endpoint() {
		return ""
	}
	fp, err := pin.Endpoint(addressOf(s))
	if err != nil {
		return ""
	}
	return fp.Origin
}
