// Package headless runs scripts and single prompts without a person: the same
// session, gates, policy, journal and ledger as the interface, with prepared
// answers and expectations. It also writes the event stream to stdout. It must
// not import the interface.
package headless

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/looprig/looprig/compose/answers"
	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/config/doc"
	"github.com/looprig/looprig/harness/model/scripted"
)

// Bounds of a script.
const (
	MaxSteps   = 10_000
	MaxExpects = 100
	MaxWait    = 10 * time.Minute
)

// Script is a loaded script. It is data only: there is no control flow.
type Script struct {
	File    string
	Servers []config.Server
	// Model is "scripted" or "operator".
	Model   string
	Replies scripted.Config
	// HasReplies says that there were any.
	HasReplies bool
	Policy     config.Policy
	Answers    []answers.Rule
	Steps      []Step
}

// Kind names what a step does.
type Kind string

// The kinds of step.
const (
	StepUser      Kind = "user"
	StepCall      Kind = "call"
	StepRead      Kind = "read"
	StepPrompt    Kind = "prompt"
	StepEnable    Kind = "enable"
	StepDisable   Kind = "disable"
	StepRemove    Kind = "remove"
	StepReconnect Kind = "reconnect"
	StepAdd       Kind = "add"
	StepReplace   Kind = "replace"
	StepWait      Kind = "wait"
	StepStatus    Kind = "status"
	StepSleep     Kind = "sleep"
)

var stepKinds = []Kind{
	StepUser, StepCall, StepRead, StepPrompt, StepEnable, StepDisable, StepRemove, StepReconnect,
	StepAdd, StepReplace, StepWait, StepStatus, StepSleep,
}

// Step is one step.
type Step struct {
	Kind Kind
	Line int
	// Loop is where turns go; "" is the first loop.
	Loop string
	// Text of a user step; the binding of enable, disable, remove, reconnect.
	Text string
	// Tool and Args of a call; Binding, URI, Name and Args of reads and prompts.
	Tool    string
	Binding string
	URI     string
	Name    string
	Args    *doc.Node
	// Server of add and replace.
	Server *config.Server
	// State, Generation and Timeout of a wait; Timeout of a turn; Sleep.
	State      string
	Generation uint64
	Timeout    time.Duration
	Sleep      time.Duration
	Expects    []Expect
	Saves      []Save
}

// LoadScript reads and checks a script as a whole: nothing runs unless all of
// it can be understood.
func LoadScript(path string, src []byte, env config.Env) (*Script, error) {
	root, err := doc.ParseYAML(path, src)
	if err != nil {
		return nil, err
	}
	l := &loader{r: &doc.Reader{File: path}, env: env, s: &Script{File: path}, saved: map[string]bool{}}
	l.top(l.r.Object(root, ""))
	if err := l.r.Err(); err != nil {
		return nil, err
	}
	return l.s, nil
}

type loader struct {
	r     *doc.Reader
	env   config.Env
	s     *Script
	saved map[string]bool
}

func (l *loader) top(o *doc.Obj) {
	if v := o.Int("version", 0, 0, 1<<30); v != 1 {
		o.Fail("version", "this program knows scripts of version 1: begin the file with `version: 1`")
	}
	if n := o.Node("servers"); n != nil {
		servers, err := config.ReadServers(l.r.File, n, "servers", l.env)
		if err != nil {
			o.Fail("servers", "%s", err)
		}
		l.s.Servers = servers
		for _, s := range servers {
			for _, f := range s.Faults { // a script stands or falls as a whole
				l.r.Fail(f.Pos, f.Path, "%s", f.Message)
			}
		}
	}
	l.s.HasReplies = o.Has("replies")
	l.replies(o, "replies")
	def := "operator"
	if l.s.HasReplies {
		def = "scripted"
	}
	l.s.Model = o.OneOf("model", def, "scripted", "operator")
	l.s.Policy = config.Policy{Allow: l.patterns(o, "allow"), Deny: l.patterns(o, "deny"), Ask: l.patterns(o, "ask")}
	l.s.Policy.Operator = o.OneOf("operator", "", "auto", "ask")
	l.s.Answers = answers.Read(l.r, o.Items("answers"), "answers")
	steps := o.Items("steps")
	if len(steps) == 0 {
		o.Fail("steps", "a script has steps")
	}
	if len(steps) > MaxSteps {
		o.Fail("steps", "more than %d steps", MaxSteps)
		steps = steps[:MaxSteps]
	}
	for i, n := range steps {
		l.s.Steps = append(l.s.Steps, l.step(l.r.Object(n, fmt.Sprintf("steps[%d]", i)), n))
	}
	o.Done()
}

func (l *loader) patterns(o *doc.Obj, key string) []config.Rule {
	var out []config.Rule
	for _, n := range o.Items(key) {
		if n.Kind == doc.String {
			out = append(out, config.Rule{Tool: n.Text, Pos: n.Pos})
			continue
		}
		ro := l.r.Object(n, key)
		out = append(out, config.Rule{Tool: ro.String("tool", "*"), Loop: ro.String("loop", ""), When: ro.String("when", ""), Pos: n.Pos})
		ro.Done()
	}
	return out
}

// replies takes a list, or an object of lists keyed by loop.
func (l *loader) replies(o *doc.Obj, key string) {
	n := o.Node(key)
	switch {
	case n == nil:
	case n.Kind == doc.Array:
		l.s.Replies.Replies = l.replyList(n, key)
	case n.Kind == doc.Object:
		l.s.Replies.ByLoop = map[string][]scripted.Reply{}
		for _, m := range n.Members {
			l.s.Replies.ByLoop[m.Key] = l.replyList(m.Value, key+"."+m.Key)
		}
	default:
		o.Fail(key, "expected a list of replies, or one for each loop")
	}
}

