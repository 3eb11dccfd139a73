package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/catalog"
	"github.com/looprig/looprig/tui/composer"
	"github.com/looprig/looprig/tui/formview"
	"github.com/looprig/looprig/tui/transcript"
	"github.com/looprig/looprig/tui/uritemplate"
)

const (
	// maxFetches is how many servers may be waited for at once.
	maxFetches = 8
	// maxArguments is how many arguments of a prompt make a form.
	maxArguments = 64
)

var errNoReader = errors.New("prompts and resources cannot be asked for here")

// fetching is one request for a prompt or a resource that is under way.
type fetching struct {
	label  string // clean
	cancel context.CancelFunc
}

// wanted is a prompt, a resource or a template that a person asks for.
type wanted struct {
	binding string
	item    integration.Item
	tpl     *uritemplate.Template
}

// fetchMsg is what came of a request.
type fetchMsg struct {
	n     int
	what  string // as transcript.Fetched has it
	f     integration.Fetched
	name  string // clean: what was asked for
	began time.Time
	took  time.Duration
	form  *formDialog // that asked for the arguments
	err   error
}

// fetch asks a server, in a command that esc gives up.
func (m *model) fetch(what, binding, name string, f *formDialog, ask func(context.Context, integration.Reader) (integration.Fetched, error)) tea.Cmd {
	reader := m.reader
	label := string(safetext.Ident(binding)) + " " + string(safetext.Ident(name))
	switch {
	case reader == nil:
		m.say(errNoReader.Error())
		return nil
	case len(m.fetches) >= maxFetches:
		m.say(fmt.Sprintf("%d requests are waited for already; esc gives them up", maxFetches))
		return nil
	}
	ctx, n := m.startFetch(what + " " + label)
	began, clock := m.now, m.o.Clock
	return func() tea.Msg {
		out, err := ask(ctx, reader)
		return fetchMsg{n: n, what: what, f: out, name: label, began: began, took: clock.Now().Sub(began), form: f, err: err}
	}
}

// startFetch notes a request under way; its context ends with it.
func (m *model) startFetch(label string) (context.Context, int) {
	ctx, cancel := context.WithCancel(m.ctx)
	m.lastFetch++
	m.fetches[m.lastFetch] = fetching{label: label, cancel: cancel}
	return ctx, m.lastFetch
}

func (m *model) endFetch(n int) {
	if f, ok := m.fetches[n]; ok {
		f.cancel()
		delete(m.fetches, n)
	}
}

// giveUp ends every request under way and reports whether there was one.
func (m *model) giveUp() bool {
	any := len(m.fetches) > 0
	for _, f := range m.fetches {
		f.cancel() // the command's message takes it off the list
	}
	return any
}

// fetched shows what came: as an item of the transcript, and on top of the
// screen with the offer to use it, unless the person has gone on to something
// else.
func (m *model) fetched(msg fetchMsg) {
	m.endFetch(msg.n)
	if msg.err != nil {
		m.fetchFailed(msg)
		return
	}
	it := m.tr.Fetched(m.now, transcript.Fetched{
		What: msg.what, Binding: msg.f.Binding, Name: msg.f.Name, Description: msg.f.Description,
		Content: msg.f.Content, Messages: msg.f.Messages, Raw: msg.f.Raw, Took: msg.took,
	})
	if msg.what == transcript.FetchedResource {
		delete(m.updated, resourceKey{msg.f.Binding, msg.f.Name})
	}
	if m.top() != nil || m.typedAt.After(msg.began) {
		m.say(msg.name + " is in the conversation")
		return
	}
	m.push(&fetchedDialog{item: it, keys: m.keys, th: m.th})
}

func (m *model) fetchFailed(msg fetchMsg) {
	if errors.Is(msg.err, context.Canceled) {
		m.say("gave up " + msg.what + " " + msg.name)
		return
	}
	text := string(safetext.ToLine(msg.err.Error()))
	m.tr.Note(m.now, "", transcript.Warn, msg.what+" "+msg.name+": "+text)
	m.say(msg.what + " " + msg.name + ": " + text)
	if msg.form != nil && m.top() == nil {
		msg.form.f.SetError(msg.err)
		m.push(msg.form)
	}
}

// use does what a catalog entry is for.
func (m *model) use(binding string, it integration.Item) tea.Cmd {
	switch it.Kind {
	case catalog.Tool:
		if it.Withheld != "" {
			m.say("withheld: " + it.Withheld)
			return nil
		}
		return m.askCall(it.ModelName, nil)
	case catalog.Prompt:
		return m.askPrompt(binding, it, nil)
	case catalog.Resource:
		return m.read(binding, it.Name, nil)
	case catalog.Template:
		return m.askTemplate(binding, it)
	}
	return nil
}

