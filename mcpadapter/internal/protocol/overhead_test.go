package protocol

import (
	"context"
	"encoding/json"
	"io"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// overheadBatch is how many calls of one side are timed before the other's
// turn, so that both meet the same machine.
const overheadBatch = 50

// BenchmarkOverhead compares tools/call through a session with the same call
// through the bare SDK client, in turns, each over pipes in memory to the same
// SDK server. The targets for what a session adds are 50 µs and 50
// allocations.
func BenchmarkOverhead(b *testing.B) {
	for _, rev := range []string{Revision20251125, Revision20260728} {
		b.Run(rev, func(b *testing.B) {
			server := sdkServer()
			sides := []struct {
				call   func() error
				ns     []float64
				allocs float64
			}{{call: bareCaller(b, server, rev)}, {call: sessionCaller(b, server, rev)}}
			for b.Loop() {
				for i := range sides {
					s := &sides[i]
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					start := time.Now()
					for range overheadBatch {
						if err := s.call(); err != nil {
							b.Fatal(err)
						}
					}
					s.ns = append(s.ns, float64(time.Since(start).Nanoseconds())/overheadBatch)
					runtime.ReadMemStats(&after)
					s.allocs += float64(after.Mallocs-before.Mallocs) / overheadBatch
				}
			}
			rounds := float64(len(sides[0].ns))
			bare, session := middle(sides[0].ns), middle(sides[1].ns)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(bare, "bare-ns/call")
			b.ReportMetric(session, "session-ns/call")
			b.ReportMetric(session-bare, "added-ns/call")
			b.ReportMetric(sides[0].allocs/rounds, "bare-allocs/call")
			b.ReportMetric(sides[1].allocs/rounds, "session-allocs/call")
			b.ReportMetric((sides[1].allocs-sides[0].allocs)/rounds, "added-allocs/call")
		})
	}
}

// TestOverheadInAllocations keeps the part of the target that does not depend
// on the machine. It is not parallel: it counts the allocations of the process.
func TestOverheadInAllocations(t *testing.T) {
	const limit = 50
	for _, rev := range []string{Revision20251125, Revision20260728} {
		server := sdkServer()
		count := func(call func() error) float64 {
			return testing.AllocsPerRun(200, func() {
				if err := call(); err != nil {
					t.Fatal(err)
				}
			})
		}
		bare, session := count(bareCaller(t, server, rev)), count(sessionCaller(t, server, rev))
		if session > bare+limit {
			t.Errorf("%s: %.0f allocations a call, the bare SDK has %.0f", rev, session, bare)
		}
	}
}

func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

func bareCaller(t testing.TB, server *mcp.Server, rev string) func() error {
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	ss, err := server.Connect(context.Background(), &mcp.IOTransport{Reader: toServer, Writer: fromServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
	cs, err := client.Connect(context.Background(), &mcp.IOTransport{Reader: toClient, Writer: fromClient}, &mcp.ClientSessionOptions{ProtocolVersion: rev})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cs.Close()
		_ = ss.Close()
	})
	return func() error {
		_, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "add", Arguments: json.RawMessage(`{"A":2,"B":3}`)})
		return err
	}
}

func sessionCaller(t testing.TB, server *mcp.Server, rev string) func() error {
	s, err := Connect(context.Background(), Options{Dialer: pipeDialer{server}, Revision: rev, ClientVersion: "1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return func() error {
		_, err := s.CallTool(context.Background(), CallRequest{Name: "add", Args: json.RawMessage(`{"A":2,"B":3}`)})
		return err
	}
}

// BenchmarkFlood compares the latency of a call while the server is quiet with
// that while it sends log notifications as fast as they are read; the target is
// a ratio of 2. Each round sends 100,000 of them.
func BenchmarkFlood(b *testing.B) {
	const flood = 100_000
	floods := make(chan chan struct{})
	logged := 0
	f := connect(b, legacyServer(func(p *peer) {
		go func() {
			for {
				select {
				case over := <-floods:
					for range flood {
						p.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"l","data":{"text":"something happened"}}}`)
					}
					close(over)
				case <-p.gone:
					return
				}
			}
		}()
		answering(map[string]string{"tools/call": okResult})(p)
	}), pinned(Revision20251125), func(o *Options) {
		o.Handlers.Log = func(string, string, json.RawMessage) { logged++ }
	})
	call := func() float64 {
		start := time.Now()
		if _, err := f.CallTool(context.Background(), CallRequest{Name: "x"}); err != nil {
			b.Fatal(err)
		}
		return float64(time.Since(start).Nanoseconds())
	}
	var quiet, loud []float64
	for b.Loop() {
		for range 1000 {
			quiet = append(quiet, call())
		}
		over := make(chan struct{})
		floods <- over
		for done := false; !done; {
			loud = append(loud, call())
			select {
			case <-over:
				done = true
			default:
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(middle(quiet), "quiet-ns/call")
	b.ReportMetric(middle(loud), "flooded-ns/call")
	b.ReportMetric(middle(loud)/middle(quiet), "ratio")
}
