package ledger

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// Checkpoint is what a signed note says: that the chain of a home had a number
// of entries and that their tree has a root.
type Checkpoint struct {
	Origin string
	Size   uint64
	Root   Hash
}

// originPrefix comes before the home's id in the name of its chain and key.
const originPrefix = "looprig/"

// Origin names the chain of a home.
func Origin(home string) string { return originPrefix + home }

// Bounds of what is read as a checkpoint.
const (
	// MaxNote bounds the bytes of a signed note.
	MaxNote = 8 << 10
	// maxSize bounds what is read as the size of a tree.
	maxSize = 1 << 50
)

// NewKey makes an Ed25519 key pair that signs for an origin, in the text forms
// of signed notes.
func NewKey(origin string) (signing, verifying string, err error) {
	return note.GenerateKey(rand.Reader, origin)
}

// Sign makes the signed note of a checkpoint.
func (c Checkpoint) Sign(signing string) ([]byte, error) {
	s, err := note.NewSigner(strings.TrimSpace(signing))
	if err != nil {
		return nil, fmt.Errorf("ledger: signing key: %w", err)
	}
	text := fmt.Sprintf("%s\n%d\n%s\n", c.Origin, c.Size, c.RootText())
	return note.Sign(&note.Note{Text: text}, s)
}

// RootText is the root in base64.
func (c Checkpoint) RootText() string { return base64.StdEncoding.EncodeToString(c.Root[:]) }

// CheckKey fails for what cannot be a verifying key.
func CheckKey(verifying string) error {
	if _, err := note.NewVerifier(strings.TrimSpace(verifying)); err != nil {
		return fmt.Errorf("not a verifying key: %w", err)
	}
	return nil
}

// OpenCheckpoint reads a signed note and checks its signature with a key.
func OpenCheckpoint(signed []byte, verifying string) (Checkpoint, error) {
	if len(signed) > MaxNote {
		return Checkpoint{}, fmt.Errorf("ledger: a checkpoint of %d bytes, the most is %d", len(signed), MaxNote)
	}
	v, err := note.NewVerifier(strings.TrimSpace(verifying))
	if err != nil {
		return Checkpoint{}, fmt.Errorf("ledger: verifying key: %w", err)
	}
	n, err := note.Open(signed, note.VerifierList(v))
	if err != nil {
		return Checkpoint{}, fmt.Errorf("ledger: checkpoint: %w", err)
	}
	lines := strings.Split(n.Text, "\n")
	const want = 4 // three lines, each ended
	if len(lines) != want || lines[3] != "" {
		return Checkpoint{}, errors.New("ledger: a checkpoint has three lines")
	}
	if lines[0] != v.Name() {
		return Checkpoint{}, fmt.Errorf("ledger: a checkpoint of %q signed by %q", lines[0], v.Name())
	}
	return parseCheckpoint(lines[0], lines[1], lines[2])
}

func parseCheckpoint(origin, size, root string) (Checkpoint, error) {
	c := Checkpoint{Origin: origin}
	var err error
	c.Size, err = strconv.ParseUint(size, 10, 64)
	if err != nil || c.Size > maxSize || strconv.FormatUint(c.Size, 10) != size {
		return Checkpoint{}, errors.New("ledger: a checkpoint without a size")
	}
	if c.Root, err = parseHash(root); err != nil {
		return Checkpoint{}, fmt.Errorf("ledger: a checkpoint without a root: %w", err)
	}
	return c, nil
}

func parseHash(text string) (h Hash, err error) {
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return h, fmt.Errorf("no hash in base64: %w", err)
	}
	if len(b) != HashSize {
		return h, fmt.Errorf("a hash has %d bytes, this one %d", HashSize, len(b))
	}
	copy(h[:], b)
	return h, nil
}
