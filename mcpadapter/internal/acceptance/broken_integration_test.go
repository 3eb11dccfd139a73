//go:build integration && linux

package acceptance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/looprig/looprig/mcpadapter/internal/fixture"
)

// broken is a server that breaks one rule, and what must come of it.
type broken struct {
	name, scenario, settings string
	extra                    string // further keys of its entry
	// calls are "tool=outcome", in order; alternatives are divided by |.
	calls string
	// class is that of the binding's failure, "" when it serves; alternatives as
	// above.
	class string
	// on limits the case to some ways: stdio, http, sse, legacy, modern; all of
	// the words must be true.
	on string
}

var brokenServers = []broken{
	{name: "dupcall", scenario: "dup-keys", calls: "call=failed quick=ok"},
	{name: "duplist", scenario: "dup-keys", settings: "where=list", class: "malformed"},
	{name: "dupinit", scenario: "dup-keys", settings: "where=init", class: "malformed|remote"},
	{name: "nulls", scenario: "null-items", calls: "nulls=ok quick=ok"},
	{name: "idstring", scenario: "string-ids", settings: "kind=string", calls: "call=failed quick=ok"},
	{name: "idfloat", scenario: "string-ids", settings: "kind=float", calls: "call=failed quick=ok"},
	{name: "idfraction", scenario: "string-ids", settings: "kind=fraction", calls: "call=indeterminate|timeout quick=ok"},
	{name: "idnull", scenario: "string-ids", settings: "kind=null", calls: "call=failed|timeout quick=ok"},
	{name: "idother", scenario: "string-ids", settings: "kind=other", calls: "call=indeterminate|timeout quick=ok"},
	{name: "inrequest", scenario: "mrtr-null", settings: "kind=request", calls: "ask=failed quick=ok", on: "modern"},
	{name: "inmessages", scenario: "mrtr-null", settings: "kind=messages", extra: "capabilities: {sampling: true}", calls: "ask=failed quick=ok", on: "modern"},
	{name: "inempty", scenario: "mrtr-null", settings: "kind=empty", calls: "ask=over_limit|timeout quick=ok", on: "modern"},
	{name: "instate", scenario: "mrtr-null", settings: "kind=state", calls: "ask=over_limit|timeout quick=ok", on: "modern"},
	{name: "forever", scenario: "state-only", settings: "rounds=0", calls: "ask=over_limit|timeout", on: "modern"},
	{name: "askednull", scenario: "elicit-null-params", settings: "kind=null", calls: "ask=ok quick=ok", on: "legacy"},
	{name: "askedarray", scenario: "elicit-null-params", settings: "kind=array", calls: "ask=ok quick=ok", on: "legacy"},
	{name: "asksmany", scenario: "many-inputs", calls: "ask=ok|over_limit"},
	{name: "undeclared", scenario: "undeclared", calls: "roots=ok sample=ok ping=ok other=ok", on: "legacy"},
	{name: "refs", scenario: "ref-cycle-schema", calls: "plain=ok tree=ok ask=ok"},
	{name: "blocks", scenario: "many-blocks", calls: "call=over_limit quick=ok"},
	{name: "replies", scenario: "replies", calls: "twice=ok both=failed neither=failed batch=failed wrong-case=indeterminate|timeout no-version=failed null-result=failed bare-error=failed deep=over_limit|indeterminate quick=ok"},
	{name: "families", scenario: "lies", settings: "kind=families", calls: "quick=ok"},
	{name: "nothing", scenario: "lies", settings: "kind=nothing", calls: "quick=ok"},
	{name: "nocaps", scenario: "lies", settings: "kind=null", calls: "quick=ok"},
	{name: "version", scenario: "lies", settings: "kind=version", class: "unsupported"},
	{name: "task", scenario: "task-result", settings: "kind=task", calls: "call=failed quick=ok"},
	{name: "typeother", scenario: "task-result", settings: "kind=other", calls: "call=failed quick=ok"},
	{name: "typenull", scenario: "task-result", settings: "kind=null", calls: "call=failed quick=ok"},
	{name: "odd", scenario: "odd-content", calls: "kinds=ok unknown=ok mime=ok base64=ok link=ok untyped=ok scalar=failed text=failed none=ok quick=ok"},
	{name: "structured", scenario: "bad-structured", calls: "good=ok wrong=ok missing=ok differs=ok absent=ok array=ok"},
	{name: "progress", scenario: "flood", settings: "kind=backward count=10000", extra: "requestTimeout: 20s", calls: "flood=ok alpha=ok"},
	{name: "updates", scenario: "flood", settings: "kind=updates count=10000", extra: "requestTimeout: 20s", calls: "flood=ok alpha=ok"},
	{name: "unknown", scenario: "flood", settings: "kind=unknown count=10000", extra: "requestTimeout: 20s", calls: "flood=ok alpha=ok"},
	{name: "crash", scenario: "crash-in-call", calls: "crash=indeterminate", on: "stdio"},
	{name: "torn", scenario: "crash-in-call", calls: "torn=indeterminate", on: "stdio"},
	{name: "slow", scenario: "slow-start", settings: "ms=60000", extra: "startupTimeout: 1s", class: "timeout"},

	{name: "hang", scenario: "http-hang", calls: "call=timeout quick=ok", on: "http"},
	{name: "hangget", scenario: "http-hang", settings: "where=get", calls: "call=ok quick=ok", on: "http legacy"},
	{name: "hanglisten", scenario: "http-hang", settings: "where=listen", calls: "call=ok quick=ok", on: "http modern"},
	{name: "hangall", scenario: "http-hang", settings: "where=all", extra: "startupTimeout: 1s", class: "timeout", on: "http"},
	{name: "hangsse", scenario: "http-hang", settings: "where=all", extra: "startupTimeout: 1s", class: "timeout", on: "sse"},
	{name: "busy", scenario: "http-status", calls: "call=failed quick=ok", on: "http"},
	{name: "gone", scenario: "http-status", settings: "status=404 rpc=true", calls: "call=indeterminate quick=ok", on: "http legacy"},
	{name: "refused", scenario: "http-status", settings: "status=401 where=all", class: "auth"},
	{name: "error", scenario: "http-status", settings: "status=500 where=all", class: "http"},
	{name: "html", scenario: "http-body", calls: "call=failed quick=ok", on: "http"},
	{name: "htmlall", scenario: "http-body", settings: "where=all", class: "endpoint"},
	{name: "empty", scenario: "http-body", settings: "kind=empty", calls: "call=failed quick=ok", on: "http"},
	{name: "text", scenario: "http-body", settings: "kind=text", calls: "call=failed quick=ok", on: "http"},
	{name: "junk", scenario: "http-body", settings: "kind=junk", calls: "call=failed quick=ok", on: "http"},
	{name: "otherid", scenario: "http-body", settings: "kind=other-id", calls: "call=failed quick=ok", on: "http"},
	{name: "tornbody", scenario: "http-body", settings: "kind=torn", calls: "call=indeterminate quick=ok", on: "http"},
	{name: "aborted", scenario: "http-body", settings: "kind=torn-abort", calls: "call=indeterminate quick=ok", on: "http"},
	{name: "linger", scenario: "http-body", settings: "kind=linger", calls: "call=ok quick=ok", on: "http"},
	{name: "drip", scenario: "http-body", settings: "kind=slow", calls: "call=timeout quick=ok", on: "http"},
	{name: "header", scenario: "http-body", settings: "kind=header bytes=4194304", calls: "call=failed|over_limit quick=ok", on: "http"},
	{name: "moved", scenario: "http-redirect", settings: "to=http://127.0.0.2:9/", calls: "call=failed quick=ok", on: "http"},
	{name: "movedall", scenario: "http-redirect", settings: "to=http://127.0.0.2:9/ where=all", class: "refused"},
	{name: "cut", scenario: "http-cut", calls: "call=indeterminate early=indeterminate quick=ok", on: "http modern"},
}

