package session

import (
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/tool"
)

// Bounds of progress reports.
const (
	// progressEvery is the shortest time between two reports of one call that are
	// told to subscribers; of those between, the newest is told.
	progressEvery = 50 * time.Millisecond
	// maxProgressText bounds a report's message, in bytes.
	maxProgressText = 1 << 10
)

// progress tells of a call's reports, however many a tool makes: the first at
// once, then the newest of each interval, and the last before the call's
// outcome.
type progress struct {
	clock Clock
	tell  func(tool.Progress)

	mu     sync.Mutex
	told   time.Time
	newest *tool.Progress // not told yet
	stop   func() bool    // of the timer that will tell it, or nil
	ended  bool
}

// report takes one report. It does not block.
func (p *progress) report(x tool.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	now := p.clock.Now()
	wait := progressEvery - now.Sub(p.told)
	if p.stop == nil && (p.told.IsZero() || wait <= 0) {
		p.told = now
		p.tell(x)
		return
	}
	p.newest = &x
	if p.stop == nil {
		p.stop = p.clock.AfterFunc(min(wait, progressEvery), p.due)
	}
}

// due tells the newest report of an interval.
func (p *progress) due() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop = nil
	p.flush()
}

func (p *progress) flush() {
	if p.newest == nil || p.ended {
		return
	}
	p.told = p.clock.Now()
	p.tell(*p.newest)
	p.newest = nil
}

// end tells what is left; later reports are those of a call that has its
// outcome, and are told to nobody.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != nil {
		p.stop()
		p.stop = nil
	}
	p.flush()
	p.ended = true
}

// report is the tool.Call's Progress.
func (c *call) report(x tool.Progress) {
	// A report is a courtesy: that it cannot be encoded loses nothing.
	_ = c.t.s.hub.ephemeral(&event.ToolProgress{
		Header: c.t.head(), Call: c.id, Progress: x.Progress, Total: x.Total, Message: brief(x.Message),
	})
}

// brief cuts a message that is too long, and says so.
func brief(s string) string {
	if len(s) <= maxProgressText {
		return s
	}
	n := maxProgressText
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%s… +%d bytes", s[:n], len(s)-n)
}
