package compose

import (
	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/mcpadapter/transport"
	"github.com/looprig/looprig/mcpadapter/transport/sse"
	"github.com/looprig/looprig/mcpadapter/transport/streamhttp"
)

// endpointTransport is how a server over HTTP or SSE is reached: through the
// proxies of the user's own environment alone, with TLS wherever the entry does
// not say otherwise. Nothing is contacted yet.
func endpointTransport(s config.Server, env []string) (transport.Transport, error) {
	if env == nil {
		env = []string{}
	}
	if s.Type == "sse" {
		return sse.New(sse.Config{URL: s.URL, Headers: s.Headers, HostEnv: env, PlainHTTP: s.PlainHTTP})
	}
	return streamhttp.New(streamhttp.Config{URL: s.URL, Headers: s.Headers, HostEnv: env, PlainHTTP: s.PlainHTTP})
}
