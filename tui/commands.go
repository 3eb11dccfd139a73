package tui

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/formview"
)

// Command is one slash command.
type Command struct {
	Name, Args, Title string
}

// Commands lists the slash commands in the order of the help.
func Commands() []Command {
	return []Command{
		{"/call", "TOOL [JSON]", "call a tool; without JSON a form asks for the arguments"},
		{"/tools", "", "choose a tool from all servers"},
		{"/prompt", "[BINDING NAME [K=V…]]", "get a prompt; a form asks for what is missing"},
		{"/resource", "[BINDING URI]", "read a resource"},
		{"/read", "[BINDING URI]", "the same as /resource"},
		{"/catalog", "[BINDING]", "what a binding offers"},
		{"/mcp", "", "the bindings screen"},
		{"/mcp add", "", "add a binding"},
		{"/mcp enable", "BINDING", "enable a binding"},
		{"/mcp disable", "BINDING", "disable a binding"},
		{"/mcp replace", "BINDING", "change a binding's definition"},
		{"/mcp remove", "BINDING", "remove a binding"},
		{"/mcp reconnect", "BINDING", "reconnect a binding now"},
		{"/model", "[NAME]", "another model from the next turn on; alone it lists them"},
		{"/loop", "[NAME]", "speak to another loop; alone it lists them"},
		{"/usage", "", "tokens and costs of this session"},
		{"/compact", "", "have older turns summarised"},
		{"/policy", "", "what was granted; revoke it"},
		{"/notices", "", "notices, stderr and logs"},
		{"/sessions", "[WORDS]", "go on with another session, fork or delete one"},
		{"/help", "", "commands and keys"},
		{"/quit", "", "quit"},
	}
}

// send takes the input: a command, or text for the main loop.
func (m *model) send() tea.Cmd {
	text := m.cp.Expand()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if strings.HasPrefix(text, "/") {
		return m.command(strings.TrimSpace(text))
	}
	all, err := m.mentions(text)
	if err != nil {
		m.say("not sent: " + err.Error())
		return nil
	}
	m.cp.Take()
	m.tr.End()
	if len(all) > 0 {
		return m.submitWith(text, all)
	}
	return m.submit(text)
}

func (m *model) submit(text string) tea.Cmd {
	s, ctx := m.o.Session, m.ctx
	return func() tea.Msg { return submittedMsg{text: text, err: s.Submit(ctx, text)} }
}

// command runs a slash command. One that is not understood stays in the
// composer, to be corrected.
func (m *model) command(text string) tea.Cmd {
	name, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	switch name {
	case "/call":
		if rest == "" {
			m.cp.Take()
			m.openTools()
			return nil
		}
		return m.callCommand(rest)
	case "/tools":
		m.cp.Take()
		m.openTools()
	case "/prompt":
		return m.promptCommand(rest)
	case "/resource", "/read":
		return m.readCommand(rest)
	case "/catalog":
		m.cp.Take()
		m.openCatalog(rest)
	case "/mcp":
		return m.mcpCommand(rest)
	case "/model":
		return m.modelCommand(rest)
	case "/loop":
		m.loopCommand(rest)
	case "/usage":
		m.cp.Take()
		m.openUsage()
	case "/compact":
		return m.compactCommand()
	case "/policy":
		m.cp.Take()
		return m.openGrants()
	case "/notices":
		m.cp.Take()
		m.openNotices()
	case "/sessions":
		m.cp.Take()
		return m.openSessions(rest)
	case "/help":
		m.cp.Take()
		m.openHelp()
	case "/quit":
		m.cp.Take()
		m.quit(Result{Reason: ReasonQuit})
	default:
		m.say("no command " + name + "; /help lists them")
	}
	return nil
}

// callCommand is "/call TOOL [JSON]". A tool may be two words.
func (m *model) callCommand(rest string) tea.Cmd {
	spelling, args := rest, ""
	if i := strings.Index(rest, "{"); i >= 0 {
		spelling, args = strings.TrimSpace(rest[:i]), rest[i:]
	}
	def, err := m.o.Session.Resolve(spelling)
	if err != nil {
		m.say(m.unknownTool(spelling, err))
		return nil
	}
	if fault := jsonFault(args); fault != "" {
		m.say(fault)
		return nil
	}
	m.cp.Take()
	if args != "" {
		return m.sendCall(def.Name, json.RawMessage(args))
	}
	return m.askDefinition(def)
}

