package tui

import (
	"errors"
	"testing"

	"github.com/looprig/looprig/harness/event"
)

// twoLoops are loops that a test speaks to.
type twoLoops struct{ now string }

func (l *twoLoops) Loops() []Loop {
	return []Loop{{Name: "main", Model: "m", Current: l.now == "main"}, {Name: "writer", Model: "w", Running: true, Current: l.now == "writer"}}
}

func (l *twoLoops) Speak(name string) error {
	if name != "main" && name != "writer" {
		return errors.New("no such loop")
	}
	l.now = name
	return nil
}

func TestSpeakToAnotherLoop(t *testing.T) {
	t.Parallel()
	l := &twoLoops{now: "main"}
	r := newRig(t, 80, 24, func(o *Options) { o.Loops = l })
	r.see("── to main")
	r.press("/", "l", "o", "o", "p", " ", "x", "enter")
	r.see("no loop is called x; there are main, writer")
	r.press("/", "l", "o", "o", "p", " ", "w", "r", "i", "t", "e", "r", "enter")
	r.see("you speak to writer now", "── to writer")
	r.press("/", "l", "o", "o", "p", "enter")
	r.see("writer (now)", "w · running")
	r.press("enter")
	if l.now != "main" {
		t.Errorf("the first of the list was chosen, and input goes to %s", l.now)
	}
}

// What a model gave a delegate to do is not shown as a person's words.
func TestTaskOfADelegate(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	main, child := event.Header{Loop: "main", Turn: "t1"}, event.Header{Loop: "main/reviewer-1", Turn: "t2"}
	r.emit(
		&event.TurnStarted{Header: main, Input: "i1", Origin: "person", Kind: "user", Text: "please"},
		&event.TurnStarted{Header: child, Input: "i2", Origin: "model", Kind: "user", Text: "look at it"},
	)
	r.see("▌ you · main", "▌ task from a model · main/reviewer-1", "look at it")
	r.dontSee("▌ you · main/reviewer-1")
	r.emit(&event.TurnInterrupted{Header: child})
	r.see("working")
}
