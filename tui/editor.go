package tui

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// maxEdited bounds what is read back from the editor, in bytes.
const maxEdited = 1 << 20

var (
	errNoEditor = errors.New("neither $VISUAL nor $EDITOR is set")
	errEdited   = fmt.Errorf("the edited text is larger than %d bytes", maxEdited)
)

// editorStep is where an edit is.
type editorStep uint8

const (
	editorReady  editorStep = iota // the file is written
	editorClosed                   // the editor has ended
	editorRead                     // the file is read and removed
)

type editorMsg struct {
	step editorStep
	path string
	text string
	err  error
}

// startEditor writes the input to a file, in a command.
func (m *model) startEditor() tea.Cmd {
	if len(m.editorArgv("")) == 0 {
		m.say(errNoEditor.Error())
		return nil
	}
	text, dir := m.cp.Expand(), m.o.TempDir
	return func() tea.Msg {
		f, err := os.CreateTemp(dir, "looprig-*.md")
		if err != nil {
			return editorMsg{step: editorRead, err: err}
		}
		_, err = f.WriteString(text)
		return editorMsg{step: editorReady, path: f.Name(), err: errors.Join(err, f.Close())}
	}
}

func (m *model) editorArgv(path string) []string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if argv := strings.Fields(m.getenv(name)); len(argv) > 0 {
			return append(argv, path)
		}
	}
	return nil
}

func (m *model) getenv(name string) string {
	if m.o.Env == nil {
		return os.Getenv(name)
	}
	value := ""
	for _, kv := range m.o.Env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// editor goes from one step of an edit to the next.
func (m *model) editor(msg editorMsg) tea.Cmd {
	if msg.err != nil {
		m.say("editor: " + msg.err.Error())
		if msg.path != "" && msg.step != editorRead {
			return func() tea.Msg { _ = os.Remove(msg.path); return nil }
		}
		return nil
	}
	switch msg.step {
	case editorReady:
		argv := m.editorArgv(msg.path)
		c := exec.CommandContext(m.ctx, argv[0], argv[1:]...) //nolint:gosec // the person's own editor
		c.Stdin, c.Stdout = m.o.Stdin, m.o.Stdout
		return tea.ExecProcess(c, func(err error) tea.Msg { return editorMsg{step: editorClosed, path: msg.path, err: err} })
	case editorClosed:
		return func() tea.Msg { return readEdited(msg.path) }
	case editorRead:
		m.cp.Set(strings.TrimRight(msg.text, "\n"))
	}
	return nil
}

func readEdited(path string) editorMsg {
	defer func() { _ = os.Remove(path) }()
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxEdited {
		err = errEdited
	}
	if err != nil {
		return editorMsg{step: editorRead, path: path, err: err}
	}
	text, err := os.ReadFile(path)
	return editorMsg{step: editorRead, path: path, text: string(text), err: err}
}