// unknownTool says that no tool is called so, and which may have been meant:
// those that are alike, or else those of the binding that was named.
func (m *model) unknownTool(spelling string, err error) string {
	const most = 6
	var unknown *tool.UnknownToolError
	if !errors.As(err, &unknown) || len(unknown.Suggestions) > 0 {
		return err.Error()
	}
	binding, _, _ := strings.Cut(spelling, " ")
	var names []string
	for _, d := range m.o.Session.Tools() {
		if d.Identity.Binding == binding {
			names = append(names, string(safetext.Ident(d.Identity.Name)))
		}
	}
	if len(names) == 0 {
		return err.Error() + "; /tools lists them all"
	}
	text := err.Error() + "; " + string(safetext.Ident(binding)) + " has " + strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += ", …; /tools lists them all"
	}
	return text
}

// jsonFault says where arguments break, or "".
func jsonFault(args string) string {
	if args == "" {
		return ""
	}
	var doc json.RawMessage
	err := json.Unmarshal([]byte(args), &doc)
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &syntax):
		return "the arguments are not JSON: " + err.Error()
	case int(syntax.Offset) >= len(args) && strings.Contains(syntax.Error(), "unexpected end"):
		return "the arguments are not JSON: they end too early, after " + quoteEnd(args)
	}
	at := min(max(int(syntax.Offset)-1, 0), len(args))
	return fmt.Sprintf("the arguments are not JSON at byte %d, %q: %s", at+1, string(safetext.ToLineN(args[at:], 16)), syntax.Error())
}

// quoteEnd is the end of a text, in quotes.
func quoteEnd(s string) string {
	const most = 16
	r := []rune(string(safetext.ToLine(s)))
	return fmt.Sprintf("%q", string(r[max(len(r)-most, 0):]))
}

func (m *model) sendCall(name string, args json.RawMessage) tea.Cmd {
	s, ctx := m.o.Session, m.ctx
	m.screen, m.pane = screenMain, paneComposer
	m.tr.End()
	return func() tea.Msg {
		return submittedMsg{text: "/call " + name + " " + string(args), err: s.Call(ctx, name, args)}
	}
}

// callFormMsg is the form for a tool's arguments.
type callFormMsg struct {
	def    tool.Definition
	schema form.Schema
	err    error
}

// askCall opens the form for a tool that is named by its model-facing name.
func (m *model) askCall(name string, _ json.RawMessage) tea.Cmd {
	def, err := m.o.Session.Resolve(name)
	if err != nil {
		m.say(err.Error())
		return nil
	}
	return m.askDefinition(def)
}

// askDefinition parses the input schema in a command: a server wrote it.
func (m *model) askDefinition(def tool.Definition) tea.Cmd {
	return func() tea.Msg {
		s, err := form.ParseArguments(def.InputSchema, form.Limits{})
		return callFormMsg{def: def, schema: s, err: err}
	}
}

// callForm opens the form, or calls at once when there is nothing to ask. A
// schema that makes no form is asked for as raw JSON.
func (m *model) callForm(msg callFormMsg) tea.Cmd {
	s := msg.schema
	note := ""
	if msg.err != nil {
		s = form.Schema{Whole: true, Fields: []form.Field{{Name: "", Title: "arguments", Kind: form.KindRaw, Required: true}}}
		note = "no form can be made of the tool's schema: " + string(safetext.ToLine(msg.err.Error())) + "; the tool itself checks the arguments"
	}
	if len(s.Fields) == 0 {
		return m.sendCall(msg.def.Name, json.RawMessage("{}"))
	}
	def := msg.def
	f, err := formview.New(formview.Options{
		Schema: s, Message: def.Description, Foreign: true, Note: note, SubmitWord: "call", Keys: m.keys, Theme: m.th,
	})
	if err != nil {
		m.say(err.Error())
		return nil
	}
	m.push(&formDialog{title: "call · " + spelled(def), f: f, th: m.th, use: formUse{tool: &def}, keys: m.keys, word: "call"})
	return nil
}

// spelled is a tool as people type it: "demo add".
func spelled(d tool.Definition) string {
	if d.Identity.Binding == "" {
		return string(safetext.Ident(d.Name))
	}
	return string(safetext.Ident(d.Identity.Binding)) + " " + string(safetext.Ident(d.Identity.Name))
}

// typed is a spelling that Resolve takes; a name with odd characters goes by
// its model-facing name, which has none.
func typed(d tool.Definition) string {
	if s := spelled(d); d.Identity.Binding != "" && !strings.ContainsAny(s, `"{‹`) {
		return s
	}
	return string(safetext.Ident(d.Name))
}
