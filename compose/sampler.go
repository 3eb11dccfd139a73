package compose

import (
	"context"

	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/harness/model/operator"
	"github.com/looprig/looprig/harness/model/scripted"
	"github.com/looprig/looprig/mcpadapter"
)

// sampler answers servers that ask for a message of the model with the models of
// the run.
type sampler struct{ app *App }

var _ mcpadapter.Sampler = sampler{}

// Describe implements mcpadapter.Sampler. Without a model the operator writes
// the reply; where no person is, the prepared answers are what the operator left.
func (s sampler) Describe(name string) (display string, person bool) {
	c := s.client(name)
	switch {
	case c == nil:
		return scripted.Name + " (not in this run)", false
	case c.Info().Name != operator.Name:
		return c.Info().Display, false
	case s.app.opt.Mode == ModeHeadless:
		return "the operator's prepared answers", true
	}
	return c.Info().Display, true
}

// Sample implements mcpadapter.Sampler.
func (s sampler) Sample(ctx context.Context, req mcpadapter.SamplingRequest) (mcpadapter.SamplingMessage, error) {
	c := s.client(req.Model)
	if c == nil {
		return mcpadapter.SamplingMessage{}, &model.Error{Code: "invalid_request", Message: "the configured model is not in this run"}
	}
	reply, err := model.Once(ctx, c, model.Request{
		System: req.System, Messages: req.Messages, Tools: req.Tools, MaxTokens: req.MaxTokens,
		Temperature: req.Temperature, StopSequences: req.StopSequences,
	})
	if err != nil {
		return mcpadapter.SamplingMessage{}, err
	}
	return mcpadapter.SamplingMessage{
		Text: reply.Text, Model: c.Info().Name, Stop: reply.Stop, InputTokens: reply.InputTokens, OutputTokens: reply.OutputTokens,
	}, nil
}

// client is the model of a configured name, nil where the run has none of it. No
// name is the session's model.
func (s sampler) client(name string) model.Client {
	switch name {
	case "":
		return s.app.model()
	case operator.Name:
		return operator.Client{}
	}
	if s.app.opt.Scripted == nil {
		return nil
	}
	return s.app.opt.Scripted
}
