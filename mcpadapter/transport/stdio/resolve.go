package stdio

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// Resolved is what a command names on this machine.
type Resolved struct {
	// Path is the absolute path that is executed (symbolic links not followed).
	Path string
	// Dir is the absolute working directory of the server.
	Dir string
	// Warnings are host-written remarks: skipped PATH elements.
	Warnings []string
}

// resolve finds the program. A bare name is looked up in the child's PATH, a
// relative path against the working directory.
func resolve(command, dir string, env childEnv) (Resolved, error) {
	found := Resolved{Dir: dir, Warnings: env.warnings}
	if err := checkDir(dir); err != nil {
		return found, dirError(command, "the working directory does not exist or is no directory", err)
	}
	if !isBare(command) {
		path := command
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		full, err := executableAt(path, env.values["PATHEXT"])
		if err != nil {
			return found, launchError(command, reasonOf(err), err)
		}
		found.Path = full
		return found, nil
	}
	return lookup(found, command, env)
}

// lookup searches the child's PATH for a bare name.
func lookup(found Resolved, name string, env childEnv) (Resolved, error) {
	path, ok := env.values["PATH"]
	if !ok || path == "" {
		return found, launchError(name, "not found: the server's PATH is empty", exec404)
	}
	denied := false
	for i, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			found.Warnings = append(found.Warnings, skippedElement(i, dir))
			continue
		}
		full, err := executableAt(filepath.Join(dir, name), env.values["PATHEXT"])
		if err == nil {
			found.Path = full
			return found, nil
		}
		denied = denied || errors.Is(err, fs.ErrPermission)
	}
	if denied {
		return found, launchError(name, "found on PATH, but not executable", fs.ErrPermission)
	}
	return found, launchError(name, "not found on PATH", exec404)
}

// exec404 is the cause of a command that is nowhere.
var exec404 = fs.ErrNotExist

// isBare reports whether a command is a name without any path.
func isBare(command string) bool {
	return !strings.ContainsRune(command, '/') && !strings.ContainsRune(command, filepath.Separator) &&
		filepath.VolumeName(command) == ""
}

func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fs.ErrInvalid
	}
	return nil
}

func reasonOf(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case errors.Is(err, fs.ErrPermission):
		return "not executable"
	case errors.Is(err, fs.ErrInvalid):
		return "not a regular file"
	}
	return "cannot be read"
}

// launchError keeps the base name of the command only, and of the cause only
// what holds no path: neither may show what a configuration keeps private.
func launchError(command, reason string, err error) *wire.LaunchError {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return &wire.LaunchError{Command: baseName(command), Reason: reason, Err: err}
}

func dirError(command, reason string, err error) *wire.LaunchError {
	e := launchError(command, reason, err)
	e.Dir = true
	return e
}

// baseName is the last element of a command, for either separator.
func baseName(command string) string {
	if i := strings.LastIndexAny(command, `/\`); i >= 0 && i+1 < len(command) {
		return command[i+1:]
	}
	return command
}
