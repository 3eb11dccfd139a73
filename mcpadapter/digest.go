package mcpadapter

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"
)

// The domains of the configuration's digests.
const (
	domainConfig  = "looprig/mcp-config/v1"
	domainBinding = "looprig/mcp-binding/v1"
	domainValue   = "looprig/mcp-secret/v1"
)

// ConfigIdentity identifies a configuration and what was discovered under it.
type ConfigIdentity struct {
	// Declared is the ConfigDigest.
	Declared string            `json:"declared"`
	Bindings []BindingIdentity `json:"bindings"`
}

// BindingIdentity is one binding's part of a ConfigIdentity.
type BindingIdentity struct {
	Name     string `json:"name"`
	Declared string `json:"declared"`
	// Generation and Catalog identify the newest catalog; they are empty before
	// discovery.
	Generation uint64 `json:"generation,omitempty"`
	Catalog    string `json:"catalog,omitempty"`
}

// ConfigDigest covers every declared setting of every binding, secrets as keyed
// hashes: that one changed is seen, and nothing of it can be found out without
// Deps.DigestKey. Managers with the same key and configuration agree. It is available before Start and BindSession, and neither discovery
// nor time changes it: reconfigurations alone do.
func (m *Manager) ConfigDigest() string { return m.ConfigIdentity().Declared }

// ConfigIdentity is the ConfigDigest with its parts, binding by binding, and
// the catalogs that were discovered.
func (m *Manager) ConfigIdentity() ConfigIdentity {
	m.mu.Lock()
	entries := make([]entry, len(m.entries))
	for i, e := range m.entries {
		entries[i] = *e
	}
	m.mu.Unlock()
	h := sha256.New()
	frame(h, domainConfig)
	var id ConfigIdentity
	for _, e := range entries {
		b := BindingIdentity{Name: e.cfg.Name, Declared: bindingDigest(e.cfg, m.deps.DigestKey)}
		if e.rt != nil {
			if g := e.rt.cl.Generation(); g != nil {
				b.Generation, b.Catalog = g.Number, g.Digest
			}
		}
		frame(h, b.Name)
		frame(h, b.Declared)
		id.Bindings = append(id.Bindings, b)
	}
	id.Declared = "sha256:" + hex.EncodeToString(h.Sum(nil))
	return id
}

func frame(h hash.Hash, s string) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(s)))
	h.Write(n[:])
	h.Write([]byte(s))
}

// bindingDigest covers the declared settings of one binding. What stands for the
// value of a secret one is a keyed hash.
func bindingDigest(b Binding, key []byte) string {
	h := sha256.New()
	frame(h, domainBinding)
	set := func(name, value string) {
		frame(h, name)
		frame(h, value)
	}
	set("name", b.Name)
	set("scope", string(b.scope()))
	set("loop", b.Loop)
	set("visibility", list(b.Visibility.declared()))
	set("required", strconv.FormatBool(b.Required))
	set("disabled", strconv.FormatBool(b.Disabled))
	if b.Fault != nil {
		set("fault", b.Fault.Text)
		return "sha256:" + hex.EncodeToString(h.Sum(nil))
	}
	d := b.Server
	set("revision", d.Revision)
	set("builtin", strconv.FormatBool(d.Builtin))
	set("timeouts", fmt.Sprint(d.StartTimeout, d.RequestTimeout, d.ElicitTimeout, d.CloseTimeout))
	set("limits", fmt.Sprintf("%+v", d.Limits))
	set("tools.allow", list(sorted(d.ToolAllow)))
	set("tools.deny", list(sorted(d.ToolDeny)))
	set("compat", d.Compat)
	set("elicitation", strconv.FormatBool(d.Elicitation))
	set("freeText", d.FreeText)
	set("logLevel", d.LogLevel)
	set("trustAnnotations", strconv.FormatBool(d.TrustAnnotations))
	if d.Sampling != nil {
		set("sampling", fmt.Sprintf("%+v", *d.Sampling))
	}
	if d.Roots != nil {
		set("roots", list(d.Roots))
	}
	set("discovery", d.Discovery)
	set("parallel", strconv.FormatBool(d.Parallel))
	set("transport", d.Transport.Kind())
	for _, s := range d.Transport.Declared() {
		value := s.Value
		if s.Secret {
			value = keyed(key, b.Name, s.Key, s.Value)
		}
		set("transport."+s.Key, value)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// keyed hashes a secret so that it can be compared and not be found out.
func keyed(key []byte, binding, name, value string) string {
	mac := hmac.New(sha256.New, key)
	for _, s := range []string{domainValue, binding, name, value} {
		frame(mac, s)
	}
	return "hmac-sha256:" + hex.EncodeToString(mac.Sum(nil))
}

func sorted(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return out
}

// list joins values so that no two lists look alike.
func list(values []string) string {
	var b strings.Builder
	for _, v := range values {
		fmt.Fprintf(&b, "%d:%s", len(v), v)
	}
	return b.String()
}
