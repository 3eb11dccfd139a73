//go:build external

package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/looprig/looprig/mcpadapter/demo"
	"github.com/looprig/looprig/mcpadapter/transport"
)

const (
	page = "../../docs/compatibility.md"
	// elsewhere begins what this test does not write: it stays as it is.
	elsewhere = "\n## Model providers\n"
	// updateVar, when set, writes the page instead of comparing it.
	updateVar = "LOOPRIG_UPDATE"
	// maxMeetings bounds how often a published server is met.
	maxMeetings = 4
)

// What a cell of the matrix can say.
const (
	works  = "yes"
	absent = "·"
	never  = "–"
)

// over lists the revisions that each transport is tried with.
var over = []struct {
	kind      string
	revisions []string
}{
	{kindStdio, []string{rev2024, rev0326, rev0618, rev1125, rev2026}},
	{kindHTTP, []string{rev0326, rev0618, rev1125, rev2026}},
	{kindSSE, []string{rev2024, rev0326, rev0618, rev1125}},
}

// table collects rows from parallel tests and keeps their order.
type table struct {
	mu   sync.Mutex
	rows [][]string
}

// reserve makes room for one row.
func (tb *table) reserve() int {
	tb.rows = append(tb.rows, nil)
	return len(tb.rows) - 1
}

func (tb *table) set(i int, cells ...string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.rows[i] = cells
}

func (tb *table) write(b *strings.Builder, header ...string) {
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(header)
	line(slices.Repeat([]string{"---"}, len(header)))
	for _, row := range tb.rows {
		line(row)
	}
}

func TestCompatibility(t *testing.T) {
	var requests, servers table
	t.Run("requests", func(t *testing.T) { requestMatrix(t, &requests) })
	t.Run("published", func(t *testing.T) { publishedServers(t, &servers) })
	if t.Failed() || slices.ContainsFunc(slices.Concat(requests.rows, servers.rows), func(row []string) bool { return row == nil }) {
		return // of a run that is not whole no page is made
	}
	var b strings.Builder
	b.WriteString(intro)
	requests.write(&b, slices.Concat([]string{"server", "transport", "revision", "found"}, names(probes))...)
	b.WriteString(middle)
	servers.write(&b, "server", "version", "transport", "revision", "tools", "prompts", "resources", "templates", "call")
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	old, rest := string(raw), ""
	if at := strings.Index(old, elsewhere); at >= 0 { // another test's
		old, rest = old[:at], old[at:]
	}
	if os.Getenv(updateVar) != "" {
		if err := os.WriteFile(page, []byte(b.String()+rest), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != b.String() {
		t.Errorf("docs/compatibility.md is stale: make compatibility writes it. It should say:\n%s", b.String())
	}
}

func names(all []probe) []string {
	out := make([]string, len(all))
	for i, p := range all {
		out[i] = p.name
	}
	return out
}

// requestMatrix tries every request on two servers, over every transport and
// revision that they meet on.
func requestMatrix(t *testing.T, tb *table) {
	bin := buildFixture(t)
	for _, o := range over {
		for _, revision := range o.revisions {
			row := tb.reserve()
			t.Run(o.kind+"/"+revision+"/fixture", func(t *testing.T) {
				t.Parallel()
				tr := fixture(t, bin, o.kind, revision)
				tb.set(row, matrixRow(t, tr, fixturePeer, "fixture", o.kind, revision, true)...)
			})
		}
	}
	for _, o := range over[:2] {
		for _, revision := range o.revisions {
			row := tb.reserve()
			t.Run(o.kind+"/"+revision+"/demo", func(t *testing.T) {
				t.Parallel()
				tb.set(row, matrixRow(t, demoOver(t, o.kind), demoPeer, "demo (official SDK)", o.kind, revision, revision == rev2026)...)
			})
		}
	}
}

// demoOver is the demo, run by this binary over stdio and in this process over
// HTTP.
func demoOver(t *testing.T, kind string) transport.Transport {
	t.Helper()
	if kind == kindStdio {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		return program{path: self, args: []string{demoRole}}.over(t)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- demo.ServeHTTP(ctx, "127.0.0.1:0", demo.Options{}, func(url string) { ready <- url })
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the demo: %v", err)
		}
	})
	select {
	case url := <-ready:
		return endpoint(t, kind, url)
	case err := <-ended:
		t.Fatal(err)
		return nil
	}
}

