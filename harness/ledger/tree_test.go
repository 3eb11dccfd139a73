package ledger

import (
	"strconv"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

// The root is that of the reference implementation for every size.
func TestTreeRoot(t *testing.T) {
	t.Parallel()
	var tree Tree
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, n := range indexes {
			out[i] = stored[n]
		}
		return out, nil
	})
	for n := range int64(130) {
		want, err := tlog.TreeHash(n, reader)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 && tree.Root() != want { // the reference has another root for nothing
			t.Fatalf("%d leaves: %v, want %v", n, tree.Root(), want)
		}
		leaf := []byte("entry " + strconv.FormatInt(n, 10))
		hashes, err := tlog.StoredHashes(n, leaf, reader)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, hashes...)
		tree.Append(LeafHash(leaf))
	}
}
