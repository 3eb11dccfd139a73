package compose

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/looprig/looprig/compose/exit"
)

// digestKeyBytes is the length of the key of keyed digests.
const digestKeyBytes = 32

// domainDeclared is the domain of the digests of what entries declare.
const domainDeclared = "looprig/declared/v1"

// DigestKeyPath is where a home keeps the key of the digests of configured values
// that may be secret. It lies with the store, so that whoever uses the store
// computes the same digests; without it nobody can try values against them.
func DigestKeyPath(home string) string { return filepath.Join(home, "digest.key") }

// openDigestKey reads the home's key, or makes it. Several processes may do so at
// the same time: the first one's is everybody's.
func openDigestKey(home string) ([]byte, error) {
	path := DigestKeyPath(home)
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeDigestKey(path); err == nil {
			key, err = os.ReadFile(path)
		}
	}
	switch {
	case err != nil:
		return nil, exit.New(exit.Usage, "the key of the home's digests: %w", err)
	case len(key) != digestKeyBytes:
		return nil, exit.New(exit.Usage, "%s is damaged: it has %d bytes, not %d", path, len(key), digestKeyBytes).
			WithHint("remove it: a new one is made, and sessions from before ask once for --accept-drift")
	}
	return key, nil
}

// makeDigestKey makes the file with its whole content, unless it is there.
func makeDigestKey(path string) (err error) {
	key := make([]byte, digestKeyBytes)
	_, _ = rand.Read(key)                                      // never fails
	tmp, err := os.CreateTemp(filepath.Dir(path), ".digest-*") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.Write(key)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	err = os.Link(tmp.Name(), path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	// A file system without links: the last of several processes wins, and each
	// reads what is there then.
	return os.Rename(tmp.Name(), path)
}

// keyedDigest names a value so that it can be compared and not be tried out.
func keyedDigest(key []byte, name string, value []byte) string {
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s %d:%s %d:", domainDeclared, len(name), name, len(value))
	mac.Write(value)
	return "hmac-sha256:" + hex.EncodeToString(mac.Sum(nil))
}
