package protocol

import (
	"context"
	"reflect"
)

// maxRelistPages bounds the listing that follows a refused header.
const maxRelistPages = 64

// staleHeaders says whether a call was refused, before it was executed,
// because its headers are not those that the tool asks for by now.
func (s *Session) staleHeaders(c *logicalCall, e *Error) bool {
	return e != nil && e.Class == ClassRemote && e.Code == CodeHeaderMismatch && c.mirrored && !c.relisted && s.mirroring()
}

// relist lists the tools again for their annotations. The pages are not handed
// on, because a catalog is made from listings of its own; that one is due is
// reported where the annotations have indeed changed.
func (s *Session) relist(ctx context.Context, c *logicalCall) *Error {
	c.relisted = true
	s.mail.tolerate(toleratedStaleHeaders, c.name)
	before := s.mirrors.of(c.name)
	defer func() {
		if !reflect.DeepEqual(before, s.mirrors.of(c.name)) {
			s.changed(Tools, true)
		}
	}()
	cursor, seen := "", map[string]bool{}
	for range maxRelistPages {
		page, e := s.listPage(ctx, Tools, cursor)
		if e != nil {
			return e
		}
		if cursor = page.NextCursor; cursor == "" || seen[cursor] {
			return nil
		}
		seen[cursor] = true
	}
	return nil
}
