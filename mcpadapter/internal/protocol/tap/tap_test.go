package tap

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"
)

var bounds = Bounds{Depth: 64, Members: 1000}

func TestParseSortsFrames(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]Message{
		`{"jsonrpc":"2.0","id":1,"result":{ "a" : 1e999 }}`: {Kind: Response, ID: []byte(`1`), Result: []byte(`{ "a" : 1e999 }`)},
		` {}`: {},
		`{"error":{"code":-1,"message":"m"},"id":"x","jsonrpc":"2.0"}`:                           {Kind: Response, ID: []byte(`"x"`), Error: []byte(`{"code":-1,"message":"m"}`)},
		`{"jsonrpc":"2.0","id":1,"result":{},"error":null}`:                                      {Kind: Response, ID: []byte(`1`), Result: []byte(`{}`), NullMember: true},
		`{"jsonrpc":"2.0","id":1,"error":{"code":0,"message":""},"result":null}`:                 {Kind: Response, ID: []byte(`1`), Error: []byte(`{"code":0,"message":""}`), NullMember: true},
		`{"jsonrpc":"2.0","method":"m","params":null}`:                                           {Kind: Notification, Method: "m", Params: []byte(`null`)},
		"{\"jsonrpc\" :\t\"2.0\" , \"method\" : \"\\u006d\", \"id\" : -7 , \"params\" : [ 1 ] }": {Kind: Request, ID: []byte(`-7`), Method: "m", Params: []byte(`[ 1 ]`)},
		`{"jsonrpc":"2.0","method":"m","x":{"\ud800":1,"id":2}}`:                                 {Kind: Notification, Method: "m"},
	} {
		m, f := Parse([]byte(raw), bounds)
		if raw == ` {}` {
			if f == nil || f.Reason != NotObject {
				t.Errorf("%s: %v", raw, f)
			}
			continue
		}
		if f != nil {
			t.Errorf("%s: %v", raw, f)
			continue
		}
		a, _ := json.Marshal(m.String())
		b, _ := json.Marshal(want.String())
		if string(a) != string(b) {
			t.Errorf("%s: got %s, want %s", raw, a, b)
		}
	}
}

// String shows every part of a message.
func (m Message) String() string {
	s := []string{string('0' + rune(m.Kind)), string(m.ID), m.Method, string(m.Params), string(m.Result), string(m.Error)}
	if m.NullMember {
		s = append(s, "null member")
	}
	return strings.Join(s, "|")
}

