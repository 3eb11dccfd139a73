package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/tui/cells"
)

// Not parallel: how cells are counted holds for the process.
func TestTheFrameIsCountedAsItIsDrawn(t *testing.T) {
	defer cells.CountClusters(false)
	cells.CountClusters(false)
	r := newRig(t, 120, 36)
	families := strings.Repeat("👨‍👩‍👧", 50) + " behind them"
	h := r.w.head()
	r.emit(&event.ToolRequested{Header: h, Step: 1, Call: "c1", Tool: "mcp:demo:echo"}, &event.ToolCompleted{Header: h, Step: 1, Call: "c1", Tool: "mcp:demo:echo", Outcome: tool.Failed, Reason: families, Content: []content.Block{content.Text(families)}})
	measure := func(by ansi.Method) {
		t.Helper()
		r.see("behind them")
		lines, _ := r.m.frame()
		for _, l := range lines {
			if n := by.StringWidth(l); n != 120 {
				t.Errorf("a line of %d cells: %s", n, ansi.Strip(l))
			}
		}
	}
	measure(ansi.WcWidth)
	r.send(tea.ModeReportMsg{Mode: ansi.ModeUnicodeCore, Value: ansi.ModeNotRecognized})
	measure(ansi.WcWidth)
	r.send(tea.ModeReportMsg{Mode: ansi.ModeUnicodeCore, Value: ansi.ModeReset})
	measure(ansi.GraphemeWidth)
}
