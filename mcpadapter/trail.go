package mcpadapter

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/integration"
)

// The bounds of what is kept of a binding's messages and logs.
const (
	// TraceFrames and TraceBytes bound the frames that are kept of a binding,
	// TraceFrameBytes what is kept of one.
	TraceFrames     = 1000
	TraceBytes      = 1 << 20
	TraceFrameBytes = 16 << 10
	// LogEntries and LogEntryBytes bound the log messages of a server that are
	// kept.
	LogEntries    = 1000
	LogEntryBytes = 1 << 20
)

// trail is what a binding said beside its answers: the newest protocol messages
// and log entries. Messages are kept as they were and masked when somebody looks
// at them, so that recording costs a copy.
type trail struct {
	mask masker

	mu     sync.Mutex
	frames []kept
	bytes  int
	logs   []integration.LogEntry
	logged int
}

// kept is the beginning of one message; cut says that it is not all of it.
type kept struct {
	at   time.Time
	sent bool
	data []byte
	size int
}

// add keeps a message and returns it.
func (t *trail) add(at time.Time, sent bool, frame []byte) kept {
	// A secret that the cut would split is kept whole until it is masked.
	n := min(len(frame), TraceFrameBytes+t.mask.longest())
	k := kept{at: at, sent: sent, data: bytes.Clone(frame[:n]), size: len(frame)}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frames = append(t.frames, k)
	t.bytes += len(k.data)
	for len(t.frames) > TraceFrames || t.bytes > TraceBytes && len(t.frames) > 1 {
		t.bytes -= len(t.frames[0].data)
		t.frames[0] = kept{}
		t.frames = t.frames[1:]
	}
	return k
}

// frame is a kept message as it may be shown.
func (t *trail) frame(k kept) integration.Frame {
	f := integration.Frame{Time: k.at, Sent: k.sent, Bytes: k.size, Cut: k.size > TraceFrameBytes}
	data := t.mask.mask(k.data)
	if f.Cut && len(data) > TraceFrameBytes {
		data = data[:TraceFrameBytes]
	}
	if f.Cut || !json.Valid(data) {
		f.Data, _ = json.Marshal(string(data)) // a string always encodes
	} else {
		f.Data = data
	}
	return f
}

func (t *trail) trace() []integration.Frame {
	t.mu.Lock()
	list := slices.Clone(t.frames)
	t.mu.Unlock()
	out := make([]integration.Frame, len(list))
	for i, k := range list {
		out[i] = t.frame(k)
	}
	return out
}

func (t *trail) log(e integration.LogEntry) {
	size := func(e integration.LogEntry) int { return len(e.Data) + len(e.Level) + len(e.Logger) }
	t.mu.Lock()
	defer t.mu.Unlock()
	t.logs = append(t.logs, e)
	t.logged += size(e)
	for len(t.logs) > LogEntries || t.logged > LogEntryBytes && len(t.logs) > 1 {
		t.logged -= size(t.logs[0])
		t.logs[0] = integration.LogEntry{}
		t.logs = t.logs[1:]
	}
}

func (t *trail) entries() []integration.LogEntry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.logs)
}

var _ integration.Watcher = (*Manager)(nil)

// Trace are the newest protocol messages of a binding's present run, or of its
// last one, oldest first and at most TraceFrames, secrets masked. What the
// server sent is raw text of it.
func (m *Manager) Trace(binding string) []integration.Frame {
	if t := m.trail(binding); t != nil {
		return t.trace()
	}
	return nil
}

// Logs are the newest log messages of a binding's present run, or of its last
// one, oldest first and at most LogEntries; their strings are cleaned.
func (m *Manager) Logs(binding string) []integration.LogEntry {
	if t := m.trail(binding); t != nil {
		return t.entries()
	}
	return nil
}

func (m *Manager) trail(binding string) *trail {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.find(binding); e != nil {
		return e.trail
	}
	return nil
}

// PublishTrace has every protocol message published as an ephemeral event from
// now on, or no longer: each costs a masked copy, so it is off unless somebody
// watches.
func (m *Manager) PublishTrace(on bool) { m.tracing.Store(on) }

// traced keeps a message and publishes it where that is asked for.
func (rt *runtime) traced(sent bool, frame []byte) {
	k := rt.trail.add(rt.m.deps.Clock.Now(), sent, frame)
	if !rt.m.tracing.Load() {
		return
	}
	f := rt.trail.frame(k)
	rt.m.pump.event(&event.BindingTrace{
		Header: rt.m.header(rt.cfg), Binding: rt.cfg.Name, Sent: f.Sent, Data: f.Data, Bytes: f.Bytes, Cut: f.Cut,
	})
}

func (rt *runtime) logged(level, logger string, data json.RawMessage) {
	rt.trail.log(integration.LogEntry{Time: rt.m.deps.Clock.Now(), Level: level, Logger: logger, Data: data})
	rt.m.pump.event(&event.BindingLog{Header: rt.m.header(rt.cfg), Binding: rt.cfg.Name, Level: level, Logger: logger, Data: data})
}
