package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/mail"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/looprig/looprig/harness/schema"
)

// misfit says, host-written and clean, why a value is no answer to a field. It
// continues a sentence that names the value: "must be …".
type misfit string

func (m misfit) Error() string { return string(m) }

func misfitf(format string, args ...any) error { return misfit(fmt.Sprintf(format, args...)) }

// maxFinite is the largest number that every JSON reader can hold.
var maxFinite, _ = new(big.Rat).SetString("1.7976931348623157e308")

// normal checks a value and returns it in its plain spelling: without white
// space, and an integer without fraction or exponent.
func (f Field) normal(raw json.RawMessage) (json.RawMessage, error) {
	value, err := schema.Normal(raw)
	if err != nil {
		return nil, misfit("is not valid JSON: " + err.Error())
	}
	if kindOf(value) == jsontext.KindNull && f.Kind != KindRaw {
		if f.Nullable {
			return value, nil
		}
		return nil, misfit("must not be null")
	}
	switch f.Kind {
	case KindText:
		return value, f.checkText(value)
	case KindNumber, KindInteger:
		return f.checkNumber(value)
	case KindBoolean:
		if k := kindOf(value); k != jsontext.KindTrue && k != jsontext.KindFalse {
			return nil, misfit("must be true or false")
		}
	case KindChoice:
		return f.option(value)
	case KindMulti:
		return f.checkMulti(value)
	case KindRaw: // the schema alone says what fits
	}
	return value, nil
}

func (f Field) checkText(value json.RawMessage) error {
	s, ok := stringOf(value)
	if !ok {
		return misfit("must be text")
	}
	n := utf8.RuneCountInString(s)
	if f.MinLength != nil && n < *f.MinLength {
		return misfitf("must have at least %d characters, has %d", *f.MinLength, n)
	}
	if f.MaxLength != nil && n > *f.MaxLength {
		return misfitf("must have at most %d characters, has %d", *f.MaxLength, n)
	}
	if err := f.Format.check(s); err != nil {
		return err
	}
	if f.Pattern == "" {
		return nil
	}
	sch, err := f.patternSchema()
	if err != nil {
		return misfit("cannot be checked: " + err.Error())
	}
	var ve *schema.ValidationError
	switch err := sch.Validate(value); {
	case err == nil:
		return nil
	case errors.As(err, &ve):
		return misfit(ve.Problems[0].Message)
	default:
		return misfit("cannot be checked: " + err.Error())
	}
}

// patternSchema compiles the pattern alone, guarded as all schemas are.
func (f Field) patternSchema() (*schema.Schema, error) {
	p, err := quoteJSON(f.Pattern)
	if err != nil {
		return nil, err
	}
	return schema.Compile([]byte(`{"pattern":`+string(p)+`}`), schema.Limits{})
}

// check tells whether s is of the format. Formats that are not known here fit.
func (f Format) check(s string) error {
	switch f {
	case FormatEmail:
		if a, err := mail.ParseAddress(s); err != nil || a.Address != s || len(s) > 254 {
			return misfit("must be an e-mail address such as name@example.org")
		}
	case FormatURI:
		if u, err := url.Parse(s); err != nil || !u.IsAbs() || strings.ContainsAny(s, " <>\"{}|\\^`") {
			return misfit("must be a whole URI such as https://example.org/")
		}
	case FormatDate:
		if _, err := time.Parse(time.DateOnly, s); err != nil {
			return misfit("must be a date such as 2026-11-30")
		}
	case FormatDateTime:
		if err := new(time.Time).UnmarshalText([]byte(s)); err != nil {
			return misfit("must be a date and time such as 2026-11-30T17:00:00Z")
		}
	default:
	}
	return nil
}

func (f Field) notNumber() error {
	if f.Kind == KindInteger {
		return misfit("must be a whole number")
	}
	return misfit("must be a number such as 3.5")
}

