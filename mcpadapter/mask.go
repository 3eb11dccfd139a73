package mcpadapter

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/looprig/looprig/mcpadapter/transport"
)

const (
	// minSecretBytes is the least length of a configured value that is masked:
	// shorter ones are words like "1" and "yes", which would be found everywhere.
	minSecretBytes = 4
	// minSegmentBytes is that of a segment of an endpoint's path: shorter ones
	// are words like "mcp".
	minSegmentBytes = 16
	// maxSecretBytes bounds what is looked for of one value.
	maxSecretBytes = 4 << 10
)

// masked stands for what is not shown.
const masked = "•••"

// masker hides secrets in protocol messages: what is configured as secret, the
// values of members that are called like one, and the addresses of open-url
// questions beyond their origin. It never changes; the zero masker knows no
// configured values.
type masker struct{ values [][]byte }

// newMasker collects the values that a transport declares secret. Of the
// arguments it takes those alone that follow a telling option: the others are
// words and paths that any message may hold.
func newMasker(settings []transport.Setting) masker {
	var m masker
	for _, s := range settings {
		switch {
		case !s.Secret:
		case s.Key == "args":
			var args []string
			_ = json.Unmarshal([]byte(s.Value), &args) // not a list: nothing to hide
			m.addArguments(args)
		case s.Key == "url.path":
			m.addPath(s.Value)
		case s.Key == "url.query", s.Key == "url.userinfo":
			m.addParts(s.Value)
		default:
			m.add(s.Value)
			if scheme, token, ok := strings.Cut(s.Value, " "); ok && !strings.Contains(scheme, "\n") {
				m.add(token) // "Bearer …"
			}
		}
	}
	// The longest first: one value may be a part of another.
	slices.SortFunc(m.values, func(a, b []byte) int { return len(b) - len(a) })
	return m
}

var tellingOption = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^--?[a-z0-9_-]*(key|token|secret|passw|auth|credential)[a-z0-9_-]*$`)
})

func (m *masker) addArguments(args []string) {
	for i, a := range args {
		if name, value, ok := strings.Cut(a, "="); ok && tellingOption().MatchString(name) {
			m.add(value)
		} else if i > 0 && tellingOption().MatchString(args[i-1]) {
			m.add(a)
		}
	}
}

// addPath has the segments of a path hidden that may be keys.
func (m *masker) addPath(path string) {
	for _, s := range strings.Split(path, "/") {
		if len(s) >= minSegmentBytes {
			m.add(s)
			m.addUnescaped(s)
		}
	}
}

// addParts has a query or a userinfo hidden, and each value of it.
func (m *masker) addParts(text string) {
	m.add(text)
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == '&' || r == ':' }) {
		if _, value, ok := strings.Cut(part, "="); ok {
			part = value
		}
		m.add(part)
		m.addUnescaped(part)
	}
}

func (m *masker) addUnescaped(part string) {
	if plain, err := url.QueryUnescape(part); err == nil {
		m.add(plain)
	}
}

// add has a value hidden as it is and as JSON writes it.
func (m *masker) add(value string) {
	value = strings.TrimSpace(value)
	if len(value) < minSecretBytes {
		return
	}
	if len(value) > maxSecretBytes {
		value = value[:maxSecretBytes]
	}
	forms := []string{value}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	for _, html := range []bool{true, false} {
		b.Reset()
		e.SetEscapeHTML(html)
		_ = e.Encode(value) // a string always encodes
		forms = append(forms, strings.Trim(strings.TrimSuffix(b.String(), "\n"), `"`))
	}
	for _, f := range forms {
		if !slices.ContainsFunc(m.values, func(v []byte) bool { return string(v) == f }) {
			m.values = append(m.values, []byte(f))
		}
	}
}

// longest is how many bytes the longest value has.
func (m masker) longest() int {
	if len(m.values) == 0 {
		return 0
	}
	return len(m.values[0])
}

// mask returns the message with its secrets hidden. It works on the beginning of
// a message as well, and leaves the layout of everything else as it is.
func (m masker) mask(data []byte) []byte {
	for _, v := range m.values {
		if bytes.Contains(data, v) {
			data = bytes.ReplaceAll(data, v, []byte(masked))
		}
	}
	return maskMembers(data)
}

var (
	// tellingMember are the names of members whose value is a secret.
	tellingMember = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(x-)?(proxy-)?(authorization|(api|access|secret|private|client)[-_]?key|((access|refresh|id|auth|session|bearer|csrf|client|api)[-_]?)?(token|secret)|passw(or)?d|passphrase|credentials?|(set-)?cookie|code[-_]?verifier|client[-_]?assertion)$`)
	})
	// asksForURL finds messages that may hold the address of an open-url
	// question, also where letters are written as escapes.
	asksForURL = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`elicit|input_required|inputRequests|\\u00[4-7]`) })
)

// maskMembers hides the values of members by their names. It reads the strings
// of a message one after the other: one that a colon follows is a name.
func maskMembers(data []byte) []byte {
	urls := asksForURL().Match(data)
	var out []byte
	name, last := "", 0
	for i := 0; i < len(data); {
		if data[i] != '"' {
			if c := data[i]; c == ',' || c == '{' || c == '[' {
				name = ""
			}
			i++
			continue
		}
		end := stringEnd(data, i)
		next := end
		for next < len(data) && (data[next] == ' ' || data[next] == '\t' || data[next] == '\n' || data[next] == '\r') {
			next++
		}
		if next < len(data) && data[next] == ':' {
			name = unquoted(data[i:end])
			i = next + 1
			continue
		}
		instead, hide := "", false
		switch {
		case name == "":
		case tellingMember().MatchString(name):
			instead, hide = masked, true
		case urls && strings.EqualFold(name, "url"):
			instead, hide = originOnly(unquoted(data[i:end])), true
		}
		if hide {
			text, _ := json.Marshal(instead)
			out = append(append(out, data[last:i]...), text...)
			last = end
		}
		name = ""
		i = end
	}
	if out == nil {
		return data
	}
	return append(out, data[last:]...)
}

// stringEnd is the index behind the string that begins at i, or the end of the
// data.
func stringEnd(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

func unquoted(raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return strings.Trim(string(raw), `"`)
	}
	return s
}

// originOnly is an address without what only its receiver may know.
func originOnly(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return masked
	}
	return u.Scheme + "://" + u.Host + "/" + masked
}
