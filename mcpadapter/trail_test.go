package mcpadapter

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/client/clienttest"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
	"github.com/looprig/looprig/mcpadapter/transport"
)

const canary = `s3cr"et-CANARY`

func secretTransport() clienttest.Transport {
	return clienttest.Transport{Settings: []transport.Setting{
		{Key: "env.TOKEN", Value: canary, Secret: true},
		{Key: "env.DEBUG", Value: "1", Secret: true},
		{Key: "header.Authorization", Value: "Bearer BEARERCANARY", Secret: true},
		{Key: "args", Value: `["--api-key","ARGCANARY","--token=EQCANARY","/srv/data","plain"]`, Secret: true},
		{Key: "command", Value: "server"},
		{Key: "url.path", Value: "/mcp/0123456789-PATHCANARY", Secret: true},
		{Key: "url.query", Value: "key=QUERY%20CANARY&n=1", Secret: true},
		{Key: "url.userinfo", Value: "ada-user:PASSCANARY", Secret: true},
	}}
}

func TestMessagesAreMasked(t *testing.T) {
	t.Parallel()
	m := newMasker(secretTransport().Settings)
	quoted, _ := json.Marshal(canary)
	for name, tc := range map[string]struct {
		in   string
		want string // in what is shown
	}{
		"environment":        {`{"text":` + string(quoted) + `}`, ""},
		"bearer alone":       {`{"text":"token is BEARERCANARY."}`, ""},
		"arguments":          {`{"a":"ARGCANARY","b":"EQCANARY"}`, ""},
		"other arguments":    {`{"path":"/srv/data","w":"plain"}`, "/srv/data"},
		"endpoint":           {`{"a":"0123456789-PATHCANARY","b":"QUERY CANARY","c":"PASSCANARY","d":"key=QUERY%20CANARY","e":"/mcp"}`, `"/mcp"`},
		"short values":       {`{"n":"1"}`, `"1"`},
		"authorization":      {`{"Authorization":"Basic xCANARY"}`, "Authorization"},
		"access token":       {`{"access_token" : "xCANARY","n":2}`, `"n":2`},
		"password":           {`{"arguments":{"password":"xCANARY","user":"ada"}}`, "ada"},
		"escaped name":       {`{"p\u0061ssword":"xCANARY"}`, ""},
		"schema of a secret": {`{"properties":{"token":{"type":"string"}}}`, `{"type":"string"}`},
		"open url":           {`{"method":"elicitation/create","params":{"mode":"url","url":"https://u:xCANARY@example.com/p?state=xCANARY"}}`, "example.com"},
		"url required":       {`{"error":{"code":-32042,"data":{"elicitations":[{"url":"https://example.com/CANARY"}]}}}`, "https://example.com/"},
		"other urls":         {`{"method":"tools/call","params":{"arguments":{"url":"https://example.com/page"}}}`, "https://example.com/page"},
		"progress token":     {`{"_meta":{"progressToken":"p7"}}`, "p7"},
		"unterminated":       {`{"password":"xCANARY`, ""},
	} {
		got := string(m.mask([]byte(tc.in)))
		if strings.Contains(got, "CANARY") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s", name, got)
		}
		if name != "unterminated" && !json.Valid([]byte(got)) {
			t.Errorf("%s is no JSON any more: %s", name, got)
		}
	}
}

