package session

import (
	"context"
	"testing"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/model"
)

// A model that is named while a turn runs comes with the next turn, before the
// inputs that wait, and stays over a restart. What each used and cost is kept
// apart.
func TestSetModel(t *testing.T) {
	t.Parallel()
	began, goOn := make(chan struct{}), make(chan struct{})
	first := modelFunc(func(_ context.Context, _ model.Request, yield func(model.Chunk, error) bool) {
		close(began)
		<-goOn
		_ = yield(model.Chunk{Kind: model.ChunkText, Text: "I am the first"}, nil) && yield(model.Chunk{Kind: model.ChunkUsage, InputTokens: 7, OutputTokens: 3}, nil)
	})
	second := &bounded{price: &model.Price{Currency: "EUR", Input: 2_000_000, Output: 10_000_000}}
	w := open(t, Options{Policy: allowAll(), Loops: []LoopConfig{{Name: "main", Model: first}}}, nil)
	tk := w.submit(Input{Text: "who are you?"})
	<-began
	next := w.submit(Input{Text: "and now?"})
	queued, err := w.SetModel(w.ctx(), "", second, person)
	if err != nil || !queued || w.Loops()[0].Model != "func" {
		t.Fatalf("queued %t, %v, the model is %s", queued, err, w.Loops()[0].Model)
	}
	close(goOn)
	if r := w.await(tk); r.Text != "I am the first" || r.Usage.CostMicro != 0 {
		t.Errorf("%+v", r)
	}
	r := w.await(next)
	if in := second.requests[0].Messages; len(in) != 3 || content.PlainText(in[1].Blocks) != "I am the first" {
		t.Errorf("the second model was given %+v", in)
	}
	if want := int64(2*r.Usage.Input + 10*r.Usage.Output); r.Usage.CostMicro != want || r.Usage.Currency != "EUR" {
		t.Errorf("the turn cost %+v, not %d", r.Usage, want)
	}
	used := w.Usage()
	if len(used) != 2 || used[0].Model != "func" || used[0].Input != 7 || used[0].Currency != "" || used[1].Model != "bounded" || used[1].Usage != r.Usage {
		t.Errorf("%+v", used)
	}
	e := of[*event.ModelChanged](t, w.store)
	if len(e) != 1 || e[0].From != "func" || e[0].To != "bounded" || e[0].By != "person:tester" || w.Loops()[0].Model != "bounded" {
		t.Errorf("%+v", e)
	}
	if queued, err := w.SetModel(w.ctx(), "", first, person); queued || err != nil || w.Loops()[0].Model != "func" {
		t.Errorf("idle: queued %t, %v", queued, err)
	}
	if _, err := w.SetModel(w.ctx(), "none", first, person); err == nil {
		t.Error("a loop that is none has a model")
	}
	if _, err := w.SetModel(w.ctx(), "", first, gate.Answerer{Kind: gate.AnswererPolicy, ID: "p"}); err == nil {
		t.Error("a policy chose a model")
	}
	w.shut()
	p, err := ReadPast(t.Context(), left{w.store}, w.ID())
	if err != nil || p.Switched("main") != "func" || len(p.Usage()) != 2 || p.Usage()[1] != used[1] {
		t.Errorf("%+v, %v", p.Usage(), err)
	}
	closed := of[*event.SessionClosed](t, w.store)
	if len(closed) != 1 || len(closed[0].Usage) != 2 {
		t.Errorf("%+v", closed)
	}
}
