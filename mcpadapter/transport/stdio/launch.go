package stdio

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// Bounds of a start that is tried again.
const (
	launchTries = 4
	launchPause = 25 * time.Millisecond
	hashChunk   = 256 << 10
	// maxExecutable bounds the file that is hashed.
	maxExecutable = 4 << 30
)

// errBusy says that somebody has the executable open for writing; another try
// may find it at rest.
var errBusy = errors.New("open for writing")

// launch is everything that a start needs.
type launch struct {
	command string // as configured, for messages
	path    string // absolute
	args    []string
	env     childEnv
	environ []string
	dir     string
	streams []*os.File // the child's ends
	sha256  string     // lower case, "" when nothing is to be checked
	// afterHash runs between the check and the start; tests swap files in it.
	afterHash func()
}

// start runs the program: from its path, or verified when a digest is
// configured. The warnings say what the check could not rule out.
func (l *launch) start(ctx context.Context) (*os.Process, []string, error) {
	for try := 1; ; try++ {
		process, warnings, err := l.attempt(ctx)
		if err == nil || try == launchTries || !again(err) {
			return process, warnings, l.explain(err)
		}
		if err := pause(ctx, launchPause); err != nil {
			return nil, nil, err
		}
	}
}

func (l *launch) attempt(ctx context.Context) (*os.Process, []string, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if l.sha256 != "" {
		return l.startVerified(ctx)
	}
	process, err := l.execute(l.path, l.argv(l.path))
	return process, nil, err
}

// argv puts the path that the user would recognise in front, whatever
// descriptor is executed.
func (l *launch) argv(first string, before ...string) []string {
	argv := append([]string{first}, before...)
	return append(argv, l.args...)
}

func (l *launch) execute(path string, argv []string) (*os.Process, error) {
	return os.StartProcess(path, argv, &os.ProcAttr{
		Dir: l.dir, Env: l.environ, Files: l.streams, Sys: childAttributes(),
	})
}

// again reports whether an error is one that passes.
func again(err error) bool {
	var mismatch *SHA256MismatchError
	return errors.Is(err, errBusy) || errors.Is(err, errTextBusy) ||
		errors.As(err, &mismatch) && mismatch.Got == ""
}

// explain turns a cause into the error that callers see.
func (l *launch) explain(err error) error {
	var (
		mismatch *SHA256MismatchError
		done     *wire.LaunchError
	)
	switch {
	case err == nil, errors.As(err, &mismatch), errors.As(err, &done),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, errBusy), errors.Is(err, errTextBusy):
		return launchError(l.command, "the executable is open for writing", err)
	case errors.Is(err, fs.ErrNotExist):
		return launchError(l.command, "no such file, or its interpreter is missing", err)
	case errors.Is(err, fs.ErrPermission):
		return launchError(l.command, "permission denied", err)
	case errors.Is(err, syscall.E2BIG):
		return launchError(l.command, "arguments and environment are too large", err)
	case errors.Is(err, syscall.ENOEXEC):
		return launchError(l.command, "not a program of this system", err)
	}
	return launchError(l.command, "the system refused to start it", err)
}

// startBetweenHashes is the check where nothing better exists: the file is
// hashed before and after the start.
func (l *launch) startBetweenHashes(ctx context.Context, why string) (*os.Process, []string, error) {
	if err := l.checkPath(ctx, l.path); err != nil {
		return nil, nil, err
	}
	l.hook()
	process, err := l.execute(l.path, l.argv(l.path))
	if err != nil {
		return nil, nil, err
	}
	if err := l.checkAfter(ctx, process, l.path); err != nil {
		return nil, nil, err
	}
	return process, []string{"sha256 was compared before and after the start, which is not swap-proof: " + why}, nil
}

func (l *launch) hook() {
	if l.afterHash != nil {
		l.afterHash()
	}
}

// checkPath compares the file's digest with the configured one.
func (l *launch) checkPath(ctx context.Context, path string) error {
	file, err := openRegular(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return l.checkFile(ctx, file)
}

func (l *launch) checkFile(ctx context.Context, file *os.File) error {
	got, err := hashFile(ctx, file)
	if err != nil {
		return err
	}
	if got != l.sha256 {
		return &SHA256MismatchError{Command: baseName(l.command), Want: l.sha256, Got: got}
	}
	return nil
}

// checkAfter hashes again once the process runs, and ends the process when
// the file is no longer the one that was checked.
func (l *launch) checkAfter(ctx context.Context, process *os.Process, path string) error {
	err := l.checkPath(ctx, path)
	if err != nil {
		abandon(process)
	}
	var mismatch *SHA256MismatchError
	if errors.As(err, &mismatch) {
		return &SHA256MismatchError{Command: mismatch.Command, Want: mismatch.Want}
	}
	return err
}

// abandon ends a process that must not go on running.
func abandon(process *os.Process) {
	killGroup(process.Pid)
	_ = process.Kill()
	_, _ = process.Wait()
}

// hashFile digests a whole open file from its beginning.
func hashFile(ctx context.Context, file *os.File) (string, error) {
	digest := sha256.New()
	section := io.NewSectionReader(file, 0, maxExecutable)
	chunk := make([]byte, hashChunk)
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := section.Read(chunk)
		_, _ = digest.Write(chunk[:n]) // a hash never fails
		if errors.Is(err, io.EOF) {
			return hex.EncodeToString(digest.Sum(nil)), nil
		}
		if err != nil {
			return "", err
		}
	}
}

// pause waits unless the context ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxShebang bounds the first line of a script, as the kernel does.
const maxShebang = 256

// shebang splits a script's first line into interpreter and the one argument
// that the kernel passes to it. ok is false where there is none.
func shebang(head []byte) (interpreter, argument string, ok bool) {
	line, found := bytes.CutPrefix(head, []byte("#!"))
	if !found {
		return "", "", false
	}
	end := bytes.IndexByte(line, '\n')
	if end < 0 {
		return "", "", false
	}
	name, rest, _ := bytes.Cut(bytes.ReplaceAll(bytes.TrimSpace(line[:end]), []byte("\t"), []byte(" ")), []byte(" "))
	return string(name), string(bytes.TrimSpace(rest)), len(name) > 0
}
