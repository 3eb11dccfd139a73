package compose

import (
	"testing"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter"
)

func loopEntry(name, loop string) entry {
	return entry{
		server:  config.Server{Name: name, Enabled: true, Required: true},
		binding: mcpadapter.Binding{Name: name, Scope: mcpadapter.ScopeLoop, Loop: loop, Required: true},
	}
}

// An instance has a name that nobody has, that a binding may have, and that ends
// in the delegate's number; it stops its delegate and not the whole run.
func TestNamesOfInstances(t *testing.T) {
	t.Parallel()
	a := &App{conf: &config.Config{}}
	a.delegates = newDelegates(a)
	long := "a-very-long-name-of-a-server_abcd"[:32]
	a.Port = &Port{app: a, list: []entry{loopEntry("notes", "reviewer"), loopEntry("notes-7", "other"), loopEntry(long, "reviewer")}}
	for _, c := range []struct{ name, loop, want string }{
		{"notes", "main/reviewer-3", "notes-3"},
		{"notes", "main/reviewer-7", "notes-7-1"},
		{"notes", "main/reviewer-1/helper-12", "notes-12"},
		{long, "main/reviewer-3", "a-very-long-name-of-a-server_a-3"},
	} {
		i := instance{entry: loopEntry(c.name, "reviewer"), loop: c.loop}
		a.delegates.name(&i, session.Delegate{Loop: c.loop, Agent: "reviewer"})
		if i.binding.Name != c.want || i.binding.Server.Name != c.want || i.binding.Loop != c.loop || i.binding.Required || config.CheckName(c.want) != nil {
			t.Errorf("%s of %s: %+v", c.name, c.loop, i.binding)
		}
		if kept, ok := a.delegates.instance(c.want); !ok || kept.server.Name != c.name {
			t.Errorf("%s is not known", c.want)
		}
	}
}

// Everybody but the adapter knows a tool of an instance as one of its entry.
func TestToolsOfInstancesHaveTheirEntrysNames(t *testing.T) {
	t.Parallel()
	i := instance{entry: loopEntry("notes", "reviewer")}
	i.binding.Name = "notes-3"
	d := tool.Definition{Name: "mcp__notes-3__add", Identity: tool.Identity{Source: "mcp", Binding: "notes-3", Name: "add"}, Digest: "sha256:aa"}
	i.rename(&d)
	if d.Name != "mcp__notes__add" || d.Identity.String() != "mcp:notes:add" || d.Digest != "sha256:aa" {
		t.Errorf("%+v", d)
	}
}

// What runs for delegates alone does not run with the session.
func TestBindingsOfDelegatesAreNotStarted(t *testing.T) {
	t.Parallel()
	a := &App{conf: &config.Config{Loops: []config.Loop{{Name: "main", Delegates: []string{"reviewer", "main"}}, {Name: "reviewer"}, {Name: "writer"}}}}
	broken := loopEntry("broken", "reviewer")
	broken.binding.Fault = &mcpadapter.Fault{Text: "no command"}
	shared := entry{binding: mcpadapter.Binding{Name: "shared", Scope: mcpadapter.ScopeSession}}
	got := a.started([]entry{loopEntry("mine", "main"), loopEntry("notes", "reviewer"), loopEntry("pens", "writer"), broken, shared})
	var names []string
	for _, b := range got {
		names = append(names, b.Name)
	}
	if len(names) != 4 || names[0] != "mine" || names[1] != "pens" || names[2] != "broken" || names[3] != "shared" {
		t.Errorf("%v", names)
	}
}
