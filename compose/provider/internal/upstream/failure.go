package upstream

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/internal/safetext"
)

// maxQuoted bounds what an error quotes of an endpoint.
const maxQuoted = 400

// maxRetryAfter bounds how long an endpoint may ask to wait.
const maxRetryAfter = 24 * time.Hour

// overflows are the words by which endpoints say that a request does not fit
// into the model's context.
var overflows = []string{
	"context_length_exceeded", "context length", "context window", "context size", "exceed_context_size",
	"prompt is too long", "prompt too long", "input is too long", "maximum number of tokens", "input token count",
	"too many tokens", "request_too_large", "reduce the length of the messages", "max_prompt_tokens",
}

// Complaint is what an endpoint says of a failure, in any of the spellings.
type Complaint struct {
	Message string
	// Words are the codes, types and statuses that came with it.
	Words []string
	// RetryAfter is 0 where nothing is said.
	RetryAfter time.Duration
}

// ParseComplaint reads a failure's body or an error inside of a stream. It never
// fails: what it does not know becomes the message.
func ParseComplaint(raw []byte) Complaint {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		raw = list[0]
	}
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(raw, &outer) != nil {
		text := strings.TrimSpace(string(raw))
		if strings.HasPrefix(text, "<") {
			text = "a web page"
		}
		return Complaint{Message: text}
	}
	var inner struct {
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
		Status  string          `json:"status"`
		Details []struct {
			RetryDelay string `json:"retryDelay"`
			Reason     string `json:"reason"`
		} `json:"details"`
		Metadata struct {
			Raw json.RawMessage `json:"raw"`
		} `json:"metadata"`
	}
	out := Complaint{Message: outer.Message, Words: []string{outer.Type, scalar(outer.Code)}}
	if json.Unmarshal(outer.Error, &inner) != nil {
		if said := scalar(outer.Error); said != "" {
			out.Message = said
		}
	} else {
		out.Message = inner.Message
		out.Words = append(out.Words, inner.Type, scalar(inner.Code), inner.Status)
		for _, d := range inner.Details {
			out.Words = append(out.Words, d.Reason)
			if wait, err := time.ParseDuration(d.RetryDelay); err == nil {
				out.RetryAfter = wait
			}
		}
		if hidden := scalar(inner.Metadata.Raw); hidden != "" {
			out.Message += ": " + hidden
		}
	}
	if out.Message == "" {
		out.Message = scalar(outer.Detail)
	}
	return out
}

// scalar is a JSON string's value, or another value's text.
func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// refused makes the error of an answer that is no success.
func refused(resp *http.Response, secrets []string) error {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, MaxErrorBytes))
	if err != nil && len(raw) == 0 {
		raw = []byte("(the body cannot be read)")
	}
	said := ParseComplaint(raw)
	if wait := retryAfter(resp.Header, time.Now()); wait > 0 {
		said.RetryAfter = wait
	}
	return said.Failure(resp.StatusCode, secrets)
}

// Failure is the typed error of a complaint. status is 0 inside of a stream.
// Secrets that the endpoint repeats are taken out.
func (c Complaint) Failure(status int, secrets []string) *model.Error {
	code, retryable, what := c.judge(status)
	quoted := hide(c.Message, secrets)
	e := &model.Error{Code: code, Message: what, Retryable: retryable}
	if status > 0 {
		e.Message = fmt.Sprintf("%d: %s", status, what)
	}
	if quoted = safetext.ToLineN(quoted, maxQuoted).String(); quoted != "" {
		e.Message += ": " + quoted
	}
	if retryable {
		e.RetryAfter = min(max(c.RetryAfter, 0), maxRetryAfter)
	}
	return e
}

// judge maps statuses and words to the closed codes.
func (c Complaint) judge(status int) (code string, retryable bool, what string) {
	words := strings.ToLower(strings.Join(append(c.Words, c.Message), "\n"))
	has := func(all ...string) bool {
		for _, w := range all {
			if strings.Contains(words, w) {
				return true
			}
		}
		return false
	}
	switch {
	case status == http.StatusTooManyRequests || status == 0 && has("rate_limit", "resource_exhausted", "too_many_requests"):
		if has("insufficient_quota", "billing", "credit") {
			return "rate_limit", false, "the account has no quota left"
		}
		return "rate_limit", true, "too many requests"
	case status < 500 && status != http.StatusUnauthorized && has(overflows...):
		return "context_overflow", false, "the request does not fit into the model's context"
	case status == http.StatusUnauthorized || status == http.StatusForbidden || has("authentication_error", "api_key_invalid", "invalid_api_key"):
		return "auth", false, "the endpoint refuses the key"
	case status == http.StatusPaymentRequired:
		return "rate_limit", false, "the account has no credit left"
	case status == http.StatusRequestTimeout:
		return "network", true, "the endpoint waited too long for the request"
	case status == http.StatusRequestEntityTooLarge:
		return "context_overflow", false, "the request is too large"
	case status >= 500, status == 0 && has("overloaded", "unavailable", "server_error", "api_error", "internal", "timeout"):
		return "overloaded", true, "the endpoint cannot answer now"
	case status >= 300 && status < 400:
		return "invalid_request", false, "the endpoint points to another place, which is not followed: correct the base URL"
	case status == http.StatusNotFound:
		return "invalid_request", false, "the endpoint does not know the model or the path"
	case status == 0:
		return "stream_broken", true, "the endpoint reported an error in its answer"
	}
	return "invalid_request", false, "the endpoint refuses the request"
}

// retryAfter reads the headers that say how long to wait.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 && s < 1e7 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// Broken is the error of an answer that cannot be understood.
func Broken(what string) *model.Error {
	return &model.Error{Code: "stream_broken", Message: what, Retryable: true}
}

// Unfinished is the error of a stream that ended before its message did.
func Unfinished() *model.Error { return Broken("the answer ended before the message was complete") }
