package schema

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// edge is how one compiled schema leads to another.
type edge struct {
	to int
	// inPlace says that both apply to the same value of the instance.
	inPlace bool
	// ref says that the edge is a reference, not nesting.
	ref bool
}

// graph is all schemas that a compiled schema can reach.
type graph struct {
	nodes []*jsonschema.Schema
	edges [][]edge
	index map[*jsonschema.Schema]int
}

// newGraph collects what is reachable from the roots. The first root is the
// schema itself; the others are possible targets of dynamic references.
func newGraph(roots []*jsonschema.Schema, lim Limits) (*graph, error) {
	g := &graph{index: map[*jsonschema.Schema]int{}}
	for _, r := range roots {
		g.add(r)
	}
	for i := 0; i < len(g.nodes); i++ { // g.nodes grows
		g.edges = append(g.edges, nil)
		g.outgoing(i)
	}
	if err := g.dynamic(lim.Nodes); err != nil {
		return nil, err
	}
	for _, es := range g.edges {
		slices.SortFunc(es, func(a, b edge) int {
			return cmp.Compare(g.nodes[a.to].Location, g.nodes[b.to].Location)
		})
	}
	return g, nil
}

func (g *graph) add(s *jsonschema.Schema) int {
	i, ok := g.index[s]
	if !ok {
		i = len(g.nodes)
		g.index[s] = i
		g.nodes = append(g.nodes, s)
	}
	return i
}

func (g *graph) link(from int, inPlace, ref bool, to ...*jsonschema.Schema) {
	for _, t := range to {
		if t != nil {
			g.edges[from] = append(g.edges[from], edge{g.add(t), inPlace, ref})
		}
	}
}

// outgoing adds the edges of node i, dynamic references apart.
func (g *graph) outgoing(i int) {
	s := g.nodes[i]
	g.link(i, true, true, s.Ref, s.RecursiveRef)
	if s.DynamicRef != nil {
		g.link(i, true, true, s.DynamicRef.Ref)
	}
	g.link(i, true, false, s.AllOf...)
	g.link(i, true, false, s.AnyOf...)
	g.link(i, true, false, s.OneOf...)
	g.link(i, true, false, s.Not, s.If, s.Then, s.Else)
	g.link(i, true, false, slices.Collect(maps.Values(s.DependentSchemas))...)
	for _, dep := range s.Dependencies {
		g.linkAny(i, true, dep)
	}
	g.link(i, false, false, slices.Collect(maps.Values(s.Properties))...)
	g.link(i, false, false, slices.Collect(maps.Values(s.PatternProperties))...)
	g.link(i, false, false, s.PropertyNames, s.UnevaluatedProperties, s.Contains,
		s.UnevaluatedItems, s.Items2020, s.ContentSchema)
	g.link(i, false, false, s.PrefixItems...)
	g.linkAny(i, false, s.AdditionalProperties)
	g.linkAny(i, false, s.AdditionalItems)
	g.linkAny(i, false, s.Items)
}

// linkAny links a field that the library types as any.
func (g *graph) linkAny(from int, inPlace bool, v any) {
	switch v := v.(type) {
	case *jsonschema.Schema:
		g.link(from, inPlace, false, v)
	case []*jsonschema.Schema:
		g.link(from, inPlace, false, v...)
	}
}

// dynamic adds an edge from every dynamic reference to everything that it may
// mean at run time, at most limit edges: each counts as an expansion.
func (g *graph) dynamic(limit int) error {
	anchors := map[string][]*jsonschema.Schema{}
	var recursive []*jsonschema.Schema
	for _, s := range g.nodes {
		if s.DynamicAnchor != "" {
			anchors[s.DynamicAnchor] = append(anchors[s.DynamicAnchor], s)
		}
		if s.RecursiveAnchor {
			recursive = append(recursive, s)
		}
	}
	added := 0
	for i, s := range g.nodes {
		var targets []*jsonschema.Schema
		if s.DynamicRef != nil && s.DynamicRef.Anchor != "" {
			targets = append(targets, anchors[s.DynamicRef.Anchor]...)
		}
		if s.RecursiveRef != nil {
			targets = append(targets, recursive...)
		}
		if added += len(targets); added > limit {
			return &Error{
				Code: CodeOverLimit, Message: "schema too large once its references are expanded",
				Limit: int64(limit), Size: int64(added), Setting: "schemaNodes",
			}
		}
		g.link(i, true, true, targets...)
	}
	return nil
}

// check refuses a graph whose use could not be bounded.
func (g *graph) check(lim Limits) error {
	for _, s := range g.nodes {
		if !strings.HasPrefix(s.Location, rootURL+"#") {
			return &Error{Code: CodeExternal, Message: "reference that leaves the schema: " + quoted(s.Location)}
		}
	}
	if d := g.depth(); d > lim.Depth {
		return &Error{
			Code: CodeOverLimit, Message: "schemas nested too deeply",
			Limit: int64(lim.Depth), Size: int64(d), Setting: "schemaDepth",
		}
	}
	order, err := g.inPlaceOrder()
	if err != nil {
		return err
	}
	if n := g.expanded(order, lim.Nodes); n > lim.Nodes {
		return &Error{
			Code: CodeOverLimit, Message: "schema too large once its references are expanded",
			Limit: int64(lim.Nodes), Size: int64(n), Setting: "schemaNodes",
		}
	}
	return nil
}

// depth is the longest chain of schemas nested in each other as written.
func (g *graph) depth() int {
	memo := make([]int, len(g.nodes))
	var measure func(i int) int
	measure = func(i int) int {
		if memo[i] == 0 {
			d := 1
			for _, e := range g.edges[i] {
				if !e.ref {
					d = max(d, 1+measure(e.to))
				}
			}
			memo[i] = d
		}
		return memo[i]
	}
	deepest := 0
	for i := range g.nodes {
		deepest = max(deepest, measure(i))
	}
	return deepest
}

// inPlaceOrder lists the nodes so that each comes after all that apply to the
// same value because of it. A cycle among these would never end.
func (g *graph) inPlaceOrder() ([]int, error) {
	const (
		unseen = iota
		open
		done
	)
	state := make([]int, len(g.nodes))
	order := make([]int, 0, len(g.nodes))
	var visit func(i int) error
	visit = func(i int) error {
		switch state[i] {
		case done:
			return nil
		case open:
			return &Error{
				Code: CodeCycle, Path: pointerOf(g.nodes[i].Location),
				Message: "reference cycle that never descends into the value",
			}
		}
		state[i] = open
		for _, e := range g.edges[i] {
			if e.inPlace {
				if err := visit(e.to); err != nil {
					return err
				}
			}
		}
		state[i] = done
		order = append(order, i)
		return nil
	}
	for i := range g.nodes {
		if err := visit(i); err != nil {
			return nil, err
		}
	}
	return order, nil
}

// pointerOf is the cleaned pointer in a location.
func pointerOf(location string) string {
	_, ptr, _ := strings.Cut(location, "#")
	if ptr == "" {
		return `"/"`
	}
	return quoted(ptr)
}
