//go:build integration

package mcpadapter

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/internal/fixture"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
	"github.com/looprig/looprig/mcpadapter/transport"
	"github.com/looprig/looprig/mcpadapter/transport/stdio"
	"github.com/looprig/looprig/mcpadapter/transport/streamhttp"
)

// BenchmarkRequestBesideAFlood is BenchmarkRequestBesideLogs with a process as
// the server: how the latency of a request rises while one call makes the server
// send 100,000 log messages. another asks a second server meanwhile. bare is what a reader of the same stream sees that
// looks at nothing but ids: what the server and the machine cost by themselves.
func BenchmarkRequestBesideAFlood(b *testing.B) {
	bin := fixture.Build(b)
	set := map[string]string{"kind": "logs", "era": fixture.EraLegacy}
	b.Run("stdio", func(b *testing.B) {
		tr, err := stdio.New(stdio.Config{Command: bin, Args: fixture.Args("flood", "", set)})
		if err != nil {
			b.Fatal(err)
		}
		besideFlood(b, tr)
	})
	b.Run("http", func(b *testing.B) {
		cmd := exec.Command(bin, append(fixture.Args("flood", "", set), "--http", "127.0.0.1:0")...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		defer func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}()
		var at struct {
			URL string `json:"url"`
		}
		if err := json.NewDecoder(out).Decode(&at); err != nil {
			b.Fatal(err)
		}
		tr, err := streamhttp.New(streamhttp.Config{URL: at.URL})
		if err != nil {
			b.Fatal(err)
		}
		besideFlood(b, tr)
	})
	b.Run("another", func(b *testing.B) {
		tr, err := stdio.New(stdio.Config{Command: bin, Args: fixture.Args("flood", "", set)})
		if err != nil {
			b.Fatal(err)
		}
		other, err := stdio.New(stdio.Config{Command: bin, Args: fixture.Args("flood", "", set)})
		if err != nil {
			b.Fatal(err)
		}
		besideFlood(b, tr, other)
	})
	b.Run("bare", func(b *testing.B) { bareBesideFlood(b, bin, fixture.Args("flood", "", set)) })
}

// besideFlood measures through the whole Manager.
func besideFlood(b *testing.B, tr transport.Transport, others ...transport.Transport) {
	var bindings []Binding
	asked := "fx"
	for i, t := range append([]transport.Transport{tr}, others...) {
		name := "fx"
		if i > 0 {
			name, asked = "other", "other"
		}
		bindings = append(bindings, Binding{Name: name, Server: client.Definition{
			Name: name, Transport: t, LogLevel: "info", Revision: protocol.Revision20251125, RequestTimeout: 5 * time.Minute,
		}})
	}
	m, err := NewManager(bindings, Deps{SessionID: "S"})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = m.Close(context.Background()) }()
	if err := m.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	for _, x := range bindings {
		if err := m.Wait(b.Context(), x.Name); err != nil {
			b.Fatal(err)
		}
	}
	var flood tool.Handler
	for _, d := range m.SessionTools("main", "main") {
		if d.Name == "mcp__fx__flood" {
			flood = d.Handler
		}
	}
	beside(b, func() error {
		_, err := m.Read(b.Context(), asked, "fixture://one")
		return err
	}, func() error {
		p, err := flood.Prepare(b.Context(), json.RawMessage(`{}`))
		if err != nil {
			return err
		}
		if res := p.Invoke(b.Context(), tool.Call{ID: "flood"}); res.Outcome != tool.OK {
			return fmt.Errorf("the flood: %s %s", res.Outcome, res.Reason)
		}
		return nil
	})
}

// beside reports how long ask takes, at rest and while flood runs.
func beside(b *testing.B, ask, flood func() error) {
	timed := func() time.Duration {
		began := time.Now()
		if err := ask(); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	var rest, loud []time.Duration
	var top uint64
	for b.Loop() {
		for range 500 {
			rest = append(rest, timed())
		}
		idle := heap()
		done := make(chan error, 1)
		go func() { done <- flood() }()
		for going := true; going; {
			loud = append(loud, timed())
			if len(loud)%10 == 0 {
				now := heap()
				top = max(top, now-min(now, idle))
			}
			select {
			case err := <-done:
				if err != nil {
					b.Fatal(err)
				}
				going = false
			default:
			}
		}
	}
	if top > floodMemory {
		b.Errorf("the heap grew by %d MiB", top>>20)
	}
	micro := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	was, is := middle(rest), middle(loud) // sorts them
	was95, is95 := rest[len(rest)*95/100], loud[len(loud)*95/100]
	b.ReportMetric(micro(was), "rest-µs")
	b.ReportMetric(micro(is), "beside-µs")
	b.ReportMetric(micro(was95), "rest-p95-µs")
	b.ReportMetric(micro(is95), "beside-p95-µs")
	b.ReportMetric(float64(is)/float64(was), "rise")
	b.ReportMetric(float64(is95)/float64(was95), "rise-p95")
	b.ReportMetric(float64(len(loud))/float64(b.N), "asked/flood")
	b.ReportMetric(float64(top>>10), "KiB-grown")
}

// bareBesideFlood measures with a reader that compares ids and drops the rest.
func bareBesideFlood(b *testing.B, bin string, args []string) {
	cmd := exec.Command(bin, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = cmd.Wait()
	}()
	answers := map[string]chan struct{}{`"id":1,`: make(chan struct{}, 1), `"id":2,`: make(chan struct{}, 1), `"id":3,`: make(chan struct{}, 1)}
	go func() {
		lines := bufio.NewReaderSize(out, 64<<10)
		for {
			line, err := lines.ReadSlice('\n')
			if err != nil {
				return
			}
			for id, got := range answers {
				if bytes.Contains(line[:min(len(line), 64)], []byte(id)) {
					got <- struct{}{}
				}
			}
		}
	}()
	send := func(id int, method, params string) error {
		_, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
		if err == nil {
			<-answers[fmt.Sprintf(`"id":%d,`, id)]
		}
		return err
	}
	if err := send(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bare","version":"1"}}`); err != nil {
		b.Fatal(err)
	}
	if _, err := fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		b.Fatal(err)
	}
	beside(b,
		func() error { return send(2, "resources/read", `{"uri":"fixture://one"}`) },
		func() error { return send(3, "tools/call", `{"name":"flood","arguments":{}}`) })
}
