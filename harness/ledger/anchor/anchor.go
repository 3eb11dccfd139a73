// Package anchor keeps the newest head of a ledger apart from it: in a directory
// of its own, with the key that signs it. A head only ever moves forward, along
// the chain that it was taken of, however many processes keep it: whoever cuts
// the ledger's tail or puts an older copy in its place cannot have the head
// follow. The package must not import a store.
package anchor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/looprig/looprig/harness/ledger"
)

// Bounds of the directory.
const (
	// LockWait is how long a head waits for other processes that write it.
	LockWait  = 2 * time.Second
	lockEvery = 5 * time.Millisecond

	dirMode  = 0o700
	fileMode = 0o600
	maxFile  = ledger.MaxNote
)

// The files of the directory.
const (
	headFile = "head"
	keyFile  = "key"
	pubFile  = "key.pub"
	lockFile = "lock"
)

// Chain is the ledger that a head is taken of.
type Chain interface {
	LedgerSize(ctx context.Context) (uint64, error)
	// LedgerRoot is the root of the tree over the first size entries.
	LedgerRoot(ctx context.Context, size uint64) (ledger.Hash, error)
}

// Dir is where the head of one home is kept. It is safe for concurrent use, by
// several processes as well.
type Dir struct {
	path, origin string
}

// idSize is how many hexadecimal digits a home's id has.
const idSize = 32

// At is the directory of a home below base. The id comes out of a database that
// anybody may have written to: what is no id is refused.
func At(base, home string) (*Dir, error) {
	if len(home) != idSize || strings.Trim(home, "0123456789abcdef") != "" {
		return nil, errors.New("the home's id is none")
	}
	if !filepath.IsAbs(base) {
		return nil, fmt.Errorf("the directory of heads is not an absolute path: %q", base)
	}
	return &Dir{path: filepath.Join(base, home), origin: ledger.Origin(home)}, nil
}

// Path is the directory.
func (d *Dir) Path() string { return d.path }

// Head is a kept head.
type Head struct {
	ledger.Checkpoint
	// Note is its signed note, Key what verifies it.
	Note []byte
	Key  string
	Time time.Time // of its last change
}

// DamagedError says that a head is there and is not one that its key signed.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the head %s cannot be relied on: %v", e.Path, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Read returns the kept head. It fails with fs.ErrNotExist where there is none and
// with a *DamagedError where it is not what its key signed.
func (d *Dir) Read() (Head, error) {
	path := filepath.Join(d.path, headFile)
	note, err := readFile(path)
	if err != nil {
		return Head{}, err
	}
	key, err := readFile(filepath.Join(d.path, pubFile))
	if err != nil {
		return Head{}, &DamagedError{Path: path, Err: errors.New("its key: " + err.Error())} // not fs.ErrNotExist: there is a head
	}
	h := Head{Note: note, Key: strings.TrimSpace(string(key))}
	if h.Checkpoint, err = ledger.OpenCheckpoint(note, h.Key); err == nil && h.Origin != d.origin {
		err = fmt.Errorf("it is of %s", h.Origin)
	}
	if err != nil {
		return Head{}, &DamagedError{Path: path, Err: err}
	}
	if st, err := os.Stat(path); err == nil {
		h.Time = st.ModTime()
	}
	return h, nil
}

// ErrEmpty says that a ledger has no entries, of which there is no head. It is
// none of the errors of a directory that is not there.
var ErrEmpty = errors.New("the ledger has no entries")

// Update brings the head to the end of the ledger and returns it. The head stays
// as it was, and a *ledger.HeadError is returned, when the ledger is shorter than
// the head or does not begin with it. A ledger without entries gets no head: the
// error is ErrEmpty.
func (d *Dir) Update(ctx context.Context, c Chain) (Head, error) {
	size, err := c.LedgerSize(ctx)
	if err != nil {
		return Head{}, err
	}
	if size == 0 && !d.exists() {
		return Head{}, ErrEmpty
	}
	if err := os.MkdirAll(d.path, dirMode); err != nil {
		return Head{}, fmt.Errorf("the directory of the head cannot be made: %w", err)
	}
	unlock, err := d.lock(ctx)
	if err != nil {
		return Head{}, err
	}
	defer unlock()
	head, err := d.Read()
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return Head{}, err
	default:
		// The size is read again, behind the lock: the head may have moved since.
		if size, err = c.LedgerSize(ctx); err != nil {
			return head, err
		}
		if err := Check(ctx, c, head.Checkpoint, size); err != nil {
			return head, err
		}
		if head.Size == size {
			return head, nil
		}
	}
	return d.write(ctx, c, size)
}

