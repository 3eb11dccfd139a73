// Package transport names the sealed type by which a host hands a way of
// reaching a server to the adapter. Implementations are made by the packages
// below it (stdio; streamhttp and sse); nobody else can make one, and no SDK
// type appears in any of them.
package transport

import "github.com/looprig/looprig/mcpadapter/internal/wire"

// Transport is a factory of connections to one server. It is immutable and
// safe for concurrent use.
type Transport interface {
	// Kind is "stdio", "http" or "sse".
	Kind() string
	// Origin describes the peer without arguments, paths, queries, headers or
	// environment values.
	Origin() string
	// Declared lists every declared setting as sorted key/value pairs for the
	// configuration digest. Values of environment variables and headers are
	// included raw here and are hashed with a key by the caller: never log it.
	Declared() []Setting
	// Dialer is the sealed part: only packages of this module can name it.
	Dialer() wire.Dialer
}

// Setting is one declared setting of a transport.
type Setting struct {
	Key   string
	Value string
	// Secret marks a value that only ever leaves as a keyed hash.
	Secret bool
}
