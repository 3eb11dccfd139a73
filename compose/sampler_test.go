package compose

import (
	"testing"

	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/harness/model/scripted"
	"github.com/looprig/looprig/mcpadapter"
)

// A model that uses the tools of the server that asks is no failure: the uses go
// back with the message.
func TestASamplerPassesUsesOn(t *testing.T) {
	t.Parallel()
	a := &App{}
	a.opt.Scripted = scripted.New(scripted.Config{Sampling: []scripted.Reply{{Say: "so", Call: []scripted.Call{{Tool: "weather", Args: []byte(`{"a":1}`)}}}}})
	a.client = a.opt.Scripted
	msg, err := sampler{a}.Sample(t.Context(), mcpadapter.SamplingRequest{Tools: []model.Tool{{Name: "weather"}}})
	if err != nil || msg.Text != "so" || msg.Stop != "tool_use" || len(msg.ToolUses) != 1 || msg.ToolUses[0].Name != "weather" || string(msg.ToolUses[0].Args) != `{"a":1}` {
		t.Errorf("%+v %v", msg, err)
	}
}