func (d *Dir) exists() bool {
	_, err := os.Stat(filepath.Join(d.path, headFile))
	return err == nil
}

// Check holds a chain of a size to a checkpoint, out of the stored nodes of its
// tree. It returns a *ledger.HeadError.
func Check(ctx context.Context, c Chain, head ledger.Checkpoint, size uint64) error {
	bad := func(reason string) error {
		return &ledger.HeadError{Origin: head.Origin, Head: head.Size, Entries: size, Reason: reason}
	}
	if head.Size > size {
		return bad(fmt.Sprintf("the head is ahead: entry %d is missing, because the tail was cut or an older copy restored", size+1))
	}
	root, err := c.LedgerRoot(ctx, head.Size)
	if err != nil {
		return err
	}
	if root != head.Root {
		return bad("the chain was made anew: its first entries are not those that the head was taken of")
	}
	return nil
}

func (d *Dir) write(ctx context.Context, c Chain, size uint64) (Head, error) {
	root, err := c.LedgerRoot(ctx, size)
	if err != nil {
		return Head{}, err
	}
	signing, verifying, err := d.keys()
	if err != nil {
		return Head{}, err
	}
	cp := ledger.Checkpoint{Origin: d.origin, Size: size, Root: root}
	note, err := cp.Sign(signing)
	if err != nil {
		return Head{}, err
	}
	if err := d.replace(headFile, note); err != nil {
		return Head{}, err
	}
	return Head{Checkpoint: cp, Note: note, Key: verifying, Time: time.Now()}, nil
}

// keys reads the key pair, or makes one where there is none. The caller holds the
// lock.
func (d *Dir) keys() (signing, verifying string, err error) {
	s, err := readFile(filepath.Join(d.path, keyFile))
	if err == nil {
		v, err := readFile(filepath.Join(d.path, pubFile))
		return strings.TrimSpace(string(s)), strings.TrimSpace(string(v)), err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", "", err
	}
	if d.exists() {
		return "", "", &DamagedError{Path: filepath.Join(d.path, headFile), Err: errors.New("the key that signed it is gone")}
	}
	if signing, verifying, err = ledger.NewKey(d.origin); err != nil {
		return "", "", err
	}
	if err := d.replace(pubFile, []byte(verifying+"\n")); err != nil {
		return "", "", err
	}
	return signing, verifying, d.replace(keyFile, []byte(signing+"\n"))
}

// replace puts a file in the place of another in one step.
func (d *Dir) replace(name string, data []byte) (err error) {
	tmp, err := os.CreateTemp(d.path, name+".*")
	if err != nil {
		return fmt.Errorf("write the %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Chmod(fileMode), tmp.Sync(), tmp.Close()); err != nil {
		return fmt.Errorf("write the %s: %w", name, err)
	}
	if err = os.Rename(tmp.Name(), filepath.Join(d.path, name)); err != nil {
		return fmt.Errorf("write the %s: %w", name, err)
	}
	return nil
}

// lock keeps other processes out until unlock is called.
func (d *Dir) lock(ctx context.Context) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(d.path, lockFile), os.O_CREATE|os.O_RDWR, fileMode)
	if err != nil {
		return nil, fmt.Errorf("lock the head: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, LockWait)
	defer cancel()
	for {
		held, err := tryLock(f)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock the head: %w", err), f.Close())
		}
		if held {
			return func() { _ = f.Close() }, nil // which releases it
		}
		select {
		case <-time.After(lockEvery):
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("lock the head: held by another process: %w", ctx.Err()), f.Close())
		}
	}
}

// readFile reads a small regular file.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return b, err
}
