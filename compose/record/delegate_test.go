package record

import (
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/tool"
)

// The servers that a delegate has for itself come and go with it: the script has
// no step for them and waits for none, and a tool that a delegate does not have is
// none of a server that is still starting.
func TestServersOfADelegate(t *testing.T) {
	t.Parallel()
	const sub = "main/reviewer-1"
	events := join(begun("headless"), []event.Event{
		&event.TurnStarted{Header: at("main", "t1"), Kind: "user", Text: "Review."},
		&event.MessageCompleted{Header: at("main", "t1"), Role: content.RoleAssistant, Content: []content.Block{{Kind: content.KindText, Text: "Reviewed."}}},
		&event.ToolRequested{Header: at("main", "t1"), Step: 1, Call: "c1", Tool: "builtin:delegate", ModelName: "delegate", By: "model"},
		&event.LoopStarted{Header: at(sub, ""), Parent: "main", Call: "c1", Agent: "reviewer", Depth: 1},
		&event.BindingReconfigured{Header: at(sub, ""), Binding: "notes-1", Op: "add", By: "delegate"},
		&event.ToolsetAdopted{Header: at(sub, ""), Bindings: []event.BindingGeneration{{Binding: "notes", Generation: 2}}},
		&event.TurnStarted{Header: at(sub, "t2"), Kind: "user", Text: "Do it."},
		&event.ToolRequested{Header: at(sub, "t2"), Step: 1, Call: "c2", Tool: "mcp__gone__add", ModelName: "mcp__gone__add", By: "model"},
		&event.ToolCompleted{Header: at(sub, "t2"), Step: 1, Call: "c2", Tool: "mcp__gone__add", ModelName: "mcp__gone__add", Outcome: tool.Unavailable},
		&event.TurnCompleted{Header: at(sub, "t2"), Text: "No."},
		&event.BindingReconfigured{Header: at(sub, ""), Binding: "notes-1", Op: "remove", By: "loop closed"},
		&event.ToolCompleted{Header: at("main", "t1"), Step: 1, Call: "c1", Tool: "builtin:delegate", ModelName: "delegate", Outcome: tool.OK},
		&event.TurnCompleted{Header: at("main", "t1"), Text: "Reviewed."},
	}, operatorTurn("t3", "c3", `{}`, tool.OK))
	rec, _ := made(t, Options{}, nil, events...)
	mustSay(t, rec, `.text == "Reviewed."`)
	for _, part := range []string{"notes", "starting"} {
		if strings.Contains(string(rec.Text)+strings.Join(rec.Notes, "\n"), part) {
			t.Errorf("%q is in\n%s\n%q", part, rec.Text, rec.Notes)
		}
	}
	if rec.Steps != 2 {
		t.Errorf("%d steps", rec.Steps)
	}
}
