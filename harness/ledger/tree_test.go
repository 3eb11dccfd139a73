package ledger

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

// grown is a tree over n entries with what a store would keep of it.
func grown(n uint64) (Tree, Nodes, []Hash) {
	var tree Tree
	rows := make([][]byte, n+1)
	roots := []Hash{tree.Root()}
	for i := range n {
		leaf := LeafHash([]byte("entry " + strconv.FormatUint(i, 10)))
		rows[i+1] = append(slices.Clone(leaf[:]), tree.Append(leaf, nil)...)
		roots = append(roots, tree.Root())
	}
	return tree, func(_ context.Context, seq uint64) ([]byte, error) { return rows[seq], nil }, roots
}

// The root is that of the reference implementation for every size.
func TestTreeRoot(t *testing.T) {
	t.Parallel()
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, n := range indexes {
			out[i] = stored[n]
		}
		return out, nil
	})
	const size = 130
	_, _, roots := grown(size)
	for n := range int64(size) {
		want, err := tlog.TreeHash(n, reader)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 && roots[n] != want { // the reference has another root for nothing
			t.Fatalf("%d leaves: %v, want %v", n, roots[n], want)
		}
		hashes, err := tlog.StoredHashes(n, []byte("entry "+strconv.FormatInt(n, 10)), reader)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, hashes...)
	}
}

// A tree that is gone on with out of its stored nodes is the same tree, having
// read no more nodes than its size has digits.
func TestTreeResumes(t *testing.T) {
	t.Parallel()
	const size = 130
	whole, nodes, roots := grown(size)
	for n := range uint64(size + 1) {
		reads := 0
		tree, err := Resume(t.Context(), func(ctx context.Context, seq uint64) ([]byte, error) {
			reads++
			return nodes(ctx, seq)
		}, n)
		if err != nil || tree.Root() != roots[n] || reads > 8 {
			t.Fatalf("resumed at %d: root %v want %v, %d reads, %v", n, tree.Root(), roots[n], reads, err)
		}
		for i := n; i < size; i++ {
			tree.Append(LeafHash([]byte("entry "+strconv.FormatUint(i, 10))), nil)
		}
		if tree.Root() != whole.Root() || tree.Size() != size {
			t.Fatalf("gone on with from %d: another root", n)
		}
	}
}

func TestProofs(t *testing.T) {
	t.Parallel()
	const size = 37
	_, nodes, roots := grown(size)
	for n := uint64(1); n <= size; n++ {
		for seq := uint64(1); seq <= n; seq++ {
			path, err := Prove(t.Context(), nodes, n, seq)
			if err != nil {
				t.Fatal(err)
			}
			leaf := LeafHash([]byte("entry " + strconv.FormatUint(seq-1, 10)))
			if err := CheckProof(path, n, roots[n], seq, leaf); err != nil {
				t.Fatalf("entry %d of %d: %v", seq, n, err)
			}
			leaf[0] ^= 1
			if CheckProof(path, n, roots[n], seq, leaf) == nil {
				t.Fatalf("entry %d of %d: another leaf was proven", seq, n)
			}
			growth, err := ProveGrowth(t.Context(), nodes, n, seq)
			if err != nil {
				t.Fatal(err)
			}
			if err := CheckGrowth(growth, n, roots[n], seq, roots[seq]); err != nil {
				t.Fatalf("from %d to %d: %v", seq, n, err)
			}
			if seq < n && CheckGrowth(growth, n, roots[n], seq, roots[seq-1]) == nil {
				t.Fatalf("from %d to %d: another beginning was proven", seq, n)
			}
		}
	}
	for _, bad := range [][2]uint64{{1, 0}, {1, 2}, {0, 0}} {
		if _, err := Prove(t.Context(), nodes, bad[0], bad[1]); err == nil {
			t.Errorf("a proof of entry %d of %d", bad[1], bad[0])
		}
	}
}