// matrixRow connects with the revision pinned, tries every request, and connects
// once more to find the revision where that is the newest that both know.
func matrixRow(t *testing.T, tr transport.Transport, p peer, server, kind, revision string, find bool) []string {
	t.Helper()
	row := []string{server, kind, revision}
	found := never
	if find {
		r, err := connect(t, tr, "")
		if err != nil {
			t.Fatalf("auto: %v", err)
		}
		if got := r.Status().Revision; got != revision {
			t.Errorf("found revision %s", got)
		}
		found = works
	}
	r, err := connect(t, tr, revision)
	if err != nil {
		t.Fatalf("pinned: %v", err)
	}
	if got := r.Status().Revision; got != revision {
		t.Errorf("pinned, but speaks %s", got)
	}
	if g := r.Generation(); len(g.Tools) == 0 || len(g.Prompts) == 0 || len(g.Resources) == 0 || len(g.Templates) == 0 {
		t.Errorf("%d tools, %d prompts, %d resources, %d templates", len(g.Tools), len(g.Prompts), len(g.Resources), len(g.Templates))
	}
	row = append(row, found)
	for _, pr := range probes {
		cell := works
		if revision < pr.since || revision > pr.until {
			row = append(row, never)
			continue
		}
		switch err := pr.try(t.Context(), r, p); {
		case errors.Is(err, errAbsent):
			cell = absent
		case err != nil:
			cell = "no"
			t.Errorf("%s: %v", pr.name, err)
		}
		row = append(row, cell)
	}
	return row
}

// published is a server from the package registry. reach gives its transport.
type published struct {
	name, pkg, kind, revision string
	tools                     int
	reach                     func(t *testing.T) transport.Transport
	call                      use // what works without a network
}

func publishedServers(t *testing.T, tb *table) {
	for _, s := range publishedList {
		row := tb.reserve()
		t.Run(s.name+"/"+s.kind, func(t *testing.T) { // one at a time: they start slowly as it is
			r := meet(t, s)
			// Some add tools once they know what the client can do.
			if err := r.await(t.Context(), probeWait, "all tools", func() bool { return len(r.Generation().Tools) == s.tools }); err != nil {
				t.Errorf("%d tools, expected %d: %v", len(r.Generation().Tools), s.tools, err)
			}
			g := r.Generation()
			for _, tool := range g.Tools {
				if tool.Withheld != "" {
					t.Errorf("%s is withheld: %s", tool.Name, tool.Withheld)
				}
			}
			called := never
			if s.call.tool != "" {
				called = "`" + s.call.tool + "`"
				if err := r.expect(t.Context(), s.call); err != nil {
					t.Error(err)
				}
			}
			tb.set(row, s.name, pinned(t, s.pkg), s.kind, g.Revision,
				strconv.Itoa(len(g.Tools)), strconv.Itoa(len(g.Prompts)), strconv.Itoa(len(g.Resources)), strconv.Itoa(len(g.Templates)), called)
		})
	}
}

