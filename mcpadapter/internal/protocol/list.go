package protocol

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/looprig/looprig/mcpadapter/internal/protocol/tap"
)

// families are the listing methods and the member that holds their items.
var families = map[Family]struct{ method, items string }{
	Tools:     {"tools/list", "tools"},
	Prompts:   {"prompts/list", "prompts"},
	Resources: {"resources/list", "resources"},
	Templates: {"resources/templates/list", "resourceTemplates"},
}

// List fetches one page of a family; cursor "" asks for the first page. Paging
// on, and noticing a cursor that repeats, is the caller's. A family that the
// server does not have is a ClassRemote error with CodeMethodNotFound.
func (s *Session) List(ctx context.Context, fam Family, cursor string) (page Page, err error) {
	f, ok := families[fam]
	if !ok {
		return Page{}, &Error{Class: ClassConfig, Op: "list", Message: "there is no such family"}
	}
	defer s.recovered(func(e *Error) {
		e.Op, e.Sent = f.method, true
		page, err = Page{}, e
	})
	page, e := s.listPage(ctx, fam, cursor)
	if e != nil {
		return Page{}, e
	}
	return page, nil
}

func (s *Session) listPage(ctx context.Context, fam Family, cursor string) (Page, *Error) {
	f := families[fam]
	var members []member
	if cursor != "" {
		members = append(members, member{"cursor", quoted(cursor)})
	}
	params, err := s.params(0, nil, members...)
	if err != nil {
		return Page{}, &Error{Class: ClassConfig, Op: f.method, Message: "the cursor is not valid text", Err: err}
	}
	raw, e := s.roundTrip(ctx, &slot{op: f.method, method: f.method, params: params}, false)
	if e != nil {
		return Page{}, e
	}
	page, e := s.page(f.method, f.items, raw)
	if e == nil && fam == Tools {
		s.screen(&page, cursor == "")
	}
	return page, e
}

func (s *Session) page(op, items string, raw json.RawMessage) (Page, *Error) {
	if len(raw) > s.limits.PageBytes {
		return Page{}, &Error{
			Class: ClassOverLimit, Op: op, Message: "a page of the listing is too large", Sent: true,
			Size: int64(len(raw)), Limit: int64(s.limits.PageBytes), Setting: "limits.pageBytes",
		}
	}
	fields, e := completeResult(op, raw)
	if e != nil {
		return Page{}, e
	}
	page := Page{Raw: raw}
	if page.NextCursor, e = s.nextCursor(op, fields.Get("nextCursor")); e != nil {
		return Page{}, e
	}
	listed := fields.Get(items)
	if tap.IsNull(listed) {
		s.mail.tolerate(toleratedNullListing, op)
		return page, nil
	}
	values, err := tap.Array(listed)
	if err != nil {
		return Page{}, protocolError(op, "a listing without an array of items")
	}
	page.Items = make([]json.RawMessage, 0, len(values))
	for _, v := range values {
		switch {
		case tap.IsNull(v):
			page.NullItems++
		case !tap.IsObject(v):
			return Page{}, protocolError(op, "an item of the listing is not an object")
		default:
			page.Items = append(page.Items, v)
		}
	}
	if page.NullItems > 0 {
		s.mail.count(droppedNullItem, page.NullItems)
	}
	return page, nil
}

func (s *Session) nextCursor(op string, raw json.RawMessage) (string, *Error) {
	if raw == nil {
		return "", nil
	}
	if tap.IsNull(raw) {
		s.mail.tolerate(toleratedNullCursor, op)
		return "", nil
	}
	cursor, ok := tap.String(raw)
	if !ok {
		return "", protocolError(op, "a cursor that is not a string")
	}
	if len(cursor) > s.limits.CursorBytes {
		return "", &Error{
			Class: ClassOverLimit, Op: op, Message: "the cursor is too long", Sent: true,
			Size: int64(len(cursor)), Limit: int64(s.limits.CursorBytes), Setting: "limits.cursorBytes",
		}
	}
	return cursor, nil
}

