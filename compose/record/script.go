package record

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looprig/looprig/compose/config"
)

// Script is the script of what was added so far.
func (r *Recorder) Script() Recording {
	for _, t := range r.order {
		if !t.ended {
			t.drop("it had not ended")
		}
	}
	steps, count := r.steps()
	replies := r.replies()
	scripted := len(replies) > 0 || r.modelWrote()
	sampling := r.samplingReplies(scripted)
	answers := r.answers(scripted)
	servers := r.servers()
	all := r.allAnswers(answers)
	out := Recording{Steps: count, Answers: len(answers)}
	if count == 0 {
		r.note("nothing happened that a script can do again")
		out.Notes = r.said()
		return out
	}
	var b strings.Builder
	section := func(head string, lines []string) {
		if len(lines) > 0 {
			b.WriteString("\n" + head + "\n" + strings.Join(lines, ""))
		}
	}
	section("servers:", servers)
	section("loops:", r.loopLines())
	if scripted {
		b.WriteString("\nmodel: scripted\n")
	}
	section("replies:", replies)
	section("sampling_replies:", bullets(sampling))
	r.policy(&b)
	section("answers:", all)
	section("steps:", steps)
	out.Notes = r.said()
	out.Text = []byte(r.header(out.Notes) + "version: 1\n" + b.String())
	return out
}

func bullets(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = "  - " + quote(s) + "\n"
	}
	return out
}

// header is the comment that a script begins with.
func (r *Recorder) header(notes []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Recorded by looprig %s: session %s of %s.\n", line(r.o.Version), ident(r.session), r.began)
	b.WriteString("# It holds what was typed, what the model said, the arguments of calls and the\n" +
		"# answers to questions as they were given, free text and passwords included, and\n" +
		"# the commands of servers. It holds no value of a server's env or headers.\n" +
		"# What config.yaml says of policy, loops and models is that of the home it runs in.\n")
	for _, n := range notes {
		b.WriteString("# Note: " + line(n) + "\n")
	}
	return b.String()
}

func (r *Recorder) said() []string {
	out := slices.Clone(r.notes)
	if r.unsaid > 0 {
		out = append(out, fmt.Sprintf("and %d more", r.unsaid))
	}
	return out
}

// steps renders the steps and counts them.
func (r *Recorder) steps() ([]string, int) {
	var out []string
	count := 0
	for _, it := range r.items {
		step := it.step
		switch {
		case it.change != nil:
			step = r.changeStep(it.change)
		case it.turn != nil && it.turn.dropped == "":
			var err error
			if step, err = r.turnStep(it.turn); err != nil {
				it.turn.drop(err.Error())
			}
		}
		if it.turn != nil && it.turn.dropped != "" {
			r.note("turn %s is not in the script: %s", ident(it.turn.id), line(it.turn.dropped))
			continue
		}
		if step == "" {
			continue
		}
		if count+1+len(it.waits) > MaxSteps {
			r.note("what came after %d steps is not in the script", MaxSteps)
			r.dropRest(it)
			break
		}
		for _, w := range it.waits {
			out = append(out, fmt.Sprintf("  - wait: {binding: %s, generation: %d, timeout: 30s}\n", name(w.binding), w.generation))
			count++
		}
		out = append(out, step)
		count++
	}
	return out, count
}

// dropRest leaves out the turns from an item on.
func (r *Recorder) dropRest(from item) {
	begun := false
	for _, it := range r.items {
		begun = begun || it.turn == from.turn
		if begun && it.turn != nil {
			it.turn.drop("the script is full")
		}
	}
}

// replies are those of the turns that are in the script, by loop.
func (r *Recorder) replies() []string {
	byLoop := map[string][]string{}
	for _, t := range r.order {
		if t.own().dropped != "" || t.dropped != "" {
			continue
		}
		for _, m := range t.reply {
			loop := r.loopName(t.loop)
			byLoop[loop] = append(byLoop[loop], "    - "+m.text+"\n")
		}
	}
	var out []string
	for _, loop := range slices.Sorted(maps.Keys(byLoop)) {
		key := name(loop)
		out = append(out, "  "+key+":\n"+strings.Join(byLoop[loop], ""))
	}
	return out
}

// modelWrote says that a model wrote a reply to a server.
func (r *Recorder) modelWrote() bool {
	return slices.ContainsFunc(r.gates, func(q *question) bool {
		p := q.env.Prompt.Sampling
		return p != nil && p.Reply != "" && (q.turn == nil || q.turn.dropped == "")
	})
}

