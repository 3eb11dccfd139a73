package kin

import "testing"

func TestMarkerChainsAndMatchesWholeNames(t *testing.T) {
	t.Parallel()
	value := Marker(Marker("", "outer", "one"), "inner", "two")
	if value != "outer:one,inner:two" {
		t.Fatalf("marker %q", value)
	}
	for token, want := range map[string]bool{"outer": true, "one": true, "inner": true, "two": true, "": false, "out": false, "one,inner": false} {
		if carries(value, token) != want {
			t.Errorf("carries(%q) = %v", token, !want)
		}
	}
}

func TestNobodyBelongsToAnEmptyFamily(t *testing.T) {
	t.Parallel()
	var f Family
	if alive := f.Alive(); len(alive) != 0 {
		t.Fatalf("%v", alive)
	}
	if left := f.End(Bounds{}); left != 0 {
		t.Fatalf("%d left", left)
	}
}

func BenchmarkLook(b *testing.B) {
	f := Family{Token: "nobody", Since: 1 << 40}
	for b.Loop() {
		f.Alive()
	}
}

func BenchmarkLookAtEverything(b *testing.B) {
	f := Family{Token: "nobody", Pipes: []uint64{1}}
	for b.Loop() {
		f.Alive()
	}
}
