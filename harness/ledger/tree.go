package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// HashSize is the length in bytes of a tree hash.
const HashSize = tlog.HashSize

// Hash is a node of the tree.
type Hash = tlog.Hash

// LeafHash is the RFC 6962 section 2.1 leaf hash of an entry's canonical bytes.
func LeafHash(raw []byte) Hash { return tlog.RecordHash(raw) }

// ParseLeaf reads the text form of a leaf hash ("sha256:<hex>").
func ParseLeaf(text string) (h Hash, err error) {
	hexed, ok := strings.CutPrefix(text, plainPrefix)
	if !ok || len(hexed) != 2*HashSize {
		return h, fmt.Errorf("ledger: no leaf hash")
	}
	_, err = hex.Decode(h[:], []byte(hexed))
	return h, err
}

// Tree is the RFC 6962 tree over the leaf hashes of a chain in the form that is
// enough to go on: the roots of its whole subtrees, largest first. The zero
// value is the empty tree. It is not safe for concurrent use.
type Tree struct {
	size  uint64
	peaks []Hash
}

// Size is how many leaves the tree has.
func (t *Tree) Size() uint64 { return t.size }

// Clone is a tree that grows on its own.
func (t *Tree) Clone() Tree { return Tree{size: t.size, peaks: slices.Clone(t.peaks)} }

// Append adds a leaf and returns, one after the other in buf[:0], the nodes above
// the leaf that it completes, each the parent of the one before it. There are
// none above the leaf of an entry with an odd number.
func (t *Tree) Append(leaf Hash, buf []byte) []byte {
	buf = buf[:0]
	for range bits.TrailingZeros64(^t.size) {
		last := len(t.peaks) - 1
		leaf = tlog.NodeHash(t.peaks[last], leaf)
		t.peaks = t.peaks[:last]
		buf = append(buf, leaf[:]...)
	}
	t.peaks = append(t.peaks, leaf)
	t.size++
	return buf
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

// Nodes returns the leaf hash of the entry with a number, followed by what
// Append returned for it.
type Nodes func(ctx context.Context, seq uint64) ([]byte, error)

// at is the node that is the root of the k-th whole subtree of a level.
func (n Nodes) at(ctx context.Context, level int, k int64) (Hash, error) {
	var h Hash
	seq := uint64(k+1) << level
	row, err := n(ctx, seq)
	if err != nil {
		return h, err
	}
	if len(row) < (level+1)*HashSize {
		return h, &BadEntryError{Seq: seq, Reason: "its nodes of the tree are not whole"}
	}
	copy(h[:], row[level*HashSize:])
	return h, nil
}

func (n Nodes) reader(ctx context.Context) tlog.HashReader {
	return tlog.HashReaderFunc(func(indexes []int64) ([]Hash, error) {
		out := make([]Hash, 0, len(indexes))
		for _, i := range indexes {
			level, k := tlog.SplitStoredHashIndex(i)
			h, err := n.at(ctx, level, k)
			if err != nil {
				return nil, err
			}
			out = append(out, h)
		}
		return out, nil
	})
}

// Resume is the tree over the first size entries, out of stored nodes. It reads
// as many of them as the size has bits set.
func Resume(ctx context.Context, n Nodes, size uint64) (Tree, error) {
	t := Tree{size: size}
	var done uint64
	for level := bits.Len64(size) - 1; level >= 0; level-- {
		if size&(1<<level) == 0 {
			continue
		}
		h, err := n.at(ctx, level, int64(done>>level))
		if err != nil {
			return Tree{}, err
		}
		t.peaks = append(t.peaks, h)
		done += 1 << level
	}
	return t, nil
}

// Prove returns the audit path (RFC 6962 section 2.1.1) of the entry seq in the
// tree over the first size entries.
func Prove(ctx context.Context, n Nodes, size, seq uint64) ([]Hash, error) {
	if seq == 0 || seq > size || size > maxSize {
		return nil, fmt.Errorf("ledger: no entry %d in a tree over %d", seq, size)
	}
	return tlog.ProveRecord(int64(size), int64(seq-1), n.reader(ctx))
}

// CheckProof reports an error unless the audit path leads from the leaf of entry
// seq to the root of the tree over size entries.
func CheckProof(path []Hash, size uint64, root Hash, seq uint64, leaf Hash) error {
	if seq == 0 || seq > size || size > maxSize {
		return fmt.Errorf("no entry %d in a tree over %d", seq, size)
	}
	return tlog.CheckRecord(path, int64(size), root, int64(seq-1), leaf)
}

// ProveGrowth returns the consistency proof (RFC 6962 section 2.1.2) between the
// trees over the first older and the first size entries.
func ProveGrowth(ctx context.Context, n Nodes, size, older uint64) ([]Hash, error) {
	if older == 0 || older > size || size > maxSize {
		return nil, fmt.Errorf("ledger: no proof from %d to %d entries", older, size)
	}
	return tlog.ProveTree(int64(size), int64(older), n.reader(ctx))
}

// CheckGrowth reports an error unless the proof shows that the tree over older
// entries is the beginning of the tree over size.
func CheckGrowth(proof []Hash, size uint64, root Hash, older uint64, olderRoot Hash) error {
	if older == 0 || older > size || size > maxSize {
		return fmt.Errorf("no proof from %d to %d entries", older, size)
	}
	return tlog.CheckTree(proof, int64(size), root, int64(older), olderRoot)
}
