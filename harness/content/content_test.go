package content

import (
	"encoding/json"
	"testing"
)

func TestPlainText(t *testing.T) {
	t.Parallel()
	blocks := []Block{Text("one"), {Kind: KindImage, Data: []byte{1}}, {Kind: KindReasoning, Text: "hidden"}, Text("two"), {Kind: KindResource, Text: "not said"}}
	if got := PlainText(blocks); got != "one\ntwo" {
		t.Errorf("%q", got)
	}
	if got := PlainText(nil); got != "" {
		t.Errorf("%q", got)
	}
}

// A block says its kind and nothing that it does not have.
func TestEncodingIsLean(t *testing.T) {
	t.Parallel()
	zero := 0.0
	cases := map[string]Block{
		`{"kind":"text","text":"x"}`:                                                  Text("x"),
		`{"kind":"text"}`:                                                             Text(""),
		`{"kind":"image","data":"AQI=","mime":"image/png"}`:                           {Kind: KindImage, Data: []byte{1, 2}, MIME: "image/png"},
		`{"kind":"audio","blob":"sha256:aa","bytes":9,"priority":0}`:                  {Kind: KindAudio, Blob: "sha256:aa", Bytes: 9, Priority: &zero},
		`{"kind":"tool_result","call_id":"c1","blocks":[{"kind":"text","text":"y"}]}`: {Kind: KindToolResult, CallID: "c1", Blocks: []Block{Text("y")}},
		`{"kind":"unknown","json":{"type":"new"}}`:                                    {Kind: KindUnknown, JSON: json.RawMessage(`{"type":"new"}`)},
	}
	for want, b := range cases {
		got, err := json.Marshal(b)
		if err != nil || string(got) != want {
			t.Errorf("\n got %s\nwant %s (%v)", got, want, err)
		}
		var back Block
		if err := json.Unmarshal(got, &back); err != nil {
			t.Error(err)
		}
		if again, _ := json.Marshal(back); string(again) != want {
			t.Errorf("came back as %s", again)
		}
	}
}
