package headless

import (
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/event"
)

func TestNoticesSayWhatTheResultDoesNotShow(t *testing.T) {
	t.Parallel()
	broken := &event.ToolCompleted{}
	broken.Tool, broken.StructuredInvalid = "mcp:b:t", "n is no integer"
	for _, c := range []struct {
		e    event.Event
		want string
	}{
		{&event.Notice{Binding: "b", Level: "warn", Text: "a question was declined: minLength is over maxLength"}, "b: a question was declined: minLength is over maxLength"},
		{&event.Notice{Level: "error", Text: "bad \x1b[2J\nnews"}, "bad ␛[2J"},
		{&event.Notice{Binding: "b", Level: "info", Text: "all is well"}, ""},
		{broken, "mcp:b:t: the structured result breaks the tool's own schema: n is no integer"},
		{&event.ToolCompleted{}, ""},
	} {
		got := noticeOf(c.e)
		if (c.want == "") != (got == "") || !strings.HasPrefix(got, c.want) || strings.ContainsAny(got, "\x1b\n") {
			t.Errorf("%+v said %q", c.e, got)
		}
	}
}
