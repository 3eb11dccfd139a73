package httpguard

import (
	"net/textproto"
	"strings"
)

// Limits of configured headers.
const (
	MaxHeaders     = 64
	maxHeaderName  = 256
	maxHeaderValue = 16 << 10
)

// ownHeaders are set by the client or the protocol and cannot be configured.
var ownHeaders = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Connection": true, "Content-Encoding": true,
	"Content-Length": true, "Content-Type": true, "Expect": true, "Host": true,
	"Keep-Alive": true, "Last-Event-Id": true, "Mcp-Method": true, "Mcp-Name": true,
	"Mcp-Protocol-Version": true, "Mcp-Session-Id": true, "Proxy-Authorization": true,
	"Proxy-Connection": true, "Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
}

// CheckHeader says why a configured header cannot be sent; "" when it can. The
// value is never part of the answer.
func CheckHeader(name, value string) (reason string) {
	canonical := textproto.CanonicalMIMEHeaderKey(name)
	switch {
	case !IsToken(name) || len(name) > maxHeaderName:
		return "is no valid header name"
	case ownHeaders[canonical] || strings.HasPrefix(canonical, "Mcp-Param-"):
		return "is set by the client itself"
	case len(value) > maxHeaderValue:
		return "has a value that is too long"
	case !validValue(value):
		return "has a value with a control character"
	}
	return ""
}

// IsToken says whether a name is an RFC 9110 token.
func IsToken(name string) bool {
	for i := range len(name) {
		c := name[i]
		alphanumeric := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !alphanumeric && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return name != ""
}

func validValue(value string) bool {
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// printableName shows a header's name in an error where it is one.
func printableName(name string) string {
	if IsToken(name) && len(name) <= maxHeaderName {
		return name
	}
	return "(unprintable)"
}
