package httpguard

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// Kind says how an exchange failed.
type Kind uint8

// The kinds of an *ExchangeError.
const (
	// Unreachable: no connection came about, so nothing was sent.
	Unreachable Kind = iota + 1
	// Broken: the connection ended before the answer did.
	Broken
	// Slow: a connection, the headers or the rest of a frame did not come in
	// time.
	Slow
	// Aborted: the server gave up this exchange, and perhaps nothing else.
	Aborted
	// Malformed: what came is no HTTP answer within the limits.
	Malformed
	// Cancelled: the caller's context ended, or the client was closed.
	Cancelled
)

// ExchangeError is the failure of one request. A refusal for the user's safety
// is a *wire.GuardError instead.
type ExchangeError struct {
	Kind Kind
	// Sent says that the request may have reached the server.
	Sent bool
	// Reason is host-written.
	Reason string
	// Err is a context's error or an error number of the system, or nil:
	// nothing that could carry an address, a header or text of the server.
	Err error
}

func (e *ExchangeError) Error() string { return e.Reason }

func (e *ExchangeError) Unwrap() error { return e.Err }

// ConfigError says what is wrong with a Config. It never shows a value.
type ConfigError struct {
	// Field is the Config field, for headers with the name.
	Field string
	// Reason is host-written.
	Reason string
}

func (e *ConfigError) Error() string { return e.Field + " " + e.Reason }

// Causes with which an exchange is cancelled from inside.
var (
	errHeadersLate = errors.New("no response headers in time")
	errFrameLate   = errors.New("a frame did not end in time")
	errClosed      = errors.New("the client is closed")
)

func refused(reason string) *wire.GuardError { return &wire.GuardError{Reason: reason} }

// failure turns an error of net/http into one of ours. connected says that a
// connection was there, so that bytes of the request may be out.
func failure(ctx context.Context, err error, connected bool) error {
	var guard *wire.GuardError
	if errors.As(err, &guard) {
		return guard
	}
	e := &ExchangeError{Kind: Broken, Sent: connected, Err: systemError(err)}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errHeadersLate), errors.Is(cause, errFrameLate):
		e.Kind, e.Reason, e.Err = Slow, cause.Error(), os.ErrDeadlineExceeded
		return e
	case cause != nil:
		e.Kind, e.Reason, e.Err = Cancelled, "cancelled", ctx.Err()
		return e
	}
	if reason := certificateFault(err); reason != "" {
		return refused(reason)
	}
	e.Kind, e.Reason = sort(err, connected)
	return e
}

func sort(err error, connected bool) (Kind, string) {
	var (
		name   *net.DNSError
		op     *net.OpError
		record tls.RecordHeaderError
		alert  tls.AlertError
		out    interface{ Timeout() bool }
	)
	switch {
	case !connected && errors.As(err, &out) && out.Timeout():
		return Slow, "no connection in time"
	case errors.As(err, &name):
		return Unreachable, "the server's name cannot be resolved"
	case errors.As(err, &record):
		return Unreachable, "the server does not speak TLS"
	case errors.As(err, &alert):
		return Unreachable, "the TLS handshake failed"
	case errors.Is(err, syscall.ECONNREFUSED):
		return Unreachable, "the server refused the connection"
	case errors.As(err, &op) && op.Op == "dial", !connected:
		return Unreachable, "the server cannot be reached"
	case errors.As(err, &out) && out.Timeout():
		return Slow, errHeadersLate.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.As(err, &op), endsConnection(err.Error()):
		return Broken, "the server closed the connection"
	case strings.Contains(err.Error(), "stream error: "): // of one stream of HTTP/2
		return Aborted, "the server broke off the exchange"
	}
	return Malformed, "no valid HTTP answer"
}

// endsConnection recognises the ends of a connection that net/http tells in
// text alone.
func endsConnection(text string) bool {
	for _, known := range []string{"server closed idle connection", "client connection lost", "connection force closed", "GOAWAY"} {
		if strings.Contains(text, known) {
			return true
		}
	}
	return false
}

// certificateFault names what is wrong with the server's certificate, "" for
// none. The certificate's own text is not repeated.
func certificateFault(err error) string {
	var (
		host    x509.HostnameError
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		verify  *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &host):
		return "the server's certificate is for another host"
	case errors.As(err, &unknown):
		return "the server's certificate is signed by nobody that this machine trusts"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the server's certificate has expired or is not valid yet"
	case errors.As(err, &invalid), errors.As(err, &verify):
		return "the server's certificate is not valid"
	}
	return ""
}

// systemError keeps an error number, which is what callers may decide on.
func systemError(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number
	}
	return nil
}
