package tap

import "testing"

// FuzzIsNotification holds the short way to the long one: what it says is a
// notification of the method is one, if the frame is a message at all.
func FuzzIsNotification(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","method":"m"}`, `{"method":"m","params":{"id":1,"method":"x"},"jsonrpc":"2.0"}`, `{"method":"m","id":1,"jsonrpc":"2.0"}`,
		`{"method":"m","i\u0064":1,"jsonrpc":"2.0"}`, `{"method":"m","method":"x","jsonrpc":"2.0"}`, `{"x":"method","jsonrpc":"2.0"}`,
		`{"method":"m","result":{},"jsonrpc":"2.0"}`, `{"method":["m"],"jsonrpc":"2.0"}`, `{"params":{"method":"m"},"jsonrpc":"2.0"}`, `{"method":"m`,
		`{"jsonrpc":"2.0","method":"m","params":{"a":"}{\"id\":1"}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		short := IsNotification(in, "m")
		m, fault := Parse(in, Bounds{Depth: 64, Members: 1000})
		if fault == nil && short && (m.Kind != Notification || m.Method != "m") {
			t.Errorf("%q is a %d of %q", in, m.Kind, m.Method)
		}
		if id, _ := Attribute(in); short && fault != nil && id != nil {
			t.Errorf("%q answers %s", in, id)
		}
	})
}

func TestIsNotification(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		`{"jsonrpc":"2.0","method":"m"}`:                                 true,
		` {"jsonrpc":"2.0","method":"m"}`:                                false,
		`{"params":{"id":1,"method":"x"},"method" : "m"}`:                true,
		`{"jsonrpc":"2.0","method":"m","id":1}`:                          false,
		`{"jsonrpc":"2.0","method":"mm"}`:                                false,
		`{"jsonrpc":"2.0","method":"m","error":{}}`:                      false,
		`{"jsonrpc":"2.0","params":["method","m"]}`:                      false,
		`{"jsonrpc":"2.0","method":"m","params":{"x":"\"id\":1"},"a":1}`: true,
	} {
		if got := IsNotification([]byte(in), "m"); got != want {
			t.Errorf("%s: %t", in, got)
		}
	}
}
