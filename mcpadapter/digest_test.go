package mcpadapter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/client/clienttest"
	"github.com/looprig/looprig/mcpadapter/transport"
	"github.com/looprig/looprig/mcpadapter/transport/stdio"
	"github.com/looprig/looprig/mcpadapter/transport/streamhttp"
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

// The real transports declare their secrets as such: one that changes is seen,
// and nothing that is kept of it can be tried out without the key.
func TestSecretsOfTransportsAreKeyed(t *testing.T) {
	t.Parallel()
	program := func(c stdio.Config) transport.Transport {
		c.Command = "docs-server"
		tr, err := stdio.New(c)
		if err != nil {
			t.Fatal(err)
		}
		return tr
	}
	endpoint := func(url string, header map[string]string) transport.Transport {
		tr, err := streamhttp.New(streamhttp.Config{URL: url, Headers: header})
		if err != nil {
			t.Fatal(err)
		}
		return tr
	}
	digest := func(key string, tr transport.Transport) string {
		b := Binding{Name: "docs"}
		b.Server.Transport = tr
		m, err := NewManager([]Binding{b}, Deps{DigestKey: []byte(key)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = m.Close(t.Context()) }()
		id := m.ConfigIdentity()
		if text := fmt.Sprintf("%+v", id); strings.Contains(text, "canary") {
			t.Errorf("the secret is in %s", text)
		}
		if id.Bindings[0].Declared == "" || id.Bindings[0].Catalog != "" {
			t.Errorf("identity %+v", id)
		}
		return id.Bindings[0].Declared
	}
	for name, pair := range map[string][2]transport.Transport{
		"argument":      {program(stdio.Config{Args: []string{"--token=canary"}}), program(stdio.Config{Args: []string{"--token=canary2"}})},
		"environment":   {program(stdio.Config{Env: map[string]string{"TOKEN": "canary"}}), program(stdio.Config{Env: map[string]string{"TOKEN": "canary2"}})},
		"its name":      {program(stdio.Config{Env: map[string]string{"TOKEN": "canary"}}), program(stdio.Config{Env: map[string]string{"KEY": "canary"}})},
		"header":        {endpoint("https://docs.example/mcp", map[string]string{"Authorization": "Bearer canary"}), endpoint("https://docs.example/mcp", map[string]string{"Authorization": "Bearer canary2"})},
		"query":         {endpoint("https://docs.example/mcp?key=canary", nil), endpoint("https://docs.example/mcp?key=canary2", nil)},
		"path":          {endpoint("https://docs.example/canary", nil), endpoint("https://docs.example/canary2", nil)},
		"secret or not": {program(stdio.Config{Args: []string{"canary"}}), program(stdio.Config{})},
	} {
		if digest("k", pair[0]) == digest("k", pair[1]) {
			t.Errorf("%s: a change is not seen", name)
		}
		if once, again := digest("k", pair[0]), digest("k", pair[0]); once != again {
			t.Errorf("%s: two processes with one key do not agree", name)
		}
		if digest("k", pair[0]) == digest("another", pair[0]) {
			t.Errorf("%s: the digest can be tried out without the key", name)
		}
	}
}
