package session

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/internal/safetext"
)

// maxIndexedCalls is how many of a session's latest calls are found without
// reading its journal from the beginning.
const maxIndexedCalls = 4096

// NoCallError says that a session has no completed call of that id.
type NoCallError struct{ Call string }

func (e *NoCallError) Error() string {
	return "no completed call is called " + safetext.Ident(e.Call).String()
}

// BlobIDError says that a text is no id of a body that is stored apart.
type BlobIDError struct{ ID string }

func (e *BlobIDError) Error() string {
	return safetext.Ident(e.ID).String() + " is no id of stored content (sha256:…)"
}

// Blob reads a body that a content block refers to by its Blob. It fails with a
// *BlobIDError, or with what the store says (journal.ErrNotFound).
func (s *Session) Blob(ctx context.Context, id string) (journal.Blob, error) {
	return readBlob(ctx, s.o.Store, id)
}

// Result is the whole result of a completed call, whatever of it a model was
// given: the event with the bodies that are stored apart in their blocks. It
// fails with a *NoCallError, or with what the store says.
func (s *Session) Result(ctx context.Context, call string) (*event.ToolCompleted, error) {
	if at := s.hub.completedAt(call); at > 0 {
		return readResult(ctx, s.o.Store, s.o.ID, call, at)
	}
	return ReadResult(ctx, s.o.Store, s.o.ID, call)
}

// ReadResult is Session.Result for a session that need not be open here. The
// calls of the sessions that it was forked from are its own.
func ReadResult(ctx context.Context, store journal.Store, session, call string) (*event.ToolCompleted, error) {
	done, err := readResult(ctx, store, session, call, 1)
	if _, none := errors.AsType[*NoCallError](err); !none {
		return done, err
	}
	parts, err := Lineage(ctx, store, session)
	if err != nil {
		return nil, err
	}
	for _, part := range parts[:len(parts)-1] {
		done, err := readResult(ctx, store, part.Session, call, 1)
		if err == nil && done.Seq <= part.Upto {
			return done, nil
		}
	}
	return nil, &NoCallError{Call: call}
}

func readResult(ctx context.Context, store journal.Store, session, call string, from uint64) (*event.ToolCompleted, error) {
	for rec, err := range store.Read(ctx, session, from) {
		if err != nil {
			return nil, fmt.Errorf("read the result of call %s: %w", safetext.Ident(call), err)
		}
		if rec.Type != string(event.TypeToolCompleted) {
			continue
		}
		e, err := event.Decode(rec.Line)
		if err != nil {
			return nil, &journal.CorruptError{Where: fmt.Sprintf("session %s seq %d", session, rec.Seq), Reason: "no event", Err: err}
		}
		done, ok := e.(*event.ToolCompleted)
		if !ok || done.Call != call {
			continue
		}
		done.Content, err = whole(ctx, store, done.Content)
		return done, err
	}
	return nil, &NoCallError{Call: call}
}

// whole puts bodies that are stored apart back into their blocks.
func whole(ctx context.Context, store journal.Store, blocks []content.Block) ([]content.Block, error) {
	out := make([]content.Block, len(blocks))
	for i, b := range blocks {
		if b.Blob != "" {
			body, err := readBlob(ctx, store, b.Blob)
			if err != nil {
				return nil, err
			}
			b = b.Filled(body.Body)
		}
		if len(b.Blocks) > 0 {
			inner, err := whole(ctx, store, b.Blocks)
			if err != nil {
				return nil, err
			}
			b.Blocks = inner
		}
		out[i] = b
	}
	return out, nil
}

func readBlob(ctx context.Context, store journal.Store, id string) (journal.Blob, error) {
	sum, ok := strings.CutPrefix(id, "sha256:")
	if _, err := hex.DecodeString(sum); !ok || err != nil || len(sum) != 64 {
		return journal.Blob{}, &BlobIDError{ID: id}
	}
	b, err := store.Blob(ctx, id)
	if err != nil {
		return journal.Blob{}, fmt.Errorf("read stored content: %w", err)
	}
	return b, nil
}

// remember notes where a call's outcome is. The caller holds the lock.
func (h *hub) remember(e event.Event) {
	done, ok := e.(*event.ToolCompleted)
	if !ok {
		return
	}
	if h.completed == nil {
		h.completed = map[string]uint64{}
	}
	h.completed[done.Call] = done.Seq
	h.finished = append(h.finished, done.Call)
	if len(h.finished) > maxIndexedCalls {
		delete(h.completed, h.finished[0])
		h.finished = h.finished[1:]
	}
}

// completedAt is the sequence number of a call's outcome, 0 when it is not
// remembered.
func (h *hub) completedAt(call string) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.completed[call]
}
