package tui

import (
	"context"
	"errors"
	"testing"
	"time"
)

// kept is a host's sessions.
type kept struct {
	all     []SessionEntry
	asked   []string
	deleted []string
	err     error
}

func (k *kept) List(_ context.Context, text string) ([]SessionEntry, error) {
	k.asked = append(k.asked, text)
	return k.all, nil
}

func (k *kept) Delete(_ context.Context, id string) error {
	if k.err != nil {
		return k.err
	}
	k.deleted = append(k.deleted, id)
	k.all = k.all[:1]
	return nil
}

func TestSessionsScreen(t *testing.T) {
	t.Parallel()
	fresh := func() (*rig, *kept) {
		k := &kept{all: []SessionEntry{
			{ID: "01A", Title: "this", Mode: "interactive", Updated: start, Turns: 2, State: "this one", Open: true},
			{ID: "01B", Title: "fix \x1b[2Jci", Mode: "headless", Updated: start.Add(-5 * time.Minute), Turns: 14, State: "closed", Fork: true},
		}}
		r := newRig(t, 80, 24, func(o *Options) { o.Sessions = k })
		r.press("f5")
		return r, k
	}
	r, _ := fresh()
	r.see("sessions", "(fork)", "5 min ago", "14 turns", "this one", "go on", "fork", "delete")
	r.press("enter") // what is open is not opened twice
	r.see("it can be forked")
	if r.quit {
		t.Fatal("it was opened twice")
	}
	r.press("down", "enter")
	if n := r.m.result.Next; !r.quit || n == nil || *n != (Next{ID: "01B"}) {
		t.Fatalf("%+v", r.m.result)
	}
	r, _ = fresh()
	r.press("ctrl+f")
	if n := r.m.result.Next; !r.quit || n == nil || *n != (Next{ID: "01A", Fork: true}) {
		t.Fatalf("%+v", r.m.result)
	}
	r, k := fresh()
	k.all[1].Turns = 0
	r.press("esc", "f5", "down", "ctrl+f") // this session would have been left for nothing
	r.see("there is nothing to fork")
	if r.quit {
		t.Fatal("a session without a turn is forked")
	}
	r, k = fresh()
	r.press("ctrl+x")
	r.see("what is open cannot be deleted")
	r.press("down", "ctrl+x")
	r.see("again to delete")
	if len(k.deleted) != 0 {
		t.Fatal("one press deletes")
	}
	r.press("ctrl+x")
	r.dontSee("14 turns")
	if len(k.deleted) != 1 || k.deleted[0] != "01B" {
		t.Fatalf("%q", k.deleted)
	}
	r, k = fresh()
	k.err = errors.New("another session was forked from it")
	r.press("down", "ctrl+x", "ctrl+x")
	r.see("was forked from it", "14 turns")
	r.press("esc", "/sessions nightly", "enter")
	r.see("with “nightly”")
	if k.asked[len(k.asked)-1] != "nightly" {
		t.Fatalf("%q", k.asked)
	}
}
