package headless

import (
	"encoding/json"
	"regexp"
	"sync"

	"github.com/looprig/looprig/compose/config/doc"
)

var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([a-z_][a-zA-Z0-9_]*)\}`) })

func variables(s string) []string {
	var out []string
	for _, m := range variable().FindAllStringSubmatch(s, -1) {
		out = append(out, m[1])
	}
	return out
}

// vars are the values that earlier steps saved, as JSON.
type vars map[string]json.RawMessage

// text puts values into a string: strings as they are, others as JSON.
func (v vars) text(s string) string {
	return variable().ReplaceAllStringFunc(s, func(m string) string {
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
		if m := variable().FindString(n.Text); m != "" && m == n.Text {
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
