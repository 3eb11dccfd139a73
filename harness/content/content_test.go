package content

import (
	"encoding/json"
	"reflect"
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

func TestFilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		b    Block
		body string
		want Block
	}{
		"nothing stored":    {Text("x"), "y", Text("x")},
		"text":              {Block{Kind: KindText, Blob: "b", Bytes: 1, BlobOf: BlobText}, "y", Text("y")},
		"says what it is":   {Block{Kind: KindResource, Blob: "b", BlobOf: BlobData}, "y", Block{Kind: KindResource, Data: []byte("y")}},
		"old text":          {Block{Kind: KindReasoning, Blob: "b"}, "y", Block{Kind: KindReasoning, Text: "y"}},
		"old JSON":          {Block{Kind: KindUnknown, Blob: "b"}, "{}", Block{Kind: KindUnknown, JSON: []byte("{}")}},
		"old picture":       {Block{Kind: KindImage, Blob: "b"}, "y", Block{Kind: KindImage, Data: []byte("y")}},
		"old text resource": {Block{Kind: KindResource, Blob: "b"}, "y", Block{Kind: KindResource, Text: "y"}},
		"old binary":        {Block{Kind: KindResource, Blob: "b"}, "\xff", Block{Kind: KindResource, Data: []byte("\xff")}},
	} {
		if got := c.b.Filled([]byte(c.body)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A block without a provider's state encodes as it did before there was one, and
// a state comes back byte for byte.
func TestState(t *testing.T) {
	t.Parallel()
	plain, err := json.Marshal(Text("a"))
	if err != nil || string(plain) != `{"kind":"text","text":"a"}` {
		t.Fatalf("%s %v", plain, err)
	}
	b := Block{Kind: KindReasoning, State: &State{Origin: "gemini/m", Data: json.RawMessage(`{"n":9007199254740993}`)}}
	raw, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	var back Block
	if err := json.Unmarshal(raw, &back); err != nil || back.State == nil || back.State.Origin != "gemini/m" || string(back.State.Data) != `{"n":9007199254740993}` {
		t.Fatalf("%s %+v %v", raw, back, err)
	}
}
