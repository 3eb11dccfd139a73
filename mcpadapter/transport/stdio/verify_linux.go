package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// errTextBusy is what executing a file that is open for writing ends with.
const errTextBusy = unix.ETXTBSY

// lowestExecFD keeps the executed descriptor clear of the standard streams.
const lowestExecFD = 64

// startVerified hashes the very descriptor that is executed. A read lease on
// it keeps writers out from before the hash until the program runs: an open
// writer refuses the lease, a later one waits for it, and a rename changes
// another file. The kernel breaks a lease by force only after
// fs.lease-break-time (45 s), which the second hash would show.
func (l *launch) startVerified(ctx context.Context) (*os.Process, []string, error) {
	file, err := openRegular(l.path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	head := make([]byte, maxShebang)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	head = head[:n]
	switch {
	case strings.HasPrefix(string(head), "\x7fELF"):
		return l.startNative(ctx, file)
	case strings.HasPrefix(string(head), "#!"):
		return l.startScript(ctx, file, head)
	}
	return l.startBetweenHashes(ctx, "it is neither a native executable nor a script with an interpreter line")
}

// startNative executes the checked descriptor of a native executable.
func (l *launch) startNative(ctx context.Context, file *os.File) (*os.Process, []string, error) {
	if err := guardOwnership(file); err != nil {
		return nil, nil, err
	}
	leased, remark, err := lease(file)
	if err != nil {
		return nil, nil, err
	}
	if leased {
		defer release(file)
	}
	if err := l.checkFile(ctx, file); err != nil {
		return nil, nil, err
	}
	l.hook()
	process, err := l.executeFile(file, l.argv(l.path))
	if errors.Is(err, errNoProc) {
		return l.startBetweenHashes(ctx, "descriptors cannot be executed here (/proc is not mounted)")
	}
	if err != nil {
		return nil, nil, err
	}
	if leased {
		release(file)
	}
	if err := l.checkFile(ctx, file); err != nil {
		abandon(process)
		return nil, nil, changed(err)
	}
	if remark != "" {
		return process, []string{remark}, nil
	}
	return process, nil, nil
}

// changed says that a file that had the right digest no longer has it.
func changed(err error) error {
	var mismatch *SHA256MismatchError
	if errors.As(err, &mismatch) {
		return &SHA256MismatchError{Command: mismatch.Command, Want: mismatch.Want}
	}
	return err
}

// scriptRemark is shown wherever a script is pinned: its interpreter opens it
// by name, so a descriptor would not help.
const scriptRemark = "the command is a script: its sha256 was compared before and after the start, which is not swap-proof"

// startScript checks the script and executes its interpreter by descriptor.
func (l *launch) startScript(ctx context.Context, script *os.File, head []byte) (*os.Process, []string, error) {
	name, before, err := l.interpreter(head)
	if err != nil {
		return nil, nil, err
	}
	program, err := openRegular(name)
	if err != nil {
		return nil, nil, launchError(l.command, "its interpreter cannot be opened", err)
	}
	defer program.Close()
	magic := make([]byte, 4)
	if _, err := program.ReadAt(magic, 0); err != nil || string(magic) != "\x7fELF" {
		return nil, nil, launchError(l.command, "the interpreter that its first line names is itself a script or no native executable, which sha256 needs: name the real one there", nil)
	}
	if err := guardOwnership(program); err != nil {
		return nil, nil, err
	}
	if err := l.checkFile(ctx, script); err != nil {
		return nil, nil, err
	}
	l.hook()
	process, err := l.executeFile(program, l.argv(name, append(before, l.path)...))
	if errors.Is(err, errNoProc) {
		return l.startBetweenHashes(ctx, "descriptors cannot be executed here (/proc is not mounted)")
	}
	if err != nil {
		return nil, nil, err
	}
	if err := l.checkAfter(ctx, process, l.path); err != nil {
		return nil, nil, err
	}
	return process, []string{scriptRemark}, nil
}

// interpreter finds the program behind a script's first line and the arguments
// that come before the script. The usual detour over env is taken here, so
// that the interpreter itself is what gets executed.
func (l *launch) interpreter(head []byte) (name string, before []string, err error) {
	name, argument, ok := shebang(head)
	if !ok || !filepath.IsAbs(name) {
		return "", nil, launchError(l.command, "its interpreter line is not usable", nil)
	}
	if argument == "" {
		return name, nil, nil
	}
	if filepath.Base(name) != "env" || strings.ContainsAny(argument, `=\"'$`) {
		return name, []string{argument}, nil
	}
	split, _ := strings.CutPrefix(argument, "-S")
	words := strings.Fields(split)
	if len(words) == 0 || strings.HasPrefix(words[0], "-") || len(words) > 1 && split == argument {
		return name, []string{argument}, nil
	}
	found, err := lookup(Resolved{}, words[0], l.env)
	if err != nil {
		return "", nil, launchError(l.command, "its interpreter is not on PATH", errors.Unwrap(err))
	}
	return found.Path, words[1:], nil
}

// errNoProc says that a descriptor cannot be named in the file system.
var errNoProc = errors.New("no /proc")

// executeFile runs an open file. The descriptor is close-on-exec, so the
// program does not inherit it.
func (l *launch) executeFile(file *os.File, argv []string) (*os.Process, error) {
	fd, err := control(file, func(fd uintptr) (int, error) {
		return unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, lowestExecFD)
	})
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	path := fmt.Sprintf("/proc/self/fd/%d", fd)
	var opened, named unix.Stat_t
	if unix.Fstat(fd, &opened) != nil || unix.Stat(path, &named) != nil || opened.Ino != named.Ino || opened.Dev != named.Dev {
		return nil, errNoProc
	}
	return l.execute(path, argv)
}

