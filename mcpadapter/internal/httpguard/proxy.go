package httpguard

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// maxProxyRules bounds the entries of NO_PROXY that are looked at.
const maxProxyRules = 256

// proxyFor finds the proxy for one origin in the user's environment: the
// variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY in either case, of which the
// lower-case one wins. nil is none. The own machine is never reached through a
// proxy.
func proxyFor(env []string, origin *url.URL) (*url.URL, error) {
	if hostZone(origin.Hostname()) == Loopback {
		return nil, nil
	}
	name := origin.Scheme + "_proxy"
	value := lookupEnv(env, name)
	if value == "" || exempt(lookupEnv(env, "no_proxy"), origin) {
		return nil, nil
	}
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	proxy, err := url.Parse(value)
	if err != nil || proxy.Host == "" {
		return nil, &ConfigError{strings.ToUpper(name), "is no URL of a proxy"}
	}
	switch proxy.Scheme {
	case "http", "https", "socks5", "socks5h":
		return proxy, nil
	}
	return nil, &ConfigError{strings.ToUpper(name), "names a kind of proxy that is not supported (http, https, socks5)"}
}

// lookupEnv finds a variable by its lower-case name, then by its upper-case
// name; the last entry wins.
func lookupEnv(env []string, lower string) string {
	for _, name := range []string{lower, strings.ToUpper(lower)} {
		for i := len(env) - 1; i >= 0; i-- {
			if key, value, ok := strings.Cut(env[i], "="); ok && key == name && value != "" {
				return strings.TrimSpace(value)
			}
		}
	}
	return ""
}

// exempt says whether NO_PROXY names the origin: "*", a host, a domain (which
// covers what is below it), an address, a range, each with an optional port.
func exempt(rules string, origin *url.URL) bool {
	host, port := strings.TrimSuffix(strings.ToLower(origin.Hostname()), "."), portOf(origin)
	addr, addrErr := netip.ParseAddr(host)
	for i, rule := range strings.Split(rules, ",") {
		rule = strings.ToLower(strings.TrimSpace(rule))
		if i >= maxProxyRules {
			return false
		}
		if rule == "*" {
			return true
		}
		if network, err := netip.ParsePrefix(rule); err == nil {
			if addrErr == nil && network.Contains(addr.Unmap()) {
				return true
			}
			continue
		}
		if h, p, err := net.SplitHostPort(rule); err == nil {
			if p != port {
				continue
			}
			rule = h
		}
		rule = strings.Trim(rule, "[]")
		if other, err := netip.ParseAddr(rule); err == nil {
			if addrErr == nil && other.Unmap() == addr.Unmap() {
				return true
			}
			continue
		}
		domain := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(rule, "*"), "."), ".")
		if domain != "" && (strings.HasSuffix(host, "."+domain) || host == domain && !strings.ContainsAny(rule[:1], ".*")) {
			return true
		}
	}
	return false
}

// portOf is the port of an origin, the scheme's own where none is written.
func portOf(u *url.URL) string {
	switch port := u.Port(); {
	case port != "":
		return port
	case u.Scheme == "http":
		return "80"
	default:
		return "443"
	}
}
