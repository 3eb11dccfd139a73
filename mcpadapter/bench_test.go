package mcpadapter

import (
	"encoding/json"
	"testing"

	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter/client/clienttest"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// BenchmarkCall measures what the adapter itself adds to a call: the session is
// a fake that answers at once.
func BenchmarkCall(b *testing.B) {
	srv := &clienttest.Server{}
	srv.Set(protocol.Tools, addTool)
	binding := Binding{Name: "d"}
	binding.Server.Transport = clienttest.Transport{}
	m, err := NewManager([]Binding{binding}, Deps{connect: srv.Connect})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = m.Close(b.Context()) }()
	if err := m.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	if err := m.Wait(b.Context(), "d"); err != nil {
		b.Fatal(err)
	}
	h := m.SessionTools("main", "main")[0].Handler
	args := json.RawMessage(`{"a":1}`)
	b.ReportAllocs()
	for b.Loop() {
		p, err := h.Prepare(b.Context(), args)
		if err != nil {
			b.Fatal(err)
		}
		if refusal := p.Check(b.Context()); refusal != nil {
			b.Fatal(refusal)
		}
		if res := p.Invoke(b.Context(), tool.Call{ID: "c"}); res.Outcome != tool.OK {
			b.Fatal(res.Reason)
		}
	}
}
