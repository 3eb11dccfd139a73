package model

import (
	"fmt"
	"math"
	"math/big"
	"strings"
)

// Micro is an amount of money in millionths of a currency's unit. Money is never
// a floating-point number here.
type Micro int64

// MicroPerUnit is how many Micro make one unit of a currency.
const MicroPerUnit = 1_000_000

// maxDecimalDigits bounds a written amount.
const maxDecimalDigits = 15

// ParseMicro reads an amount such as "3", "0.075" or "15.00": digits with at
// most six after the point, no sign, no exponent.
func ParseMicro(s string) (Micro, error) {
	whole, part, point := strings.Cut(s, ".")
	bad := whole == "" || point && part == "" || len(whole)+len(part) > maxDecimalDigits ||
		strings.ContainsFunc(whole+part, func(r rune) bool { return r < '0' || r > '9' })
	if bad {
		return 0, fmt.Errorf("is no amount: digits, with a point before at most six more")
	}
	if len(part) > 6 {
		return 0, fmt.Errorf("has more than six digits after the point")
	}
	n := Micro(0)
	for _, d := range whole + part + strings.Repeat("0", 6-len(part)) {
		n = n*10 + Micro(d-'0')
		if n > math.MaxInt64/100 {
			return 0, fmt.Errorf("is too large")
		}
	}
	return n, nil
}

// String is the amount with two digits after the point, or as many as it has.
func (m Micro) String() string {
	sign := ""
	u := uint64(m)
	if m < 0 {
		sign, u = "-", -u
	}
	part := strings.TrimRight(fmt.Sprintf("%06d", u%MicroPerUnit), "0")
	return fmt.Sprintf("%s%d.%s", sign, u/MicroPerUnit, part+strings.Repeat("0", max(2-len(part), 0)))
}

// Price is what a model costs: Micro of Currency for a million tokens.
type Price struct {
	// Currency is a code of three capital letters (ISO 4217).
	Currency string
	// Input and Output tokens. CacheRead and CacheWrite are of the input; where
	// one is nil such tokens cost what other input does.
	Input, Output         Micro
	CacheRead, CacheWrite *Micro
}

// CurrencyCode reports whether s looks like one.
func CurrencyCode(s string) bool {
	return len(s) == 3 && !strings.ContainsFunc(s, func(r rune) bool { return r < 'A' || r > 'Z' })
}

// Cost is what a message costs, rounded half up to a millionth. Cached tokens
// are part of input; a count that is negative is none.
func (p Price) Cost(input, cacheRead, cacheWrite, output int) Micro {
	cacheRead = min(max(cacheRead, 0), max(input, 0))
	cacheWrite = min(max(cacheWrite, 0), max(input, 0)-cacheRead)
	sum := new(big.Int)
	add := func(tokens int, price Micro) {
		sum.Add(sum, new(big.Int).Mul(big.NewInt(int64(max(tokens, 0))), big.NewInt(int64(price))))
	}
	or := func(m *Micro) Micro {
		if m == nil {
			return p.Input
		}
		return *m
	}
	add(max(input, 0)-cacheRead-cacheWrite, p.Input)
	add(cacheRead, or(p.CacheRead))
	add(cacheWrite, or(p.CacheWrite))
	add(output, p.Output)
	const perPrice = 1_000_000 // a price is for so many tokens
	sum.Add(sum, big.NewInt(perPrice/2)).Quo(sum, big.NewInt(perPrice))
	if !sum.IsInt64() {
		return math.MaxInt64
	}
	return Micro(sum.Int64())
}
