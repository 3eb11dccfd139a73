// Package answers answers gates where no person is: a list of rules, first
// match wins, and what nothing matches is refused. It is an operator's prepared
// word, never a model's. It must not import the session or the interface.
package answers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/config/doc"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/harness/tool"
)

// MaxRules bounds a list.
const MaxRules = 10_000

// Rule answers the gates that it matches. Empty conditions match everything.
type Rule struct {
	Gate        gate.Kind
	Binding     string
	Host        string // of an open-url gate
	Fingerprint string // of an untrusted-server gate
	tool        *policy.Pattern
	toolText    string

	Action gate.Action
	// Submit is the object of a submitted form.
	Submit json.RawMessage
	// Reason goes to the model with a denial.
	Reason string
	// Stage, Text and Reply belong to a sampling gate; see samplingAnswer.
	Stage gate.SamplingStage
	Text  string
	Reply string
	// Choose are the words of the choices that answer a model's question; Text is
	// its answer where it has none.
	Choose []string
	// When and Cover narrow and widen what a permission grants.
	When  string
	Cover gate.Cover
	// Times bounds how often the rule answers; 0 means always. The two stages of
	// one request for the model are one time.
	Times int
	// File and Pos are where it was written.
	File string
	Pos  doc.Pos

	used int
	// replies counts the answers to the second stage of sampling gates.
	replies int
}

// Set answers gates by rules. It is safe for concurrent use.
type Set struct {
	id       string
	kind     gate.AnswererKind
	mu       sync.Mutex
	rules    []*Rule
	fallback gate.Action
	misfits  []Misfit
}

// Misfit is a submission that did not fit its form.
type Misfit struct {
	Gate   string
	Rule   string // where the rule was written
	Reason string
}

// New makes a set. id names the answerer in records ("script first-run.yaml").
func New(kind gate.AnswererKind, id string, rules []Rule) *Set {
	s := &Set{id: id, kind: kind}
	s.Add(rules)
	return s
}

// Add puts further rules after those that are there.
func (s *Set) Add(rules []Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range rules {
		s.rules = append(s.rules, &r)
	}
}

// SetFallback answers gates that no rule matches and that allow the action;
// "" leaves them unanswered.
func (s *Set) SetFallback(a gate.Action) { s.fallback = a }

// Load reads an answers file: {answers: […], default: refuse|decline|cancel},
// or the list alone.
func Load(path string) ([]Rule, gate.Action, error) {
	src, err := config.ReadFile(path)
	if err != nil {
		return nil, "", err
	}
	root, err := doc.ParseYAML(path, src)
	if err != nil {
		return nil, "", err
	}
	r := &doc.Reader{File: path}
	if root.Kind == doc.Array {
		rules := Read(r, root.Items, "")
		return rules, "", r.Err()
	}
	o := r.Object(root, "")
	rules := Read(r, o.Items("answers"), "answers")
	def := o.OneOf("default", "refuse", "refuse", "decline", "cancel")
	o.Done()
	if def == "refuse" {
		def = ""
	}
	return rules, gate.Action(def), r.Err()
}

// Read takes rules out of a list of nodes.
func Read(r *doc.Reader, items []*doc.Node, path string) []Rule {
	if len(items) > MaxRules {
		r.Fail(items[MaxRules].Pos, path, "more than %d answers", MaxRules)
		items = items[:MaxRules]
	}
	var out []Rule
	for i, n := range items {
		out = append(out, read(r, r.Object(n, fmt.Sprintf("%s[%d]", path, i)), n.Pos))
	}
	return out
}

var kinds = []gate.Kind{gate.KindPermission, gate.KindForm, gate.KindConfirm, gate.KindOpenURL, gate.KindUntrustedServer, gate.KindSampling, gate.KindAskUser}

func read(r *doc.Reader, o *doc.Obj, pos doc.Pos) Rule {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	a := Rule{File: r.File, Pos: pos, Gate: gate.Kind(o.OneOf("gate", "", names...))}
	if a.Gate == "" && !o.Has("gate") {
		o.Fail("", "an answer names the gate that it is for: %s", strings.Join(names, ", "))
	}
	a.Binding = o.String("binding", "")
	a.Host = o.String("host", "")
	a.Fingerprint = o.String("fingerprint", "")
	a.Reason = o.String("reason", "")
	a.Times = o.Int("times", 0, 1, 1_000_000)
	a.toolText = o.String("tool", "")
	if a.toolText != "" {
		p, err := policy.ParsePattern(a.toolText)
		if err != nil {
			o.Fail("tool", "%s", err)
		} else {
			a.tool = &p
		}
	}
	a.readAction(o)
	a.readGrant(o)
	a.readSampling(o)
	a.readQuestion(o)
	a.checkConditions(o)
	o.Done()
	return a
}

