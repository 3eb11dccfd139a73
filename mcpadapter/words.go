package mcpadapter

import (
	"errors"
	"slices"
	"strings"

	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
	"github.com/looprig/looprig/mcpadapter/transport"
)

const (
	// maxWords bounds what is repeated of a server's own words about a failure.
	maxWords = 300
	// minWordSegment is the least length of a segment of an endpoint's path that
	// is hidden in them: servers like to repeat the path that they do not know.
	minWordSegment = 8
)

// newWordMasker is newMasker for text that is shown to people unasked: it hides
// the path of an endpoint, and its shorter segments as well.
func newWordMasker(settings []transport.Setting) masker {
	m := newMasker(settings)
	for _, s := range settings {
		if s.Key != "url.path" {
			continue
		}
		if len(s.Value) > minWordSegment {
			m.add(s.Value)
		}
		for _, segment := range strings.Split(s.Value, "/") {
			if len(segment) >= minWordSegment {
				m.add(segment)
				m.addUnescaped(segment)
			}
		}
	}
	slices.SortFunc(m.values, func(a, b []byte) int { return len(b) - len(a) })
	return m
}

// words is what the server itself says of a failure: the message of its error,
// or the beginning of its answer where that is plain text or JSON. It is one
// clean line without any configured secret, "" when there is none.
func (rt *runtime) words(err error) string {
	var pe *protocol.Error
	if !errors.As(err, &pe) {
		return ""
	}
	switch pe.Class {
	case protocol.ClassRemote, protocol.ClassHTTP, protocol.ClassAuth, protocol.ClassEndpoint:
	default:
		return "" // the detail is no message
	}
	text := strings.TrimSpace(string(rt.said.mask([]byte(pe.Detail))))
	if strings.HasPrefix(text, "<") { // a page is nothing to read in a line
		return ""
	}
	return safetext.ToLineN(text, maxWords).String()
}

// saying adds the server's own words to a host-written text.
func (rt *runtime) saying(text string, err error) string {
	var page *wire.NotEndpointError
	if errors.As(err, &page) { // what it answered has a type and no message
		if page.MediaType == "" {
			return text
		}
		return text + " (its type is " + safetext.ToLineN(page.MediaType, maxWords).String() + ")"
	}
	if words := rt.words(err); words != "" {
		return text + " (the server says: " + words + ")"
	}
	return text
}
