package compose

import (
	"context"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/harness/model/operator"
	"github.com/looprig/looprig/harness/model/scripted"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/mcpadapter"
)

// sampler answers servers that ask for a message of the model with the models of
// the run.
type sampler struct{ app *App }

var _ mcpadapter.Sampler = sampler{}

// Describe implements mcpadapter.Sampler. Without a model the operator writes
// the reply; where no person is, the prepared answers are what the operator left.
func (s sampler) Describe(name string) (display string, person bool) {
	c, err := s.client(context.Background(), name)
	switch {
	case err != nil:
		return name + " (cannot be used in this run)", false
	case c.Info().Name != operator.Name:
		return c.Info().Display, false
	case s.app.opt.Mode == ModeHeadless:
		return "the operator's prepared answers", true
	}
	return c.Info().Display, true
}

// Sample implements mcpadapter.Sampler.
func (s sampler) Sample(ctx context.Context, req mcpadapter.SamplingRequest) (mcpadapter.SamplingMessage, error) {
	c, err := s.client(ctx, req.Model)
	if err != nil {
		return mcpadapter.SamplingMessage{}, &model.Error{Code: "invalid_request", Message: err.Error(), Err: err}
	}
	reply, uses, err := model.OnceUsing(ctx, c, model.Request{
		System: req.System, Messages: req.Messages, Tools: req.Tools, MaxTokens: req.MaxTokens,
		Temperature: req.Temperature, StopSequences: req.StopSequences,
	})
	if err != nil {
		return mcpadapter.SamplingMessage{}, err
	}
	// It is answered where it cannot be put on record: the session is then latched,
	// and says so itself.
	if u := (event.Usage{Input: reply.InputTokens, Output: reply.OutputTokens}); u != (event.Usage{}) {
		_ = s.app.Session.Publish(context.WithoutCancel(ctx), &event.SamplingCompleted{
			Binding: req.Binding, Model: c.Info().Name, Usage: session.Priced(c.Info(), u),
		})
	}
	return mcpadapter.SamplingMessage{
		Text: reply.Text, ToolUses: uses, Model: c.Info().Name, Stop: reply.Stop, InputTokens: reply.InputTokens, OutputTokens: reply.OutputTokens,
	}, nil
}

// client is the model of a configured name; no name is the session's model. A
// run with scripted replies has them in place of every other model.
func (s sampler) client(ctx context.Context, name string) (model.Client, error) {
	switch {
	case name == "":
		return s.app.sessionModel(ctx)
	case name == operator.Name:
		return operator.Client{}, nil
	case s.app.opt.Scripted != nil:
		return s.app.opt.Scripted, nil
	case name == scripted.Name:
		return nil, &model.Error{Code: "invalid_request", Message: "scripted replies are not in this run"}
	}
	return s.app.models.named(ctx, name)
}
