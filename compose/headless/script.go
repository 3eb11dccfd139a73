// Package headless runs scripts and single prompts without a person: the same
// session, gates, policy, journal and ledger as the interface, with prepared
// answers and expectations. It also writes the event stream to stdout. It must
// not import the interface.
package headless

import (
	"encoding/json"
	"fmt"
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
	// MaxParallel bounds the steps of a parallel one, all of which run at once.
	MaxParallel = 16
)

// Script is a loaded script. It is data only: there is no control flow.
type Script struct {
	File    string
	Servers []config.Server
	// Loops, when there are any, take the place of those of config.yaml.
	Loops []config.Loop
	// Model is "scripted", "operator" or the name of a configured model.
	Model   string
	Replies scripted.Config
	// HasReplies says that there were any.
	HasReplies bool
	Policy     config.Policy
	// Attended asks before calls of the operator as if a person were there.
	Attended bool
	Answers  []answers.Rule
	Steps    []Step
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
	StepParallel  Kind = "parallel"
)

var stepKinds = []Kind{
	StepUser, StepCall, StepRead, StepPrompt, StepEnable, StepDisable, StepRemove, StepReconnect,
	StepAdd, StepReplace, StepWait, StepStatus, StepSleep, StepParallel,
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
	// Steps of a parallel one.
	Steps   []Step
	Expects []Expect
	Saves   []Save
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
	l.s.Loops = config.ReadLoops(l.r, o.Sub("loops"))
	l.s.HasReplies = o.Has("replies") || o.Has("sampling_replies")
	l.replies(o, "replies")
	l.samplingReplies(o, "sampling_replies")
	def := "operator"
	if l.s.HasReplies {
		def = "scripted"
	}
	l.s.Model = o.String("model", def)
	if l.s.Model == "" && !o.Failed("model") {
		o.Fail("model", "is empty: leave it out for the operator, or for the replies where there are any")
	}
	l.s.Policy = config.Policy{Allow: config.ReadRules(l.r, o, "allow"), Deny: config.ReadRules(l.r, o, "deny"), Ask: config.ReadRules(l.r, o, "ask")}
	if l.s.Policy.Operator = o.OneOf("operator", "", "auto", "ask", "attended"); l.s.Policy.Operator == "attended" {
		l.s.Policy.Operator, l.s.Attended = "", true
	}
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
			if !co.Has("tool") { // an empty name is what models write as well
				co.Fail("", "a call names its tool")
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

// samplingReplies takes what the scripted model answers to servers: texts.
func (l *loader) samplingReplies(o *doc.Obj, key string) {
	for _, text := range o.Strings(key) {
		if text == "" {
			o.Fail(key, "a reply to a server says something")
		}
		l.s.Replies.Sampling = append(l.s.Replies.Sampling, scripted.Reply{Say: text})
	}
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
