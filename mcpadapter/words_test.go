package mcpadapter

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter/client/clienttest"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
	"github.com/looprig/looprig/mcpadapter/transport"
)

// refusing fails every attempt with this class and what the server said.
func refusing(class Class, detail string) func(context.Context, int, protocol.Options) error {
	return func(context.Context, int, protocol.Options) error {
		return &protocol.Error{Class: class, Op: "connect", Message: "it did not work", Detail: detail}
	}
}

// TestFailuresRepeatTheServersWords: what a server says of a failure is shown
// where the failure is, in one clean line, without what is configured as secret
// and without the path of its endpoint.
func TestFailuresRepeatTheServersWords(t *testing.T) {
	t.Parallel()
	settings := []transport.Setting{
		{Key: "header.X-Key", Value: "canaryHeader", Secret: true},
		{Key: "url.path", Value: "/t/canaryPath/mcp", Secret: true},
		{Key: "url.query", Value: "k=canaryQuery", Secret: true},
	}
	for name, c := range map[string]struct {
		class        Class
		detail, want string
	}{
		"text":        {protocol.ClassHTTP, " down until 5 ", "it did not work (the server says: down until 5)"},
		"an error":    {protocol.ClassRemote, "no such project", "it did not work (the server says: no such project)"},
		"dirty":       {protocol.ClassAuth, "a\x1b[2J\nb", "it did not work (the server says: a\u241b[2J\u240ab)"},
		"secrets":     {protocol.ClassHTTP, "cannot POST /t/canaryPath/mcp?k=canaryQuery with canaryHeader", "it did not work (the server says: cannot POST \u2022\u2022\u2022?\u2022\u2022\u2022 with \u2022\u2022\u2022)"},
		"a page":      {protocol.ClassHTTP, "<html>\n<body>", "it did not work"},
		"nothing":     {protocol.ClassHTTP, "", "it did not work"},
		"no message":  {protocol.ClassMalformed, "detail", "it did not work"},
		"other words": {protocol.ClassLost, "detail", "it did not work"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				soft, hard := r.server("soft"), r.server("hard")
				for _, b := range []*Binding{&soft, &hard} {
					b.Server.Transport = clienttest.Transport{Settings: settings}
					r.servers[b.Name].OnConnect = refusing(c.class, c.detail)
				}
				r.must(r.start(nil, soft))
				synctest.Wait()
				if got := r.status("soft").Reason; !strings.HasPrefix(got, "connect: "+c.want) || strings.Contains(got, "canary") || c.want == "it did not work" && strings.Contains(got, "says") {
					t.Errorf("the status says %q", got)
				}
				_ = r.m.Close(t.Context())
				hard.Required = true
				err := r.start(nil, hard)
				if err == nil || !strings.Contains(err.Error(), "connect: "+c.want) || strings.Contains(err.Error(), "canary") {
					t.Errorf("the start fails with %q", err)
				}
			})
		})
	}
}

func TestCallsRepeatTheServersWords(t *testing.T) {
	t.Parallel()
	p := &prepared{h: &handler{rt: &runtime{}}}
	status := &protocol.Error{Class: protocol.ClassHTTP, Op: "tools/call", Message: "the server answered with status 500", Detail: "oops\x1b[2J"}
	if res := p.failed(tool.Result{}, status); res.Outcome != tool.Failed || res.Reason != "tools/call: the server answered with status 500 (the server says: oops\u241b[2J)" {
		t.Errorf("%+v", res)
	}
	page := &protocol.Error{Class: protocol.ClassEndpoint, Op: "tools/call", Message: "not an MCP endpoint", Detail: "text/html", Err: &wire.NotEndpointError{MediaType: "text/html"}}
	if res := p.failed(tool.Result{}, page); res.Reason != "tools/call: not an MCP endpoint (its type is text/html)" {
		t.Errorf("%+v", res)
	}
}
