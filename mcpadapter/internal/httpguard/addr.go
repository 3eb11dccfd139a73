package httpguard

import (
	"net/netip"
	"strings"
	"syscall"
)

// Zone is how close to the user's machine an address is.
type Zone uint8

// The zones. A server may point to its own zone and to wider ones, never to a
// closer one: what listens there trusts its surroundings.
const (
	// Public addresses are everybody's.
	Public Zone = iota + 1
	// Private addresses are those of an organisation or a household.
	Private
	// Loopback is the user's own machine.
	Loopback
	// Forbidden are link-local addresses, where clouds hand out credentials,
	// known metadata addresses, the unspecified one and others that are no
	// server's.
	Forbidden
)

var (
	privateNets = prefixes("100.64.0.0/10", "198.18.0.0/15", "192.0.0.0/24", "fec0::/10")
	// forbiddenNets are special by registry, or the metadata services of clouds
	// outside the link-local range.
	forbiddenNets = prefixes("0.0.0.0/8", "240.0.0.0/4", "100.100.100.200/32", "168.63.129.16/32",
		"192.0.0.192/32", "fd00:ec2::254/128", "fd20:ce::254/128", "100::/64", "2001:db8::/32")
	// carriers are IPv6 ranges that hold an IPv4 address from the given byte on.
	carriers = []struct {
		net netip.Prefix
		at  int
	}{
		{netip.MustParsePrefix("64:ff9b::/96"), 12},
		{netip.MustParsePrefix("64:ff9b:1::/48"), 12},
		{netip.MustParsePrefix("2002::/16"), 2},
		{netip.MustParsePrefix("::/96"), 12},
	}
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, text := range list {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

func within(addr netip.Addr, nets []netip.Prefix) bool {
	for _, p := range nets {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// ZoneOf classifies an address; one that carries an IPv4 address counts as it.
func ZoneOf(addr netip.Addr) Zone {
	addr = addr.WithZone("").Unmap()
	switch {
	case !addr.IsValid(), addr.IsUnspecified(), addr.IsMulticast(), addr.IsLinkLocalUnicast(), within(addr, forbiddenNets):
		return Forbidden
	case addr.IsLoopback():
		return Loopback
	case addr.IsPrivate(), within(addr, privateNets):
		return Private
	}
	for _, c := range carriers {
		if c.net.Contains(addr) {
			b := addr.As16()
			return ZoneOf(netip.AddrFrom4([4]byte(b[c.at : c.at+4])))
		}
	}
	return Public
}

// mayPoint says whether a server in one zone may point to an address in
// another.
func mayPoint(from, to Zone) bool {
	return to != Forbidden && from != Forbidden && to <= from
}

// hostZone is the zone of a host that can be told without resolving it; 0 is
// unknown.
func hostZone(host string) Zone {
	if addr, err := netip.ParseAddr(host); err == nil {
		return ZoneOf(addr)
	}
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return Loopback
	}
	return 0
}

// control is called for each address before it is connected to, when names are
// resolved.
func (c *Client) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return refused("an address that cannot be judged")
	}
	zone := ZoneOf(to.Addr())
	switch {
	case c.plainLoopback && zone != Loopback:
		return refused("plain HTTP to another machine: use https, or allow plain HTTP for this server")
	case c.from != 0 && !mayPoint(c.from, zone):
		return refused("the server points to an internal address")
	}
	return nil
}
