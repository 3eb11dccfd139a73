package tui

import (
	"fmt"
	"runtime/debug"
	"sync"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/internal/safetext"
)

// maxStack bounds the stack of a crash report, in bytes.
const maxStack = 64 << 10

// guard runs the root model and turns a panic in it, or in one of its commands,
// into an orderly end. Bubble Tea would restore the terminal too, but prints
// the panic's value as it is, and a server may have written it.
type guard struct {
	m    *model
	kill func() // ends the program from outside of Update

	mu    sync.Mutex
	crash *CrashError
}

var _ tea.Model = (*guard)(nil)

// report keeps the first crash.
func (g *guard) report(v any) *CrashError {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.crash == nil {
		g.crash = &CrashError{
			Value: string(safetext.ToLine(fmt.Sprint(v))),
			Stack: string(safetext.ToBlockN(string(debug.Stack()), maxStack)),
		}
	}
	return g.crash
}

func (g *guard) crashed() *CrashError {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.crash
}

// Init starts the model.
func (g *guard) Init() (cmd tea.Cmd) {
	defer func() {
		if v := recover(); v != nil {
			_ = g.report(v)
			cmd = tea.Quit
		}
	}()
	return g.wrap(g.m.Init())
}

// Update runs the model's Update.
func (g *guard) Update(msg tea.Msg) (_ tea.Model, cmd tea.Cmd) {
	defer func() {
		if v := recover(); v != nil {
			_ = g.report(v)
			cmd = tea.Quit
		}
	}()
	if g.crashed() != nil {
		return g, tea.Quit
	}
	_, cmd = g.m.Update(msg)
	return g, g.wrap(cmd)
}

// View runs the model's View. It cannot return a command, so a panic ends the
// program from outside.
func (g *guard) View() (v tea.View) {
	defer func() {
		if r := recover(); r != nil {
			_ = g.report(r)
			g.kill()
			v = tea.NewView("")
			v.AltScreen = true
		}
	}()
	return g.m.View()
}

// wrap guards a command and the commands that it batches.
func (g *guard) wrap(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		defer func() {
			if v := recover(); v != nil {
				msg = crashMsg{g.report(v)}
			}
		}()
		out := cmd()
		if b, ok := out.(tea.BatchMsg); ok {
			wrapped := make(tea.BatchMsg, len(b))
			for i, c := range b {
				wrapped[i] = g.wrap(c)
			}
			return wrapped
		}
		return out
	}
}
