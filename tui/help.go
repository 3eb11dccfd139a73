package tui

import (
	"sort"
	"strings"

	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/status"
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

// openNotices shows notices, stderr and logs merged, newest first.
func (m *model) openNotices() {
	m.push(&pageDialog{title: "notices, stderr and logs", lines: m.noticeLines, keys: m.keys, th: m.th})
}

func (m *model) noticeLines(w int) []string {
	all := make([]status.Notice, 0, len(m.notices)+len(m.logs))
	all = append(append(all, m.notices...), m.logs...)
	sort.SliceStable(all, func(i, j int) bool { return all[i].Time.After(all[j].Time) })
	if len(all) == 0 {
		return []string{m.th.Muted.Render("none yet")}
	}
	out := make([]string, len(all))
	for i, n := range all {
		out[i] = status.NoticeLine(n, m.th, w)
	}
	return out
}
