package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// The faults of the SDK that this package stands in front of, by their number
// in the list of hazards, and what shows that they are kept out. "bare" is the
// same exchange with the SDK's client alone, which has to go wrong: when an
// upgrade of the SDK mends a fault, its row here fails and can go.
//
//	 1 sampling with messages:[null]   TestHazardsThatEndTheProcess (bare), TestSamplingInAMultiRoundTripCall
//	 2 inputRequests {"k":null}        TestHazardsThatEndTheProcess (bare), TestHostileRounds
//	 3 a handler that panics           TestHazardsThatEndTheProcess (bare), TestHandlerFaultsAreAnswered, TestPanickingHandlersDoNotEndTheSession
//	 6 server/discover ignored, exit   TestSilentProbeIsFollowedByAFreshConnection, TestExitOnProbe; bare takes the whole deadline, by design
//	10 reads with ttl 0 are kept       TestReadsOfTheBareClientAreKept (bare), TestReadsAreKeptAsLongAsTheServerAllows, TestTheCacheIsBounded
//	14 a page for server/discover      TestWhatDoesNotSpeakMCP; bare needs HTTP, see the transport's tests
//	16 _meta written into params       TestHazards/16 (bare), TestConcurrentCallsShareArguments
//	17 null items of listings          TestHazards/17
//	18 floods of notifications         TestHazards/18, TestFloodDoesNotDelayRepliesNorLoseStaleFamilies
//	19 one malformed frame             TestHazards/19, TestHostileAnswersFailTheCallAtOnce
//	22 duplicate keys                  TestHazards/22, tap.TestFaults
//	23 ids of the wrong type           TestHazards/23
//	24 unknown resultType              TestHazards/24
//	25 requestState alone              TestHazards/25, TestRoundsOfInput
//	26 200 input requests at once      TestHazards/26, TestPendingElicitationsAreBounded
//	31 the listen stream ends          TestTheBareListenStreamStaysClosed (bare), TestListenStreamIsOpenedWatchedAndReopened
//	32 ping, setLevel on 2026-07-28    TestHazards/32, TestModernHandshake
//	33 schemas that overflow the stack harness/schema; no schema is compiled here, so bare has no such exchange
//	34 elicitation with params null    TestHazardsThatEndTheProcess (bare), TestRefusedServerRequests
//	35 schemas, states re-encoded      TestHazards/35, TestResultsAreTheBytesReceived
type hazard struct {
	rev   string
	serve func(p *peer)
	opts  *mcp.ClientOptions
	// bare asserts what goes wrong with the SDK alone, ours that it does not.
	bare func(t *testing.T, s bareSession)
	ours func(t *testing.T, f fixture)
}

// callAnswer serves tools/call with one raw frame; ID is the request's id.
func callAnswer(rev, frame string) func(p *peer) {
	serve := func(p *peer) {
		for {
			m, ok := p.await("tools/call")
			if !ok {
				return
			}
			p.frame(wire.Frame{Data: []byte(strings.ReplaceAll(frame, "ID", string(m.ID)))})
		}
	}
	if rev == Revision20260728 {
		return modernServer(serve)
	}
	return legacyServer(serve)
}

func failsWith(class Class) func(t *testing.T, f fixture) {
	return func(t *testing.T, f fixture) {
		_, err := f.CallTool(short(t), CallRequest{Name: "x"})
		wantClass(t, err, class)
	}
}

func succeeds(t *testing.T, s bareSession, want string) {
	t.Helper()
	res, err := s.call(short(t))
	if err != nil {
		t.Fatalf("the SDK refuses it by now: %v", err)
	}
	if raw, _ := json.Marshal(res); !strings.Contains(string(raw), want) {
		t.Fatalf("%s lacks %s", raw, want)
	}
}

const exactSchema = `{"type":"object","properties":{"z":{"maximum":9007199254740993},"a":{}}}`

