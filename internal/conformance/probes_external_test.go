//go:build external

package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/looprig/looprig/mcpadapter/client"
)

// The revisions, oldest first; they compare as texts.
const (
	rev2024 = "2024-11-05"
	rev0326 = "2025-03-26"
	rev0618 = "2025-06-18"
	rev1125 = "2025-11-25"
	rev2026 = "2026-07-28"
)

// use names one tool call and a part of its result.
type use struct{ tool, args, want string }

// peer is how the requests can be tried on one server; what is zero it has not.
type peer struct {
	call, progress, form, url, sample, roots, log, grow use
	slow                                                use // for cancellation
	prompt, promptArgs                                  string
	resource, fromTemplate                              string
	watched                                             string // a resource that touch changes
	touch                                               use
	completes                                           client.CompleteRequest
}

// probe tries one kind of request. The revisions that have it are those from
// since up to until.
type probe struct {
	name         string
	since, until string
	try          func(ctx context.Context, r *rig, p peer) error
}

// touchWait is how long the update of a changed resource may take.
const touchWait = 10 * time.Second

// errAbsent says that a server does not offer what a probe needs.
var errAbsent = errors.New("the server does not offer it")

var probes = []probe{
	{"tools/call", rev2024, rev2026, func(ctx context.Context, r *rig, p peer) error { return r.expect(ctx, p.call) }},
	{"progress", rev2024, rev2026, tryProgress},
	{"cancel", rev2024, rev2026, tryCancel},
	{"prompts/get", rev2024, rev2026, tryPrompt},
	{"resources/read", rev2024, rev2026, func(ctx context.Context, r *rig, p peer) error { return r.read(ctx, p.resource) }},
	{"templates", rev2024, rev2026, func(ctx context.Context, r *rig, p peer) error { return r.read(ctx, p.fromTemplate) }},
	{"subscribe", rev2024, rev2026, trySubscribe},
	{"completion", rev2024, rev2026, tryCompletion},
	{"form", rev0618, rev2026, func(ctx context.Context, r *rig, p peer) error { return r.answered(ctx, p.form, "form") }},
	{"url", rev1125, rev2026, func(ctx context.Context, r *rig, p peer) error { return r.answered(ctx, p.url, "url") }},
	{"sampling", rev2024, rev2026, func(ctx context.Context, r *rig, p peer) error { return r.answered(ctx, p.sample, "sample") }},
	{"roots", rev2024, rev2026, func(ctx context.Context, r *rig, p peer) error { return r.expect(ctx, p.roots) }},
	{"logging", rev2024, rev2026, tryLog},
	{"ping", rev2024, rev1125, func(ctx context.Context, r *rig, _ peer) error {
		_, err := r.Call(ctx, "ping", json.RawMessage("{}"))
		return err
	}},
	{"list_changed", rev2024, rev2026, tryGrow},
}

// expect calls a tool and looks for a part of its result.
func (r *rig) expect(ctx context.Context, u use) error {
	if u.tool == "" {
		return errAbsent
	}
	got, err := r.use(ctx, u.tool, u.args)
	if err == nil && !strings.Contains(got, u.want) {
		err = fmt.Errorf("%s: %s lacks %q", u.tool, got, u.want)
	}
	return err
}

// answered calls a tool that asks a question of a kind.
func (r *rig) answered(ctx context.Context, u use, kind string) error {
	if err := r.expect(ctx, u); err != nil {
		return err
	}
	return r.await(ctx, probeWait, "a question of the kind "+kind, func() bool { return r.asked[kind] > 0 })
}

func (r *rig) read(ctx context.Context, uri string) error {
	if uri == "" {
		return errAbsent
	}
	got, err := r.ReadResource(ctx, uri)
	if err == nil && !strings.Contains(string(got), uri) {
		err = fmt.Errorf("%s lacks %q", got, uri)
	}
	return err
}

func tryProgress(ctx context.Context, r *rig, p peer) error {
	if err := r.expect(ctx, p.progress); err != nil {
		return err
	}
	return r.await(ctx, probeWait, "progress", func() bool { return r.progress > 0 })
}

// tryCancel gives a call up while the server works on it; the connection serves
// the next one.
func tryCancel(ctx context.Context, r *rig, p peer) error {
	if p.slow.tool == "" {
		return errAbsent
	}
	cut, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := r.use(cut, p.slow.tool, p.slow.args); err == nil {
		return errors.New("the call was not given up")
	}
	if took := time.Since(began); took > 1500*time.Millisecond {
		return fmt.Errorf("giving the call up took %s", took)
	}
	return r.expect(ctx, p.call)
}

func tryPrompt(ctx context.Context, r *rig, p peer) error {
	if p.prompt == "" {
		return errAbsent
	}
	got, err := r.GetPrompt(ctx, p.prompt, json.RawMessage(p.promptArgs))
	if err == nil && !strings.Contains(string(got), `"messages"`) {
		err = fmt.Errorf("%s has no messages", got)
	}
	return err
}

func trySubscribe(ctx context.Context, r *rig, p peer) error {
	if p.watched == "" {
		return errAbsent
	}
	if err := r.Subscribe(ctx, p.watched); err != nil {
		return err
	}
	if err := r.expect(ctx, p.touch); err != nil {
		return err
	}
	err := r.await(ctx, touchWait, "the update of "+p.watched, func() bool { return r.updated[p.watched] > 0 })
	if err != nil {
		return err
	}
	return r.Unsubscribe(ctx, p.watched)
}

func tryCompletion(ctx context.Context, r *rig, p peer) error {
	if p.completes.Argument == "" {
		return errAbsent
	}
	got, err := r.Complete(ctx, p.completes)
	if err == nil && len(got.Values) == 0 {
		err = errors.New("no values")
	}
	return err
}

func tryLog(ctx context.Context, r *rig, p peer) error {
	if err := r.expect(ctx, p.log); err != nil {
		return err
	}
	return r.await(ctx, probeWait, "a log message", func() bool { return r.logs > 0 })
}

// tryGrow has the server change its catalog: a new generation follows.
func tryGrow(ctx context.Context, r *rig, p peer) error {
	if p.grow.tool == "" {
		return errAbsent
	}
	r.mu.Lock()
	before := r.newest
	r.mu.Unlock()
	if err := r.expect(ctx, p.grow); err != nil {
		return err
	}
	return r.await(ctx, probeWait, "a new generation", func() bool { return r.newest > before })
}