// hugeAnswers are servers over a network whose answers are too large, too many
// or never come. Those over stdio are in hostile.
var hugeAnswers = []broken{
	{name: "big", scenario: "bigframe", extra: "requestTimeout: 20s", calls: "big=over_limit|indeterminate quick=ok"},
	{name: "bigarray", scenario: "bigframe", settings: "fill=array", extra: "requestTimeout: 20s", calls: "big=over_limit|indeterminate quick=ok"},
	{name: "endless", scenario: "bigframe", settings: "endless=true", extra: "requestTimeout: 20s", calls: "big=over_limit quick=ok"},
	{name: "biglist", scenario: "bigframe", settings: "where=list", class: "over_limit"},
	{name: "mute", scenario: "mute", extra: "startupTimeout: 1s", class: "timeout"},
	{name: "same", scenario: "repeat-cursor", settings: "kind=same", class: "catalog"},
	{name: "cycle", scenario: "repeat-cursor", settings: "kind=cycle", class: "catalog"},
	{name: "grow", scenario: "repeat-cursor", settings: "kind=grow", class: "over_limit"},
	{name: "dirty", scenario: "dirty", settings: "names=true", calls: "dirty=ok fail=tool_error rpcfail=failed|tool_error ask=ok log=ok link=ok"},
	{name: "json", scenario: "http-body", settings: "kind=json", extra: "requestTimeout: 20s", calls: "call=over_limit quick=ok", on: "http"},
	{name: "event", scenario: "http-body", settings: "kind=event", extra: "requestTimeout: 20s", calls: "call=over_limit quick=ok", on: "http"},
	{name: "gzip", scenario: "http-body", settings: "kind=gzip", extra: "requestTimeout: 20s", calls: "call=over_limit quick=ok", on: "http"},
	{name: "initjson", scenario: "http-body", settings: "kind=json where=all endless=true", class: "over_limit", on: "http"},
}

// applies says whether a case can occur on a way.
func (b broken) applies(way string) bool {
	transport, era, _ := strings.Cut(way, " ")
	switch {
	case transport == "sse", era == "2025-11-25":
		era = fixture.EraLegacy
	case era == "2026-07-28":
		era = fixture.EraModern
	}
	if strings.HasPrefix(b.scenario, "http-") && transport == "stdio" {
		return false
	}
	for _, word := range strings.Fields(b.on) {
		if word != transport && word != era {
			return false
		}
	}
	return true
}