func hazards() map[string]hazard {
	const modern, older = Revision20260728, Revision20251125
	return map[string]hazard{
		"16": {
			rev: modern, serve: modernServer(answering(map[string]string{"tools/call": okResult})),
			bare: func(t *testing.T, s bareSession) {
				params := &mcp.CallToolParams{Name: "x"}
				if _, err := s.CallTool(short(t), params); err != nil || params.Meta == nil {
					t.Fatalf("the SDK leaves shared params alone by now: %v", err)
				}
			},
		},
		"17": {
			rev: older, serve: legacyServer(answering(map[string]string{"resources/list": `{"resources":[null]}`})),
			bare: func(t *testing.T, s bareSession) {
				res, err := s.ListResources(short(t), nil)
				if err != nil || len(res.Resources) != 1 || res.Resources[0] != nil {
					t.Fatalf("%+v, %v", res, err)
				}
			},
			ours: func(t *testing.T, f fixture) {
				page, err := f.List(short(t), Resources, "")
				if err != nil || len(page.Items) != 0 || page.NullItems != 1 {
					t.Fatalf("%+v, %v", page, err)
				}
			},
		},
		"19": {
			rev: older, serve: legacyServer(func(p *peer) {
				m, _ := p.await("tools/call")
				p.send(`{"jsonrpc":"2.0",`)
				p.reply(m, okResult)
				answering(nil)(p)
			}),
			bare: func(t *testing.T, s bareSession) {
				if _, err := s.call(short(t)); err == nil || errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("the SDK goes on by now: %v", err)
				}
			},
			ours: func(t *testing.T, f fixture) {
				if _, err := f.CallTool(short(t), CallRequest{Name: "x"}); err != nil {
					t.Fatal(err)
				}
			},
		},
		"22": {
			rev: older, serve: callAnswer(older, `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"shown","text":"meant"}]}}`),
			bare: func(t *testing.T, s bareSession) { succeeds(t, s, `"meant"`) },
			ours: failsWith(ClassMalformed),
		},
		"23": {
			rev: older, serve: callAnswer(older, `{"jsonrpc":"2.0","id":"ID","result":{"content":[]}}`),
			bare: func(t *testing.T, s bareSession) {
				ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
				defer cancel()
				if _, err := s.call(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("the SDK notices by now: %v", err)
				}
			},
			ours: failsWith(ClassProtocol),
		},
		"24": {
			rev: modern, serve: callAnswer(modern, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"task","task":{"taskId":"1"}}}`),
			bare: func(t *testing.T, s bareSession) { succeeds(t, s, `"content":[]`) },
			ours: failsWith(ClassUnsupported),
		},
		"25": {
			rev: modern, serve: modernCalls(nil, needs("", `"state"`), okResult),
			bare: func(t *testing.T, s bareSession) { succeeds(t, s, `"requestState":"state"`) },
			ours: func(t *testing.T, f fixture) {
				res, err := f.CallTool(short(t), CallRequest{Name: "x"})
				if err != nil || string(res.Raw) != okResult {
					t.Fatalf("%s, %v", res.rawText(), err)
				}
			},
		},
		"32": {
			rev: modern, serve: modernServer(func(p *peer) {
				for {
					m, ok := p.next()
					if !ok {
						return
					}
					if m.Method == "ping" || m.Method == "logging/setLevel" {
						p.fail(m, CodeMethodNotFound, "not in this revision")
					} else {
						p.reply(m, `{"prompts":[],"content":[]}`)
					}
				}
			}),
			bare: func(t *testing.T, s bareSession) {
				//nolint:staticcheck // deprecated by the revision; that the SDK still sends it is the fault
				if s.Ping(short(t), nil) == nil || s.SetLoggingLevel(short(t), &mcp.SetLoggingLevelParams{Level: "info"}) == nil {
					t.Fatal("the SDK does not send them by now")
				}
			},
			ours: func(t *testing.T, f fixture) {
				if err := errors.Join(f.Ping(short(t)), f.SetLogLevel(short(t), "info")); err != nil {
					t.Fatal(err)
				}
			},
		},
		"35": {
			rev: modern, serve: modernServer(answering(map[string]string{"tools/list": `{"tools":[{"name":"x","inputSchema":` + exactSchema + `}]}`})),
			bare: func(t *testing.T, s bareSession) {
				res, err := s.ListTools(short(t), nil)
				if err != nil {
					t.Fatal(err)
				}
				if raw, _ := json.Marshal(res.Tools[0].InputSchema); string(raw) == exactSchema {
					t.Fatal("the SDK keeps schemas as they are by now")
				}
			},
			ours: func(t *testing.T, f fixture) {
				page, err := f.List(short(t), Tools, "")
				if err != nil || !contains(page.Items[0], exactSchema) {
					t.Fatalf("%s, %v", page.Raw, err)
				}
			},
		},
	}
}

func TestHazards(t *testing.T) {
	t.Parallel()
	for row, h := range hazards() {
		t.Run(row, func(t *testing.T) {
			t.Parallel()
			t.Run("bare", func(t *testing.T) { h.bare(t, bareSession{bare(t, h.serve, h.rev, h.opts)}) })
			if h.ours != nil {
				t.Run("ours", func(t *testing.T) { h.ours(t, connect(t, h.serve, pinned(h.rev))) })
			}
		})
	}
	t.Run("18", floodOfTheBareClient)
	t.Run("26", manyQuestions)
}

// floodOfTheBareClient shows that the SDK queues without bound: what a blocked
// handler has not taken is all delivered later.
func floodOfTheBareClient(t *testing.T) {
	t.Parallel()
	const flood = 3000
	block, taken := make(chan struct{}), new(atomic.Int64)
	s := bareSession{bare(t, legacyServer(func(p *peer) {
		m, _ := p.await("tools/call")
		for range flood {
			p.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
		}
		p.reply(m, okResult)
		answering(nil)(p)
	}), Revision20251125, &mcp.ClientOptions{LoggingMessageHandler: func(context.Context, *mcp.LoggingMessageRequest) {
		<-block
		taken.Add(1)
	}})}
	_, err := s.call(short(t))
	close(block)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "all delivered", func() bool { return taken.Load() == flood })
}

// manyQuestions shows that the SDK asks everything at once, and that the
// session refuses a round of too many.
func manyQuestions(t *testing.T) {
	t.Parallel()
	const many = 200
	list := make([]string, many)
	for i := range list {
		list[i] = fmt.Sprintf(`"k%d":{"method":"elicitation/create","params":%s}`, i, formParams)
	}
	round := needs("{"+strings.Join(list, ",")+"}", "")
	var asking atomic.Int64
	s := bareSession{bare(t, modernCalls(nil, round, okResult), Revision20260728, &mcp.ClientOptions{
		ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asking.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		},
	})}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = s.call(ctx)
	}()
	eventually(t, "all are asked at once", func() bool { return asking.Load() == many })
	cancel()
	<-over
	f := connect(t, modernCalls(nil, round), eliciting(func(context.Context, ElicitRequest) (ElicitResult, error) {
		t.Error("asked")
		return ElicitResult{}, nil
	}))
	failsWith(ClassOverLimit)(t, f)
}

// TestReadsOfTheBareClientAreKept is not parallel: it looks at the heap.
func TestReadsOfTheBareClientAreKept(t *testing.T) {
	const reads, size = 300, 100 << 10
	serve := modernServer(answering(map[string]string{
		"resources/read": `{"contents":[{"uri":"a:","text":"` + strings.Repeat("x", size) + `"}],"ttlMs":0}`,
	}))
	grown := func(read func(uri string) error) int64 {
		before := heap()
		for i := range reads {
			if err := read(fmt.Sprint("a:", i)); err != nil {
				t.Fatal(err)
			}
		}
		return heap() - before
	}
	s := bare(t, serve, Revision20260728, nil)
	if n := grown(func(uri string) error {
		_, err := s.ReadResource(short(t), &mcp.ReadResourceParams{URI: uri})
		return err
	}); n < reads*size/2 {
		t.Errorf("the SDK lets what is stale go by now: %d bytes kept", n)
	}
	f := connect(t, serve)
	if n := grown(func(uri string) error {
		_, err := f.ReadResource(short(t), uri)
		return err
	}); n > reads*size/4 {
		t.Errorf("%d bytes kept", n)
	}
	runtime.KeepAlive(s)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