func (f Field) checkNumber(value json.RawMessage) (json.RawMessage, error) {
	if kindOf(value) != jsontext.KindNumber {
		return nil, f.notNumber()
	}
	n, err := schema.ParseNumber(string(value))
	if err != nil || new(big.Rat).Abs(n).Cmp(maxFinite) > 0 {
		return nil, misfit("is too large or too long for a number")
	}
	if f.Kind == KindInteger {
		if !n.IsInt() {
			return nil, f.notNumber()
		}
		value = json.RawMessage(n.Num().String())
	}
	for _, b := range []struct {
		bound json.Number
		fits  func(sign int) bool
		text  string
	}{
		{f.Minimum, func(s int) bool { return s >= 0 }, "at least"},
		{f.Maximum, func(s int) bool { return s <= 0 }, "at most"},
		{f.ExclusiveMinimum, func(s int) bool { return s > 0 }, "more than"},
		{f.ExclusiveMaximum, func(s int) bool { return s < 0 }, "less than"},
	} {
		if limit := rat(b.bound); limit != nil && !b.fits(n.Cmp(limit)) {
			return nil, misfitf("must be %s %s", b.text, shown(b.bound))
		}
	}
	if m := rat(f.MultipleOf); m != nil && m.Sign() > 0 && !new(big.Rat).Quo(n, m).IsInt() {
		return nil, misfitf("must be a multiple of %s", shown(f.MultipleOf))
	}
	return value, nil
}

// rat is the exact value of a bound, or nil when there is none.
func rat(n json.Number) *big.Rat {
	r, err := schema.ParseNumber(string(n))
	if err != nil {
		return nil
	}
	return r
}

func shown(n json.Number) string {
	if len(n) > 40 {
		return string(n[:40]) + "…"
	}
	return string(n)
}

// emptyRange reports whether no number is within the bounds.
func (f Field) emptyRange() bool {
	lows := []*big.Rat{rat(f.Minimum), rat(f.ExclusiveMinimum)}
	highs := []*big.Rat{rat(f.Maximum), rat(f.ExclusiveMaximum)}
	for i, lo := range lows {
		for j, hi := range highs {
			if lo == nil || hi == nil {
				continue
			}
			if c := lo.Cmp(hi); c > 0 || (c == 0 && i+j > 0) {
				return true
			}
			if f.Kind == KindInteger && !integerBetween(lo, i == 1, hi, j == 1) {
				return true
			}
		}
	}
	return false
}

// integerBetween reports whether a whole number lies between two bounds.
func integerBetween(lo *big.Rat, loOpen bool, hi *big.Rat, hiOpen bool) bool {
	n := new(big.Int).Div(lo.Num(), lo.Denom()) // rounds down
	at := new(big.Rat).SetInt(n)
	if at.Cmp(lo) < 0 || loOpen {
		at.SetInt(n.Add(n, big.NewInt(1)))
	}
	c := at.Cmp(hi)
	return c < 0 || (c == 0 && !hiOpen)
}

// option returns the option's own spelling of a value.
func (f Field) option(value json.RawMessage) (json.RawMessage, error) {
	return optionIn(optionsByKey(f.Options), value)
}

func optionIn(byKey map[string]json.RawMessage, value json.RawMessage) (json.RawMessage, error) {
	if key, err := schema.Key(value); err == nil {
		if own, ok := byKey[key]; ok {
			return own, nil
		}
	}
	return nil, misfit("must be one of the options")
}

func (f Field) checkMulti(value json.RawMessage) (json.RawMessage, error) {
	items, err := parseArray(value)
	if err != nil {
		return nil, misfit("must be a list of options")
	}
	byKey := optionsByKey(f.Options)
	seen := map[string]bool{}
	for i, item := range items {
		if items[i], err = optionIn(byKey, item); err != nil {
			return nil, misfitf("item %d must be one of the options", i+1)
		}
		if f.Unique && seen[string(items[i])] {
			return nil, misfitf("item %d is chosen twice", i+1)
		}
		seen[string(items[i])] = true
	}
	if f.MinItems != nil && len(items) < *f.MinItems {
		return nil, misfitf("needs at least %d options, has %d", *f.MinItems, len(items))
	}
	if f.MaxItems != nil && len(items) > *f.MaxItems {
		return nil, misfitf("takes at most %d options, has %d", *f.MaxItems, len(items))
	}
	return joinArray(items), nil
}
