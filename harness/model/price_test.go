package model_test

import (
	"math"
	"testing"

	"github.com/looprig/looprig/harness/model"
)

func TestAmountsAreExact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]model.Micro{"3": 3_000_000, "0.075": 75_000, "15.00": 15_000_000, "0.000001": 1, "0": 0} {
		if got, err := model.ParseMicro(text); err != nil || got != want {
			t.Errorf("%s is %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", ".5", "1.", "-1", "1e3", "1,5", "0.0000001", "1 ", "999999999999999999999", "١"} {
		if got, err := model.ParseMicro(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
	for m, want := range map[model.Micro]string{0: "0.00", 1: "0.000001", 75_000: "0.075", 3_000_000: "3.00", -1_500_000: "-1.50", math.MinInt64: "-9223372036854.775808"} {
		if got := m.String(); got != want {
			t.Errorf("%d is %s, not %s", m, got, want)
		}
	}
}

func TestCostCountsCachedInputOnce(t *testing.T) {
	t.Parallel()
	read, write := model.Micro(300_000), model.Micro(3_750_000)
	p := model.Price{Currency: "USD", Input: 3_000_000, Output: 15_000_000, CacheRead: &read, CacheWrite: &write}
	for _, c := range []struct {
		in, read, write, out int
		want                 model.Micro
	}{
		{1_000_000, 0, 0, 0, 3_000_000},
		{1000, 0, 0, 100, 3000 + 1500},
		{1000, 600, 300, 10, 100*3 + 180 + 1125 + 150},
		{10, 50, 50, 0, 3}, // no more cached than there is
		{-5, -5, -5, -5, 0},
		{0, 0, 0, 0, 0},
		{math.MaxInt, 0, 0, math.MaxInt, math.MaxInt64}, // never turns negative
	} {
		if got := p.Cost(c.in, c.read, c.write, c.out); got != c.want {
			t.Errorf("%+v costs %d", c, got)
		}
	}
	p.CacheRead = nil
	if got := p.Cost(1000, 1000, 0, 0); got != 3000 {
		t.Errorf("cached input without a price of its own costs %d", got)
	}
	if got := (model.Price{Input: 75_000}).Cost(1, 0, 0, 0); got != 0 {
		t.Errorf("0.075 millionths are rounded to %d", got)
	}
	if got := (model.Price{Input: 500_000}).Cost(1, 0, 0, 0); got != 1 {
		t.Errorf("half a millionth is rounded to %d", got)
	}
}
