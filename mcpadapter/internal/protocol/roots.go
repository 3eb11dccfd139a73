package protocol

import (
	"context"
	"strings"
	"sync/atomic"
)

const (
	methodRoots        = "roots/list"
	notifyRootsChanged = "notifications/roots/list_changed"

	// maxRoots and maxRootBytes bound what a server is told of the user's
	// folders.
	maxRoots     = 256
	maxRootBytes = 64 << 10
)

// rootList holds the encoded result of roots/list.
type rootList struct {
	offered bool
	encoded atomic.Pointer[[]byte]
}

func newRootList(roots []Root) *rootList {
	l := &rootList{offered: roots != nil}
	l.set(roots)
	return l
}

// declared says whether the capability is advertised.
func (l *rootList) declared() bool { return l.offered }

func (l *rootList) list() []byte { return *l.encoded.Load() }

func (l *rootList) set(roots []Root) {
	out := []byte(`{"roots":[`)
	for i, r := range roots {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, `{"uri":`...), quoted(r.URI)...)
		if r.Name != "" {
			out = append(append(out, `,"name":`...), quoted(r.Name)...)
		}
		out = append(out, '}')
	}
	out = append(out, "]}"...)
	l.encoded.Store(&out)
}

// checkRoots refuses roots that the protocol does not allow.
func checkRoots(roots []Root) *Error {
	size := 0
	for _, r := range roots {
		if size += len(r.URI) + len(r.Name); !strings.HasPrefix(r.URI, "file://") {
			return &Error{Class: ClassConfig, Op: methodRoots, Message: "a root is not a file URI"}
		}
	}
	switch {
	case len(roots) > maxRoots:
		return &Error{Class: ClassOverLimit, Op: methodRoots, Message: "too many roots", Size: int64(len(roots)), Limit: maxRoots, Setting: settingFixed}
	case size > maxRootBytes:
		return &Error{Class: ClassOverLimit, Op: methodRoots, Message: "the roots are too large together", Size: int64(size), Limit: maxRootBytes, Setting: settingFixed}
	}
	return nil
}

// SetRoots replaces the roots that the server is offered, and tells it so on
// the revisions that have notifications/roots/list_changed; on 2026-07-28 it
// learns of them when it asks. A session that was opened without Options.Roots
// has not declared the capability and takes none.
func (s *Session) SetRoots(ctx context.Context, roots []Root) error {
	if !s.roots.declared() {
		return &Error{Class: ClassUnsupported, Op: methodRoots, Message: "the session was opened without roots"}
	}
	if e := checkRoots(roots); e != nil {
		return e
	}
	if s.ended() != nil {
		return s.endedError(methodRoots)
	}
	s.roots.set(roots)
	if s.modern {
		return nil
	}
	if err := s.notice(ctx, notifyRootsChanged, []byte(`{"jsonrpc":"2.0","method":"`+notifyRootsChanged+`"}`)); err != nil {
		return s.writeError(ctx, notifyRootsChanged, err)
	}
	return nil
}
