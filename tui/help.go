package tui

import (
	"strings"

	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/keymap"
)

// openHelp shows the commands and the keys that are in force.
func (m *model) openHelp() {
	m.push(&pageDialog{title: "help", lines: m.helpLines, keys: m.keys, th: m.th})
}

func (m *model) helpLines(w int) []string {
	th := m.th
	out := []string{th.Heading.Render("Commands")}
	for _, c := range Commands() {
		out = append(out, cells.Cut("  "+th.Key.Render(cells.Fit(c.Name+" "+c.Args, 24))+" "+c.Title, w))
	}
	for _, ctx := range keymap.Contexts() {
		out = append(out, "", th.Heading.Render(ctx.Title()))
		for _, a := range m.keys.Actions() {
			if a.Context != ctx || len(a.Keys) == 0 {
				continue
			}
			names := make([]string, len(a.Keys))
			for i, k := range a.Keys {
				names[i] = keymap.Pretty(k)
			}
			title := a.Title
			if a.Disabled != "" {
				title = th.Muted.Render(title + " (" + a.Disabled + ")")
			}
			out = append(out, cells.Cut("  "+th.Key.Render(cells.Fit(strings.Join(names, " "), 24))+" "+title, w))
		}
	}
	return out
}
