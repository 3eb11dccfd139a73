package protocol

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestReadsAreKeptAsLongAsTheServerAllows(t *testing.T) {
	t.Parallel()
	var reads atomic.Int64
	var now atomic.Int64
	results := map[string]string{
		"fresh:":   `{"contents":[],"ttlMs":1000,"cacheScope":"private"}`,
		"zero:":    `{"contents":[],"ttlMs":0}`,
		"without:": `{"contents":[]}`,
		"minus:":   `{"contents":[],"ttlMs":-1}`,
		"text:":    `{"contents":[],"ttlMs":"1000"}`,
		"scope:":   `{"contents":[],"ttlMs":1000,"cacheScope":"tenant"}`,
		"input:":   `{"contents":[],"ttlMs":1000}`,
	}
	f := connect(t, modernServer(func(p *peer) {
		for {
			m, ok := p.next()
			if !ok {
				return
			}
			uri := strings.SplitN(strings.SplitN(m.raw, `"uri":"`, 2)[1], `"`, 2)[0]
			if reads.Add(1); uri == "input:" && !strings.Contains(m.raw, "requestState") {
				p.reply(m, `{"resultType":"input_required","requestState":"s"}`)
				continue
			}
			switch uri {
			case "changes:":
				p.send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"changes:"}}`)
				p.reply(m, results["fresh:"])
			default:
				p.reply(m, results[uri])
			}
		}
	}))
	f.cache.now = func() time.Time { return time.Unix(0, now.Load()) }
	wire := func(uri string) int64 {
		before := reads.Load()
		raw, err := f.ReadResource(short(t), uri)
		if err != nil || !json.Valid(raw) {
			t.Fatal(uri, err)
		}
		raw[0] = 'X' // what a caller does to a result is not kept
		return reads.Load() - before
	}
	if wire("fresh:") != 1 || wire("fresh:") != 0 {
		t.Fatal("not kept")
	}
	now.Add(int64(time.Second))
	if wire("fresh:") != 1 || wire("fresh:") != 0 {
		t.Fatal("kept after its time")
	}
	f.cache.forget("other:")
	if wire("fresh:") != 0 {
		t.Fatal("forgotten with another")
	}
	f.changed(Resources, true)
	if wire("fresh:") != 1 {
		t.Fatal("kept though the listing changed")
	}
	for uri := range results {
		if uri != "fresh:" && wire(uri)*wire(uri) == 0 {
			t.Errorf("%s was kept", uri)
		}
	}
	if first, second := wire("changes:"), wire("changes:"); first != 1 || second != 1 {
		t.Error("an answer from before a change was kept")
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newReadCache()
	raw := json.RawMessage(`"` + strings.Repeat("x", 100<<10) + `"`)
	for i := range 1000 {
		c.put(fmt.Sprint(i), raw, time.Hour, 0)
		c.put(fmt.Sprint("small", i), json.RawMessage(`{}`), time.Hour, 0)
		c.put("ttl0", raw, 0, 0)
	}
	if c.order.Len() > maxCached || c.size > maxCachedBytes || c.order.Len() != len(c.entries) {
		t.Fatalf("%d entries of %d bytes", c.order.Len(), c.size)
	}
	if got, _ := c.get("999"); got == nil {
		t.Fatal("the newest went first")
	}
	c.put("big", make(json.RawMessage, maxCachedEntry+1), time.Hour, 0)
	if got, _ := c.get("big"); got != nil {
		t.Fatal("over the bound of one")
	}
	c.put("ever", raw, 1<<62, 0)
	at := time.Now()
	c.now = func() time.Time { return at.Add(maxTTL + time.Minute) }
	if got, _ := c.get("ever"); got != nil {
		t.Fatal("kept for longer than the bound")
	}
	if c.forget(""); c.size != 0 || len(c.entries) != 0 || c.order.Len() != 0 {
		t.Fatalf("%d bytes are left", c.size)
	}
}

func TestOlderRevisionsHaveNoCache(t *testing.T) {
	t.Parallel()
	f := connect(t, legacyServer(answering(map[string]string{"resources/read": `{"contents":[],"ttlMs":10000}`})), pinned(Revision20251125))
	for range 2 {
		if _, err := f.ReadResource(short(t), "a:b"); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(strings.Join(f.d.log.all(), ""), "resources/read"); n != 2 {
		t.Fatalf("%d reads", n)
	}
}
