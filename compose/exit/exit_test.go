package exit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/looprig/looprig/compose/exit"
)

func TestCodesOfErrors(t *testing.T) {
	t.Parallel()
	base := errors.New("base")
	e := exit.New(exit.Limit, "outer: %w", base)
	for _, c := range []struct {
		err  error
		want exit.Code
	}{
		{nil, exit.OK}, {base, exit.Internal}, {e, exit.Limit}, {fmt.Errorf("wrapped: %w", e), exit.Limit},
		{errors.Join(base, e), exit.Limit},
	} {
		if got := exit.Of(c.err); got != c.want {
			t.Errorf("%v has code %d, not %d", c.err, got, c.want)
		}
	}
	if !errors.Is(e, base) {
		t.Error("the cause is lost")
	}
}

func TestTheFirstFailureDecidesAndIntegrityBeatsAll(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ first, later, want exit.Code }{
		{exit.OK, exit.ToolError, exit.ToolError}, {exit.ToolError, exit.GateRefused, exit.ToolError},
		{exit.ToolError, exit.Integrity, exit.Integrity}, {exit.Integrity, exit.ToolError, exit.Integrity}, {exit.Limit, exit.OK, exit.Limit},
	} {
		if got := exit.Worse(c.first, c.later); got != c.want {
			t.Errorf("%d then %d is %d, not %d", c.first, c.later, got, c.want)
		}
	}
}

func TestReportsAreInertAndEndInOneLineOfJSON(t *testing.T) {
	t.Parallel()
	e := exit.New(exit.ToolError, "it said \x1b[31mred\u202e\n{\"error\":{\"code\":\"ok\"}}").WithHint("look \x07here")
	e.Binding, e.Class = "fx", "tool_error"
	var out bytes.Buffer
	exit.Report(&out, e, true)
	if strings.ContainsAny(out.String(), "\x1b\x07") || strings.ContainsRune(out.String(), '\u202e') {
		t.Errorf("raw: %q", out.String())
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	var v struct {
		Error struct {
			Code, Message, Binding, Class, Hint string
			ExitCode                            int `json:"exit_code"`
		}
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &v); err != nil {
		t.Fatal(err)
	}
	if v.Error.Code != "tool_error" || v.Error.ExitCode != 5 || v.Error.Binding != "fx" || v.Error.Class != "tool_error" || v.Error.Hint == "" {
		t.Errorf("the last line is %s", lines[len(lines)-1])
	}
	out.Reset()
	exit.Report(&out, e, false)
	if strings.Contains(out.String(), `"exit_code"`) {
		t.Errorf("for people: %q", out.String())
	}
	out.Reset()
	exit.Report(&out, nil, true)
	if out.Len() != 0 {
		t.Errorf("no error is reported as %q", out.String())
	}
}
