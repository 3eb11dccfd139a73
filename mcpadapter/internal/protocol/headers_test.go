package protocol

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/looprig/looprig/mcpadapter/internal/protocol/tap"
)

func TestHeaderAnnotations(t *testing.T) {
	t.Parallel()
	many := strings.Builder{}
	for i := range maxMirrors + 1 {
		fmt.Fprintf(&many, `"p%d":{"type":"string","x-mcp-header":"H%d"},`, i, i)
	}
	for name, tc := range map[string]struct {
		schema string
		want   string
		valid  bool
	}{
		"none":          {`{"type":"object","properties":{"a":{"type":"string"}}}`, "[]", true},
		"no schema":     {`null`, "[]", true},
		"one":           {`{"properties":{"a":{"type":"string","x-mcp-header":"Region"}}}`, "[{Region [a]}]", true},
		"nested":        {`{"properties":{"a":{"type":"object","properties":{"b.c":{"x-mcp-header":"B","type":"integer"}}}}}`, "[{B [a b.c]}]", true},
		"nullable":      {`{"properties":{"a":{"type":["boolean","null"],"x-mcp-header":"A"}}}`, "[{A [a]}]", true},
		"escaped":       {`{"properties":{"a":{"type":"string","\u0078-mcp-header":"A"}}}`, "[{A [a]}]", true},
		"property":      {`{"properties":{"x-mcp-header":{"type":"string"}}}`, "[]", true},
		"data":          {`{"properties":{"a":{"default":{"x-mcp-header":1},"const":{"x-mcp-header":""},"enum":[{"x-mcp-header":1}]}}}`, "[]", true},
		"root":          {`{"type":"string","x-mcp-header":"A"}`, "", false},
		"empty":         {`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`, "", false},
		"number":        {`{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`, "", false},
		"object":        {`{"properties":{"a":{"type":"object","x-mcp-header":"A"}}}`, "", false},
		"untyped":       {`{"properties":{"a":{"x-mcp-header":"A"}}}`, "", false},
		"two types":     {`{"properties":{"a":{"type":["string","integer"],"x-mcp-header":"A"}}}`, "", false},
		"not a string":  {`{"properties":{"a":{"type":"string","x-mcp-header":7}}}`, "", false},
		"null":          {`{"properties":{"a":{"type":"string","x-mcp-header":null}}}`, "", false},
		"space":         {`{"properties":{"a":{"type":"string","x-mcp-header":"A B"}}}`, "", false},
		"line break":    {`{"properties":{"a":{"type":"string","x-mcp-header":"A\r\nX: y"}}}`, "", false},
		"unicode":       {`{"properties":{"a":{"type":"string","x-mcp-header":"Größe"}}}`, "", false},
		"twice":         {`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"properties":{"c":{"type":"string","x-mcp-header":"a"}}}}}`, "", false},
		"in items":      {`{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}`, "", false},
		"in prefix":     {`{"properties":{"a":{"prefixItems":[{"type":"string","x-mcp-header":"A"}]}}}`, "", false},
		"in allOf":      {`{"allOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`, "", false},
		"in if":         {`{"if":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`, "", false},
		"in defs":       {`{"$defs":{"a":{"type":"string","x-mcp-header":"A"}}}`, "", false},
		"in additional": {`{"additionalProperties":{"type":"string","x-mcp-header":"A"}}`, "", false},
		"too many":      {`{"properties":{` + strings.TrimSuffix(many.String(), ",") + `}}`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, fault := annotations(json.RawMessage(tc.schema))
			if got := fmt.Sprint(list); (fault == "") != tc.valid || tc.valid && got != tc.want {
				t.Fatalf("%s, %q", got, fault)
			}
		})
	}
}

const annotated = `{"tools":[
 {"name":"good","inputSchema":{"properties":{"s":{"type":"string","x-mcp-header":"S"},"i":{"type":"integer","x-mcp-header":"I"},"b":{"type":"boolean","x-mcp-header":"B"},
   "n":{"type":"object","properties":{"d":{"type":"string","x-mcp-header":"D"}}}}}},
 {"name":"bad","inputSchema":{"properties":{"s":{"type":"number","x-mcp-header":"S"}}}},
 {"name":"plain","inputSchema":{}}]}`

func TestToolsWithInvalidHeadersAreExcludedOverHTTPOnly(t *testing.T) {
	t.Parallel()
	serve := modernServer(answering(map[string]string{"tools/list": strings.ReplaceAll(annotated, "\n", ""), "tools/call": okResult}))
	for kind, left := range map[string]int{"http": 2, "stdio": 3} {
		f := connect(t, serve, over(kind))
		page, err := f.List(short(t), Tools, "")
		if err != nil || len(page.Items) != left || len(page.Excluded) != 3-left {
			t.Fatalf("%s: %d items, %+v, %v", kind, len(page.Items), page.Excluded, err)
		}
		if left == 2 && (page.Excluded[0].Name != "bad" || page.Excluded[0].Reason == "") {
			t.Fatalf("%+v", page.Excluded)
		}
		for args, want := range map[string]string{
			`{"s":"a\nb","i":42,"b":true,"n":{"d":"ü"}}`: "[{S a\nb} {I 42} {B true} {D ü}]",
			`{"s":"","i":-7.0,"b":false}`:                "[{S } {I -7} {B false}]",
			`{"s":null,"n":{}}`:                          "[]",
			`{"i":1e2,"n":[],"s":{"x":1}}`:               "[{I 100}]",
			`{"i":9007199254740993}`:                     "[]",
			`{"i":0.5}`:                                  "[]",
			`{"n":{"d":["x"]}}`:                          "[]",
		} {
			if _, err := f.CallTool(short(t), CallRequest{Name: "good", Args: json.RawMessage(args)}); err != nil {
				t.Fatal(err)
			}
			if kind == "stdio" {
				want = "[]"
			}
			if got := fmt.Sprint(f.d.log.last("tools/call").Params); got != want {
				t.Errorf("%s %s: %s, want %s", kind, args, got, want)
			}
		}
	}
}

