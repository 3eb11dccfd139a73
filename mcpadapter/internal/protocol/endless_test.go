package protocol

import (
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// A frame that never ends ends the connection. The request that it answers has
// been answered with too much; what became of the others is not known.
func TestEndlessFrameIsItsOwnRequests(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		id    string // what the frame says, "first" for the id of the first call
		calls int
		first Class
		next  Class
	}{
		"named":            {"first", 2, ClassOverLimit, ClassLost},
		"alone":            {"", 1, ClassOverLimit, ""},
		"named by nobody":  {"", 2, ClassLost, ClassLost},
		"named by another": {"99", 1, ClassLost, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both := make(chan struct{})
			f := connect(t, legacyServer(func(p *peer) {
				m, _ := p.await("tools/call")
				both <- struct{}{}
				if tc.calls == 2 {
					p.await("tools/call")
				}
				id := []byte(tc.id)
				if tc.id == "first" {
					id = m.ID
				}
				p.end(&wire.FrameEndError{ID: id, Skipped: 300, Limit: 256, Frame: 16})
			}))
			errs := make(chan error, 1)
			go func() { _, err := f.CallTool(short(t), CallRequest{Name: "x"}); errs <- err }()
			<-both
			if tc.calls == 2 {
				_, err := f.CallTool(short(t), CallRequest{Name: "y"})
				if e := wantClass(t, err, tc.next); !e.Sent || e.Setting != "" {
					t.Errorf("the other: %+v", e)
				}
			}
			e := wantClass(t, <-errs, tc.first)
			if !e.Sent {
				t.Error("it was sent")
			}
			if tc.first == ClassOverLimit && (e.Size != 300 || e.Limit != 256 || e.Setting != settingFixed || !strings.Contains(e.Reason(), "over the limit of 16 bytes (setting limits.frameBytes)")) {
				t.Errorf("it says %q", e.Reason())
			}
			<-f.Done()
			wantClass(t, f.Err(), ClassOverLimit) // what the binding fails with
		})
	}
}

// The bound in time names no number of bytes that nothing came near.
func TestEndlessFrameInTime(t *testing.T) {
	t.Parallel()
	e := lost(&wire.FrameEndError{Skipped: 20, Limit: 256, Frame: 16, Waited: 30 * time.Second})
	if want := "a frame did not end within 30s: 20 over the limit of 16 (setting limits.frameBytes)"; e.Class != ClassOverLimit || e.Reason() != want {
		t.Errorf("%s: %q", e.Class, e.Reason())
	}
}
