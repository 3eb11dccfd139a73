package protocol

import (
	"context"
	"slices"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/protocol/tap"
)

const methodSubscribe = "resources/subscribe"

// metaSubscription names the listen request that an acknowledgement is for.
const metaSubscription = "io.modelcontextprotocol/subscriptionId"

// acknowledged is called by the pump when the server has opened the stream.
// After a gap every listing that the stream covers counts as stale, and every
// resource that the stream before covered as changed.
func (l *listener) acknowledged(params tap.Fields) {
	missed, resources, ok := l.acknowledge(params)
	if !ok || !missed {
		return
	}
	for _, fam := range []Family{Tools, Prompts, Resources, Templates} {
		if l.s.declared[fam] {
			l.s.changed(fam, true)
		}
	}
	for _, uri := range resources {
		l.s.mail.updated(uri)
	}
}

// acknowledge notes what the present stream covers. missed says that there was
// a gap before it, resources what was covered before the gap and is still
// subscribed; ok is false for an acknowledgement of another stream.
func (l *listener) acknowledge(params tap.Fields) (missed bool, resources []string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil || !l.names(params) {
		return false, nil, false
	}
	missed, l.reopened = l.reopened, false
	before := l.honoured
	l.honoured = agreed(params, l.uris)
	for _, uri := range l.uris {
		if before[uri] {
			resources = append(resources, uri)
		}
	}
	l.acked = l.opened
	l.settle()
	return missed, resources, true
}

// names says whether an acknowledgement may be for the present stream: one that
// names no stream, or in a way that is not ours, is taken for it.
func (l *listener) names(params tap.Fields) bool {
	meta, err := tap.Object(params.Get("_meta"))
	if err != nil {
		return true
	}
	named, kind := tap.ParseID(meta.Get(metaSubscription))
	id, sent := l.s.table.sentAs(l.open)
	return kind != tap.IDInteger || sent && named == id
}

// agreed are the resources that an acknowledgement covers. One that does not
// say what it covers, which it must, is taken to cover all.
func agreed(params tap.Fields, asked []string) map[string]bool {
	out := make(map[string]bool, len(asked))
	covers, err := tap.Object(params.Get("notifications"))
	if err != nil {
		for _, uri := range asked {
			out[uri] = true
		}
		return out
	}
	list, _ := tap.Array(covers.Get("resourceSubscriptions"))
	for _, raw := range list[:min(len(list), maxSubscriptions)] {
		if uri, ok := tap.String(raw); ok {
			out[uri] = true
		}
	}
	return out
}

// Subscribe asks for updates of one resource; they arrive at
// Handlers.ResourceUpdated. On 2026-07-28 the listen stream is reopened with
// it, and Subscribe returns when the server has acknowledged the new stream: a
// change after that is told. It waits for 5 s at most. What the server does not
// agree to fails as ClassUnsupported, what it answers with an error as that
// error, and the resource is then not subscribed.
func (s *Session) Subscribe(ctx context.Context, uri string) error {
	if e := subscribable(uri); e != nil {
		return e
	}
	if !s.modern {
		_, err := s.logical(ctx, methodSubscribe, member{"uri", quoted(uri)})
		return err
	}
	return s.listen.subscribe(ctx, []string{uri})[0]
}

// SubscribeAll is Subscribe for several resources. On 2026-07-28 the listen
// stream is reopened once for all of them, and an error of the server, which
// does not say which of them it is about, is that of each. The result has an
// element for each resource, nil for those that are subscribed.
func (s *Session) SubscribeAll(ctx context.Context, uris []string) []error {
	out := make([]error, len(uris))
	if !s.modern {
		for i, uri := range uris {
			out[i] = s.Subscribe(ctx, uri)
		}
		return out
	}
	var good []string
	var at []int
	for i, uri := range uris {
		if e := subscribable(uri); e != nil {
			out[i] = e
			continue
		}
		good, at = append(good, uri), append(at, i)
	}
	for i, err := range s.listen.subscribe(ctx, good) {
		out[at[i]] = err
	}
	return out
}

