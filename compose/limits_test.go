package compose

import (
	"reflect"
	"testing"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/mcpadapter/client"
)

func TestEveryLimitCanBeConfigured(t *testing.T) {
	t.Parallel()
	var l client.Limits
	fields := limitFields(&l)
	if n := reflect.TypeFor[client.Limits]().NumField(); n != len(fields) {
		t.Errorf("the adapter has %d limits, %d have a setting", n, len(fields))
	}
	for name, field := range fields {
		if config.LimitMax[name] == 0 {
			t.Errorf("mcp.json does not know the limit %s", name)
		}
		*field++
	}
	if len(config.LimitMax) != len(fields) {
		t.Errorf("mcp.json knows %d limits, %d have an effect", len(config.LimitMax), len(fields))
	}
	for i := range reflect.ValueOf(l).NumField() {
		if reflect.ValueOf(l).Field(i).Int() != 1 {
			t.Errorf("%s has no setting of its own", reflect.TypeFor[client.Limits]().Field(i).Name)
		}
	}
	if got := limits(map[string]int{"frameBytes": 7}); got.FrameBytes != 7 || got.Tools != 0 {
		t.Errorf("limits are %+v", got)
	}
}
