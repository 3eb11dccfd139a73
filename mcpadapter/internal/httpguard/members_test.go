package httpguard

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func peekIn(text []byte, piece int) (id []byte, method string) {
	var m members
	for len(text) > 0 {
		n := min(len(text), max(piece, 1))
		m.write(text[:n])
		text = text[n:]
	}
	return m.result()
}

func TestPeek(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"jsonrpc":"2.0","id":12,"result":{"x":1}}`:         "12 ",
		`{"result":{"id":1,"a":[{"id":2}]},"id":"a\"b"}`:     `"a\"b" `,
		`{"text":"\"id\":1,","method":"tools/call","id":3 }`: "3 tools/call",
		`{"x":"\\","id":4}`:   "4 ",
		`{"\u0069d":5}`:       "5 ",
		`{"id":1,"id":2}`:     " ",
		`{"id":null}`:         " ",
		`{"id":{"a":1}}`:      " ",
		`{"id":0x1}`:          " ",
		`[{"id":1}]`:          " ",
		`{"id":1`:             " ",
		`{"Id":1,"method":5}`: " ",
		`{"id":"` + strings.Repeat("v", 5000) + `"}`:                " ",
		`{"` + strings.Repeat("k", 5000) + `":1,"id":8}`:            "8 ",
		`{"r":"` + strings.Repeat(`\\\"id\":1,{`, 50) + `","id":7}`: "7 ",
		"\n{\n\t\"id\" : -1.5e3 }":                                  "-1.5e3 ",
	} {
		for _, piece := range []int{1, 3, 1 << 20} {
			if id, method := peekIn([]byte(text), piece); string(id)+" "+method != want {
				t.Errorf("%.80s in pieces of %d: %s %q", text, piece, id, method)
			}
		}
	}
}

// FuzzPeek holds the scanner against a real parser: what it finds in a whole
// object is that object's own member, however the text comes in pieces.
func FuzzPeek(f *testing.F) {
	f.Add([]byte(`{"result":{"id":1},"id":"x","method":"m"}`), 5)
	f.Add([]byte(`{"a":"\"id\":1","id":22}`), 1)
	f.Fuzz(func(t *testing.T, in []byte, piece int) {
		id, method := peekIn(in, piece)
		if whole, same := peekIn(in, len(in)); !bytes.Equal(whole, id) || same != method {
			t.Fatalf("%q: %s in pieces of %d, %s in one", in, id, piece, whole)
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(in, &object) != nil || object == nil {
			return
		}
		if want := object["id"]; id != nil && !bytes.Equal(id, want) {
			t.Fatalf("%q: %s, want %s", in, id, want)
		} else if plain := bytes.Count(in, []byte("id")) == 1 && !bytes.Contains(in, []byte(`\`)) && len(want) <= maxMemberValue; id == nil && plain && len(want) > 0 && want[0] >= '"' && want[0] <= '9' {
			t.Fatalf("%q: the id %s was not found", in, want)
		}
	})
}
