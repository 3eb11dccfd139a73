package tui

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/catalog"
	"github.com/looprig/looprig/tui/composer"
)

// itemCandidates completes /prompt, /resource and /read; ok is false for other
// commands.
func (m *model) itemCandidates(text string, most int) (out []composer.Candidate, ok bool) {
	for _, c := range []struct {
		command string
		kind    pickKind
	}{{"/prompt ", pickPrompt}, {"/resource ", pickResource}, {"/read ", pickResource}} {
		rest, ok := strings.CutPrefix(text, c.command)
		if !ok {
			continue
		}
		want := strings.ToLower(rest)
		m.eachItem(func(binding string, it integration.Item) bool {
			s := binding + " " + it.Name
			if pickOf(it.Kind) == c.kind && s != rest && writable(binding) && writable(it.Name) && strings.Contains(strings.ToLower(s), want) {
				out = append(out, composer.Candidate{Text: c.command + s, Note: string(safetext.ToLineN(it.Kind+" "+firstLine(it.Description), 80))})
			}
			return len(out) < most
		})
		return out, true
	}
	return nil, false
}

// named splits "BINDING REST" and finds the binding.
func (m *model) named(rest string) (binding, name string, err error) {
	binding, name, _ = strings.Cut(rest, " ")
	name = strings.TrimSpace(name)
	if _, ok := m.binding(binding); !ok {
		return "", "", fmt.Errorf("no binding is called %s; there are %s", safetext.Ident(binding), m.bindingNames())
	}
	return binding, name, nil
}

// listed finds what a binding offers by kind and name.
func (m *model) listed(binding, name string, kinds ...string) (integration.Item, bool) {
	c, _ := m.o.Port.Catalog(binding, 0)
	for _, it := range c.Items {
		for _, k := range kinds {
			if it.Kind == k && it.Name == name {
				return it, true
			}
		}
	}
	return integration.Item{}, false
}

// promptCommand is "/prompt [BINDING NAME [K=V…]]"; the arguments may be one JSON
// object instead.
func (m *model) promptCommand(rest string) tea.Cmd {
	if rest == "" {
		m.cp.Take()
		m.openItems(pickPrompt)
		return nil
	}
	binding, name, err := m.named(rest)
	if err != nil {
		m.say(err.Error())
		return nil
	}
	name, given, _ := strings.Cut(name, " ")
	it, ok := m.listed(binding, name, catalog.Prompt)
	if !ok {
		m.say(string(safetext.Ident(binding)) + " has no prompt " + string(safetext.Ident(name)) + "; /prompt lists them all")
		return nil
	}
	args, err := promptArguments(strings.TrimSpace(given), it)
	if err != nil {
		m.say(err.Error())
		return nil
	}
	m.cp.Take()
	for _, a := range it.Arguments {
		if _, has := args[a.Name]; a.Required && !has || len(args) == 0 {
			return m.askPrompt(binding, it, args)
		}
	}
	return m.prompt(binding, it.Name, args, nil)
}

// promptArguments reads K=V words, or a JSON object of texts.
func promptArguments(text string, it integration.Item) (map[string]string, error) {
	args := map[string]string{}
	if strings.HasPrefix(text, "{") {
		if err := json.Unmarshal([]byte(text), &args); err != nil {
			return nil, errors.New("the arguments are not a JSON object of texts")
		}
	} else {
		for _, word := range strings.Fields(text) {
			k, v, ok := strings.Cut(word, "=")
			if !ok {
				return nil, fmt.Errorf("%s is not K=V; a value with spaces goes into the form, or write a JSON object", safetext.Ident(word))
			}
			args[k] = v
		}
	}
	for k := range args {
		known := false
		for _, a := range it.Arguments {
			known = known || a.Name == k
		}
		if !known {
			return nil, fmt.Errorf("the prompt has no argument %s", safetext.Ident(k))
		}
	}
	return args, nil
}

// readCommand is "/resource [BINDING URI]". A template's own text opens its form;
// any other address is asked for as it is, listed or not.
func (m *model) readCommand(rest string) tea.Cmd {
	if rest == "" {
		m.cp.Take()
		m.openItems(pickResource)
		return nil
	}
	binding, uri, err := m.named(rest)
	if err != nil {
		m.say(err.Error())
		return nil
	}
	if uri == "" {
		m.say("name a resource of " + string(safetext.Ident(binding)) + ": its URI")
		return nil
	}
	m.cp.Take()
	if it, ok := m.listed(binding, uri, catalog.Template); ok {
		return m.askTemplate(binding, it)
	}
	return m.read(binding, uri, nil)
}
