package tui

import "testing"

func TestLook(t *testing.T) {
	r := newRig(t, 120, 36)
	r.emit(r.w.story()...)
	t.Log("\n" + r.screen())
	r.emit(r.w.open(permissionGate()))
	t.Log("\n" + r.screen())
	r = newRig(t, 80, 24)
	r.emit(r.w.story()...)
	t.Log("\n" + r.screen())
	r.emit(r.w.open(formGate()))
	t.Log("\n" + r.screen())
	r.press("esc")
	r.settle()
	r.press("esc", "f2")
	t.Log("\n" + r.screen())
}
