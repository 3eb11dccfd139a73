package event

import "github.com/looprig/looprig/harness/content"

// Blobs lists the bodies that an event's content refers to, each once.
func Blobs(e Event) []string {
	var out []string
	seen := map[string]bool{}
	var walk func([]content.Block)
	walk = func(blocks []content.Block) {
		for _, b := range blocks {
			if b.Blob != "" && !seen[b.Blob] {
				seen[b.Blob] = true
				out = append(out, b.Blob)
			}
			walk(b.Blocks)
		}
	}
	switch e := e.(type) {
	case *MessageCompleted:
		walk(e.Content)
	case *ToolCompleted:
		walk(e.Content)
	}
	return out
}
