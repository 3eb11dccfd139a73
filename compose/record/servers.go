package record

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/looprig/looprig/compose/config/doc"
	"github.com/looprig/looprig/compose/headless"
	"github.com/looprig/looprig/harness/gate"
)

// reference finds the variables of a value of an entry.
var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`) })

// entry renders a server's entry without what it keeps secret, and says which
// variables then have to be set; false means that it cannot be written down. off
// disables it.
func (r *Recorder) entry(s Server, off bool) (string, bool) {
	n, err := doc.ParseJSON("entry", s.Entry)
	if err != nil {
		r.note("the entry of server %s cannot be read, and is not in the script", ident(s.Name))
		return "", false
	}
	n, missing := masked(s.Name, n)
	if off {
		n = with(n, "enabled", &doc.Node{Kind: doc.Bool, Text: "false"})
	}
	text, err := render(n)
	if err != nil {
		r.note("the entry of server %s cannot be written down, and is not in the script: %s", ident(s.Name), line(err.Error()))
		return "", false
	}
	if len(missing) > 0 {
		r.note("the values of server %s are not in the script: set %s", ident(s.Name), strings.Join(missing, ", "))
	}
	return text, true
}

// refused says that a server was not trusted when it was first asked about as it
// is defined here. No run without a person begins beside such a server.
func (r *Recorder) refused(s Server) bool {
	for _, q := range r.gates {
		if q.kind() != gate.KindUntrustedServer || q.env.Subject.Binding != s.Name || q.env.Prompt.Fingerprint != s.Fingerprint {
			continue
		}
		if q.resolved == nil || q.resolved.Reason != gate.ReasonAnswered {
			return true
		}
		return q.resolved.Response.Action == gate.ActionRefuse
	}
	return false
}

// secretful says that an entry has values that a script may not hold.
func secretful(s Server) bool {
	n, err := doc.ParseJSON("entry", s.Entry)
	if err != nil {
		return true
	}
	_, missing := masked(s.Name, n)
	return len(missing) > 0
}

// masked replaces what may be a secret by variables that are named after it.
func masked(server string, n *doc.Node) (*doc.Node, []string) {
	var missing []string
	hide := func(key string, v *doc.Node) *doc.Node {
		variable := variableOf(server, key)
		missing = append(missing, variable)
		return &doc.Node{Kind: doc.String, Text: "${" + variable + "}"}
	}
	out := *n
	out.Members = slices.Clone(n.Members)
	for i, m := range out.Members {
		switch {
		case (m.Key == "env" || m.Key == "headers") && m.Value.Kind == doc.Object:
			values := *m.Value
			values.Members = slices.Clone(values.Members)
			for k, v := range values.Members {
				if !referred(v.Value) {
					values.Members[k].Value = hide(v.Key, v.Value)
				}
			}
			out.Members[i].Value = &values
		case m.Key == "url" && strings.ContainsAny(m.Value.Text, "?@#") && !referred(m.Value):
			out.Members[i].Value = hide(m.Key, m.Value)
		}
	}
	return &out, missing
}

// referred says that a value comes from the environment: it has a variable, and
// none with a value of its own to fall back on.
func referred(v *doc.Node) bool {
	return v.Kind == doc.String && reference().MatchString(v.Text) && !strings.Contains(v.Text, ":-")
}

// variableOf names the variable of a server's value.
func variableOf(server, key string) string {
	clean := func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z':
			return c - 'a' + 'A'
		case c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_':
			return c
		}
		return '_'
	}
	out := strings.Map(clean, server+"_"+key)
	if out[0] >= '0' && out[0] <= '9' {
		out = "_" + out
	}
	return out
}

func with(n *doc.Node, key string, v *doc.Node) *doc.Node {
	out := *n
	out.Members = slices.DeleteFunc(slices.Clone(n.Members), func(m doc.Member) bool { return m.Key == key })
	out.Members = append(out.Members, doc.Member{Key: key, Value: v})
	return &out
}

// servers are the definitions that the script brings along.
func (r *Recorder) servers() []string {
	var out []string
	for _, s := range r.o.Servers {
		switch {
		case s.File != "" && secretful(s):
			r.note("server %s is that of %s, which has values that are not put into a script", ident(s.Name), line(s.File))
			if r.refused(s) {
				r.note("server %s was not trusted; a run without a person does not begin beside it: disable it first", ident(s.Name))
			}
			continue
		case r.refused(s):
			r.note("server %s was not trusted; in the script it is disabled, since no run begins beside it", ident(s.Name))
		}
		if entry, ok := r.entry(s, r.refused(s)); ok {
			out = append(out, "  "+name(s.Name)+": "+entry+"\n")
		}
		if silent(s) {
			r.note("server %s may ask for the model without a question; what it was answered is not on record: add sampling_replies where it does", ident(s.Name))
		}
	}
	return out
}

// silent says that a server's requests for the model leave no question behind.
func silent(s Server) bool {
	n, err := doc.ParseJSON("entry", s.Entry)
	if err != nil {
		return false
	}
	approve := n.Get("sampling").Get("approve")
	return approve != nil && approve.Text == "auto"
}

// texts renders a prompt's arguments.
func texts(args map[string]string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, k := range slices.Sorted(maps.Keys(args)) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name(k) + ": " + quote(headless.Literal(args[k])))
	}
	b.WriteByte('}')
	return b.String()
}
