package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/catalog"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/list"
)

const (
	// olderTries is how many numbers are tried for an older generation that is
	// still kept.
	olderTries = 64
	// maxUpdated is how many resources are marked as changed; with more, the marks
	// begin anew.
	maxUpdated = 1000
)

// resourceKey names a resource; both parts are raw.
type resourceKey struct{ binding, uri string }

// catalogData is what the catalog screen shows. It is gathered once per message.
func (m *model) catalogData() catalog.Data {
	if m.catData != nil {
		return *m.catData
	}
	d := catalog.Data{Binding: m.catalog}
	c, ok := m.o.Port.Catalog(m.catalog, 0)
	if ok {
		d.Newest = c.Generation
		if g := m.cat.Generation(); g != 0 && g != c.Generation {
			if kept, ok := m.o.Port.Catalog(m.catalog, g); ok {
				c = kept
			}
		}
		d.Catalog = &c
		d.Before = m.olderCatalog(c.Generation)
	}
	d.Deferred, d.Watched, d.Updated = map[string]bool{}, map[string]bool{}, map[string]int{}
	for _, t := range m.o.Session.Tools() {
		if t.Deferred && t.Identity.Binding == m.catalog {
			d.Deferred[t.Name] = true
		}
	}
	if b, ok := m.binding(m.catalog); ok {
		for _, uri := range b.Subscriptions {
			d.Watched[uri] = true
		}
	}
	for k, n := range m.updated {
		if k.binding == m.catalog {
			d.Updated[k.uri] = n
		}
	}
	m.catData = &d
	return d
}

// olderCatalog is the newest generation below one that is still kept, or nil.
func (m *model) olderCatalog(generation uint64) *integration.Catalog {
	for i := uint64(1); i <= olderTries && i < generation; i++ {
		if c, ok := m.o.Port.Catalog(m.catalog, generation-i); ok {
			return &c
		}
	}
	return nil
}

// openCatalog shows a binding's catalog; without a name the one that was open,
// or the first that has tools.
func (m *model) openCatalog(name string) {
	if name == "" {
		name = m.catalog
	}
	if _, ok := m.binding(name); !ok {
		name = ""
		for _, b := range m.bindings {
			if name == "" || b.Generation > 0 {
				name = b.Name
			}
			if b.Generation > 0 {
				break
			}
		}
	}
	if name != m.catalog {
		m.cat.Reset()
	}
	m.catalog, m.screen, m.adopted, m.catData = name, screenCatalog, 0, nil
}

func (m *model) nextCatalog() {
	for i, b := range m.bindings {
		if b.Name == m.catalog {
			m.openCatalog(m.bindings[(i+1)%len(m.bindings)].Name)
			return
		}
	}
	m.openCatalog("")
}

func (m *model) catalogKey(k tea.KeyPressMsg) tea.Cmd {
	a := m.cat.Key(k, m.keys, m.catalogData())
	switch a.ID {
	case keymap.CatalogUse:
		return m.use(m.catalog, a.Item)
	case keymap.CatalogNext:
		m.nextCatalog()
	case keymap.CatalogWatch:
		return m.watch(m.catalog, a.Item)
	case keymap.CatalogCopy:
		return m.copy(a.Item.Name)
	case keymap.CatalogRaw:
		title := "raw · " + string(safetext.Ident(m.catalog)) + " " + string(safetext.Ident(a.Item.Name))
		m.push(foreignPage(title, catalog.Raw(a.Item), m.keys, m.th))
	default:
		return m.run(a.ID)
	}
	return nil
}

// watchedMsg is what came of starting or ending the reports of a resource.
type watchedMsg struct {
	binding, uri string
	on           bool
	n            int
	err          error
}

// watch starts the reports of a resource's changes, or ends them.
func (m *model) watch(binding string, it integration.Item) tea.Cmd {
	switch {
	case it.Kind != catalog.Resource:
		m.say("only resources report their changes")
		return nil
	case m.reader == nil:
		m.say(errNoReader.Error())
		return nil
	case len(m.fetches) >= maxFetches:
		m.say("too much is waited for already; esc gives it up")
		return nil
	}
	on := true
	if b, ok := m.binding(binding); ok {
		for _, uri := range b.Subscriptions {
			on = on && uri != it.Name
		}
	}
	ctx, n := m.startFetch("the subscription")
	reader, uri := m.reader, it.Name
	return func() tea.Msg {
		change := reader.Unsubscribe
		if on {
			change = reader.Subscribe
		}
		return watchedMsg{binding: binding, uri: uri, on: on, n: n, err: change(ctx, binding, uri)}
	}
}

func (m *model) watched(msg watchedMsg) {
	m.endFetch(msg.n)
	m.bindings = m.o.Port.Bindings()
	name := string(safetext.Ident(msg.uri))
	switch {
	case msg.err != nil:
		m.say(name + ": " + msg.err.Error())
	case msg.on:
		m.say("changes of " + name + " are reported")
	default:
		delete(m.updated, resourceKey{msg.binding, msg.uri})
		m.say("changes of " + name + " are no longer reported")
	}
}

// resourceUpdated marks a resource and says so.
func (m *model) resourceUpdated(h *event.Header, e *event.ResourceUpdated) {
	if len(m.updated) >= maxUpdated {
		clear(m.updated)
	}
	m.updated[resourceKey{e.Binding, e.URI}]++
	m.notice(h, e.Binding, "resource changed: "+string(safetext.Ident(e.URI)), "info")
}

// openItems offers the prompts, or the resources and templates, of all bindings.
func (m *model) openItems(kind pickKind) {
	title := "prompts of all servers"
	if kind == pickResource {
		title = "resources of all servers"
	}
	var entries []list.Entry
	m.eachItem(func(binding string, it integration.Item) bool {
		if pickOf(it.Kind) == kind {
			note := it.Kind
			if d := firstLine(it.Description); d != "" {
				note = string(safetext.ToLineN(d, 60))
			}
			entries = append(entries, list.Entry{ID: itemID(binding, it), Label: string(safetext.Ident(binding)) + " " + string(safetext.Ident(it.Name)), Note: note})
		}
		return true
	})
	if len(entries) == 0 {
		m.say("no binding has any")
		return
	}
	m.push(&pickDialog{kind: kind, p: list.NewPicker(title, entries), keys: m.keys, th: m.th})
}

func pickOf(kind string) pickKind {
	switch kind {
	case catalog.Prompt:
		return pickPrompt
	case catalog.Resource, catalog.Template:
		return pickResource
	}
	return pickTool
}

// itemID tells an item apart in a picker.
func itemID(binding string, it integration.Item) string {
	return fmt.Sprintf("%q %s %q", binding, it.Kind, it.Name)
}

// eachItem visits what every binding offers until visit returns false.
func (m *model) eachItem(visit func(binding string, it integration.Item) bool) {
	for _, b := range m.bindings {
		c, ok := m.o.Port.Catalog(b.Name, 0)
		if !ok {
			continue
		}
		for _, it := range c.Items {
			if !visit(b.Name, it) {
				return
			}
		}
	}
}

// pickedItem uses the item that was chosen from a picker.
func (m *model) pickedItem(id string) tea.Cmd {
	var cmd tea.Cmd
	found := false
	m.eachItem(func(binding string, it integration.Item) bool {
		if found = itemID(binding, it) == id; found {
			cmd = m.use(binding, it)
		}
		return !found
	})
	if !found {
		m.say("it is not offered any more")
	}
	return cmd
}