func TestOversizedHeaderValuesAreNotSent(t *testing.T) {
	t.Parallel()
	f := connect(t, modernServer(answering(map[string]string{"tools/list": strings.ReplaceAll(annotated, "\n", ""), "tools/call": okResult})), over("http"))
	if _, err := f.List(short(t), Tools, ""); err != nil {
		t.Fatal(err)
	}
	_, err := f.CallTool(short(t), CallRequest{Name: "good", Args: json.RawMessage(`{"s":"` + strings.Repeat("x", maxHeaderValues+1) + `"}`)})
	if e := wantClass(t, err, ClassOverLimit); e.Sent || e.Limit != maxHeaderValues {
		t.Fatalf("%+v", e)
	}
	if o := f.d.log.last("tools/call"); o.Frame != nil {
		t.Fatal("sent")
	}
}

func TestHeaderMismatchListsAgainAndRetriesOnce(t *testing.T) {
	t.Parallel()
	var calls, listings atomic.Int64
	stale := func(accept bool) func(p *peer) {
		return modernServer(func(p *peer) {
			for {
				m, ok := p.next()
				switch {
				case !ok:
					return
				case m.Method == "tools/list" && !strings.Contains(m.raw, "cursor"):
					listings.Add(1)
					p.reply(m, `{"tools":[],"nextCursor":"2"}`)
				case m.Method == "tools/list":
					p.reply(m, `{"tools":[{"name":"x","inputSchema":{"properties":{"s":{"type":"string","x-mcp-header":"S"}}}}]}`)
				case m.Method == "tools/call":
					if calls.Add(1) > 1 && accept {
						p.reply(m, okResult)
					} else {
						p.fail(m, CodeHeaderMismatch, "Mcp-Param-S is missing")
					}
				}
			}
		})
	}
	var attempts []int
	stales := make(chan Family, 4)
	watch := func(o *Options) { o.Handlers.ListChanged = func(fam Family, _ bool) { stales <- fam } }
	req := CallRequest{Name: "x", Args: json.RawMessage(`{"s":"v"}`), Attempt: func(n int) { attempts = append(attempts, n) }}
	f := connect(t, stale(true), over("http"), watch)
	if _, err := f.CallTool(short(t), req); err != nil || len(stales) != 1 {
		t.Fatalf("%v, %d listings are known to be stale", err, len(stales))
	}
	if got := fmt.Sprint(f.d.log.last("tools/call").Params); got != "[{S v}]" || !slices.Equal(attempts, []int{1, 2}) || listings.Load() != 1 {
		t.Fatalf("%s, attempts %v, %d listings", got, attempts, listings.Load())
	}
	calls.Store(0)
	f = connect(t, stale(false), over("http"))
	_, err := f.CallTool(short(t), req)
	if e := wantClass(t, err, ClassRemote); e.Code != CodeHeaderMismatch || calls.Load() != 2 {
		t.Fatalf("%+v after %d calls", e, calls.Load())
	}
	calls.Store(0)
	f = connect(t, stale(false), over("stdio")) // no headers there: nothing to correct
	_, err = f.CallTool(short(t), req)
	if wantClass(t, err, ClassRemote); calls.Load() != 1 {
		t.Fatalf("%d calls", calls.Load())
	}
}

func TestAnnotationsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("h", 200)
	list := make([]mirror, 0, maxMirrors)
	for i := range maxMirrors {
		list = append(list, mirror{fmt.Sprint(long, i), []string{long}})
	}
	var m mirrors
	refused := 0
	for i := range 1000 {
		if !m.put(fmt.Sprint(i), list) {
			refused++
		}
	}
	if m.size > maxMirroredBytes || refused == 0 || len(m.tools) != 1000-refused {
		t.Fatalf("%d bytes of %d tools, %d refused", m.size, len(m.tools), refused)
	}
	for range 3 { // what is not listed any more makes room
		m.begin()
	}
	if m.size != 0 || len(m.tools) != 0 || !m.put("x", list) || m.of("x") == nil {
		t.Fatalf("%d bytes of %d tools", m.size, len(m.tools))
	}
	schema := `{"properties":{"` + strings.Repeat("p", maxMirrorBytes) + `":{"type":"string","x-mcp-header":"A"}}}`
	if _, fault := annotations(json.RawMessage(schema)); fault != tooManyHeaders {
		t.Fatal(fault)
	}
}

// FuzzAnnotations reads whatever a tool may declare: nothing panics, and what
// is valid is a list of headers that HTTP can carry.
func FuzzAnnotations(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}`), []byte(`{"a":"x"}`))
	f.Add([]byte(`{"properties":{"a":{"properties":{"b":{"type":["null","integer"],"\u0078-mcp-header":"B"}}}}}`), []byte(`{"a":{"b":1e2}}`))
	f.Add([]byte(`{"allOf":[{"x-mcp-header":"A"}],"items":[[[]]]}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, schema, args []byte) {
		bounds := DefaultLimits().withDefaults().bounds()
		if tap.Check(schema, bounds) != nil || tap.Check(args, bounds) != nil {
			return
		}
		list, fault := annotations(schema)
		if fault != "" && list != nil || len(list) > maxMirrors {
			t.Fatalf("%v, %q", list, fault)
		}
		s := &Session{}
		s.mirrors.put("t", list)
		params, _ := s.headerParams("op", "t", args)
		for _, p := range params {
			if !isToken(p.Name) {
				t.Fatalf("%q", p.Name)
			}
		}
	})
}