// lease asks the kernel to keep writers out. Where it cannot, the remark says
// why; a file of another owner needs none, since guardOwnership found that we
// could not write it anyway.
func lease(file *os.File) (held bool, remark string, err error) {
	_, err = control(file, func(fd uintptr) (int, error) {
		return unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_RDLCK)
	})
	switch {
	case err == nil:
		return true, "", nil
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EBUSY):
		return false, "", errBusy
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return false, "", nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS):
		return false, "sha256 was compared before and after the start, which does not exclude an overwrite in place: the file system has no leases", nil
	}
	return false, "", err
}

func release(file *os.File) {
	_, _ = control(file, func(fd uintptr) (int, error) {
		return unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_UNLCK)
	})
}

// guardOwnership refuses a file of another owner that we, our groups or
// everybody may write: no lease protects such a file.
func guardOwnership(file *os.File) error {
	var st unix.Stat_t
	_, err := control(file, func(fd uintptr) (int, error) { return 0, unix.Fstat(int(fd), &st) })
	if err != nil {
		return err
	}
	if int(st.Uid) == os.Geteuid() {
		return nil
	}
	groups, err := os.Getgroups()
	if err != nil {
		return err
	}
	ours := int(st.Gid) == os.Getegid() || slices.Contains(groups, int(st.Gid))
	writable := st.Mode&0o002 != 0 || st.Mode&0o020 != 0 && ours
	if !writable && os.Geteuid() != 0 { // root may write everything; its own act is no swap
		_, err := control(file, func(fd uintptr) (int, error) {
			return 0, unix.Faccessat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.W_OK, unix.AT_EACCESS)
		})
		writable = err == nil
	}
	if writable {
		return &wire.LaunchError{Command: baseName(file.Name()), Reason: "it belongs to somebody else and can be written by us, which sha256 cannot protect", Err: fs.ErrPermission}
	}
	return nil
}

// openRegular opens a file for reading without ever waiting for a writer of a
// pipe.
func openRegular(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		_ = unix.Close(fd)
		return nil, fs.ErrInvalid
	}
	return os.NewFile(uintptr(fd), path), nil
}

// control calls with the descriptor without changing its mode.
func control(file *os.File, call func(fd uintptr) (int, error)) (n int, err error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return 0, err
	}
	if outer := raw.Control(func(fd uintptr) { n, err = call(fd) }); outer != nil {
		return 0, outer
	}
	return n, err
}