// meet connects to a published server and checks the revision that is found. The
// search for the newest one is bounded: a program that takes longer to start than
// that is spoken to as one that does not know it, and is given another chance.
func meet(t *testing.T, s published) *rig {
	t.Helper()
	tr := s.reach(t)
	for try := 1; ; try++ {
		r, err := connect(t, tr, "")
		if err != nil {
			t.Fatal(err)
		}
		got := r.Status()
		if got.Revision == s.revision {
			return r
		}
		if try == maxMeetings {
			t.Errorf("speaks %s, expected %s (%s)", got.Revision, s.revision, got.Probe)
			return r
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// overStdio is a published server as a child process.
func overStdio(name string, env map[string]string, args ...string) func(t *testing.T) transport.Transport {
	return func(t *testing.T) transport.Transport { return npm(t, name, env, args...).over(t) }
}

// onPort is a published server that serves kind at a path; it takes its port from
// the variable PORT and wherever PORT stands in its arguments.
func onPort(kind, path, name string, args ...string) func(t *testing.T) transport.Transport {
	return func(t *testing.T) transport.Transport {
		t.Helper()
		port := freePort(t)
		with := make([]string, len(args))
		for i, a := range args {
			with[i] = strings.ReplaceAll(a, "PORT", port)
		}
		npm(t, name, map[string]string{"PORT": port}, with...).onPort(t, port)
		return endpoint(t, kind, fmt.Sprintf("http://localhost:%s%s", port, path))
	}
}

const (
	scope = "@modelcontextprotocol/"
	echo  = "Echo: hello"
)

var (
	echoCall = use{"echo", `{"message":"hello"}`, echo}

	publishedList = []published{
		{"everything", scope + "server-everything", kindStdio, rev1125, 17, overStdio("mcp-server-everything", nil, "stdio"), echoCall},
		{"everything", scope + "server-everything", kindHTTP, rev1125, 17, onPort(kindHTTP, "/mcp", "mcp-server-everything", "streamableHttp"), echoCall},
		{"everything", scope + "server-everything", kindSSE, rev1125, 17, onPort(kindSSE, "/sse", "mcp-server-everything", "sse"), echoCall},
		{"filesystem", scope + "server-filesystem", kindStdio, rev1125, 14, func(t *testing.T) transport.Transport {
			return npm(t, "mcp-server-filesystem", nil, t.TempDir()).over(t)
		}, use{"list_allowed_directories", "{}", "Allowed directories"}},
		{"memory", scope + "server-memory", kindStdio, rev1125, 9, func(t *testing.T) transport.Transport {
			return npm(t, "mcp-server-memory", map[string]string{"MEMORY_FILE_PATH": t.TempDir() + "/memory.json"}).over(t)
		}, use{"read_graph", "{}", "entities"}},
		{"sequential-thinking", scope + "server-sequential-thinking", kindStdio, rev1125, 1, overStdio("mcp-server-sequential-thinking", nil),
			use{"sequentialthinking", `{"thought":"x","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`, "thoughtNumber"}},
		{"github", scope + "server-github", kindStdio, rev2024, 26, overStdio("mcp-server-github", map[string]string{"GITHUB_PERSONAL_ACCESS_TOKEN": "dummy"}), use{}},
		{"context7", "@upstash/context7-mcp", kindStdio, rev2026, 2, overStdio("context7-mcp", nil), use{}},
		{"context7", "@upstash/context7-mcp", kindHTTP, rev2026, 2, onPort(kindHTTP, "/mcp", "context7-mcp", "--transport", "http", "--port", "PORT"), use{}},
		{"firecrawl", "firecrawl-mcp", kindStdio, rev1125, 29, overStdio("firecrawl-mcp", map[string]string{"FIRECRAWL_API_KEY": "dummy"}), use{}},
		{"mcp-proxy before everything", "mcp-proxy", kindHTTP, rev2026, 13,
			onPort(kindHTTP, "/mcp", "mcp-proxy", "--host", "localhost", "--port", "PORT", "--", "mcp-server-everything", "stdio"), echoCall},
		{"mcp-proxy before everything", "mcp-proxy", kindSSE, rev1125, 13,
			onPort(kindSSE, "/sse", "mcp-proxy", "--host", "localhost", "--port", "PORT", "--", "mcp-server-everything", "stdio"), echoCall},
	}
)

const intro = `# Compatibility

This page is written by a test run (` + "`make compatibility`" + `), but for its last section, and
compared by every ` + "`make test-external`" + `. What it says was tried, against servers on this machine.

The official client conformance suite runs beside it (internal/conformance): every client
scenario of the requirement sets 2025-11-25 and 2026-07-28 that needs no authorisation
passes. Those that need it are listed there by name and wait for OAuth.

## Every request, on every revision and transport

Two servers: the fixture writes its own frames and uses no library; the demo is built on
the official Go SDK. The revision is pinned; *found* says that a client that is told
nothing finds the same one. "` + never + `": the revision does not have it, or it is not the
newest one that the server speaks. "` + absent + `": the server does not offer it. Over SSE, the
transport of 2024-11-05, the revisions up to 2025-11-25 can be spoken; streamable HTTP came
with 2025-03-26.

`

const middle = `
## Published servers

Each is pinned in internal/external/package.json and runs without a network; the revision
is found, never told. *call* is a tool that works so.

`
