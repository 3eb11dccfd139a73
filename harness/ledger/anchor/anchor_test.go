package anchor_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/ledger/anchor"
)

const home = "0123456789abcdef0123456789abcdef"

// chain is a ledger of which the roots are known.
type chain struct {
	mu    sync.Mutex
	tree  ledger.Tree
	roots []ledger.Hash
}

func newChain(n int, text string) *chain {
	c := &chain{roots: []ledger.Hash{(&ledger.Tree{}).Root()}}
	for i := range n {
		c.add(text + strconv.Itoa(i))
	}
	return c
}

func (c *chain) add(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tree.Append(ledger.LeafHash([]byte(text)), nil)
	c.roots = append(c.roots, c.tree.Root())
}

func (c *chain) LedgerSize(context.Context) (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tree.Size(), nil
}

func (c *chain) LedgerRoot(_ context.Context, size uint64) (ledger.Hash, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.roots[size], nil
}

func at(t *testing.T, base string) *anchor.Dir {
	t.Helper()
	d, err := anchor.At(base, home)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestHeadMovesForwardOnly(t *testing.T) {
	t.Parallel()
	d := at(t, filepath.Join(t.TempDir(), "state", "heads"))
	if _, err := d.Update(t.Context(), newChain(0, "")); !errors.Is(err, anchor.ErrEmpty) {
		t.Fatalf("a head of nothing: %v", err)
	}
	if _, err := os.Stat(d.Path()); err == nil {
		t.Fatal("a ledger without entries left a directory")
	}
	if _, err := d.Read(); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("read: %v", err)
	}
	c := newChain(5, "a")
	h, err := d.Update(t.Context(), c)
	if err != nil || h.Size != 5 || h.Origin != "looprig/"+home {
		t.Fatalf("head %+v, %v", h, err)
	}
	c.add("more")
	if h, err = d.Update(t.Context(), c); err != nil || h.Size != 6 {
		t.Fatalf("head %+v, %v", h, err)
	}
	var wrong *ledger.HeadError
	for name, other := range map[string]*chain{"cut": newChain(5, "a"), "another": newChain(9, "b"), "empty": newChain(0, "")} {
		if _, err := d.Update(t.Context(), other); !errors.As(err, &wrong) || wrong.Head != 6 {
			t.Errorf("%s: %v", name, err)
		}
	}
	again, err := d.Read()
	if err != nil || again.Size != 6 || again.Key != h.Key || string(again.Note) != string(h.Note) {
		t.Fatalf("kept %+v, %v", again, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for name, want := range map[string]fs.FileMode{".": 0o700, "head": 0o600, "key": 0o600, "key.pub": 0o600, "lock": 0o600} {
		if st, err := os.Stat(filepath.Join(d.Path(), name)); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
	}
}

func TestDamagedHeads(t *testing.T) {
	t.Parallel()
	d := at(t, t.TempDir())
	c := newChain(3, "a")
	if _, err := d.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	head, key := filepath.Join(d.Path(), "head"), filepath.Join(d.Path(), "key")
	note, err := os.ReadFile(head)
	if err != nil {
		t.Fatal(err)
	}
	var damaged *anchor.DamagedError
	for i := range note {
		b := append([]byte(nil), note...)
		b[i] ^= 1
		if err := os.WriteFile(head, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if h, err := d.Read(); err == nil && h.Checkpoint.Size != 3 || err != nil && !errors.As(err, &damaged) {
			t.Fatalf("byte %d: %+v, %v", i, h, err)
		}
	}
	if err := os.WriteFile(head, note, 0o600); err != nil {
		t.Fatal(err)
	}
	c.add("x")
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Update(t.Context(), c); !errors.As(err, &damaged) {
		t.Fatalf("without its key: %v", err)
	}
	for _, id := range []string{"", "../../../../../../../../etc/x12345", home[:31] + "/", home + "0"} {
		if _, err := anchor.At(t.TempDir(), id); err == nil {
			t.Errorf("an id %q was taken", id)
		}
	}
	if _, err := anchor.At("heads", home); err == nil {
		t.Error("a relative path was taken")
	}
}

// Many that write at once leave the head of the longest chain, whole.
func TestManyUpdates(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	c := newChain(1, "a")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			d, err := anchor.At(base, home)
			for j := 0; j < 5 && err == nil; j++ {
				c.add(strconv.Itoa(i*5 + j))
				_, err = d.Update(t.Context(), c)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if h, err := at(t, base).Read(); err != nil || h.Size != 41 {
		t.Fatalf("head %+v, %v", h, err)
	}
}