// conditions that only some kinds of gate can meet: on another they would never
// match, which looks like an answer and is none.
var conditions = map[string][]gate.Kind{
	"tool": {gate.KindPermission}, "host": {gate.KindOpenURL}, "fingerprint": {gate.KindUntrustedServer}, "reason": {gate.KindPermission},
	"when": {gate.KindPermission}, "cover": {gate.KindPermission}, "stage": {gate.KindSampling}, "text": {gate.KindSampling, gate.KindAskUser},
	"reply": {gate.KindSampling}, "choose": {gate.KindAskUser},
}

func (a *Rule) checkConditions(o *doc.Obj) {
	for _, key := range slices.Sorted(maps.Keys(conditions)) {
		if k := conditions[key]; o.Has(key) && a.Gate != "" && !slices.Contains(k, a.Gate) {
			o.Fail(key, "%s belongs to a %s gate; this answers a %s gate", key, k[0], a.Gate)
		}
	}
}

// readGrant takes what bounds the grant of a permission.
func (a *Rule) readGrant(o *doc.Obj) {
	a.When = o.String("when", "")
	a.Cover = gate.Cover(o.OneOf("cover", "", string(gate.CoverReadOnly)))
	switch {
	case a.Gate != gate.KindPermission:
	case a.When != "" && a.Action != gate.ActionSession && a.Action != gate.ActionAlways:
		o.Fail("when", "when narrows an answer session or always")
	case a.Cover != "" && (a.Action != gate.ActionSession || a.When != ""):
		o.Fail("cover", "cover widens an answer session that has no when")
	}
}

