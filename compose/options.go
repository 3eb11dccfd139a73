// Package compose is the composition root: the only place where the MCP
// adapter, the harness and the interface meet. It wires them, loads what people
// configured, decides on the trust of launches, and offers the commands one
// door, Open. It must hold no logic of the parts themselves.
package compose

import (
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/looprig/looprig/compose/answers"
	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/compose/provider"
	"github.com/looprig/looprig/compose/record"
	"github.com/looprig/looprig/harness/model/scripted"
	"github.com/looprig/looprig/harness/session"
)

// The modes of a run.
const (
	ModeInteractive = "interactive"
	ModeHeadless    = "headless"
)

// Options are everything that a run depends on. There are no globals: tests and
// commands use the same door.
type Options struct {
	// Home holds configuration, pins and the database. "" means $LOOPRIG_HOME,
	// else ~/.looprig.
	Home string
	// Env is the environment as KEY=value.
	Env            []string
	Stdout, Stderr io.Writer
	Clock          session.Clock
	Version        string
	Mode           string
	Title          string

	// MCPConfig replaces the home's mcp.json, ConfigFile its config.yaml.
	MCPConfig  string
	ConfigFile string
	// Servers are added to those of the file (a script's).
	Servers []config.Server
	// Loops, when there are any, take the place of those of config.yaml.
	Loops []config.Loop
	// Only, when set, uses this one binding and leaves the others out.
	Only string

	// Model names the session's model, "" the operator; Scripted, when set, is
	// the model whatever is named.
	Model    string
	Scripted *scripted.Client
	// FindModel looks for a model where none is named: in the environment's
	// LOOPRIG_MODEL, in the configuration, by keys in the environment, among the
	// servers on this machine. Without it nothing is looked for.
	FindModel bool
	// Locals are the servers on this machine to look for; nil is the well-known.
	Locals []provider.Local
	// Policy rules of this run come before those of the file.
	Policy config.Policy
	// Attended asks before calls of the operator as the interface does, though
	// prepared answers stand in for the person.
	Attended bool
	// Answers, when set, answers gates instead of a person.
	Answers *answers.Set
	// Tofu accepts unpinned launches, explicitly and on record.
	Tofu bool
	// Strict treats every binding as required.
	Strict bool
	// Resume, when set, goes on with a session instead of beginning one.
	Resume *Resume
	// Drain, when set, is called by Close between the session's last event and
	// the closing of the database, which subscribers may still be reading.
	Drain func() error
	// Record, when set, is given the script of the session that was, by Close.
	Record func(record.Recording) error
	// By names the operator in records.
	By string
}

// The files of a home.
const (
	mcpFileName    = "mcp.json"
	configFileName = "config.yaml"
	pinsFileName   = "mcp-pins.json"
	dbFileName     = "looprig.db"
)

// Home finds the home directory and makes it absolute.
func Home(flag string, env config.Env) (string, error) {
	dir := flag
	if dir == "" {
		dir, _ = env("LOOPRIG_HOME")
	}
	if dir == "" {
		user, ok := env("HOME")
		if !ok || user == "" {
			return "", exit.New(exit.Usage, "there is no home directory: neither --home, LOOPRIG_HOME nor HOME is set")
		}
		dir = filepath.Join(user, ".looprig")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", exit.New(exit.Usage, "home %s: %w", dir, err)
	}
	return abs, nil
}

// MCPPath, DBPath and PinsPath are the files of a home directory.
func MCPPath(home string) string { return filepath.Join(home, mcpFileName) }

// DBPath is where a home's journals and ledger are.
func DBPath(home string) string { return filepath.Join(home, dbFileName) }

// PinsPath is where a home's pins are.
func PinsPath(home string) string { return filepath.Join(home, pinsFileName) }

func makeHome(home string) error {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return exit.New(exit.Usage, "the home %s cannot be made: %w", home, err)
	}
	if err := config.CheckDir(home); err != nil {
		return exit.New(exit.Usage, "the home: %w", err)
	}
	return nil
}

// closeTimeout bounds the closing of a whole run.
const closeTimeout = 40 * time.Second
