package config

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/looprig/looprig/compose/config/doc"
)

// Bounds of an endpoint.
const (
	MaxURLBytes    = 8 << 10
	MaxHeaders     = 64
	MaxHeaderBytes = 16 << 10 // one value
)

// checkEndpoint judges the address and headers of a server over HTTP or SSE.
// No message holds the address or a value: both may carry secrets.
func (s *Server) checkEndpoint(o *doc.Obj, literal bool) {
	for _, key := range []string{"command", "args", "cwd", "env", "inheritEnv", "sha256"} {
		if o.Has(key) {
			o.Fail(key, "%s does not belong to a server that is reached by an address", key)
		}
	}
	s.checkHeaders(o)
	switch {
	case s.URL == "":
		o.Fail("url", "a server over %s needs a url", s.Type)
		return
	case literal || o.Failed("url"):
		return
	}
	u, err := ParseEndpoint(s.URL)
	if err != nil {
		o.Fail("url", "%s", err)
		return
	}
	if u.Scheme == "http" && !s.PlainHTTP && !Loopback(u.Hostname()) {
		o.Fail("url", "without TLS everybody on the way can read and change what is said: take https, or say \"plainHttp\": true")
	}
}

// ParseEndpoint reads the address of an endpoint: absolute, http or https,
// without user information and fragment. Its errors do not repeat the address.
func ParseEndpoint(text string) (*url.URL, error) {
	if len(text) > MaxURLBytes {
		return nil, fmt.Errorf("the address has %d bytes (limit %d)", len(text), MaxURLBytes)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return nil, fmt.Errorf("it cannot be read as an address")
	case u.Scheme == "":
		return nil, fmt.Errorf("the address must be whole, like https://host/path")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the address begins with http:// or https://")
	case u.Hostname() == "":
		return nil, fmt.Errorf("the address names no host")
	case !validPort(u.Port()):
		return nil, fmt.Errorf("the port is not one from 1 to 65535")
	case u.User != nil:
		return nil, fmt.Errorf("a user name or password does not belong into the address: take a header with ${VAR}")
	case u.Fragment != "" || strings.Contains(text, "#"):
		return nil, fmt.Errorf("the address has a fragment (#…), which is never sent: leave it out")
	}
	return u, nil
}

// validPort accepts what may stand behind the colon of a host, nothing included.
func validPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil && n > 0
}

// Loopback reports whether a host is this machine by its name or number.
func Loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// ownHeaders are written by the transport itself or belong to one connection.
var ownHeaders = []string{
	"accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect", "host", "keep-alive", "last-event-id",
	"origin", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
}

func (s *Server) checkHeaders(o *doc.Obj) {
	if len(s.Headers) > MaxHeaders {
		o.Fail("headers", "%d headers (limit %d)", len(s.Headers), MaxHeaders)
		return
	}
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		fold := strings.ToLower(name)
		switch value := s.Headers[name]; {
		case !headerToken(name):
			// A whole line "Name: value" may have become the name.
			good, _, _ := strings.Cut(strings.ReplaceAll(name, ":", " "), " ")
			o.Fail("headers", "%q and what follows cannot be the name of a header", good)
		case slices.Contains(ownHeaders, fold), strings.HasPrefix(fold, "mcp-"):
			o.Fail("headers", "the header %s is looprig's own to send", name)
		case seen[fold] != "":
			o.Fail("headers", "the headers %s and %s are the same", seen[fold], name)
		case len(value) > MaxHeaderBytes:
			o.Fail("headers", "the value of %s has %d bytes (limit %d)", name, len(value), MaxHeaderBytes)
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			o.Fail("headers", "the value of %s has a line break or another control character", name)
		}
		seen[fold] = name
	}
}

// headerToken is the grammar of field names, RFC 9110 section 5.1.
func headerToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune("()<>@,;:\\\"/[]?={}", r)
	})
}
