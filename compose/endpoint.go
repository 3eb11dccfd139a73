package compose

import (
	"fmt"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/mcpadapter/transport"
)

// endpointTransport is how a server over HTTP or SSE is reached.
func endpointTransport(s config.Server, _ []string) (transport.Transport, error) {
	return nil, fmt.Errorf("servers over %s cannot be used by this version", s.Type)
}
