// Package stdio runs MCP servers as child processes and exchanges
// newline-delimited JSON with them over their standard streams. It knows
// processes and frames; it knows neither the MCP SDK nor any MCP method, and
// must import neither the SDK nor the protocol layer.
//
// Invariants:
//   - Memory is bounded by the frame limit while a frame is read; stderr and
//     noise on stdout go to bounded rings.
//   - The child's environment is built from nothing. Its working directory and
//     executable are absolute before it starts.
//   - Every wait is bounded, and when a connection has ended no process that
//     the server started is left: the group first, then whoever carries the
//     connection's marker. When looprig itself is killed the guardian does it.
//   - Only the own child is reaped, never an unknown one.
//   - No argument, path or environment value appears in an origin, error or
//     diagnostic.
package stdio

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/guardian/kin"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
	"github.com/looprig/looprig/mcpadapter/transport"
)

// ErrClosed is returned by a connection after Close.
var ErrClosed = wire.ErrClosed

// Limits of a configuration.
const (
	maxArgs     = 1024
	maxArgBytes = 128 << 10 // one argument or environment value
	maxEnvNames = 512
)

// Config describes one server. New copies it.
type Config struct {
	// Command is an absolute path, a path relative to Dir, or a bare name that
	// is looked up in the child's PATH.
	Command string
	// Args are the arguments without the command itself.
	Args []string
	// Dir is the working directory; empty means that of the host.
	Dir string
	// Env are variables set by value. They win over inherited ones.
	Env map[string]string
	// InheritEnv names further variables to take from the host. Variables that
	// make a program load other code are refused here (IsDangerousEnv).
	InheritEnv []string
	// SHA256, when set, is the digest that the executable must have, 64
	// hexadecimal digits in either case.
	SHA256 string
	// HostEnv is the host's environment; nil means os.Environ.
	HostEnv []string
	// WriteTimeout overrides wire.WriteTimeout; 0 keeps it.
	WriteTimeout time.Duration
}

// ConfigError says what is wrong with a Config. It never shows a value.
type ConfigError struct {
	// Field is the Config field, for environment variables with the name.
	Field string
	// Reason is host-written.
	Reason string
}

func (e *ConfigError) Error() string { return fmt.Sprintf("stdio %s: %s", e.Field, e.Reason) }

// SHA256MismatchError says that the executable is not the configured one.
type SHA256MismatchError struct {
	// Command is the base name of the command.
	Command string
	// Want and Got are lower-case hexadecimal digests. Got is empty where the
	// file kept changing.
	Want, Got string
}

func (e *SHA256MismatchError) Error() string {
	if e.Got == "" {
		return fmt.Sprintf("executable %q changed while it was checked (sha256 %s is configured)", e.Command, e.Want)
	}
	return fmt.Sprintf("executable %q has sha256 %s, configured is %s", e.Command, e.Got, e.Want)
}

// Code is the error's name on wires and in reports.
func (*SHA256MismatchError) Code() string { return "MCPServerSHA256Mismatch" }

// Transport starts one configured server. Every Dial starts a fresh process;
// the command is resolved once. It is safe for concurrent use.
type Transport struct {
	config   Config
	env      childEnv
	mu       sync.Mutex
	resolved *Resolved
	// afterHash is for tests: it runs between the check of SHA256 and the start.
	afterHash func()
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ wire.Dialer         = (*Transport)(nil)
)

// New checks a configuration. It starts nothing and does not look at the file
// system beyond making Dir absolute; its errors are *ConfigError.
func New(c Config) (*Transport, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c.Args = slices.Clone(c.Args)
	c.Env = maps.Clone(c.Env)
	c.InheritEnv = slices.Clone(c.InheritEnv)
	c.SHA256 = strings.ToLower(c.SHA256)
	if c.HostEnv == nil {
		c.HostEnv = os.Environ()
	} else {
		c.HostEnv = slices.Clone(c.HostEnv)
	}
	if c.WriteTimeout <= 0 {
		c.WriteTimeout = wire.WriteTimeout
	}
	return &Transport{config: c, env: buildEnv(c.HostEnv, c.InheritEnv, c.Env)}, nil
}

