package ledger

import (
	"crypto/sha256"
	"math/bits"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// Hash is a node of the tree.
type Hash = tlog.Hash

// LeafHash is the RFC 6962 section 2.1 leaf hash of an entry's canonical bytes.
func LeafHash(raw []byte) Hash { return tlog.RecordHash(raw) }

// Tree is the RFC 6962 tree over the leaf hashes of a chain in the form that is
// enough to go on: the roots of its whole subtrees, largest first. The zero
// value is the empty tree. It is not safe for concurrent use.
type Tree struct {
	size  uint64
	peaks []Hash
}

// Append adds a leaf.
func (t *Tree) Append(leaf Hash) {
	for range bits.TrailingZeros64(^t.size) {
		last := len(t.peaks) - 1
		leaf = tlog.NodeHash(t.peaks[last], leaf)
		t.peaks = t.peaks[:last]
	}
	t.peaks = append(t.peaks, leaf)
	t.size++
}

// Root is the tree's hash; that of an empty tree is SHA-256 of nothing.
func (t *Tree) Root() Hash {
	if len(t.peaks) == 0 {
		return sha256.Sum256(nil)
	}
	root := t.peaks[len(t.peaks)-1]
	for _, p := range slices.Backward(t.peaks[:len(t.peaks)-1]) {
		root = tlog.NodeHash(p, root)
	}
	return root
}