func (l *loader) replyList(n *doc.Node, path string) []scripted.Reply {
	if n.Kind != doc.Array {
		l.r.Fail(n.Pos, path, "expected a list, found %s", n.Kind)
		return nil
	}
	var out []scripted.Reply
	for i, item := range n.Items {
		o := l.r.Object(item, fmt.Sprintf("%s[%d]", path, i))
		r := scripted.Reply{Say: o.String("say", "")}
		for j, c := range o.Items("call") {
			co := l.r.Object(c, fmt.Sprintf("%s[%d]", o.Path("call"), j))
			call := scripted.Call{Tool: co.String("tool", ""), Args: objectOf(co, "args")}
			if call.Tool == "" {
				co.Fail("tool", "a call names its tool")
			}
			co.Done()
			r.Call = append(r.Call, call)
		}
		if !o.Has("say") && !o.Has("call") {
			o.Fail("", "a reply says something or calls something")
		}
		o.Done()
		out = append(out, r)
	}
	return out
}

// objectOf takes a JSON object, {} when it is absent.
func objectOf(o *doc.Obj, key string) json.RawMessage {
	n := o.Node(key)
	if n == nil {
		return json.RawMessage("{}")
	}
	if n.Kind != doc.Object {
		o.Fail(key, "expected an object, found %s", n.Kind)
		return json.RawMessage("{}")
	}
	return n.JSON()
}

func (l *loader) step(o *doc.Obj, n *doc.Node) Step {
	s := Step{Line: n.Pos.Line}
	for _, k := range stepKinds {
		if !o.Has(string(k)) {
			continue
		}
		if s.Kind != "" {
			o.Fail(string(k), "a step does one thing; this one has %s already", s.Kind)
			o.Node(string(k))
			continue
		}
		s.Kind = k
		l.body(o, &s)
	}
	if s.Kind == "" {
		names := make([]string, len(stepKinds))
		for i, k := range stepKinds {
			names[i] = string(k)
		}
		for _, m := range n.Members {
			o.Fail(m.Key, "no step is called that%s", doc.DidYouMean(m.Key, names))
			o.Node(m.Key)
			break
		}
		if len(n.Members) == 0 && n.Kind == doc.Object {
			o.Fail("", "a step does something: %s", strings.Join(names, ", "))
		}
	}
	s.Loop = o.String("loop", "")
	if t := o.Duration("timeout", 0, MaxWait); t > 0 {
		s.Timeout = t
	}
	s.Expects = l.expects(o)
	s.Saves = l.saves(o)
	o.Done()
	return s
}

func (l *loader) body(o *doc.Obj, s *Step) {
	key := string(s.Kind)
	switch s.Kind {
	case StepUser:
		s.Text = o.String(key, "")
		l.checkVars(o.Node(key))
		if s.Text == "" {
			o.Fail(key, "a user step has a text")
		}
	case StepEnable, StepDisable, StepRemove, StepReconnect:
		s.Text = o.String(key, "")
	case StepSleep:
		s.Sleep = o.Duration(key, 0, MaxWait)
	case StepAdd, StepReplace:
		l.server(o, s)
	case StepCall:
		c := o.Sub(key)
		s.Tool = c.String("tool", "")
		if s.Tool == "" {
			c.Fail("tool", "a call names its tool")
		}
		s.Args = l.args(c)
		c.Done()
	case StepRead:
		c := o.Sub(key)
		s.Binding, s.URI = c.String("binding", ""), c.String("uri", "")
		c.Done()
	case StepPrompt:
		c := o.Sub(key)
		s.Binding, s.Name = c.String("binding", ""), c.String("name", "")
		s.Args = l.args(c)
		c.Done()
	case StepWait:
		c := o.Sub(key)
		s.Binding, s.State = c.String("binding", ""), c.String("state", "")
		s.Generation = uint64(max(c.Int("generation", 0, 0, 1<<30), 0))
		s.Timeout = c.Duration("timeout", 10*time.Second, MaxWait)
		c.Done()
	case StepStatus:
		o.Sub(key).Done()
	}
}

// args takes an object that may refer to saved values.
func (l *loader) args(o *doc.Obj) *doc.Node {
	n := o.Node("args")
	if n == nil {
		return &doc.Node{Kind: doc.Object}
	}
	if n.Kind != doc.Object {
		o.Fail("args", "expected an object, found %s", n.Kind)
		return &doc.Node{Kind: doc.Object}
	}
	l.checkVars(n)
	return n
}

func (l *loader) server(o *doc.Obj, s *Step) {
	key := string(s.Kind)
	n := o.Node(key)
	if n.Kind != doc.Object || len(n.Members) != 1 {
		o.Fail(key, "expected one server as in mcp.json: {name: {command: …}}")
		return
	}
	servers, err := config.ReadServers(l.r.File, n, o.Path(key), l.env)
	if err != nil || len(servers) != 1 {
		o.Fail(key, "%v", err)
		return
	}
	s.Server, s.Text = &servers[0], servers[0].Name
	for _, f := range servers[0].Faults {
		l.r.Fail(f.Pos, f.Path, "%s", f.Message)
	}
}

// checkVars fails for every ${name} that no earlier step saves.
func (l *loader) checkVars(n *doc.Node) {
	if n == nil {
		return
	}
	for _, name := range variables(n.Text) {
		if n.Kind == doc.String && !l.saved[name] {
			l.r.Fail(n.Pos, "", "${%s} is not saved by an earlier step", name)
		}
	}
	for _, item := range n.Items {
		l.checkVars(item)
	}
	for _, m := range n.Members {
		l.checkVars(m.Value)
	}
}