func FuzzMask(f *testing.F) {
	for _, s := range []string{`{"password":"x"}`, `{"a":["b",{"token":"c\"d"}]}`, `"`, `{"url":"elicit"}`, `\`, `{"a":"\u0061"}`} {
		f.Add(s)
	}
	m := newMasker(secretTransport().Settings)
	f.Fuzz(func(t *testing.T, s string) {
		got := m.mask([]byte(s))
		if json.Valid([]byte(s)) && !json.Valid(got) {
			t.Errorf("%q became %q", s, got)
		}
		for _, v := range m.values {
			if strings.Contains(string(got), string(v)) {
				t.Errorf("%q shows a secret", got)
			}
		}
	})
}

func TestTraceIsBoundedAndSurvivesAReconnect(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		b := r.server("d", "x")
		b.Server.Transport = secretTransport()
		r.must(r.start(nil, b))
		r.must(r.m.Wait(t.Context(), "d"))
		trace := func(dir wire.Direction, frame string) {
			r.servers["d"].Last().Options.Wire.Trace(dir, []byte(frame))
		}
		if r.m.Trace("nobody") != nil || len(r.m.Trace("d")) != 0 {
			t.Error("frames out of nothing")
		}
		trace(wire.Outbound, `{"id":1}`)
		// The secret lies across the cut.
		long := `{"text":"` + strings.Repeat("x", TraceFrameBytes-12) + `BEARERCANARY"}`
		trace(wire.Inbound, long)
		got := r.m.Trace("d")
		if len(got) != 2 || !got[0].Sent || string(got[0].Data) != `{"id":1}` || got[1].Sent || !got[1].Cut || got[1].Bytes != len(long) || strings.Contains(string(got[1].Data), "BEARER") {
			t.Errorf("%d frames, last cut %t of %d", len(got), got[1].Cut, got[1].Bytes)
		}
		var text string
		if json.Unmarshal(got[1].Data, &text) != nil || len(text) > TraceFrameBytes {
			t.Error("a cut frame is no JSON string")
		}
		for i := range TraceFrames {
			trace(wire.Outbound, fmt.Sprintf(`{"id":%d}`, i))
		}
		if got := r.m.Trace("d"); len(got) != TraceFrames || string(got[0].Data) != `{"id":0}` {
			t.Errorf("%d frames, first %s", len(got), got[0].Data)
		}
		for range 2 * TraceBytes / TraceFrameBytes {
			trace(wire.Outbound, long)
		}
		if tr := r.m.trail("d"); tr.bytes > TraceBytes || len(tr.frames) > TraceFrames {
			t.Errorf("%d bytes in %d frames are kept", tr.bytes, len(tr.frames))
		}
		n := len(r.m.Trace("d"))
		r.must(r.m.Reconnect(t.Context(), "d"))
		r.must(r.m.Reconfigure(t.Context(), DisableBinding{"d"}))
		if len(r.m.Trace("d")) != n {
			t.Error("a reconnect or disabling loses the trace")
		}
		synctest.Wait()
		if len(of[*event.BindingTrace](r)) != 0 {
			t.Error("frames are published though nobody asked")
		}
	})
}

func TestTraceIsPublishedOnDemand(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		b := r.server("d", "x")
		b.Server.Transport = secretTransport()
		r.must(r.start(nil, b))
		r.must(r.m.Wait(t.Context(), "d"))
		r.m.PublishTrace(true)
		r.servers["d"].Last().Options.Wire.Trace(wire.Outbound, []byte(`{"token":"xCANARY"}`))
		r.m.PublishTrace(false)
		r.servers["d"].Last().Options.Wire.Trace(wire.Outbound, []byte(`{}`))
		synctest.Wait()
		got := of[*event.BindingTrace](r)
		if len(got) != 1 || !got[0].Sent || got[0].Binding != "d" || strings.Contains(string(got[0].Data), "CANARY") || got[0].Bytes != 19 {
			t.Errorf("events %+v", got)
		}
	})
}

func TestLogsAreKeptAndBounded(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.must(r.start(nil, r.server("d", "x")))
		r.must(r.m.Wait(t.Context(), "d"))
		log := r.servers["d"].Last().Options.Handlers.Log
		for i := range LogEntries + 5 {
			log("info", "l\x1b[2J", json.RawMessage(fmt.Sprint(i)))
		}
		got := r.m.Logs("d")
		if len(got) != LogEntries || string(got[0].Data) != "5" || strings.Contains(got[0].Logger, "\x1b") || got[0].Time.IsZero() {
			t.Errorf("%d entries, first %+v", len(got), got[0])
		}
		big, _ := json.Marshal(strings.Repeat("x", client.Limits{}.LogBytes+8000))
		for range 2 * LogEntryBytes / 8000 {
			log("info", "", big)
		}
		if tr := r.m.trail("d"); tr.logged > LogEntryBytes {
			t.Errorf("%d bytes of logs are kept", tr.logged)
		}
		synctest.Wait()
		if len(of[*event.BindingLog](r)) == 0 {
			t.Error("logs are no events any more")
		}
	})
}
