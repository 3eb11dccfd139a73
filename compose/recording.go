package compose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"sync"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/compose/record"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/journal"
)

// tape keeps what a recording needs beside the session's events: how its
// bindings were defined. Nothing is kept where nothing is recorded.
type tape struct {
	on      bool
	mu      sync.Mutex
	servers []record.Server
	defined []record.Definition
}

func (t *tape) begin(a *App, entries []entry) {
	if t.on = a.opt.Record != nil; !t.on {
		return
	}
	for _, e := range entries {
		t.servers = append(t.servers, recorded(e, a.mcp))
	}
}

// recorded is how a binding was defined, for a recording.
func recorded(e entry, file *config.MCPFile) record.Server {
	s := record.Server{Name: e.server.Name, Entry: e.server.Entry}
	if _, there := file.Raw(s.Name); there {
		s.File = filepath.Base(file.Path)
	}
	if e.server.Builtin == "" && e.server.Valid() {
		if fp, err := e.fingerprint(); err == nil { // what cannot be found does not start either
			s.Fingerprint = fp.Digest
		}
	}
	return s
}

// define keeps an addition or a replacement.
func (t *tape) define(op string, e entry) {
	if !t.on {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.defined = append(t.defined, record.Definition{Op: op, Server: recorded(e, &config.MCPFile{})})
}

// end makes the recording of a session that has been closed.
func (t *tape) end(ctx context.Context, a *App) error {
	if !t.on {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	// What the session had before this run is not recorded.
	rec, err := RecordSession(ctx, a.store, a.Session.ID(), a.Session.FirstSeq(), record.Options{
		Version: a.opt.Version, Servers: t.servers, Definitions: t.defined, Policy: a.opt.Policy, Loops: a.opt.Loops,
	})
	if err == nil {
		err = a.opt.Record(rec)
	}
	return err
}

// RecordSession makes a recording of the records of a session from a sequence
// number on. Of o it sets Body alone.
func RecordSession(ctx context.Context, store journal.Store, session string, from uint64, o record.Options) (record.Recording, error) {
	o.Body = func(id string) ([]byte, error) {
		b, err := store.Blob(ctx, id)
		return b.Body, err
	}
	r := record.New(o)
	for rec, err := range store.Read(ctx, session, from) {
		if err != nil {
			return record.Recording{}, exit.New(exit.Internal, "the session cannot be read for its recording: %w", err)
		}
		e, err := event.Decode(rec.Line)
		var unknown *event.UnknownTypeError
		if errors.As(err, &unknown) {
			continue
		}
		if err != nil {
			return record.Recording{}, exit.New(exit.Integrity, "record %d: %w", rec.Seq, err)
		}
		r.Add(e)
	}
	return r.Script(), nil
}

// sameEntry reports whether two entries define the same server, enabled or not.
func sameEntry(a, b []byte) bool {
	x, err := entryValue(a)
	y, err2 := entryValue(b)
	return err == nil && err2 == nil && reflect.DeepEqual(x, y)
}

func entryValue(raw []byte) (map[string]any, error) {
	out := map[string]any{}
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("entry: %w", err)
	}
	delete(out, "enabled")
	return out, nil
}
