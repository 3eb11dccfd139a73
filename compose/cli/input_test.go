package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/compose/exit"
)

// A writer that never comes must not keep the process from ending.
func TestSourceEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	got := make(chan error, 1)
	go func() {
		_, err := (&CLI{Stdin: r}).source(ctx, "--args", "-")
		got <- err
	}()
	select {
	case err := <-got:
		if exit.Of(err) != exit.Limit {
			t.Errorf("an unanswered read gave %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the read outlives its context")
	}
}

func TestSourceIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(path, make([]byte, maxInput+1), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &CLI{}
	for name, want := range map[string]string{path: "over the limit", "": "no file is named"} {
		_, err := c.source(t.Context(), "--args", name)
		if exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--args") {
			t.Errorf("%q gave %v", name, err)
		}
	}
}

func TestNegativeTimeoutIsRefused(t *testing.T) {
	t.Parallel()
	_, _, err := limited(t.Context(), -time.Second)
	if exit.Of(err) != exit.Usage {
		t.Errorf("a negative time limit gave %v", err)
	}
}

func TestStreamsThatWouldHaveNoEffectAreRefused(t *testing.T) {
	t.Parallel()
	for _, f := range []CallOptions{{Query: "."}, {Save: "x"}} {
		if err := (&CLI{Output: OutputJSON}).checkStreams(f); exit.Of(err) != exit.Usage {
			t.Errorf("%+v gave %v", f, err)
		}
	}
	if err := (&CLI{Output: OutputJSON}).checkStreams(CallOptions{Query: ".", Save: "x"}); err != nil {
		t.Error(err)
	}
}

func TestSaveFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := openSave("--save", filepath.Join(dir, "none", "x")); exit.Of(err) != exit.Usage {
		t.Errorf("a path that cannot be made gave %v", err)
	}
	path := filepath.Join(dir, "new")
	s, err := openSave("--save", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a run without a result left a file: %v", err)
	}
	old := filepath.Join(dir, "old")
	if err := os.WriteFile(old, []byte("what was there before"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ out, want string }{{"", "what was there before"}, {"new", "new"}} {
		s, err := openSave("--save", old)
		if err != nil {
			t.Fatal(err)
		}
		if step.out != "" {
			if err := s.write([]byte(step.out)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(old); err != nil || string(got) != step.want {
			t.Errorf("after %q: %q, %v", step.out, got, err)
		}
	}
}
