package config

import (
	"strings"

	"github.com/looprig/looprig/compose/config/doc"
	"github.com/looprig/looprig/harness/model"
)

// MaxProviderModels bounds the models that one provider's entry describes.
const MaxProviderModels = 1024

// ProviderModel is what an entry of providers says of one of its models.
type ProviderModel struct {
	// Name is the endpoint's name of the model.
	Name string
	// ContextTokens is 0 where the entry does not say.
	ContextTokens int
	// Price is nil where the entry has none.
	Price *model.Price
}

// Described is what the entry says of a model, the zero value where it says
// nothing.
func (p Provider) Described(name string) ProviderModel {
	for _, m := range p.Models {
		if m.Name == name {
			return m
		}
	}
	return ProviderModel{Name: name}
}

func readProviderModels(o *doc.Obj) []ProviderModel {
	list := o.Sub("models")
	members := list.Members()
	if len(members) > MaxProviderModels {
		list.Fail("", "more than %d models", MaxProviderModels)
		return nil
	}
	var out []ProviderModel
	for _, m := range members {
		if len(m.Key) > MaxModelBytes || m.Key == "" || strings.ContainsFunc(m.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
			list.Fail(m.Key, "the name of a model is printable ASCII without spaces, at most %d bytes", MaxModelBytes)
		}
		one := list.Sub(m.Key)
		pm := ProviderModel{Name: m.Key, ContextTokens: one.Int("contextTokens", 0, 1, MaxContextTokens)}
		if one.Has("price") {
			pm.Price = readPrice(one.Sub("price"))
		}
		one.Done()
		out = append(out, pm)
	}
	return out
}

// readPrice takes a price for a million tokens, each amount a number or a text.
func readPrice(o *doc.Obj) *model.Price {
	p := model.Price{Currency: o.String("currency", "")}
	if !model.CurrencyCode(p.Currency) && !o.Failed("currency") {
		o.Fail("currency", "is a code of three capital letters, such as USD")
	}
	amount := func(key string) *model.Micro {
		n := o.Node(key)
		switch {
		case n == nil:
			return nil
		case n.Kind != doc.Number && n.Kind != doc.String:
			o.Fail(key, "expected an amount for a million tokens, found %s", n.Kind)
			return nil
		}
		m, err := model.ParseMicro(n.Text)
		if err != nil {
			o.Fail(key, "%q %s", n.Text, err)
			return nil
		}
		return &m
	}
	input, output := amount("input"), amount("output")
	p.CacheRead, p.CacheWrite = amount("cacheRead"), amount("cacheWrite")
	o.Done()
	for _, need := range []struct {
		key string
		got *model.Micro
	}{{"input", input}, {"output", output}} {
		if need.got == nil && !o.Has(need.key) {
			o.Fail("", "needs %s, the price of a million tokens", need.key)
		}
	}
	if input == nil || output == nil {
		return nil
	}
	p.Input, p.Output = *input, *output
	return &p
}
