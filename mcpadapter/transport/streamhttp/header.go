package streamhttp

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/looprig/looprig/mcpadapter/internal/httpguard"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// The revisions at which the transport's rules change. They compare as text.
const (
	revisionStreams  = "2025-03-26" // streamable HTTP: sessions, standing streams
	revisionHeader   = "2025-06-18" // MCP-Protocol-Version is sent
	revisionSessions = "2025-11-25" // the last with sessions
	revisionModern   = "2026-07-28" // each request for itself, mirrored in headers
)

// The methods that the transport's own rules name.
const (
	methodInitialize  = "initialize"
	methodDiscover    = "server/discover"
	methodInitialized = "notifications/initialized"
	methodCancelled   = "notifications/cancelled"
)

const (
	headerRevision  = "Mcp-Protocol-Version"
	headerSession   = "Mcp-Session-Id"
	headerMethod    = "Mcp-Method"
	headerName      = "Mcp-Name"
	headerParam     = "Mcp-Param-"
	headerLastEvent = "Last-Event-Id"

	mediaJSON   = "application/json"
	mediaEvents = "text/event-stream"
)

func modern(revision string) bool { return revision >= revisionModern }

// postHeader builds the headers of a POST. A *wire.GuardError says that a
// parameter cannot be sent.
func postHeader(out wire.Outgoing, session string) (http.Header, error) {
	h := http.Header{
		"Content-Type": {mediaJSON},
		"Accept":       {mediaJSON + ", " + mediaEvents},
	}
	setContext(h, out.Revision, session, out.Method == methodInitialize)
	if !modern(out.Revision) || out.Method == "" {
		return h, nil
	}
	h.Set(headerMethod, encodeValue(out.Method))
	if out.Name != "" {
		h.Set(headerName, encodeValue(out.Name))
	}
	for _, p := range out.Params {
		switch {
		case !httpguard.IsToken(p.Name):
			return nil, &wire.GuardError{Reason: "the tool asks for a header whose name is not valid"}
		case len(p.Value) > maxParamBytes:
			return nil, &wire.GuardError{Reason: "an argument is too large for the header that the tool asks for"}
		}
		h.Set(headerParam+p.Name, encodeValue(p.Value))
	}
	return h, nil
}

// streamHeader builds the headers of the GET that opens or resumes a stream.
func streamHeader(revision, session, lastEvent string) http.Header {
	h := http.Header{"Accept": {mediaEvents}}
	setContext(h, revision, session, false)
	if lastEvent != "" {
		h.Set(headerLastEvent, lastEvent)
	}
	return h
}

func setContext(h http.Header, revision, session string, initialize bool) {
	if revision >= revisionHeader && !initialize {
		h.Set(headerRevision, revision)
	}
	if session != "" && !initialize && !modern(revision) {
		h.Set(headerSession, session)
	}
}

const (
	encodedPrefix = "=?base64?"
	encodedSuffix = "?="
)

// encodeValue makes a header value of any text: what is not plain ASCII, has
// white space at an end or looks encoded already travels in Base64, and so does
// nothing at all, which a header cannot tell from being absent
// (2026-07-28, Streamable HTTP, Value Encoding).
func encodeValue(text string) string {
	plain := text != "" && text[0] != ' ' && text[len(text)-1] != ' ' &&
		!(strings.HasPrefix(text, encodedPrefix) && strings.HasSuffix(text, encodedSuffix))
	for i := 0; plain && i < len(text); i++ {
		plain = text[i] >= ' ' && text[i] <= '~'
	}
	if plain {
		return text
	}
	return encodedPrefix + base64.StdEncoding.EncodeToString([]byte(text)) + encodedSuffix
}

// validSession says whether a session id can be sent back: visible ASCII, not
// empty, not too long.
func validSession(id string) bool {
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return id != "" && len(id) <= maxSessionID
}
