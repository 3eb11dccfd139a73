package tui

// firstSteps is what a person sees who has no model: who answers, and the three
// ways on. It is host-written.
const firstSteps = "No model configured: you choose the calls. Three ways on:\n" +
	"1. `/call demo add` calls a tool yourself, `/tools` lists them;\n" +
	"2. `/mcp add` binds a server of your own;\n" +
	"3. `/model` picks a model. At a start one is found by itself where a key is set, such as ANTHROPIC_API_KEY, or a server runs, such as Ollama."
