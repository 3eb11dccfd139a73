package wire_test

import (
	"strings"
	"testing"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

func TestIsFrame(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 200_000)
	for text, want := range map[string]bool{
		`{}`: true, `[1]`: true, `{"a":1,"a":2}`: true, "{\"a\":\"\xff\"}": true, `{"a":"]}"}`: true,
		``: false, `1`: false, `"x"`: false, `null`: false, `{`: false, `{}{}`: false, `{} x`: false, `not JSON`: false, `[1,]`: false,
		deep + strings.Repeat("]", 200_000):                        true,
		`{"id":1,"r":` + deep + strings.Repeat("]", 200_000) + `}`: true,
		deep: false,
		deep + strings.Repeat("]", 200_000) + "]": false,
	} {
		if got := wire.IsFrame([]byte(text)); got != want {
			t.Errorf("%.40q of %d bytes: %t", text, len(text), got)
		}
	}
}
