//go:build integration

package protocol

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// hazardEnv names the row that a child process plays against the bare SDK.
const hazardEnv = "LOOPRIG_TEST_HAZARD"

// fatalHazards are the rows of the table in hazards_test.go that end the whole
// process, so that they are played in a child.
var fatalHazards = map[string]func(t *testing.T){
	"1": func(t *testing.T) {
		round := needs(`{"k":{"method":"sampling/createMessage","params":{"messages":[null],"maxTokens":1}}}`, "")
		s := bareSession{bare(t, modernCalls(nil, round), Revision20260728, &mcp.ClientOptions{
			CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
				return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "x"}}, nil
			},
		})}
		_, _ = s.call(short(t))
	},
	"2": func(t *testing.T) {
		s := bareSession{bare(t, modernCalls(nil, needs(`{"k":null}`, "")), Revision20260728, nil)}
		_, _ = s.call(short(t))
	},
	"3": func(t *testing.T) {
		s := bareSession{bare(t, legacyServer(func(p *peer) {
			m, _ := p.await("tools/call")
			p.send(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":%s}`, json.RawMessage(formParams))
			p.next()
			p.reply(m, okResult)
		}), Revision20251125, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { panic("boom") },
		})}
		_, _ = s.call(short(t))
	},
	"34": func(t *testing.T) {
		s := bareSession{bare(t, legacyServer(func(p *peer) {
			m, _ := p.await("tools/call")
			p.send(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":null}`)
			p.next()
			p.reply(m, okResult)
		}), Revision20251125, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "decline"}, nil
			},
		})}
		_, _ = s.call(short(t))
	},
}

func TestHazardsThatEndTheProcess(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for row := range fatalHazards {
		t.Run(row, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
			defer cancel()
			child := exec.CommandContext(ctx, self, "-test.run=^TestHazardInAChild$", "-test.v")
			child.Env = append(os.Environ(), hazardEnv+"="+row)
			out, err := child.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "panic:") || strings.Contains(string(out), "SURVIVED") {
				t.Fatalf("the SDK survives it by now: %v\n%s", err, bounded(string(out), 4<<10))
			}
		})
	}
}

func TestHazardInAChild(t *testing.T) {
	row := os.Getenv(hazardEnv)
	if row == "" {
		t.Skip("plays one hazard where the process may end")
	}
	fatalHazards[row](t)
	t.Log("SURVIVED")
}

// TestTheBareListenStreamStaysClosed watches for as long as our own first waits
// before a reopening take together.
func TestTheBareListenStreamStaysClosed(t *testing.T) {
	t.Parallel()
	var opened atomic.Int64
	_ = bare(t, modernServer(func(p *peer) {
		for {
			m, ok := p.next()
			if !ok {
				return
			}
			if m.Method == methodListen {
				opened.Add(1)
				p.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}}`)
				p.reply(m, `{}`)
			}
		}
	}), Revision20260728, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {}})
	eventually(t, "opened", func() bool { return opened.Load() == 1 })
	watch := time.NewTimer(3 * DefaultLimits().ListenBackoff)
	defer watch.Stop()
	<-watch.C
	if opened.Load() != 1 {
		t.Fatal("the SDK reopens it by now")
	}
}