func (m *model) read(binding, uri string, f *formDialog) tea.Cmd {
	return m.fetch(transcript.FetchedResource, binding, uri, f, func(ctx context.Context, r integration.Reader) (integration.Fetched, error) {
		return r.Read(ctx, binding, uri)
	})
}

func (m *model) prompt(binding, name string, args map[string]string, f *formDialog) tea.Cmd {
	return m.fetch(transcript.FetchedPrompt, binding, name, f, func(ctx context.Context, r integration.Reader) (integration.Fetched, error) {
		return r.Prompt(ctx, binding, name, args)
	})
}

// askPrompt asks for a prompt's arguments, or gets it at once when it has none.
func (m *model) askPrompt(binding string, it integration.Item, known map[string]string) tea.Cmd {
	if len(it.Arguments) == 0 {
		return m.prompt(binding, it.Name, known, nil)
	}
	if len(it.Arguments) > maxArguments {
		m.say(fmt.Sprintf("this prompt has %d arguments; a form asks for at most %d", len(it.Arguments), maxArguments))
		return nil
	}
	var s form.Schema
	for _, a := range it.Arguments {
		if _, twice := s.Field(a.Name); twice || a.Name == "" {
			m.say("this prompt's arguments have no names of their own")
			return nil
		}
		s.Fields = append(s.Fields, form.Field{Name: a.Name, Description: a.Description, Kind: form.KindText, Required: a.Required})
	}
	return m.askTexts("prompt · ", "get", s, known, wanted{binding: binding, item: it})
}

// askTemplate asks for the variables of a resource template.
func (m *model) askTemplate(binding string, it integration.Item) tea.Cmd {
	tpl, err := uritemplate.Parse(it.Name)
	if err != nil {
		m.say(err.Error())
		return nil
	}
	names := tpl.Variables()
	if len(names) == 0 {
		return m.read(binding, tpl.Expand(nil), nil)
	}
	var s form.Schema
	for _, n := range names {
		s.Fields = append(s.Fields, form.Field{Name: n, Kind: form.KindText, Required: tpl.Required(n)})
	}
	return m.askTexts("template · ", "read", s, nil, wanted{binding: binding, item: it, tpl: tpl})
}

func (m *model) askTexts(title, word string, s form.Schema, known map[string]string, w wanted) tea.Cmd {
	if m.reader == nil {
		m.say(errNoReader.Error())
		return nil
	}
	prefill := form.Values{}
	for name, text := range known {
		if raw, err := json.Marshal(text); err == nil {
			prefill[name] = raw
		}
	}
	message := w.item.Description
	if w.tpl != nil {
		message = w.item.Name + "\n" + message
	}
	f, err := formview.New(formview.Options{Schema: s, Prefill: prefill, Message: message, Foreign: true, SubmitWord: word, Keys: m.keys, Theme: m.th})
	if err != nil {
		m.say(err.Error())
		return nil
	}
	d := &formDialog{
		title: title + string(safetext.Ident(w.binding)) + " " + string(safetext.Ident(w.item.Name)), f: f, th: m.th, keys: m.keys, word: word,
		use: formUse{want: &w},
	}
	m.push(d)
	return m.suggest(d)
}

// fetchForm asks for what a form was filled in for.
func (m *model) fetchForm(d *formDialog) tea.Cmd {
	m.remove(d)
	w := d.use.want
	args := map[string]string{}
	if err := json.Unmarshal(d.f.Object(), &args); err != nil {
		m.say("the answer is not texts: " + err.Error())
		return nil
	}
	if w.tpl != nil {
		return m.read(w.binding, w.tpl.Expand(args), d)
	}
	return m.prompt(w.binding, w.item.Name, args, d)
}

// insert puts what was fetched into the composer: a prompt as it is, a resource
// between marks that say whose text it is.
func (m *model) insert(it *transcript.Item) {
	f := it.Fetched()
	if f == nil {
		m.say("only a prompt or a resource can be put into the composer")
		return
	}
	text := f.Text()
	if f.What == transcript.FetchedResource {
		text = attachment(f.Binding, f.Name, text)
	}
	m.screen, m.pane = screenMain, paneComposer
	if why := m.cp.Paste(string(safetext.ToBlockN(text, composer.MaxPaste))); why != "" {
		m.say(why)
	}
}