// keys are the further keys of the entry; a request is not waited for for long.
func (b broken) keys() string {
	wait := "requestTimeout: 700ms"
	if b.calls != "" && !strings.Contains(b.calls, "timeout") {
		wait = "requestTimeout: 20s" // it answers: on a busy machine, late
	}
	switch {
	case b.extra == "":
		return wait
	case strings.Contains(b.extra, "requestTimeout"):
		return b.extra
	}
	return b.extra + ", " + wait
}

// Many servers at once, each of which breaks a rule of its own: each of them
// fails typed, or is tolerated, and together they cost less than what one may.
func TestBrokenServers(t *testing.T) {
	t.Parallel()
	allBroken(t, brokenServers, everyWay(), false)
}

func TestHugeAnswersOverANetwork(t *testing.T) {
	t.Parallel()
	all := everyWay()
	maps.DeleteFunc(all, func(way string, _ opener) bool { return strings.HasPrefix(way, "stdio") })
	allBroken(t, hugeAnswers, all, true)
}

// allBroken runs the servers of a table beside one that is sound: all at once,
// or each after the one before has been removed.
func allBroken(t *testing.T, table []broken, all map[string]opener, single bool) {
	t.Helper()
	w := newWorld(t)
	r, idle := w.measured("version: 1\nservers: {" + w.server("good", "basic", "") + "}\nsteps:\n  - call: {tool: mcp__good__alpha}\n" + settle)
	r.want(0)
	for way, reached := range all {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			good := func(n int) string {
				return fmt.Sprintf("  - call: {tool: mcp__good__alpha, args: {n: %d}}\n    expect: ['.outcome == \"ok\"']\n", n)
			}
			here := slices.DeleteFunc(slices.Clone(table), func(b broken) bool { return !b.applies(way) })
			servers, steps := []string{w.server("good", "basic", "")}, good(1)
			for _, b := range here {
				entry := reached(w, b.name, b.scenario, b.keys(), strings.Fields(b.settings)...).entry
				if single {
					steps += "  - add: {" + entry + "}\n    expect: ['.outcome != \"denied\"']\n"
				} else {
					servers = append(servers, entry)
				}
				for _, call := range strings.Fields(b.calls) {
					tool, _, _ := strings.Cut(call, "=")
					steps += fmt.Sprintf("  - wait: {binding: %s, state: ready, timeout: 10s}\n  - call: {tool: mcp__%[1]s__%s}\n    expect: ['.outcome != \"denied\"']\n", b.name, tool)
				}
				if single {
					steps += "  - remove: " + b.name + "\n"
				}
			}
			r, top := w.measured("version: 1\nservers: {" + strings.Join(servers, ", ") + "}\nanswers: [{gate: form, answer: decline}]\nsteps:\n" + steps + good(2) + settle)
			if r.code != 0 {
				t.Errorf("exit code %d: %s", r.code, r.stderr)
			}
			t.Logf("peak %d MiB, idle %d MiB, %d servers", top>>20, idle>>20, len(here))
			if top == 0 || top > idle+memoryBudget {
				t.Errorf("the peak is %d MiB, idle %d MiB", top>>20, idle>>20)
			}
			for _, b := range here {
				b.judge(t, r)
			}
			if n := len(w.log("good").Calls("alpha")); n != 2 {
				t.Errorf("the other server received %d calls", n)
			}
			w.gone("good", killWait)
			w.verify()
		})
	}
}

// judge compares what came of a server with what must.
func (b broken) judge(t *testing.T, r *run) {
	t.Helper()
	var outcomes []string
	for _, e := range r.of("tool.completed") {
		if binding, tool, _ := strings.Cut(strings.TrimPrefix(e.Tool, "mcp:"), ":"); binding == b.name {
			outcomes = append(outcomes, tool+"="+e.Outcome)
			if e.Outcome != "ok" {
				t.Logf("%s %s %s %s: %s", b.name, tool, e.Outcome, e.Class, e.Reason)
			}
		}
	}
	want := strings.Fields(b.calls)
	fits := len(want) == len(outcomes)
	for i := 0; fits && i < len(want); i++ {
		tool, any, _ := strings.Cut(want[i], "=")
		got, outcome, _ := strings.Cut(outcomes[i], "=")
		fits = got == tool && slices.Contains(strings.Split(any, "|"), outcome)
	}
	if !fits {
		t.Errorf("%s: %q, not %q", b.name, outcomes, want)
	}
	classes := []string{}
	for _, e := range r.events {
		if e.Binding == b.name && e.State == "failed" {
			classes = append(classes, e.Class)
		}
	}
	if (b.class == "") != (len(classes) == 0) || b.class != "" && !slices.ContainsFunc(classes, func(c string) bool { return slices.Contains(strings.Split(b.class, "|"), c) }) {
		t.Errorf("%s: failed with %q, not %q", b.name, classes, b.class)
	}
}
