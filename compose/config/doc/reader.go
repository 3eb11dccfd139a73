package doc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Reader collects the faults of one document while values are taken out.
type Reader struct {
	File string
	// Expand, when set, is applied to every string value that is taken; an
	// error becomes a fault at that place.
	Expand func(string) (string, error)
	faults Faults
}

// Fail adds a fault at a node.
func (r *Reader) Fail(pos Pos, path, format string, args ...any) {
	r.faults = append(r.faults, Fault{File: r.File, Pos: pos, Path: path, Message: fmt.Sprintf(format, args...)})
}

// Err returns the faults as an error, or nil.
func (r *Reader) Err() error {
	if len(r.faults) == 0 {
		return nil
	}
	return r.faults
}

// Faults returns what was collected.
func (r *Reader) Faults() Faults { return r.faults }

// Obj is an object whose keys are taken out one by one; Done reports the rest
// as unknown.
type Obj struct {
	r    *Reader
	node *Node
	path string
	used []string
}

// Object begins with a node that must be an object. It never returns nil: for
// anything else it fails and returns an empty object.
func (r *Reader) Object(n *Node, path string) *Obj {
	if n == nil {
		n = &Node{Kind: Object}
	}
	if n.Kind != Object {
		r.Fail(n.Pos, path, "expected an object, found %s", n.Kind)
		n = &Node{Kind: Object, Pos: n.Pos}
	}
	return &Obj{r: r, node: n, path: path}
}

// Path names a key below the object.
func (o *Obj) Path(key string) string {
	if o.path == "" {
		return key
	}
	return o.path + "." + key
}

// Pos is where the object begins.
func (o *Obj) Pos() Pos { return o.node.Pos }

// Members lists all members and marks them as used.
func (o *Obj) Members() []Member {
	for _, m := range o.node.Members {
		o.used = append(o.used, m.Key)
	}
	return o.node.Members
}

// Has reports whether the key is there; it does not mark it as used.
func (o *Obj) Has(key string) bool { return o.node.Get(key) != nil }

// Node takes a value as it is, or nil.
func (o *Obj) Node(key string) *Node {
	o.used = append(o.used, key)
	return o.node.Get(key)
}

func (o *Obj) typed(key string, kind Kind) *Node {
	n := o.Node(key)
	if n == nil {
		return nil
	}
	if n.Kind != kind {
		o.r.Fail(n.Pos, o.Path(key), "expected %s, found %s", kind, n.Kind)
		return nil
	}
	return n
}

func (o *Obj) expand(n *Node, path string) string {
	if o.r.Expand == nil {
		return n.Text
	}
	s, err := o.r.Expand(n.Text)
	if err != nil {
		o.r.Fail(n.Pos, path, "%s", err)
	}
	return s
}

// String takes a string, or def.
func (o *Obj) String(key, def string) string {
	if n := o.typed(key, String); n != nil {
		return o.expand(n, o.Path(key))
	}
	return def
}

// OneOf takes a string that must be one of the choices.
func (o *Obj) OneOf(key, def string, choices ...string) string {
	n := o.typed(key, String)
	if n == nil {
		return def
	}
	v := o.expand(n, o.Path(key))
	if !slices.Contains(choices, v) {
		o.r.Fail(n.Pos, o.Path(key), "%q is not one of %s", v, strings.Join(choices, ", "))
		return def
	}
	return v
}

// Bool takes a boolean, or def.
func (o *Obj) Bool(key string, def bool) bool {
	if n := o.typed(key, Bool); n != nil {
		return n.Text == "true"
	}
	return def
}

// Int takes an integer within bounds, or def.
func (o *Obj) Int(key string, def, lo, hi int) int {
	n := o.typed(key, Number)
	if n == nil {
		return def
	}
	v, err := strconv.Atoi(n.Text)
	if err != nil || v < lo || v > hi {
		o.r.Fail(n.Pos, o.Path(key), "expected a whole number from %d to %d, found %s", lo, hi, n.Text)
		return def
	}
	return v
}

// Duration takes a string with a unit ("30s"), or def.
func (o *Obj) Duration(key string, def, hi time.Duration) time.Duration {
	n := o.Node(key)
	if n == nil {
		return def
	}
	if n.Kind == Number {
		o.r.Fail(n.Pos, o.Path(key), "a duration needs its unit: %q, %q", n.Text+"s", n.Text+"ms")
		return def
	}
	if n.Kind != String {
		o.r.Fail(n.Pos, o.Path(key), "expected a duration like \"30s\", found %s", n.Kind)
		return def
	}
	d, err := time.ParseDuration(n.Text)
	if err != nil || d <= 0 || d > hi {
		o.r.Fail(n.Pos, o.Path(key), "expected a duration like \"30s\", above 0 and at most %s, found %q", hi, n.Text)
		return def
	}
	return d
}

// Strings takes a list of strings.
func (o *Obj) Strings(key string) []string {
	n := o.typed(key, Array)
	if n == nil {
		return nil
	}
	out := make([]string, 0, len(n.Items))
	for i, item := range n.Items {
		path := fmt.Sprintf("%s[%d]", o.Path(key), i)
		if item.Kind != String {
			o.r.Fail(item.Pos, path, "expected a string, found %s", item.Kind)
			continue
		}
		out = append(out, o.expand(item, path))
	}
	return out
}

// StringMap takes an object of strings.
func (o *Obj) StringMap(key string) map[string]string {
	n := o.typed(key, Object)
	if n == nil {
		return nil
	}
	out := make(map[string]string, len(n.Members))
	for _, m := range n.Members {
		path := o.Path(key) + "." + m.Key
		if m.Value.Kind != String {
			o.r.Fail(m.Value.Pos, path, "expected a string, found %s", m.Value.Kind)
			continue
		}
		out[m.Key] = o.expand(m.Value, path)
	}
	return out
}

// Sub takes an object; it is empty when the key is absent.
func (o *Obj) Sub(key string) *Obj {
	n := o.Node(key)
	return o.r.Object(n, o.Path(key))
}

// Items takes a list.
func (o *Obj) Items(key string) []*Node {
	if n := o.typed(key, Array); n != nil {
		return n.Items
	}
	return nil
}

// Fail adds a fault at one of the object's keys, or at the object itself.
func (o *Obj) Fail(key, format string, args ...any) {
	pos, path := o.node.Pos, o.path
	for _, m := range o.node.Members {
		if m.Key == key {
			pos, path = m.Pos, o.Path(key)
		}
	}
	o.r.Fail(pos, path, format, args...)
}

// Failed reports whether there is a fault at one of the object's keys already.
func (o *Obj) Failed(key string) bool {
	path := o.Path(key)
	for _, f := range o.r.faults {
		if rest, ok := strings.CutPrefix(f.Path, path); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// Done reports every key that was not taken.
func (o *Obj) Done() {
	for _, m := range o.node.Members {
		if !slices.Contains(o.used, m.Key) {
			o.r.Fail(m.Pos, o.Path(m.Key), "unknown key%s", DidYouMean(m.Key, o.used))
		}
	}
}
