package compose

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/tui"
)

// opener starts the person's browser and copies text. It is exec without a
// shell: an address is one argument, and can be nothing else.
type opener struct {
	env    []string
	lookup config.Env
	home   string
}

var _ tui.Opener = opener{}

func newOpener(env []string, home string) opener {
	return opener{env: env, lookup: config.EnvOf(env), home: home}
}

// Remote implements tui.Opener.
func (o opener) Remote() bool {
	_, tty := o.lookup("SSH_TTY")
	_, conn := o.lookup("SSH_CONNECTION")
	return tty || conn
}

// Open implements tui.Opener. The address was checked by whoever asked; that it
// is a web address is checked here again, since it becomes an argument.
func (o opener) Open(url string) error {
	if !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://") {
		return fmt.Errorf("only http and https addresses are opened")
	}
	name, args := openCommand()
	path, err := exec.LookPath(name)
	if err != nil {
		return fmt.Errorf("no browser can be opened here (%s was not found): copy the address", name)
	}
	// The browser outlives us on purpose, so it has no context of ours.
	cmd := exec.CommandContext(context.Background(), path, append(args, url)...)
	cmd.Env = o.env
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("open the browser: %w", err)
	}
	return cmd.Process.Release()
}

func openCommand() (string, []string) {
	switch runtime.GOOS {
	case "darwin":
		return "open", nil
	case "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler"}
	}
	return "xdg-open", nil
}

// Copy implements tui.Opener: the terminal's own clipboard, and a file as well
// when that cannot be known to work.
func (o opener) Copy(text string) (string, error) {
	if term, _ := o.lookup("TERM"); term != "dumb" && term != "linux" {
		return "", tui.ErrUseTerminal
	}
	path := filepath.Join(o.home, "copied.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("copy: %w", err)
	}
	return "file " + path, nil
}
