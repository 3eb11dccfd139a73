package schema

// expanded counts the schemas and enumerated values that replacing every
// reference by its target would give, saturating just over limit. An edge that
// leads back into the same recursive type and into a deeper value counts one;
// everything else counts in full.
//
// order must list in-place successors first. Each node is counted once, from
// the counts of its successors, so the work is linear however large the result.
func (g *graph) expanded(order []int, limit int) int {
	component := g.components()
	// Components are numbered successors first. Inside one, only in-place edges
	// are followed, and these run backwards in order.
	byComponent := make([][]int, len(g.nodes))
	for _, i := range order {
		byComponent[component[i]] = append(byComponent[component[i]], i)
	}
	count := make([]int, len(g.nodes))
	for _, members := range byComponent {
		for _, i := range members {
			n := 1
			if e := g.nodes[i].Enum; e != nil {
				n += len(e.Values)
			}
			for _, e := range g.edges[i] {
				if component[e.to] == component[i] && !e.inPlace {
					n++
				} else {
					n += count[e.to]
				}
				n = min(n, limit+1)
			}
			count[i] = n
		}
	}
	if len(count) == 0 {
		return 0
	}
	return max(count[0], min(len(g.nodes), limit+1))
}

// components numbers the strongly connected components of the graph; a
// component has a higher number than all that it leads to (Tarjan).
func (g *graph) components() []int {
	t := &tarjan{
		g: g, number: make([]int, len(g.nodes)), low: make([]int, len(g.nodes)),
		onStack: make([]bool, len(g.nodes)), component: make([]int, len(g.nodes)),
	}
	for i := range g.nodes {
		if t.number[i] == 0 {
			t.visit(i)
		}
	}
	return t.component
}

type tarjan struct {
	g         *graph
	number    []int // order of discovery from 1; 0 means not yet
	low       []int
	onStack   []bool
	stack     []int
	component []int
	found     int
	next      int
}

func (t *tarjan) visit(i int) {
	t.next++
	t.number[i], t.low[i] = t.next, t.next
	t.stack = append(t.stack, i)
	t.onStack[i] = true
	for _, e := range t.g.edges[i] {
		switch {
		case t.number[e.to] == 0:
			t.visit(e.to)
			t.low[i] = min(t.low[i], t.low[e.to])
		case t.onStack[e.to]:
			t.low[i] = min(t.low[i], t.number[e.to])
		}
	}
	if t.low[i] != t.number[i] {
		return
	}
	for {
		last := t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		t.onStack[last] = false
		t.component[last] = t.found
		if last == i {
			break
		}
	}
	t.found++
}
