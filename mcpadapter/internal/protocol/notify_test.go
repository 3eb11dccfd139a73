package protocol

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	var n counter
	f := connect(t, legacyServer(func(p *peer) {
		m, _ := p.await("tools/call")
		var params struct {
			Meta struct {
				Token json.RawMessage `json:"progressToken"`
			} `json:"_meta"`
		}
		if err := json.Unmarshal(m.Params, &params); err != nil || len(params.Meta.Token) == 0 {
			t.Errorf("no token in %s", m.raw)
		}
		note := func(rest string) {
			p.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,%s}}`, params.Meta.Token, rest)
		}
		note(`"progress":1,"total":10,"message":"one"`)
		note(`"progress":0.5`)
		note(`"progress":1e999`)
		note(`"progress":-1`)
		note(`"progress":"2"`)
		note(`"progress":2`)
		p.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":9}}`)
		p.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":999,"progress":9}}`)
		p.reply(m, okResult)
		note(`"progress":3`)
		m, _ = p.await("tools/call")
		if strings.Contains(m.raw, "progressToken") {
			t.Errorf("unasked token in %s", m.raw)
		}
		p.reply(m, okResult)
		p.next()
	}), pinned(Revision20251125), n.option)
	var got []Progress
	_, err := f.CallTool(short(t), CallRequest{Name: "x", Progress: func(p Progress) { got = append(got, p) }})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != "[{1 10 one} {2 0 }]" {
		t.Fatalf("%v", got)
	}
	if _, err := f.CallTool(short(t), CallRequest{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "counted", func() bool {
		return n.get(droppedProgressValue) == 4 && n.get(droppedProgressToken) == 3
	})
}

func TestFloodDoesNotDelayRepliesNorLoseStaleFamilies(t *testing.T) {
	t.Parallel()
	var (
		n     counter
		logs  atomic.Int64
		stale = make(chan string, 8)
		block = make(chan struct{})
	)
	const flood, limit = 20_000, 100
	f := connect(t, legacyServer(func(p *peer) {
		m, _ := p.await("tools/call")
		for range flood {
			p.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
			p.send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b"}}`)
		}
		p.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		p.send(`{"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":null}`)
		p.reply(m, okResult)
		p.next()
	}), pinned(Revision20251125), n.option, func(o *Options) {
		o.Limits.QueuedNotifications = limit
		o.Handlers.Log = func(level, _ string, data json.RawMessage) {
			if level != "info" || string(data) != `"x"` {
				t.Errorf("%s %s", level, data)
			}
			logs.Add(1)
			<-block
		}
		o.Handlers.ListChanged = func(fam Family, declared bool) { stale <- fmt.Sprint(fam, declared) }
	})
	// The handler blocks all the while: the answer has to overtake.
	if _, err := f.CallTool(short(t), CallRequest{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	if n := len(stale); n != 3 {
		t.Errorf("%d of 3 listings were known to be stale when the answer behind their notifications came", n)
	}
	close(block)
	seen := map[string]bool{<-stale: true, <-stale: true, <-stale: true}
	if !seen["toolstrue"] || !seen["resourcesfalse"] || !seen["templatesfalse"] {
		t.Fatalf("%v", seen)
	}
	eventually(t, "drained and counted", func() bool {
		return int(logs.Load())+n.get(droppedLog) == flood && n.get(droppedUpdate) >= flood-2*limit
	})
	if logs.Load() > 2*limit {
		t.Fatalf("%d logs queued", logs.Load())
	}
}

func TestUnusableNotificationsAreCounted(t *testing.T) {
	t.Parallel()
	var n counter
	f := connect(t, legacyServer(func(p *peer) {
		for _, params := range []string{
			`"notifications/message","params":null`, `"notifications/message","params":{"level":7}`, `"notifications/message"`,
			`"notifications/resources/updated","params":{"URI":"x"}`, `"notifications/elicitation/complete","params":[1]`,
			`"notifications/cancelled","params":{"requestId":null}`, `"notifications/cancelled","params":{"requestId":1.5}`,
		} {
			p.send(`{"jsonrpc":"2.0","method":%s}`, json.RawMessage(params))
		}
		p.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%s"}}`, strings.Repeat("x", 9000))
		p.send(`{"jsonrpc":"2.0","method":"notifications/odd"}`)
		answering(map[string]string{"ping": `{}`})(p)
	}), pinned(Revision20251125), n.option)
	eventually(t, "counted", func() bool {
		return n.get(droppedNotification) == 7 && n.get(droppedLogSize) == 1 && n.get(droppedUnknown) == 1
	})
	if err := f.Ping(short(t)); err != nil {
		t.Fatal(err)
	}
}

// What the pump takes for a log message without parsing it is held to the same
// rules by whoever delivers it.
func TestLogsAreParsedWhenTheyAreTold(t *testing.T) {
	t.Parallel()
	var n counter
	got := make(chan string, 8)
	f := connect(t, legacyServer(func(p *peer) {
		p.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"a":1,"a":2}}}`)
		p.send(`{"jsonrpc":"1.0","method":"notifications/message","params":{"level":"info","data":1}}`)
		p.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"","data":1}}`)
		p.send("%s", `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":`+strings.Repeat("[", 100)+strings.Repeat("]", 100)+`}}`)
		p.send(`{"params":{"data":{"id":7,"method":"x"},"level":"info","logger":"l"},"method" : "notifications/message","jsonrpc":"2.0"}`)
		answering(map[string]string{"ping": `{}`})(p)
	}), pinned(Revision20251125), n.option, func(o *Options) {
		o.Handlers.Log = func(level, logger string, data json.RawMessage) { got <- level + " " + logger + " " + string(data) }
	})
	if s := <-got; s != `info l {"id":7,"method":"x"}` {
		t.Errorf("told %q", s)
	}
	eventually(t, "counted", func() bool { return n.get(droppedMalformed) == 3 && n.get(droppedNotification) == 1 })
	if err := f.Ping(short(t)); err != nil {
		t.Fatal(err)
	}
}

func TestRateOfLogs(t *testing.T) {
	t.Parallel()
	var r rate
	now := time.Unix(1, 0)
	passed := func() (n int) {
		for r.take(now) {
			n++
		}
		return n
	}
	if n := passed(); n != logsPerSecond {
		t.Errorf("%d pass at once", n)
	}
	now = now.Add(logPause)
	if n := passed(); n != int(logsPerSecond*logPause/time.Second) {
		t.Errorf("%d pass after a pause", n)
	}
	now = now.Add(time.Hour)
	if n := passed(); n != logsPerSecond {
		t.Errorf("%d pass after an hour", n)
	}
}