var fingerprint = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^sha256:[0-9a-f]{64}$`) })

func (a *Rule) readAction(o *doc.Obj) {
	if n := o.Node("submit"); n != nil {
		a.Action, a.Submit = gate.ActionSubmit, n.JSON()
		if a.Gate != gate.KindForm {
			o.Fail("submit", "submit answers a form")
		}
		if n.Kind != doc.Object {
			o.Fail("submit", "submit takes an object of fields")
		}
		if o.Has("answer") {
			o.Fail("answer", "give submit or answer, not both")
		}
	}
	word := o.String("answer", "")
	if word == "" && a.Gate == gate.KindAskUser && (o.Has("text") || o.Has("choose")) {
		word = string(gate.ActionAnswer)
	}
	switch {
	case a.Action != "":
	case word == "":
		o.Fail("", "an answer says submit or answer")
	default:
		a.Action = normalise(a.Gate, word)
		if allowed := gate.Actions(a.Gate); a.Gate != "" && !slices.Contains(allowed, a.Action) {
			o.Fail("answer", "%q does not answer a %s gate; it takes %s", word, a.Gate, join(allowed))
		}
	}
	if a.Gate == gate.KindUntrustedServer && a.Action == gate.ActionAccept && a.Fingerprint == "" {
		o.Fail("fingerprint", "accepting a server names its exact fingerprint")
	}
	if a.Fingerprint != "" && !fingerprint().MatchString(a.Fingerprint) {
		o.Fail("fingerprint", "a fingerprint is sha256: and 64 hexadecimal digits in lower case; looprig mcp get NAME shows it")
	}
}

// normalise takes the words that people use for the same thing.
func normalise(k gate.Kind, word string) gate.Action {
	switch {
	case k == gate.KindOpenURL && word == "accept":
		return gate.ActionOpen
	case k == gate.KindForm && word == "accept":
		return gate.ActionSubmit
	case word == "refuse" && k != gate.KindUntrustedServer:
		switch k {
		case gate.KindPermission:
			return gate.ActionDeny
		case gate.KindAskUser:
			return gate.ActionDismiss
		default:
			return gate.ActionDecline
		}
	}
	return gate.Action(word)
}

func join(actions []gate.Action) string {
	out := make([]string, len(actions))
	for i, a := range actions {
		out[i] = string(a)
	}
	return strings.Join(out, ", ")
}

// Answer implements the session's hook for gates. It returns false when no rule
// and no default answers.
func (s *Set) Answer(_ context.Context, env gate.Envelope) (gate.Response, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if env.Kind == gate.KindPermission && len(env.Prompt.Calls) > 1 {
		return s.answerBatch(env)
	}
	r := s.match(env, firstCall(env))
	if r == nil {
		return s.byDefault(env)
	}
	if env.Kind == gate.KindSampling {
		return s.samplingAnswer(env, r)
	}
	r.used++
	resp := s.response(r.Action)
	resp.Reason, resp.When, resp.Cover = r.Reason, r.When, r.Cover
	if env.Kind == gate.KindAskUser {
		return s.question(env, r, resp)
	}
	switch r.Action {
	case gate.ActionSubmit:
		return s.submit(env, r, resp)
	case gate.ActionAccept, gate.ActionOnce:
		if env.Kind == gate.KindUntrustedServer {
			resp.Fingerprint = env.Prompt.Fingerprint
		}
	default:
	}
	return resp, true
}

func (s *Set) response(a gate.Action) gate.Response {
	return gate.Response{Action: a, Answerer: gate.Answerer{Kind: s.kind, ID: s.id}}
}

func (s *Set) byDefault(env gate.Envelope) (gate.Response, bool) {
	action := s.fallback
	if action != "" && env.Kind == gate.KindAskUser {
		action = gate.ActionDismiss
	}
	if action == "" || !slices.Contains(gate.Actions(env.Kind), action) {
		return gate.Response{}, false
	}
	return s.response(action), true
}

// answerBatch gives every call of a step its own choice, with its own terms; one
// that no rule matches leaves the whole gate unanswered only when none matched.
func (s *Set) answerBatch(env gate.Envelope) (gate.Response, bool) {
	resp := s.response(gate.ActionDeny)
	resp.Calls, resp.Terms = map[string]gate.Action{}, map[string]gate.Terms{}
	for i := range env.Prompt.Calls {
		c := &env.Prompt.Calls[i]
		r := s.match(env, c)
		if r == nil {
			resp.Reason = "no answer matches this call, or none is left"
			continue
		}
		r.used++
		resp.Calls[c.Call], resp.Terms[c.Call] = r.Action, gate.Terms{Reason: r.Reason, When: r.When, Cover: r.Cover}
	}
	return resp, len(resp.Calls) > 0
}

func firstCall(env gate.Envelope) *gate.CallPrompt {
	if len(env.Prompt.Calls) == 0 {
		return nil
	}
	return &env.Prompt.Calls[0]
}

func (s *Set) match(env gate.Envelope, call *gate.CallPrompt) *Rule {
	for _, r := range s.rules {
		used := r.used
		if stageOf(env) == gate.SamplingReply {
			used = r.replies
		}
		if r.Times > 0 && used >= r.Times {
			continue
		}
		if r.matches(env, call) {
			return r
		}
	}
	return nil
}

func (r *Rule) matches(env gate.Envelope, call *gate.CallPrompt) bool {
	if r.Gate != env.Kind {
		return false
	}
	id, hasCall := identity(call)
	if r.Binding != "" && r.Binding != env.Subject.Binding && (!hasCall || r.Binding != id.Binding) {
		return false
	}
	if r.tool != nil && (!hasCall || !r.tool.Match(id)) {
		return false
	}
	if r.Host != "" && r.Host != hostOf(env.Prompt.Target) {
		return false
	}
	if r.Stage != "" && r.Stage != stageOf(env) {
		return false
	}
	return r.Fingerprint == "" || r.Fingerprint == env.Prompt.Fingerprint
}

func identity(call *gate.CallPrompt) (tool.Identity, bool) {
	if call == nil {
		return tool.Identity{}, false
	}
	source, rest, _ := strings.Cut(call.Tool, ":")
	if source != "mcp" {
		return tool.Identity{Source: source, Name: rest}, true
	}
	binding, name, _ := strings.Cut(rest, ":")
	return tool.Identity{Source: source, Binding: binding, Name: name}, true
}

func hostOf(target string) string {
	_, host, _ := strings.Cut(target, "://")
	return strings.TrimSuffix(host, "/")
}

// submit answers with the object. One that does not fit the form is remembered
// (the run fails and says which field and why); the gate's host refuses it, and
// so declines the gate, by the same check.
func (s *Set) submit(env gate.Envelope, r *Rule, resp gate.Response) (gate.Response, bool) {
	resp.Values = r.Submit
	if resp.Values == nil {
		resp.Values = json.RawMessage("{}")
	}
	if err := fits(env.Prompt.Schema, resp.Values); err != nil {
		s.misfits = append(s.misfits, Misfit{Gate: env.ID, Rule: r.place(), Reason: err.Error()})
	}
	return resp, true
}

func fits(schema *gate.FormSchema, object json.RawMessage) error {
	if schema == nil {
		return errors.New("the gate has no form")
	}
	values, err := schema.Decode(object)
	if err != nil {
		return err
	}
	_, err = schema.Encode(values)
	return err
}

func (r *Rule) place() string { return fmt.Sprintf("%s:%d", r.File, r.Pos.Line) }

// Misfits returns the submissions that did not fit so far.
func (s *Set) Misfits() []Misfit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.misfits)
}

// Unused lists where the rules stand that have a number of times left over.
func (s *Set) Unused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, r := range s.rules {
		if used := max(r.used, r.replies); r.Times > used {
			out = append(out, fmt.Sprintf("%s: this answer was used %d of %d times", r.place(), used, r.Times))
		}
	}
	return out
}
