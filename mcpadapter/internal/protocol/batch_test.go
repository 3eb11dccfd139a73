package protocol

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestBatchesAreReceivedOn20250326Alone(t *testing.T) {
	t.Parallel()
	for _, rev := range legacy {
		t.Run(rev, func(t *testing.T) {
			t.Parallel()
			var n counter
			logs := make(chan string, 4)
			f := connect(t, at(rev, func(p *peer) {
				m, _ := p.await("tools/call")
				p.send(`[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}, null, [], {"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","id":%s,"result":%s}]`, m.ID, okResult)
				answering(map[string]string{"tools/call": okResult})(p)
			}), pinned(rev), n.option, func(o *Options) { o.Handlers.Log = func(level, _ string, _ json.RawMessage) { logs <- level } })
			_, err := f.CallTool(short(t), CallRequest{Name: "x"})
			if rev != Revision20250326 {
				wantClass(t, err, ClassMalformed)
				return
			}
			if err != nil || <-logs != "info" {
				t.Fatal(err)
			}
			eventually(t, "the rest is handled", func() bool {
				return n.get(droppedMalformed) == 2 && strings.Contains(strings.Join(f.d.log.all(), ""), `{"jsonrpc":"2.0","id":7,"result":{}}`)
			})
		})
	}
}

func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	item := `{"jsonrpc":"2.0","method":"notifications/odd"}`
	for size, ok := range map[int]bool{maxBatch: true, maxBatch + 1: false, 0: false} {
		var n counter
		f := connect(t, at(Revision20250326, func(p *peer) {
			p.send("[%s]", strings.TrimSuffix(strings.Repeat(item+",", size), ","))
			answering(map[string]string{"ping": `{}`})(p)
		}), pinned(Revision20250326), n.option)
		if err := f.Ping(short(t)); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprint(size, 0)
		if !ok {
			want = fmt.Sprint(0, 1)
		}
		eventually(t, want, func() bool { return fmt.Sprint(n.get(droppedUnknown), n.get(droppedMalformed)) == want })
	}
}
