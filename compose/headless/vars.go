package headless

import (
	"encoding/json"
	"regexp"
	"sync"

	"github.com/looprig/looprig/compose/config/doc"
)

// variable finds ${name} with the dollars before it: with one it is the value,
// each further one takes the meaning away, as a text that holds "${name}" needs.
var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\$+)\{([a-z_][a-zA-Z0-9_]*)\}`) })

func variables(s string) []string {
	var out []string
	for _, m := range variable().FindAllStringSubmatch(s, -1) {
		if len(m[1]) == 1 {
			out = append(out, m[2])
		}
	}
	return out
}

// Literal writes a text so that a script takes it as it is: nothing in it
// stands for a saved value.
func Literal(s string) string { return variable().ReplaceAllString(s, "$$$0") }

// vars are the values that earlier steps saved, as JSON.
type vars map[string]json.RawMessage

// text puts values into a string: strings as they are, others as JSON.
func (v vars) text(s string) string {
	return variable().ReplaceAllStringFunc(s, func(m string) string {
		if m[1] == '$' {
			return m[1:]
		}
		raw := v[m[2:len(m)-1]]
		var str string
		if json.Unmarshal(raw, &str) == nil {
			return str
		}
		return string(raw)
	})
}

// node puts values into a copy of a tree. A string that is one ${name} alone
// becomes the value with its JSON type.
func (v vars) node(n *doc.Node) (*doc.Node, error) {
	out := *n
	switch n.Kind {
	case doc.String:
		if m := variable().FindString(n.Text); m != "" && m == n.Text && m[1] != '$' {
			return doc.ParseJSON("saved value", v[m[2:len(m)-1]])
		}
		out.Text = v.text(n.Text)
	case doc.Array:
		out.Items = make([]*doc.Node, len(n.Items))
		for i, item := range n.Items {
			sub, err := v.node(item)
			if err != nil {
				return nil, err
			}
			out.Items[i] = sub
		}
	case doc.Object:
		out.Members = make([]doc.Member, len(n.Members))
		for i, m := range n.Members {
			sub, err := v.node(m.Value)
			if err != nil {
				return nil, err
			}
			out.Members[i] = doc.Member{Key: m.Key, Pos: m.Pos, Value: sub}
		}
	case doc.Null, doc.Bool, doc.Number:
	}
	return &out, nil
}
