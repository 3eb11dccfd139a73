package tui

import (
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
)

// firstSteps is what a person sees who has no model: who answers, and the three
// ways on. It names a call only where that server is bound. Apart from the name of
// a binding it is host-written.
func firstSteps(bindings []integration.Binding) string {
	call := "`/call SERVER TOOL` calls a tool yourself"
	for _, b := range bindings {
		if b.Kind == "builtin" {
			call = "`/call " + string(safetext.Ident(b.Name)) + " add` calls a tool yourself"
			break
		}
	}
	return "No model configured: you choose the calls. Three ways on:\n" +
		"1. " + call + ", `/tools` lists them;\n" +
		"2. `/mcp add` binds a server of your own;\n" +
		"3. `/model` picks a model. At a start one is found by itself where a key is set, such as ANTHROPIC_API_KEY, or a server runs, such as Ollama."
}
