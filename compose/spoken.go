package compose

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/internal/safetext"
)

// spoken is a provider's client as a run uses it: a failure says what to do
// about it. It never turns to another model.
type spoken struct {
	model.Client
	// key is where the key is from, for people.
	key string
}

var (
	_ model.Client      = spoken{}
	_ model.ToolChecker = spoken{}
	_ model.ToolLimiter = spoken{}
)

// Stream implements model.Client.
func (s spoken) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		for chunk, err := range s.Client.Stream(ctx, req) {
			if !yield(chunk, s.advise(err)) {
				return
			}
		}
	}
}

// CheckTool implements model.ToolChecker.
func (s spoken) CheckTool(t model.Tool) error {
	if c, ok := s.Client.(model.ToolChecker); ok {
		return c.CheckTool(t)
	}
	return nil
}

// MaxTools implements model.ToolLimiter.
func (s spoken) MaxTools() int {
	if l, ok := s.Client.(model.ToolLimiter); ok {
		return l.MaxTools()
	}
	return 0
}

// advise adds to a failure what to do about it.
func (s spoken) advise(err error) error {
	var failed *model.Error
	if !errors.As(err, &failed) {
		return err
	}
	name, advice := safetext.ToLine(s.Info().Name), ""
	switch failed.Code {
	case "auth":
		advice = "check the key, or name another with keyEnv, keyring or keyCommand"
		if s.key != "" {
			advice = "the key is from " + s.key + ": check it"
		}
	case "network":
		advice = "is it running, and is its address right?"
	case "invalid_request":
		advice = "does it have that model?"
	default:
		return err
	}
	told := *failed
	told.Message = fmt.Sprintf("%s (model %s: %s; looprig models lists what can be reached)", failed.Message, name, advice)
	told.Err = err
	return &told
}