func subscribable(uri string) *Error {
	if len(uri) > maxURLBytes {
		return &Error{Class: ClassOverLimit, Op: methodSubscribe, Message: "the URI is too long", Size: int64(len(uri)), Limit: maxURLBytes, Setting: settingFixed}
	}
	return nil
}

// Unsubscribe ends a subscription.
func (s *Session) Unsubscribe(ctx context.Context, uri string) error {
	if !s.modern {
		_, err := s.logical(ctx, "resources/unsubscribe", member{"uri", quoted(uri)})
		return err
	}
	if s.ended() != nil {
		return s.endedError(methodListen)
	}
	s.listen.drop([]string{uri}, true)
	return nil
}

// subscribe adds resources to the filter and waits until the server has said
// what it makes of it. What is not covered then is taken out again.
func (l *listener) subscribe(ctx context.Context, uris []string) []error {
	out := make([]error, len(uris))
	all := func(e *Error) []error {
		for i := range out {
			own := *e
			out[i] = &own
		}
		return out
	}
	if len(uris) == 0 {
		return out
	}
	if l.s.ended() != nil {
		return all(l.s.endedError(methodListen))
	}
	edits, added, e := l.add(uris)
	if e != nil {
		return all(e)
	}
	e = l.await(ctx, edits)
	switch {
	case e == nil:
	case lacksListen(e):
		l.drop(added, false)
		return all(&Error{Class: ClassUnsupported, Op: methodSubscribe, Message: "the server does not report changes of resources", Detail: e.Detail, Sent: true, Err: e})
	default:
		l.drop(added, true)
		own := *e
		own.Op = methodSubscribe
		return all(&own)
	}
	var refused []string
	for i, uri := range uris {
		if !l.covers(uri) {
			refused = append(refused, uri)
			out[i] = &Error{Class: ClassUnsupported, Op: methodSubscribe, Message: "the server did not agree to report changes of the resource", Sent: true}
		}
	}
	l.drop(refused, false)
	return out
}

// await waits for the outcome of a filter: nil when a stream with it, or with a
// newer one, was acknowledged.
func (l *listener) await(ctx context.Context, edits uint64) *Error {
	timer := time.NewTimer(l.ackWait)
	defer timer.Stop()
	for {
		l.mu.Lock()
		acked, failed, failure, settled := l.acked >= edits, l.failed >= edits, l.failure, l.settled
		l.mu.Unlock()
		switch {
		case acked:
			return nil
		case failed:
			return failure
		}
		select {
		case <-settled:
		case <-timer.C:
			return &Error{Class: ClassTimeout, Op: methodSubscribe, Message: "the server did not acknowledge the stream in time", Sent: true}
		case <-ctx.Done():
			e := ctxError(ctx, methodSubscribe)
			e.Sent = true
			return e
		case <-l.s.done:
			return l.s.endedError(methodSubscribe)
		}
	}
}

func (l *listener) covers(uri string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.honoured[uri]
}

// add takes resources into the filter and has the stream reopened; added are
// those that were not in it.
func (l *listener) add(uris []string) (edits uint64, added []string, e *Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, uri := range uris {
		if !slices.Contains(l.uris, uri) && !slices.Contains(added, uri) {
			added = append(added, uri)
		}
	}
	if n := len(l.uris) + len(added); n > maxSubscriptions {
		return 0, nil, &Error{Class: ClassOverLimit, Op: methodSubscribe, Message: "too many subscriptions", Size: int64(n), Limit: maxSubscriptions, Setting: settingFixed}
	}
	if len(added) > 0 {
		l.uris = append(slices.Clip(l.uris), added...)
		l.edited()
	}
	return l.edits, added, nil
}

// drop takes resources out of the filter. reopen has the stream reopened
// without them, which is not needed when it does not cover them.
func (l *listener) drop(uris []string, reopen bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := slices.DeleteFunc(slices.Clone(l.uris), func(u string) bool { return slices.Contains(uris, u) })
	if len(kept) == len(l.uris) {
		return
	}
	l.uris = kept
	if reopen {
		l.edited()
	}
}

// edited numbers a change of the filter and tells the stream. The lock is held.
func (l *listener) edited() {
	l.edits++
	select {
	case l.changed <- struct{}{}:
	default:
	}
}
