package ledger

import (
	"crypto/rand"
	"encoding/base64"
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
const originPrefix = "looprig.ledger/"

// Origin names the chain of a home.
func Origin(home string) string { return originPrefix + home }

// MaxNote bounds the bytes of a signed note.
const MaxNote = 8 << 10

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
	text := fmt.Sprintf("%s\n%d\n%s\n", c.Origin, c.Size, base64.StdEncoding.EncodeToString(c.Root[:]))
	return note.Sign(&note.Note{Text: text}, s)
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
		return Checkpoint{}, fmt.Errorf("ledger: a checkpoint has three lines")
	}
	c := Checkpoint{Origin: lines[0]}
	if c.Origin != v.Name() {
		return Checkpoint{}, fmt.Errorf("ledger: a checkpoint of %q signed by %q", c.Origin, v.Name())
	}
	c.Size, err = strconv.ParseUint(lines[1], 10, 64)
	root, rerr := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || rerr != nil || c.Size > maxSize || len(root) != HashSize || strconv.FormatUint(c.Size, 10) != lines[1] {
		return Checkpoint{}, fmt.Errorf("ledger: a checkpoint needs a size and a root")
	}
	copy(c.Root[:], root)
	return c, nil
}
