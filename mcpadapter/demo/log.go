package demo

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLogLines bounds demo://log; the oldest lines are dropped and counted.
const maxLogLines = 200

// record notes a call in demo://log, tells the subscribers of that resource,
// and sends the line as a log message. It is best effort: a client that is
// gone is noticed by the call itself.
func (s *server) record(ctx context.Context, ss *mcp.ServerSession, level mcp.LoggingLevel, line string) {
	s.mu.Lock()
	s.log = append(s.log, line)
	if over := len(s.log) - maxLogLines; over > 0 {
		s.log = append([]string(nil), s.log[over:]...)
		s.dropped += over
	}
	s.mu.Unlock()
	_ = ss.Log(ctx, &mcp.LoggingMessageParams{Level: level, Logger: "demo", Data: line})
	_ = s.sdk.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: logURI})
}

// logText is the text of demo://log.
func (s *server) logText() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	if s.dropped > 0 {
		fmt.Fprintf(&b, "(%d older lines dropped)\n", s.dropped)
	}
	for i, line := range s.log {
		fmt.Fprintf(&b, "%d %s\n", s.dropped+i+1, line)
	}
	if b.Len() == 0 {
		return "(no calls yet)\n"
	}
	return b.String()
}
