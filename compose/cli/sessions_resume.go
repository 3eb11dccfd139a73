package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/session"
)

// LastTurn is the value of --fork without a turn.
const LastTurn = "last"

// maxAnswer bounds the line that answers a question before the interface.
const maxAnswer = 1 << 10

func (f *RootOptions) checkResume() error {
	f.Fork = f.ForkTurn != ""
	if f.ForkTurn == LastTurn {
		f.ForkTurn = ""
	}
	resumes := f.Resume != "" || f.Continue
	switch {
	case f.Resume != "" && f.Continue:
		return exit.New(exit.Usage, "give --resume ID or --continue, not both")
	case f.Fork && !resumes:
		return exit.New(exit.Usage, "--fork goes with --resume ID or --continue: it copies a session")
	case f.AcceptDrift && !resumes:
		return exit.New(exit.Usage, "--accept-drift goes with --resume ID or --continue: a new session has nothing to differ from")
	}
	return nil
}

// resume is what the flags say of a session to go on with, or nil.
func (f *RootOptions) resume(ask func(context.Context, *session.ConfigMismatchError) bool) *compose.Resume {
	if f.Resume == "" && !f.Continue {
		return nil
	}
	return &compose.Resume{
		ID: f.Resume, Newest: f.Continue, Fork: f.Fork, Turn: f.ForkTurn, AcceptDrift: f.AcceptDrift, Decide: ask,
	}
}

// askDrift asks on the terminal, before the interface takes it.
func (c *CLI) askDrift(ctx context.Context, e *session.ConfigMismatchError) bool {
	return c.confirm(ctx, compose.DriftText(e)+"Go on under the configuration of now?")
}

// confirm asks a question that only y or yes agrees to. No answer is a no.
func (c *CLI) confirm(ctx context.Context, question string) bool {
	if _, err := fmt.Fprintf(c.Stdout, "%s [y/N] ", question); err != nil {
		return false
	}
	answer := make(chan string, 1)
	go func() { // ends with its line, or with the process
		line, _ := bufio.NewReader(io.LimitReader(oneByte{c.Stdin}, maxAnswer)).ReadString('\n')
		answer <- line
	}()
	select {
	case line := <-answer:
		line = strings.ToLower(strings.TrimSpace(line))
		return line == "y" || line == "yes"
	case <-ctx.Done():
		return false
	}
}

// oneByte reads no further than it is asked to: what follows the line is for
// whoever reads next.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), 1)]) }