// allAnswers are the answers as the script has them: what was answered, and what
// a home needs to hear that has not accepted the servers yet.
func (r *Recorder) allAnswers(given []answer) []string {
	var out []string
	seen := map[string]bool{}
	add := func(text string) {
		if once := strings.Contains(text, "gate: untrusted_server"); once && seen[text] {
			return
		}
		seen[text] = true
		if len(out) == MaxAnswers {
			r.note("what was answered after %d answers is not in the script", MaxAnswers)
			return
		}
		out = append(out, "  - "+text+"\n")
	}
	for _, a := range given {
		add(a.text)
	}
	defined := slices.Clone(r.o.Servers)
	for _, d := range r.o.Definitions {
		defined = append(defined, d.Server)
	}
	for _, s := range defined {
		if s.Fingerprint != "" && !r.refused(s) {
			add(trustedAnswer(s.Name, s.Fingerprint, "once"))
		}
	}
	return out
}

// rules renders lists of rules, each line with the indent in front.
func rules(b *strings.Builder, p config.Policy, indent string) {
	for _, list := range []struct {
		key   string
		rules []config.Rule
	}{{"deny", p.Deny}, {"ask", p.Ask}, {"allow", p.Allow}} {
		if len(list.rules) == 0 {
			continue
		}
		b.WriteString("\n" + indent + list.key + ":\n")
		for _, rule := range list.rules {
			b.WriteString(indent + "  - " + ruleText(rule) + "\n")
		}
	}
}

func ruleText(rule config.Rule) string {
	text := "{tool: " + quote(rule.Tool)
	if rule.Loop != "" {
		text += ", loop: " + quote(rule.Loop)
	}
	if rule.When != "" {
		text += ", when: " + quote(rule.When)
	}
	var hints []string
	for _, h := range []struct {
		key string
		is  *bool
	}{{"readOnly", rule.Hints.ReadOnly}, {"destructive", rule.Hints.Destructive}, {"idempotent", rule.Hints.Idempotent}, {"openWorld", rule.Hints.OpenWorld}} {
		if h.is != nil {
			hints = append(hints, fmt.Sprintf("%s: %t", h.key, *h.is))
		}
	}
	if len(hints) > 0 {
		text += ", hints: {" + strings.Join(hints, ", ") + "}"
	}
	return text + "}"
}

// policy renders the rules that were given with the run.
func (r *Recorder) policy(b *strings.Builder) {
	rules(b, r.o.Policy, "")
	switch {
	case r.attended:
		b.WriteString("\noperator: attended\n")
	case r.o.Policy.Operator != "":
		b.WriteString("\noperator: " + r.o.Policy.Operator + "\n")
	}
}

// loopLines renders the loops that were given with the run. Who their model was
// does not matter where all replies are scripted.
func (r *Recorder) loopLines() []string {
	var out []string
	for _, l := range r.o.Loops {
		var parts []string
		if l.System != "" {
			parts = append(parts, "system: "+quote(l.System))
		}
		if len(l.Delegates) > 0 {
			names := make([]string, len(l.Delegates))
			for i, d := range l.Delegates {
				names[i] = name(d)
			}
			parts = append(parts, "delegates: ["+strings.Join(names, ", ")+"]")
		}
		var limits []string
		if l.Limits.Steps > 0 {
			limits = append(limits, fmt.Sprintf("steps: %d", l.Limits.Steps))
		}
		if l.Limits.ToolCalls > 0 {
			limits = append(limits, fmt.Sprintf("toolCalls: %d", l.Limits.ToolCalls))
		}
		if len(limits) > 0 {
			parts = append(parts, "limits: {"+strings.Join(limits, ", ")+"}")
		}
		if p := loopPolicy(l.Policy); p != "" {
			parts = append(parts, "policy: {"+p+"}")
		}
		out = append(out, "  "+name(l.Name)+": {"+strings.Join(parts, ", ")+"}\n")
	}
	return out
}

func loopPolicy(p config.Policy) string {
	var out []string
	for _, list := range []struct {
		key   string
		rules []config.Rule
	}{{"deny", p.Deny}, {"ask", p.Ask}, {"allow", p.Allow}} {
		if len(list.rules) == 0 {
			continue
		}
		texts := make([]string, len(list.rules))
		for i, rule := range list.rules {
			rule.Loop = "" // the loop's own: it goes without saying
			texts[i] = ruleText(rule)
		}
		out = append(out, list.key+": ["+strings.Join(texts, ", ")+"]")
	}
	return strings.Join(out, ", ")
}
