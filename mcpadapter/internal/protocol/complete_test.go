package protocol

import (
	"fmt"
	"strings"
	"testing"
)

// completing answers initialize for a revision, with completions declared, and
// completion/complete with one result.
func completing(rev, result string) func(p *peer) {
	return func(p *peer) {
		m, ok := p.await("initialize")
		if !ok {
			return
		}
		init := strings.Replace(initResult, Revision20251125, rev, 1)
		p.reply(m, strings.Replace(init, `"prompts":{}`, `"prompts":{},"completions":{}`, 1))
		answering(map[string]string{methodComplete: result})(p)
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	for _, rev := range legacy {
		f := connect(t, completing(rev, `{"completion":{"values":["a",null,"b\u0007"],"total":7,"hasMore":true}}`), pinned(rev))
		c, err := f.Complete(short(t), CompleteRequest{Prompt: "p\"", Argument: "lang", Value: "g", Known: map[string]string{"z": "1", "a": "2"}})
		if err != nil || fmt.Sprintf("%q", c.Values) != `["a" "b\a"]` || c.Total != 7 || !c.HasMore {
			t.Fatalf("%s: %+v, %v", rev, c, err)
		}
		if _, err := f.Complete(short(t), CompleteRequest{Template: "file:///{path}", Argument: "path"}); err != nil {
			t.Fatal(err)
		}
		all := strings.Join(f.d.log.all(), "\n")
		known := `,"context":{"arguments":{"a":"2","z":"1"}}`
		if rev < Revision20250618 {
			known = ""
		}
		for _, want := range []string{
			`"params":{"ref":{"type":"ref/prompt","name":"p\""},"argument":{"name":"lang","value":"g"}` + known + `}}`,
			`"params":{"ref":{"type":"ref/resource","uri":"file:///{path}"},"argument":{"name":"path","value":""}}}`,
		} {
			if !strings.Contains(all, want) {
				t.Errorf("%s: %s is not in %s", rev, want, all)
			}
		}
	}
}

func TestCompletionsThatAreRefused(t *testing.T) {
	t.Parallel()
	list := func(n int) string { return `[` + strings.TrimSuffix(strings.Repeat(`"v",`, n), ",") + `]` }
	for name, tc := range map[string]struct {
		result string
		class  Class
	}{
		"at the limit":  {`{"completion":{"values":` + list(MaxCompletions) + `}}`, ""},
		"one over":      {`{"completion":{"values":` + list(MaxCompletions+1) + `}}`, ClassOverLimit},
		"long at limit": {`{"completion":{"values":["` + strings.Repeat("v", maxCompletionBytes) + `"]}}`, ""},
		"long":          {`{"completion":{"values":["` + strings.Repeat("v", maxCompletionBytes+1) + `"]}}`, ClassOverLimit},
		"nothing":       {`{}`, ClassProtocol},
		"null":          {`{"completion":null}`, ClassProtocol},
		"no values":     {`{"completion":{}}`, ClassProtocol},
		"numbers":       {`{"completion":{"values":[1]}}`, ClassProtocol},
		"total":         {`{"completion":{"values":[],"total":-1}}`, ClassProtocol},
		"total text":    {`{"completion":{"values":[],"total":"7"}}`, ClassProtocol},
		"more":          {`{"completion":{"values":[],"hasMore":"yes"}}`, ClassProtocol},
		"input":         {`{"resultType":"input_required","requestState":"s"}`, ClassProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := connect(t, completing(Revision20251125, tc.result), pinned(Revision20251125))
			_, err := f.Complete(short(t), CompleteRequest{Prompt: "p", Argument: "a"})
			if tc.class == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			wantClass(t, err, tc.class)
		})
	}
	f := connect(t, legacyServer(answering(nil)), pinned(Revision20251125))
	_, err := f.Complete(short(t), CompleteRequest{Prompt: "p", Argument: "a"})
	if e := wantClass(t, err, ClassUnsupported); e.Sent {
		t.Fatalf("%+v", e)
	}
	for _, req := range []CompleteRequest{{Argument: "a"}, {Prompt: "p", Template: "t", Argument: "a"}, {Prompt: "p"}} {
		_, err := f.Complete(short(t), req)
		wantClass(t, err, ClassConfig)
	}
}
