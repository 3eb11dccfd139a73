package pin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Bounds of what is hashed.
const (
	maxFiles     = 32
	maxFileBytes = 4 << 30
	maxPath      = 4096
	maxCached    = 512
)

// FileError says that a file of a launch cannot be fingerprinted. It names the
// file's part in the launch, not its path.
type FileError struct {
	What   string
	Reason string
	Err    error
}

func (e *FileError) Error() string { return fmt.Sprintf("fingerprint: %s: %s", e.What, e.Reason) }
func (e *FileError) Unwrap() error { return e.Err }

// file is a hashed file: its real path and its digest in hexadecimal.
type file struct{ path, sum string }

type argFile struct {
	file
	index int
}

// codeExtensions mark files that some interpreter or loader runs.
var codeExtensions = []string{
	".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx", ".py", ".pyw", ".pyz", ".pyc", ".rb", ".pl", ".pm", ".php", ".lua",
	".sh", ".bash", ".zsh", ".fish", ".ps1", ".bat", ".cmd", ".exe", ".dll", ".so", ".dylib", ".node", ".jar", ".class", ".wasm",
	".ex", ".exs", ".r", ".jl", ".scm", ".clj", ".groovy", ".kts",
}

// isCode reports whether a path is an existing file of code: by its extension,
// its execute bit or its first bytes. Data files are left out, since they
// change with every run.
func isCode(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	if slices.Contains(codeExtensions, strings.ToLower(filepath.Ext(path))) || info.Mode().Perm()&0o111 != 0 {
		return true
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [2]byte
	n, _ := io.ReadFull(f, head[:])
	return bytes.Equal(head[:n], []byte("#!"))
}

// sums caches digests by the identity and times of a file.
var sums = struct {
	sync.Mutex
	of map[stamp]string
}{of: map[stamp]string{}}

// hashFile digests a file, or takes the digest from the cache when the file is
// the same in device, number, size and times.
func hashFile(what, path string) (file, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return file{}, fileError(what, err)
	}
	f, err := os.Open(real)
	if err != nil {
		return file{}, fileError(what, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return file{}, fileError(what, err)
	}
	if !info.Mode().IsRegular() {
		return file{}, &FileError{What: what, Reason: "is not a regular file"}
	}
	if info.Size() > maxFileBytes {
		return file{}, &FileError{What: what, Reason: fmt.Sprintf("has %d bytes (limit %d)", info.Size(), int64(maxFileBytes))}
	}
	key, cacheable := stampOf(info)
	if sum, ok := cached(key); cacheable && ok {
		return file{path: real, sum: sum}, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxFileBytes)); err != nil {
		return file{}, fileError(what, err)
	}
	sum := hex.EncodeToString(h.Sum(nil))
	if after, err := f.Stat(); cacheable && err == nil {
		if again, ok := stampOf(after); ok && again == key { // not while it was changing
			remember(key, sum)
		}
	}
	return file{path: real, sum: sum}, nil
}

func cached(key stamp) (string, bool) {
	sums.Lock()
	defer sums.Unlock()
	sum, ok := sums.of[key]
	return sum, ok
}

func remember(key stamp, sum string) {
	sums.Lock()
	defer sums.Unlock()
	if len(sums.of) >= maxCached {
		clear(sums.of)
	}
	sums.of[key] = sum
}

// fileError keeps the cause and drops the path.
func fileError(what string, err error) *FileError {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	reason := "cannot be read"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		reason = "does not exist"
	case errors.Is(err, fs.ErrPermission):
		reason = "may not be read"
	}
	return &FileError{What: what, Reason: reason, Err: err}
}
