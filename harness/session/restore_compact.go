package session

import (
	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
)

// summaryPreamble introduces a summary to a model.
const summaryPreamble = "The conversation before this was replaced by a summary of it:\n\n"

// compactedHistory is a history after a compaction: one message with the summary
// in place of the oldest ones.
func compactedHistory(history []content.Message, e *event.HistoryCompacted) []content.Message {
	n := min(max(e.Replaced, 0), len(history))
	out := make([]content.Message, 0, len(history)-n+1)
	out = append(out, content.Message{Role: content.RoleUser, Blocks: []content.Block{content.Text(summaryPreamble + e.Summary)}})
	return append(out, history[n:]...)
}
