package streamhttp

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/looprig/looprig/mcpadapter/internal/httpguard"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// refusal takes an answer with a status that is no success. On revisions with
// sessions a 404 says that the session is gone, whatever its body says: servers
// put a JSON-RPC error there that reads like an answer, and the session is dead
// all the same.
func (f *flight) refusal(resp *httpguard.Response) {
	if resp.Status == http.StatusNotFound && f.session != "" && !modern(f.out.Revision) {
		f.expire()
		return
	}
	body := resp.Body.Head(maxErrorBody + 1)
	switch {
	case f.ctx.Err() != nil:
	case resp.Status == http.StatusUnauthorized || resp.Status == http.StatusForbidden:
		f.fail(true, statusError(resp, body))
	case resp.Status == http.StatusBadRequest && f.session != "" && sessionGone(body):
		f.expire()
	default:
		if frame := errorFrame(body, f.out.ID); frame != nil && resp.Status >= 400 && len(frame) <= f.c.limit {
			f.c.deliver(wire.Frame{Data: frame})
			return
		}
		f.fail(true, statusError(resp, body))
	}
}

// sessionGone says whether the body of a 400 means that the session which the
// request carried is unknown. Popular servers say so after a restart, in words
// alone; an error that carries a request's id is an answer and never meant.
func sessionGone(body []byte) bool {
	text := string(body[:min(len(body), wire.MaxStatusBody)])
	if m, ok := parseError(body); ok {
		var inner struct{ Message string }
		if !m.idless() || json.Unmarshal(m.Error, &inner) != nil {
			return false
		}
		text = inner.Message
	} else if strings.ContainsAny(text, "{<") {
		return false
	}
	text = strings.ToLower(text)
	if strings.Contains(text, "server not initialized") {
		return true
	}
	if !strings.Contains(text, "session") {
		return false
	}
	for _, word := range []string{"not found", "no valid", "invalid", "unknown", "expired", "terminated", "does not exist"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

func statusError(resp *httpguard.Response, body []byte) *wire.StatusError {
	e := &wire.StatusError{Status: resp.Status, MediaType: resp.MediaType[:min(len(resp.MediaType), maxMediaType)]}
	if isText(resp.MediaType) {
		e.Body = cut(body, wire.MaxStatusBody)
	}
	if resp.Status == http.StatusUnauthorized || resp.Status == http.StatusForbidden {
		e.Challenge = httpguard.Challenge(resp.Header)
	}
	e.RetryAfter = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	return e
}

func isText(media string) bool {
	return media == "" || strings.HasPrefix(media, "text/") || media == mediaJSON || strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "/xml")
}

// cut keeps the beginning of a text, whole characters, "" where it is none.
func cut(body []byte, limit int) string {
	body = body[:min(len(body), limit)]
	for i := 0; i < utf8.UTFMax && len(body) > 0 && !utf8.Valid(body); i++ {
		body = body[:len(body)-1]
	}
	if !utf8.Valid(body) {
		return ""
	}
	return string(body)
}

// retryAfter reads a Retry-After header: seconds or a date.
func retryAfter(value string, now time.Time) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}
