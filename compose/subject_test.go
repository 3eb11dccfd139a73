package compose

import (
	"testing"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/mcpadapter"
	"github.com/looprig/looprig/mcpadapter/pin"
)

// What a command shows and pins is what a run dials.
func TestAnEndpointIsTheSameForCommandsAndRuns(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"url": "https://MCP.example:443/a%2Fb/c;d?x=1&y=%20", "headers": {"x-b": "1", "Authorization": "t"}}`,
		`{"url": "https://mcp.example"}`, `{"type": "sse", "url": "http://[::1]:80/sse"}`, `{"url": "https://mcp.example/a b?q"}`,
		`{"url": "http://127.0.0.1:9/mcp"}`, `{"url": "https://mcp.example/ü?ü"}`,
	} {
		s, err := config.ParseServer("x", []byte(text), config.EnvOf(nil))
		if err != nil {
			continue // what is refused is nobody's
		}
		a := &App{opt: Options{Env: []string{}}}
		b, err := a.binding(s)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		run, err := entry{s, b}.fingerprint()
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		command, err := Describe(s, nil)
		if err != nil || command.Digest != run.Digest {
			t.Errorf("%s: %s and %s, %v", text, command.Digest, run.Digest, err)
		}
	}
}

// A name whose other layer is accepted is changed, not new: nothing takes it
// for a first start.
func TestAProgramThatBecameAnAddressIsAChange(t *testing.T) {
	t.Parallel()
	store, err := pin.Open(t.TempDir() + "/pins.json")
	if err != nil {
		t.Fatal(err)
	}
	at, err := pin.Endpoint(pin.Address{Kind: "http", URL: "https://mcp.example/"})
	if err != nil {
		t.Fatal(err)
	}
	launch := pin.Fingerprint{Kind: pin.LayerLaunch, Digest: at.Digest}
	if v, _ := check(store, "a", at); v != pin.Unknown {
		t.Errorf("nothing is pinned and it is %s", v)
	}
	now := (&App{}).now()
	if err := store.Refuse("a", pin.LayerLaunch, launch.Digest, "w", now); err != nil {
		t.Fatal(err)
	}
	if v, _ := check(store, "a", at); v != pin.IsRefused {
		t.Errorf("a refused launch that became an endpoint is %s", v)
	}
	if err := store.Accept("a", pin.LayerLaunch, launch.Digest, "w", now); err != nil {
		t.Fatal(err)
	}
	if v, previous := check(store, "a", at); v != pin.Changed || previous != launch.Digest {
		t.Errorf("it is %s, %s", v, previous)
	}
	if v, _ := check(store, "b", at); v != pin.Unknown {
		t.Errorf("another name is %s", v)
	}
}

// The person who answers sees the whole address; the recorded question does not
// hold it.
func TestTheAddressIsShownAndNotRecorded(t *testing.T) {
	t.Parallel()
	fp, err := pin.Endpoint(pin.Address{Kind: "http", URL: "https://mcp.example/s3cret"})
	if err != nil {
		t.Fatal(err)
	}
	env := gate.Envelope{Kind: gate.KindUntrustedServer, Prompt: prompt(config.Server{Name: "a", Type: "http"}, fp, "", ""), Private: gate.Private{URL: fp.Address()}}
	count := func(env gate.Envelope, value string) (n int) {
		for _, f := range env.Prompt.Launch {
			if f.Value == value {
				n++
			}
		}
		return n
	}
	if count(env, "https://mcp.example/s3cret") != 0 {
		t.Errorf("recorded: %+v", env.Prompt.Launch)
	}
	shown := revealed(env)
	if count(shown, "https://mcp.example/s3cret") != 1 || len(shown.Prompt.Launch) != len(env.Prompt.Launch) {
		t.Errorf("shown: %+v", shown.Prompt.Launch)
	}
	if other := revealed(gate.Envelope{Kind: gate.KindOpenURL, Private: gate.Private{URL: "https://x"}}); len(other.Prompt.Launch) != 0 {
		t.Error("another gate has an address")
	}
}

func TestDefinitionsCarryWhatIsConfigured(t *testing.T) {
	t.Parallel()
	s, err := config.ParseServer("x", []byte(`{"command": "x", "discovery": "lazy", "logLevel": "error",
		"capabilities": {"sampling": true, "roots": ["/srv"]}, "sampling": {"approve": "reply", "tokenBudget": 7, "depth": 1}}`), config.EnvOf(nil))
	if err != nil {
		t.Fatal(err)
	}
	d := (&App{}).definition(s)
	if d.Discovery != "lazy" || d.LogLevel != "error" || len(d.Roots) != 1 || d.Sampling == nil || d.Sampling.Approve != "reply" || d.Sampling.TokenBudget != 7 || d.Sampling.Depth != 1 {
		t.Errorf("definition %+v, %+v", d, d.Sampling)
	}
	s, err = config.ParseServer("x", []byte(`{"command": "x"}`), nil)
	if d := (&App{}).definition(s); err != nil || d.Sampling != nil || d.Roots != nil {
		t.Errorf("unasked: %+v", d)
	}
	var _ mcpadapter.Sampler = sampler{}
}
