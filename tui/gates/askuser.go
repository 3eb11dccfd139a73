package gates

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/tui/formview"
)

// answerField is the one field of a question's form.
const answerField = "answer"

// openQuestion asks what the model asks as a form of one field: a text, or the
// choices, whose values are their places.
func (g *Gate) openQuestion() {
	p := g.env.Prompt
	f, err := formview.New(formview.Options{
		Schema: questionForm(p), Message: p.Body, Foreign: true, Decline: true, SubmitWord: "answer",
		Note: "text beside │ is the model's, not looprig's · the answer is kept in the journal", Keys: g.o.Keys, Theme: g.o.Theme,
	})
	if err == nil {
		g.form = f
	}
}

func questionForm(p gate.Prompt) form.Schema {
	most := gate.MaxTextBytes
	fl := form.Field{Name: answerField, Title: "Answer", Kind: form.KindText, Required: true, MaxLength: &most}
	if len(p.Choices) > 0 {
		fl.Kind, fl.MaxLength = form.KindChoice, nil
		if p.Multiple {
			one := 1
			fl.Kind, fl.MinItems = form.KindMulti, &one
		}
		for i, c := range p.Choices {
			place := json.RawMessage(strconv.Itoa(i))
			fl.Options = append(fl.Options, form.Option{Value: place, Title: c, Label: c})
		}
	}
	return form.Schema{Fields: []form.Field{fl}}
}

// questionAnswer turns the submitted form into the answer.
func (g *Gate) questionAnswer() gate.Response {
	r := gate.Response{Action: gate.ActionAnswer}
	var out map[string]json.RawMessage
	if json.Unmarshal(g.form.Object(), &out) != nil {
		return r // the host refuses it and says why
	}
	v := out[answerField]
	switch p := g.env.Prompt; {
	case len(p.Choices) == 0:
		_ = json.Unmarshal(v, &r.Text)
	case p.Multiple:
		_ = json.Unmarshal(v, &r.Chosen)
		slices.Sort(r.Chosen)
	default:
		var one int
		if json.Unmarshal(v, &one) == nil {
			r.Chosen = []int{one}
		}
	}
	return r
}
