package mcpadapter

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	goruntime "runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/client/clienttest"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

const (
	// floodLogs is how many log messages a flood has.
	floodLogs = 100_000
	// floodMemory bounds what the heap may grow by beside a flood.
	floodMemory = 64 << 20
)

// chatty is a server that answers at once, whatever else it sends: a message to
// start is followed by a flood of logs, and done gets a value at its end.
type chatty struct {
	start, done chan struct{}
}

func (s chatty) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	var mu sync.Mutex
	write := func(line string) error {
		mu.Lock()
		defer mu.Unlock()
		_, err := io.WriteString(out, line+"\n")
		return err
	}
	var flood sync.WaitGroup
	defer flood.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	flood.Go(func() {
		for {
			select {
			case <-s.start:
			case <-ctx.Done():
				return
			}
			for i := range floodLogs {
				if write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"flood","data":"line %d"}}`, i)) != nil {
					return
				}
			}
			s.done <- struct{}{}
		}
	})
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		result := `{}`
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"resources":{}},"serverInfo":{"name":"chatty","version":"1"}}`
		case "resources/list":
			result = `{"resources":[{"uri":"chatty://one","name":"one"}]}`
		case "resources/templates/list":
			result = `{"resourceTemplates":[]}`
		case "resources/read":
			result = `{"contents":[{"uri":"chatty://one","text":"one"}]}`
		}
		if err := write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)); err != nil {
			return err
		}
	}
	return lines.Err()
}

// BenchmarkRequestBesideLogs compares the latency of a request through the whole
// Manager while its server is at rest with the same while it sends a flood of
// log messages as fast as they are taken: rise is the ratio of the medians.
func BenchmarkRequestBesideLogs(b *testing.B) {
	s := chatty{make(chan struct{}), make(chan struct{}, 1)}
	m, err := NewManager([]Binding{{Name: "fx", Server: client.Definition{
		Name: "fx", Transport: clienttest.Pipe{Serve: s.serve}, LogLevel: "info", Revision: protocol.Revision20251125,
	}}}, Deps{SessionID: "S"})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = m.Close(context.Background()) }()
	if err := m.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	if err := m.Wait(b.Context(), "fx"); err != nil {
		b.Fatal(err)
	}
	ask := func() time.Duration {
		began := time.Now()
		if _, err := m.Read(b.Context(), "fx", "chatty://one"); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	var rest, beside []time.Duration
	var top uint64
	for b.Loop() {
		for range 500 {
			rest = append(rest, ask())
		}
		idle := heap()
		s.start <- struct{}{}
		for going := true; going; {
			for range 10 {
				beside = append(beside, ask())
			}
			now := heap()
			top = max(top, now-min(now, idle))
			select {
			case <-s.done:
				going = false
			default:
			}
		}
	}
	if top > floodMemory {
		b.Errorf("the heap grew by %d MiB", top>>20)
	}
	was, is := middle(rest), middle(beside)
	b.ReportMetric(float64(was.Nanoseconds())/1000, "rest-µs")
	b.ReportMetric(float64(is.Nanoseconds())/1000, "beside-µs")
	b.ReportMetric(float64(is)/float64(was), "rise")
	b.ReportMetric(float64(len(beside))/float64(b.N), "asked/flood")
	b.ReportMetric(float64(top>>10), "KiB-grown")
}

func heap() uint64 {
	var s goruntime.MemStats
	goruntime.ReadMemStats(&s)
	return s.HeapAlloc
}

func middle(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
