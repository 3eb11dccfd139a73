package demo

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
)

// lines is a client that writes and reads frames itself.
type lines struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Scanner
	done chan error
}

func serveLines(t *testing.T) *lines {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	l := &lines{t: t, in: inW, out: bufio.NewScanner(outR), done: make(chan error, 1)}
	go func() {
		err := Run(t.Context(), inR, outW)
		_ = outW.Close()
		l.done <- err
	}()
	return l
}

func (l *lines) send(frame string) {
	l.t.Helper()
	if _, err := io.WriteString(l.in, frame+"\n"); err != nil {
		l.t.Fatal(err)
	}
}

// next is the method of the next frame, or its id when it is a response, and
// the frame.
func (l *lines) next() (string, string) {
	l.t.Helper()
	if !l.out.Scan() {
		l.t.Fatalf("the output ended: %v", l.out.Err())
	}
	var f struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := json.Unmarshal(l.out.Bytes(), &f); err != nil {
		l.t.Fatal(err)
	}
	if f.Method != "" {
		return f.Method, l.out.Text()
	}
	return string(f.ID), l.out.Text()
}

// end closes the input and expects an orderly end.
func (l *lines) end() {
	l.t.Helper()
	_ = l.in.Close()
	for l.out.Scan() {
	}
	if err := <-l.done; err != nil {
		l.t.Errorf("Run = %v", err)
	}
}

func TestListChangedOvertakesTheResult(t *testing.T) {
	t.Parallel()
	t.Run("2025-11-25", func(t *testing.T) {
		t.Parallel()
		l := serveLines(t)
		l.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		if id, frame := l.next(); id != "1" || !strings.Contains(frame, `"protocolVersion":"2025-11-25"`) {
			t.Fatalf("initialize gave %s", frame)
		}
		l.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		l.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"evolve"}}`)
		for _, want := range []string{"notifications/tools/list_changed", "2"} {
			if got, frame := l.next(); got != want {
				t.Errorf("got %s, want %s", frame, want)
			}
		}
		l.end()
	})
	t.Run("2026-07-28", func(t *testing.T) {
		t.Parallel()
		const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		l := serveLines(t)
		l.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`)
		if id, frame := l.next(); id != "1" || !strings.Contains(frame, `"supportedVersions":["2026-07-28"`) {
			t.Fatalf("discover gave %s", frame)
		}
		l.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},%s}}`, meta))
		if got, frame := l.next(); got != "notifications/subscriptions/acknowledged" {
			t.Fatalf("listen gave %s", frame)
		}
		l.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"evolve",%s}}`, meta))
		got, frame := l.next()
		if got != "notifications/tools/list_changed" || !strings.Contains(frame, `"io.modelcontextprotocol/subscriptionId":7`) {
			t.Errorf("got %s, want the change under its subscription", frame)
		}
		if got, frame := l.next(); got != "2" || !strings.Contains(frame, `"resultType":"complete"`) {
			t.Errorf("got %s, want the result", frame)
		}
		l.end()
	})
}

// A form's fields are shown in the order of the schema's bytes.
func TestFormKeepsItsOrderOnTheWire(t *testing.T) {
	t.Parallel()
	l := serveLines(t)
	l.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`)
	l.next()
	l.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	l.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask-name"}}`)
	method, frame := l.next()
	if method != "elicitation/create" || !strings.Contains(frame, nameForm) {
		t.Fatalf("got %s", frame)
	}
	var req struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal([]byte(frame), &req); err != nil {
		t.Fatal(err)
	}
	l.send(`{"jsonrpc":"2.0","id":` + string(req.ID) + `,"result":{"action":"accept","content":{"name":"Ada"}}}`)
	// The defaults of the untouched fields are not invented by the server.
	if _, frame := l.next(); !strings.Contains(frame, `"answers":{"name":"Ada"}`) {
		t.Errorf("got %s", frame)
	}
	l.end()
}
