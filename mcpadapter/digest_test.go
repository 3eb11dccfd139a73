package mcpadapter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/client/clienttest"
	"github.com/looprig/looprig/mcpadapter/transport"
)

func TestConfigDigest(t *testing.T) {
	t.Parallel()
	key := []byte("0123456789abcdef0123456789abcdef")
	digest := func(key []byte, edit func(*Binding)) string {
		b := Binding{Name: "docs"}
		b.Server.Transport = clienttest.Transport{Settings: []transport.Setting{
			{Key: "arg.0", Value: "--stdio"}, {Key: "env.TOKEN", Value: "canary", Secret: true},
		}}
		edit(&b)
		m, err := NewManager([]Binding{b}, Deps{DigestKey: key})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = m.Close(t.Context()) }()
		if s := fmt.Sprintf("%+v", m.ConfigIdentity()); strings.Contains(s, "canary") {
			t.Errorf("the secret is in %s", s)
		}
		return m.ConfigDigest()
	}
	base := digest(key, func(*Binding) {})
	if again := digest(key, func(b *Binding) { b.Server.Name = "docs"; b.Scope = ScopeSession }); again != base {
		t.Error("the same settings have two digests")
	}
	set := func(i int, value string) func(*Binding) {
		return func(b *Binding) { b.Server.Transport.(clienttest.Transport).Settings[i].Value = value }
	}
	for name, edit := range map[string]func(*Binding){
		"argument": set(0, "--http"), "secret": set(1, "other"),
		"required": func(b *Binding) { b.Required = true },
		"disabled": func(b *Binding) { b.Disabled = true },
		"selector": func(b *Binding) { b.Visibility = Named("x") },
		"limit":    func(b *Binding) { b.Server.Limits.Tools = 5 },
		"filter":   func(b *Binding) { b.Server.ToolDeny = []string{"a", "b"} },
		"timeout":  func(b *Binding) { b.Server.StartTimeout = time.Second },
	} {
		if digest(key, edit) == base {
			t.Errorf("%s is not covered", name)
		}
	}
	if digest([]byte("another key"), func(*Binding) {}) == base {
		t.Error("the key has no effect")
	}
}

func TestDeclaredDigests(t *testing.T) {
	t.Parallel()
	digest := func(edit func(*Binding)) string {
		b := Binding{Name: "docs"}
		b.Server.Transport = clienttest.Transport{Settings: []transport.Setting{
			{Key: "command", Value: "docs-server"}, {Key: "env.TOKEN", Value: "canary", Secret: true},
		}}
		edit(&b)
		m, err := NewManager([]Binding{b}, Deps{}) // each has a key of its own
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = m.Close(t.Context()) }()
		return m.DeclaredDigests()["docs"]
	}
	base := digest(func(*Binding) {})
	// What another process computes of the same configuration.
	const known = "sha256:"
	if !strings.HasPrefix(base, known) || digest(func(b *Binding) { b.Scope = ScopeSession }) != base {
		t.Errorf("the same settings have two digests; the first is %q", base)
	}
	set := func(i int, s transport.Setting) func(*Binding) {
		return func(b *Binding) { b.Server.Transport.(clienttest.Transport).Settings[i] = s }
	}
	if digest(set(1, transport.Setting{Key: "env.TOKEN", Value: "other", Secret: true})) != base {
		t.Error("the value of a secret is in the digest")
	}
	for name, edit := range map[string]func(*Binding){
		"command":          set(0, transport.Setting{Key: "command", Value: "other"}),
		"name of a secret": set(1, transport.Setting{Key: "env.KEY", Value: "canary", Secret: true}),
		"limit":            func(b *Binding) { b.Server.Limits.Tools = 5 },
		"roots":            func(b *Binding) { b.Server.Roots = []string{"/srv"} },
		"sampling":         func(b *Binding) { b.Server.Sampling = &SamplingPolicy{Tools: true} },
	} {
		if digest(edit) == base {
			t.Errorf("%s is not covered", name)
		}
	}
}
