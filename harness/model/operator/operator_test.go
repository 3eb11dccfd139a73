package operator

import (
	"errors"
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/model"
)

func TestEverySaidThingGetsTheHint(t *testing.T) {
	t.Parallel()
	req := model.Request{Messages: []content.Message{{Role: content.RoleUser, Blocks: []content.Block{content.Text("hello")}}}}
	var text strings.Builder
	stop := ""
	for chunk, err := range (Client{}).Stream(t.Context(), req) {
		if err != nil || chunk.Kind == model.ChunkToolUse {
			t.Fatalf("%+v %v", chunk, err)
		}
		text.WriteString(chunk.Text)
		stop += chunk.Stop
	}
	if text.String() != Hint || stop != "end" {
		t.Fatalf("%q %q", text.String(), stop)
	}
	if strings.Contains(Hint, "demo") {
		t.Errorf("the hint names a server that may not be bound: %s", Hint)
	}
	for _, err := range (Client{}).Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		break // a consumer that stops is not called again
	}
	var failed *model.Error
	if reply, err := model.Once(t.Context(), Client{}, req); !errors.As(err, &failed) || failed.Code != "no_reply" {
		t.Fatalf("a server got %+v %v", reply, err)
	}
	if i := (Client{}).Info(); i.Name != "operator" || i.Display != "you (no key)" {
		t.Fatalf("%+v", i)
	}
}
