package demo

// Tools are the names of the tools that the demo server has in any edition of its
// catalog, in alphabetical order.
func Tools() []string {
	return []string{"add", "ask-confirm", "ask-name", "ask-url", "big-result", "echo", "evolve", "fail", "greet", "lookup", "slow", "think"}
}