func TestFaults(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`[`, 65) + strings.Repeat(`]`, 65)
	for _, tc := range []struct {
		raw    string
		reason Reason
		id     string
		method bool
	}{
		{``, NotObject, "", false},
		{`7`, NotObject, "", false},
		{"\xef\xbb\xbf{}", NotObject, "", false},
		{`[{"id":1}]`, Batch, "", false},
		{`{"jsonrpc":"2.0","id":1,"result":{}`, Syntax, "1", false},
		{`{"jsonrpc":"2.0","id":1,"result":{}} {}`, Syntax, "1", false},
		{`{"jsonrpc":"2.0","id":1,"result":{},}`, Syntax, "1", false},
		{`{"jsonrpc":"2.0","id":01,"result":{}}`, Syntax, "01", false},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\xc3\x28\"}}", Encoding, "1", false},
		{`{"jsonrpc":"2.0","id":1,"id":1,"result":{}}`, DuplicateKey, "1", false},
		{`{"jsonrpc":"2.0","id":1,"id":2,"result":{}}`, DuplicateKey, "", false},
		{`{"jsonrpc":"2.0","result":{"x":{"id":3},"id":4,"id":4},"id":9}`, DuplicateKey, "9", false},
		{`{"jsonrpc":"2.0","result":{"a":"\"id\":5","a":"}{"},"id":6}`, DuplicateKey, "6", false},
		{`{"jsonrpc":"2.0","a":"id","a":1,"id":[1]}`, DuplicateKey, "", false},
		{`{"jsonrpc":"2.0","method":"m","params":{"a":1,"a":1},"id":"s\"s"}`, DuplicateKey, `"s\"s"`, true},
		{`{"jsonrpc":"2.0","id":1,"result":` + deep + `}`, TooDeep, "1", false},
		{`{"jsonrpc":"2.0","result":` + deep + `,"id":1}`, TooDeep, "1", false},
		{`{"jsonrpc":"2.0","result":{"a":{` + strings.Repeat(`"a":1,`, 1000) + `"a":1}},"id":1}`, TooMany, "1", false},
		{`{"jsonrpc":"1.0","id":1,"result":{}}`, Version, "1", false},
		{`{"JSONRPC":"2.0","id":1,"result":{}}`, Version, "1", false},
		{`{"jsonrpc":"2.0","result":{}}`, BadID, "", false},
		{`{"jsonrpc":"2.0","id":null,"method":"m"}`, BadID, "null", true},
		{`{"jsonrpc":"2.0","id":1.5,"method":"m"}`, BadID, "1.5", true},
		{`{"jsonrpc":"2.0","id":true,"method":"m"}`, BadID, "true", true},
		{`{"jsonrpc":"2.0","id":{},"method":"m"}`, BadID, "", true},
		{`{"jsonrpc":"2.0","id":1,"method":null}`, BadMethod, "1", true},
		{`{"jsonrpc":"2.0","id":1,"method":"m","result":{}}`, MixedFrame, "1", true},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}`, BadParams, "1", true},
		{`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, Both, "1", false},
		{`{"jsonrpc":"2.0","id":1,"result":"x"}`, BadResult, "1", false},
		{`{"jsonrpc":"2.0","id":1}`, Neither, "1", false},
		{`{"jsonrpc":"2.0","id":1,"Result":{}}`, Neither, "1", false},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"x"}}`, BadError, "1", false},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, BadError, "1", false},
		{`{"jsonrpc":"2.0","id":1,"error":[]}`, BadError, "1", false},
	} {
		_, f := Parse([]byte(tc.raw), bounds)
		if f == nil || f.Reason != tc.reason || string(f.ID) != tc.id || f.HasMethod != tc.method {
			t.Errorf("%.80s: got %+v, want %s for id %q, method %v", tc.raw, f, tc.reason, tc.id, tc.method)
		}
	}
}

func TestParseID(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]struct {
		n    int64
		kind IDKind
	}{
		`7`: {7, IDInteger}, `-7`: {-7, IDInteger}, `"7"`: {7, IDString}, `"x"`: {-1, IDString}, `7.0`: {7, IDFloat}, `70e-1`: {7, IDFloat},
		`7.5`: {-1, IDFloat}, `1e400`: {-1, IDFloat}, `99999999999999999999`: {-1, IDFloat}, `null`: {-1, IDNull}, `true`: {-1, IDOther},
		`[]`: {-1, IDOther}, ``: {-1, IDOther}, `"NaN"`: {-1, IDString}, `"Inf"`: {-1, IDString},
	} {
		if n, kind := ParseID([]byte(raw)); n != want.n || kind != want.kind {
			t.Errorf("%s: %d, %d", raw, n, kind)
		}
	}
}

func TestHugeFramesAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("longer than a frame of this test may be")
	}
	var keys strings.Builder
	keys.WriteString(`{"jsonrpc":"2.0","id":1,"result":{`)
	for i := range 1_000_000 {
		if i > 0 {
			keys.WriteByte(',')
		}
		keys.WriteString(`"k`)
		keys.WriteString(string(rune('a' + i%26)))
		keys.WriteString(`":1`)
	}
	keys.WriteString(`}}`)
	for name, frame := range map[string]string{
		"depth": `{"jsonrpc":"2.0","result":` + strings.Repeat(`{"a":`, 1_000_000) + `1` + strings.Repeat(`}`, 1_000_000) + `,"id":1}`,
		"keys":  keys.String(),
	} {
		data := []byte(frame)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		_, f := Parse(data, Bounds{Depth: 64, Members: 200_000})
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		if f == nil || string(f.ID) != "1" {
			t.Errorf("%s: %+v", name, f)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 || took > 2*time.Second {
			t.Errorf("%s: %d bytes, %v", name, grown, took)
		}
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	f, err := Object([]byte(`{ "a" : [ 1 , null,{"b":2} ], "A":2 }`))
	if err != nil || len(f) != 2 || string(f.Get("A")) != "2" || f.Get("x") != nil {
		t.Fatalf("%v, %v", f, err)
	}
	items, err := Array(f.Get("a"))
	if err != nil || len(items) != 3 || string(items[0]) != "1" || string(items[1]) != "null" || string(items[2]) != `{"b":2}` {
		t.Fatalf("%q, %v", items, err)
	}
	for _, bad := range []string{``, `1`, `[`, `{"a":1,"a":2}`, `{"a"}`, `null`} {
		if _, err := Object([]byte(bad)); err == nil {
			t.Errorf("%s is no object", bad)
		}
	}
	for _, bad := range []string{``, `{}`, `[1`, `[1 2]`, `null`} {
		if _, err := Array([]byte(bad)); err == nil {
			t.Errorf("%s is no array", bad)
		}
	}
	if s, ok := String([]byte(`"\u0041\n"`)); !ok || s != "A\n" {
		t.Errorf("%q", s)
	}
	if s, ok := String([]byte(`"\ud800"`)); !ok || s != "\ufffd" {
		t.Errorf("%q", s)
	}
	if _, ok := String([]byte(`7`)); ok {
		t.Error("7 is no string")
	}
	if _, ok := Number([]byte(`1e999`)); ok {
		t.Error("not finite")
	}
	if n, ok := Number([]byte(`-1.5`)); !ok || n != -1.5 {
		t.Error(n)
	}
	if f := Check([]byte(`{"a":1}x`), bounds); f == nil || f.Reason != Syntax {
		t.Error(f)
	}
	if f := Check([]byte(` {"a":[1]} `), bounds); f != nil {
		t.Error(f)
	}
}

// FuzzParse holds the tap to its promises: no panic, and whatever becomes a
// message is valid JSON whose parts are what an independent decoder sees.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, `{"jsonrpc":"2.0","id":"1","error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","method":"elicitation/create","id":1,"params":null}`, `[{}]`, `{"id":1,"id":2}`, `{"jsonrpc":"2.0","\u0069d":1,"id":1}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":"\ud800"}}`, `{"a":[[[[[[]]]]]],"id":7.0}`, "{\"id\":\"\\", `{"jsonrpc" : "2.0" , "method" : "m" }`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, fault := Parse(data, Bounds{Depth: 16, Members: 64})
		if fault != nil {
			return
		}
		var seen map[string]json.RawMessage
		if err := json.Unmarshal(data, &seen); err != nil {
			t.Fatalf("accepted %q: %v", data, err)
		}
		for name, part := range map[string]json.RawMessage{"id": m.ID, "params": m.Params} {
			if string(seen[name]) != string(part) {
				t.Fatalf("%s of %q: %q, not %q", name, data, part, seen[name])
			}
		}
		switch m.Kind {
		case Response:
			if (m.Result == nil) == (m.Error == nil) {
				t.Fatalf("%q: %+v", data, m)
			}
			if id, _ := Attribute(data); string(id) != string(m.ID) && !strings.Contains(string(data), `\u`) && m.ID[0] != '{' && m.ID[0] != '[' {
				t.Fatalf("%q is attributed to %q", data, id)
			}
			if m.Result != nil {
				if _, err := Object(m.Result); err != nil {
					t.Fatalf("%q: %v", m.Result, err)
				}
			}
		case Request, Notification:
			if seen["method"] == nil {
				t.Fatalf("%q: %+v", data, m)
			}
		}
	})
}
