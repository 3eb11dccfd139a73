package mcpadapter

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/looprig/looprig/internal/safetext"
)

// The bounds of the address of an open-url gate, and of its host as written.
const (
	maxURLBytes  = 8 << 10
	maxHostBytes = 1 << 10
)

// target is an address that a person may be asked to open.
type target struct {
	// full is what is opened; it leaves the process only by the opener.
	full string
	// origin is scheme://host, the host in its A-label form.
	origin   string
	warnings []string
}

var (
	hostLabels = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)*\.?$`) })
	numberLike = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(0x[0-9a-f]*|[0-9]+)$`) })
)

// checkURL validates an address that a server wants opened. Its errors and
// warnings repeat nothing of the address.
func checkURL(raw string) (target, error) {
	if len(raw) > maxURLBytes {
		return target{}, fmt.Errorf("its address has %d bytes, over the limit of %d (setting fixed)", len(raw), maxURLBytes)
	}
	if !utf8.ValidString(raw) || strings.ContainsAny(raw, " \t\r\n\\\"'<>`{}|^") {
		return target{}, errors.New("its address holds characters that no address may have")
	}
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" || u.Host == "" {
		return target{}, errors.New("its address cannot be understood")
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return target{}, errors.New("its address is neither https nor http")
	}
	var t target
	host, err := t.host(u.Hostname())
	if err != nil {
		return target{}, err
	}
	if u.Scheme == "http" && !loopback(host) {
		return target{}, errors.New("its address is plain http and not on this machine")
	}
	if u.User != nil {
		u.User = nil
		t.warnings = append(t.warnings, "The address held a user name or password; it was dropped.")
	}
	shown := host
	if strings.Contains(host, ":") {
		shown = "[" + host + "]"
	}
	port := u.Port()
	if n, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || n == 0) {
		return target{}, errors.New("its address names a port that does not exist")
	}
	if u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" {
		port = ""
	}
	u.Host = shown
	if port != "" {
		u.Host += ":" + port
	}
	t.full, t.origin = u.String(), u.Scheme+"://"+shown
	return t, nil
}

// host gives the form of a host that is shown and opened.
func (t *target) host(raw string) (string, error) {
	if len(raw) > maxHostBytes {
		return "", errors.New("its address has a host name that is too long")
	}
	if strings.Contains(raw, "%") {
		return "", errors.New("its address names a network interface")
	}
	if ip, err := netip.ParseAddr(raw); err == nil {
		return t.address(ip)
	}
	ascii, err := idna.Lookup.ToASCII(raw)
	ascii = strings.ToLower(ascii)
	if again, e := idna.Lookup.ToASCII(ascii); e != nil || again != ascii {
		return "", errors.New("its address has no valid host name")
	}
	if err != nil || !hostLabels().MatchString(ascii) {
		return "", errors.New("its address has no valid host name")
	}
	labels := strings.Split(strings.TrimSuffix(ascii, "."), ".")
	if numberLike().MatchString(labels[len(labels)-1]) {
		return "", errors.New("its address is a number in an unusual form")
	}
	t.lookalike(ascii)
	return ascii, nil
}

func (t *target) lookalike(ascii string) {
	if !strings.HasPrefix(ascii, "xn--") && !strings.Contains(ascii, ".xn--") {
		return
	}
	t.warnings = append(t.warnings, "The host name has letters outside ASCII and is shown in its encoded form: it may imitate another name.")
	if unicode, err := idna.ToUnicode(ascii); err == nil && safetext.MixedScript(unicode) {
		t.warnings = append(t.warnings, "The host name mixes letters of several scripts.")
	}
}

func (t *target) address(ip netip.Addr) (string, error) {
	switch {
	case ip.Is4In6():
		return "", errors.New("its address is a number in an unusual form")
	case ip.IsUnspecified(), ip.IsMulticast(), ip.IsLinkLocalUnicast():
		return "", errors.New("its address is a number that no web page has")
	case ip.IsLoopback():
	case ip.IsPrivate():
		t.warnings = append(t.warnings, "The address is a number inside a private network.")
	default:
		t.warnings = append(t.warnings, "The address is a number, not a name.")
	}
	return ip.String(), nil
}

func loopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
