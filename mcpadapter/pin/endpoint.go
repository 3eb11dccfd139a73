package pin

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// endpointDomain separates endpoint fingerprints from every other digest,
// pathDomain the digest that stands for a path where the path is not shown.
const (
	endpointDomain = "looprig endpoint fingerprint v1"
	pathDomain     = "looprig endpoint path v1"
)

// Address says where a server is reached, for its fingerprint.
type Address struct {
	// Kind is the transport: "http" or "sse".
	Kind string
	// URL is absolute, http or https.
	URL string
	// Headers are the names of the headers that are sent with every request;
	// their values are no part of a fingerprint.
	Headers []string
	// Issuer is who issues tokens for the endpoint, or "".
	Issuer string
}

// AddressError says that an address has no fingerprint. It does not repeat it.
type AddressError struct{ Reason string }

func (e *AddressError) Error() string { return "fingerprint: the address " + e.Reason }

// Endpoint takes the fingerprint of where a server is reached: the transport,
// the origin, the path and query, the names of the headers and the issuer.
// Nothing is contacted. Its Lines hold the whole address; see Private. Errors:
// *AddressError.
func Endpoint(a Address) (Fingerprint, error) {
	u, err := url.Parse(a.URL)
	if err != nil || u.Opaque != "" || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return Fingerprint{}, &AddressError{Reason: "is not absolute, http or https"}
	}
	if u.User != nil || u.Fragment != "" {
		return Fingerprint{}, &AddressError{Reason: "has user information or a fragment"}
	}
	origin := originOf(u)
	if u.Path == "" {
		u.Path = "/" // what is asked for is the same
	}
	names := headerNames(a.Headers)
	h := sha256.New()
	frame(h, endpointDomain, a.Kind, origin, u.EscapedPath(), u.RawQuery, a.Issuer)
	frameList(h, names)
	fp := Fingerprint{Kind: LayerEndpoint, Digest: "sha256:" + hex.EncodeToString(h.Sum(nil)), Origin: origin}
	fp.Lines = []Line{{Label: labelAddress, Value: a.URL, private: true}, {Label: "origin", Value: origin}}
	if u.EscapedPath() != "/" || u.RawQuery != "" {
		fp.Lines = append(fp.Lines, Line{Label: labelPath, Value: pathMark(u)})
	}
	fp.Lines = append(fp.Lines, Line{Label: "transport", Value: a.Kind}, Line{Label: "encrypted", Value: encrypted(u)})
	if len(names) > 0 {
		fp.Lines = append(fp.Lines, Line{Label: "headers", Value: strings.Join(names, " ")})
	}
	if a.Issuer != "" {
		fp.Lines = append(fp.Lines, Line{Label: "issuer", Value: a.Issuer})
	}
	if u.Scheme == "http" {
		fp.Warnings = append(fp.Warnings, plainWarning(u))
	}
	if host := strings.ToLower(u.Hostname()); strings.Contains(host, "xn--") || strings.ContainsFunc(host, func(r rune) bool { return r > 0x7e }) {
		fp.Warnings = append(fp.Warnings, "the name of the host is written in other letters than it seems")
	}
	return fp, nil
}

// labelAddress labels the whole address, labelPath the mark that stands for its
// path where the address is left out.
const (
	labelAddress = "address"
	labelPath    = "path"
)

// originOf is scheme, host in small letters, and the port where it is not the
// scheme's own.
func originOf(u *url.URL) string {
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if port == "" || (u.Scheme == "https" && port == "443") || (u.Scheme == "http" && port == "80") {
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		return u.Scheme + "://" + host
	}
	return u.Scheme + "://" + net.JoinHostPort(host, port)
}

// pathMark stands for the path and query in what is recorded: they may carry a
// secret.
func pathMark(u *url.URL) string {
	h := sha256.New()
	frame(h, pathDomain, u.EscapedPath(), u.RawQuery)
	mark := fmt.Sprintf("not recorded, sha256:%s…", hex.EncodeToString(h.Sum(nil))[:16])
	if u.RawQuery != "" {
		mark += ", with a query"
	}
	return mark
}

func encrypted(u *url.URL) string {
	if u.Scheme == "https" {
		return "yes (TLS)"
	}
	return "no"
}

func plainWarning(u *url.URL) string {
	host := strings.ToLower(u.Hostname())
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return "the address is on this machine: any of its users may be behind it"
	}
	return "without TLS everybody on the way can read and change what is said, headers included"
}

// headerNames are the names in small letters, sorted, each once.
func headerNames(names []string) []string {
	out := make([]string, 0, len(names))
	for _, name := range names {
		out = append(out, strings.ToLower(name))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Private reports whether the line may only be shown to the person who decides,
// and is left out of every record.
func (l Line) Private() bool { return l.private }

// Replaces reports whether the line stands for a private one, and says nothing
// beside it.
func (l Line) Replaces() bool { return l.Label == labelPath }

// Address is the whole address of an endpoint, "" for a launch.
func (f Fingerprint) Address() string {
	for _, l := range f.Lines {
		if l.private && l.Label == labelAddress {
			return l.Value
		}
	}
	return ""
}