func (c *Config) check() error {
	switch {
	case c.Command == "":
		return &ConfigError{"Command", "is empty"}
	case strings.ContainsRune(c.Command, 0) || strings.ContainsRune(c.Dir, 0):
		return &ConfigError{"Command", "or Dir holds a NUL"}
	case len(c.Args) > maxArgs:
		return &ConfigError{"Args", fmt.Sprintf("has %d entries (limit %d)", len(c.Args), maxArgs)}
	case len(c.Env)+len(c.InheritEnv) > maxEnvNames:
		return &ConfigError{"Env", fmt.Sprintf("has more than %d names", maxEnvNames)}
	}
	for i, arg := range c.Args {
		if strings.ContainsRune(arg, 0) || len(arg) > maxArgBytes {
			return &ConfigError{fmt.Sprintf("Args[%d]", i), "holds a NUL or is too long"}
		}
	}
	for name, value := range c.Env {
		if err := checkName("Env", name); err != nil {
			return err
		}
		if strings.ContainsRune(value, 0) || len(value) > maxArgBytes {
			return &ConfigError{"Env " + name, "has a value that holds a NUL or is too long"}
		}
	}
	for _, name := range c.InheritEnv {
		if err := checkName("InheritEnv", name); err != nil {
			return err
		}
		if IsDangerousEnv(name) {
			return &ConfigError{"InheritEnv " + name, "makes programs load other code; set it by value in env if that is meant"}
		}
	}
	if c.SHA256 != "" {
		if raw, err := hex.DecodeString(c.SHA256); err != nil || len(raw) != 32 {
			return &ConfigError{"SHA256", "is not 64 hexadecimal digits"}
		}
	}
	return nil
}

func checkName(field, name string) error {
	switch {
	case name == "" || strings.ContainsAny(name, "=\x00"):
		return &ConfigError{field, "holds a name that is empty or contains '=' or NUL"}
	case envKey(name) == kin.EnvName:
		return &ConfigError{field + " " + name, "is reserved"}
	}
	return nil
}

// Kind is "stdio".
func (*Transport) Kind() string { return "stdio" }

// Origin is "stdio:" and the base name of the command.
func (t *Transport) Origin() string { return "stdio:" + baseName(t.config.Command) }

// Dialer is the transport itself.
func (t *Transport) Dialer() wire.Dialer { return t }

// Declared lists the settings for the configuration digest. Arguments and
// environment values are marked secret.
func (t *Transport) Declared() []transport.Setting {
	args, _ := json.Marshal(append([]string{}, t.config.Args...)) // strings always marshal
	list := []transport.Setting{
		{Key: "args", Value: string(args), Secret: true},
		{Key: "command", Value: t.config.Command},
		{Key: "dir", Value: t.config.Dir},
		{Key: "sha256", Value: t.config.SHA256},
	}
	for name, value := range t.config.Env {
		list = append(list, transport.Setting{Key: "env." + name, Value: value, Secret: true})
	}
	for _, name := range t.config.InheritEnv {
		list = append(list, transport.Setting{Key: "inheritEnv." + name})
	}
	slices.SortFunc(list, func(a, b transport.Setting) int { return strings.Compare(a.Key, b.Key) })
	return list
}

// Args is a copy of the arguments, without the command.
func (t *Transport) Args() []string { return slices.Clone(t.config.Args) }

// Command is the command as it was configured.
func (t *Transport) Command() string { return t.config.Command }

// EnvNames lists the names that the configuration sets or inherits beyond the
// baseline, sorted.
func (t *Transport) EnvNames() []string {
	names := slices.Concat(slices.Collect(maps.Keys(t.config.Env)), t.config.InheritEnv)
	slices.Sort(names)
	return slices.Compact(names)
}

// Resolve finds the executable and the working directory. The first success
// holds for the life of the transport, so that what was pinned is what runs;
// a failure is tried again. Errors are *wire.LaunchError.
func (t *Transport) Resolve() (Resolved, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.resolved != nil {
		return *t.resolved, nil
	}
	dir := t.config.Dir
	absolute, err := filepath.Abs(dir) // "" is the host's directory
	if err != nil {
		return Resolved{}, dirError(t.config.Command, "the working directory is gone", err)
	}
	found, err := resolve(t.config.Command, absolute, t.env)
	if err != nil {
		return found, err
	}
	t.resolved = &found
	return found, nil
}

// Forget makes the next Resolve look again. It is for whoever takes a launch's
// fingerprint and finds that the resolved program is gone (an update moved
// it); Dial never does it by itself.
func (t *Transport) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.resolved = nil
}