// CallTool runs one logical tool call, on 2026-07-28 with its rounds of input.
// The result is what the server sent, byte for byte.
//
// CallRequest.Progress runs on a goroutine of CallTool, in order and never
// after it has returned; it must not block.
func (s *Session) CallTool(ctx context.Context, req CallRequest) (res *Result, err error) {
	const op = "tools/call"
	defer s.recovered(func(e *Error) {
		e.Op, e.Sent = op, true
		res, err = nil, e
	})
	args := req.Args
	if len(args) == 0 {
		args = json.RawMessage(`{}`)
	}
	if !tap.IsObject(args) || bytes.ContainsAny(args, "\r\n") || tap.Check(args, s.limits.bounds()) != nil {
		return nil, &Error{Class: ClassConfig, Op: op, Message: "the arguments are not one compact JSON object without duplicate keys"}
	}
	c := &logicalCall{
		op: op, method: op, name: req.Name, args: args, mirrored: true, id: req.ID, attempt: req.Attempt,
		members: []member{{"name", quoted(req.Name)}, {"arguments", args}},
	}
	raw, e := s.withProgress(ctx, c, req.Progress)
	if e != nil {
		return nil, e
	}
	if res, e = s.toolResult(op, raw); e != nil {
		return nil, e
	}
	return res, nil
}

// withProgress runs the call and delivers its progress meanwhile.
func (s *Session) withProgress(ctx context.Context, c *logicalCall, deliver func(Progress)) (raw json.RawMessage, e *Error) {
	if deliver == nil {
		return s.rounds(ctx, c)
	}
	c.progress = make(chan Progress, progressQueue)
	over := make(chan struct{})
	go func() {
		defer close(over)
		raw, e = s.rounds(ctx, c)
	}()
	for {
		select {
		case p := <-c.progress:
			s.guarded(func() { deliver(p) })
			continue
		case <-over:
		}
		for {
			select {
			case p := <-c.progress:
				s.guarded(func() { deliver(p) })
			default:
				return raw, e
			}
		}
	}
}

// toolResult splits a complete result of tools/call.
func (s *Session) toolResult(op string, raw json.RawMessage) (*Result, *Error) {
	fields, err := tap.Object(raw)
	if err != nil {
		return nil, protocolError(op, "the result is not an object")
	}
	res := &Result{Raw: raw}
	if v := fields.Get("isError"); v != nil && !tap.IsNull(v) {
		var ok bool
		if res.IsError, ok = tap.Bool(v); !ok {
			return nil, protocolError(op, "an isError that is not a boolean")
		}
	}
	if v := fields.Get("structuredContent"); v != nil && !tap.IsNull(v) {
		res.Structured = v
	}
	content := fields.Get("content")
	switch {
	case content == nil && res.Structured == nil && fields.Get("isError") == nil:
		return nil, protocolError(op, "a result with neither content nor structured content")
	case content == nil:
		s.mail.tolerate(toleratedNoContent, op)
	case tap.IsNull(content):
		s.mail.tolerate(toleratedNullContent, op)
	default:
		return res, s.contentBlocks(op, content, res)
	}
	return res, nil
}

func (s *Session) contentBlocks(op string, content json.RawMessage, res *Result) *Error {
	blocks, err := tap.Array(content)
	if err != nil {
		return protocolError(op, "content that is not an array")
	}
	res.Content = make([]json.RawMessage, 0, len(blocks))
	nulls := 0
	for _, b := range blocks {
		switch {
		case tap.IsNull(b):
			nulls++
		case !tap.IsObject(b):
			return protocolError(op, "a content block that is not an object")
		default:
			res.Content = append(res.Content, b)
		}
	}
	if nulls > 0 {
		s.mail.count(droppedNullItem, nulls)
	}
	return nil
}
