package mcpadapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/schema"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/mcpadapter/catalog"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// handler prepares calls of one tool under one generation.
type handler struct {
	rt   *runtime
	tool catalog.Tool
}

var (
	_ tool.Handler  = (*handler)(nil)
	_ tool.Prepared = (*prepared)(nil)
)

// Prepare implements tool.Handler.
func (h *handler) Prepare(_ context.Context, args json.RawMessage) (tool.Prepared, error) {
	problem := func(pointer, message string) error {
		return &tool.ArgumentError{
			Tool:     ToolIdentity{Binding: h.rt.cfg.Name, Tool: safetext.Ident(h.tool.Name).String()}.String(),
			Problems: []tool.ArgumentProblem{{Pointer: pointer, Message: message}},
		}
	}
	if limit := h.rt.cfg.Server.Limits.ArgumentBytes; len(args) > limit {
		return nil, problem("", (&limitError{"bytes", len(args), limit, "limits.argumentBytes"}).Error())
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	compact, err := schema.Compact(args)
	if err != nil {
		return nil, problem("", err.Error())
	}
	if compact[0] != '{' {
		return nil, problem("", "the arguments are not an object")
	}
	err = h.tool.Input.Validate(compact)
	var invalid *schema.ValidationError
	switch {
	case err == nil:
		return &prepared{h: h, args: compact}, nil
	case errors.As(err, &invalid):
		out := &tool.ArgumentError{Tool: ToolIdentity{Binding: h.rt.cfg.Name, Tool: safetext.Ident(h.tool.Name).String()}.String()}
		for _, p := range invalid.Problems {
			out.Problems = append(out.Problems, tool.ArgumentProblem{Pointer: safetext.ToLineN(p.Pointer, 200).String(), Message: p.Message})
		}
		return nil, out
	}
	return nil, problem("", "the arguments cannot be judged: "+err.Error())
}

// prepared is one call of a tool.
type prepared struct {
	h    *handler
	args json.RawMessage
}

// Args implements tool.Prepared.
func (p *prepared) Args() json.RawMessage { return p.args }

// Check implements tool.Prepared.
func (p *prepared) Check(ctx context.Context) *tool.Refusal {
	rt := p.h.rt
	if r := rt.unavailable(); r != nil {
		return r
	}
	if err := rt.cl.Fresh(ctx); err != nil {
		if r := rt.unavailable(); r != nil {
			return r
		}
		reason := "the connection has just ended"
		if errors.Is(err, client.ErrStale) {
			reason = fmt.Sprintf("the server's tool listing has changed and could not be read again within %s", client.FreshWait)
		} else if ctx.Err() != nil {
			reason = "the waiting for the server's new tool listing was given up"
		}
		return &tool.Refusal{Outcome: tool.Unavailable, Reason: reason}
	}
	if r := rt.unavailable(); r != nil {
		return r
	}
	name := safetext.Ident(p.h.tool.Name)
	gen := rt.cl.Generation()
	now, ok := gen.Tool(p.h.tool.Name)
	switch {
	case !ok:
		return &tool.Refusal{Outcome: tool.Unavailable, Reason: fmt.Sprintf("generation %d of binding %s has no tool %s", gen.Number, rt.cfg.Name, name)}
	case now.Digest != p.h.tool.Digest:
		return &tool.Refusal{Outcome: tool.SchemaChanged, Reason: fmt.Sprintf(
			"the definition of %s changed with generation %d of binding %s; this turn has the one before", name, gen.Number, rt.cfg.Name)}
	case rt.withheld(now) != "":
		return &tool.Refusal{Outcome: tool.Unavailable, Reason: fmt.Sprintf("tool %s is withheld: %s", name, rt.withheld(now))}
	}
	return nil
}

// Invoke implements tool.Prepared.
func (p *prepared) Invoke(ctx context.Context, call tool.Call) (res tool.Result) {
	defer func() {
		if r := recover(); r != nil {
			res.Outcome, res.Class = tool.Failed, string(protocol.ClassPanic)
			res.Reason = "the adapter failed while it handled the answer"
		}
	}()
	rt := p.h.rt
	if r := rt.unavailable(); r != nil {
		return tool.Result{Outcome: r.Outcome, Reason: r.Reason, Class: string(protocol.ClassClosed)}
	}
	rt.track(flight{call, depthOf(ctx)})
	defer rt.untrack(call.ID)
	inv := client.Invocation{ID: call.ID, Name: p.h.tool.Name, Args: p.args}
	if call.Progress != nil {
		inv.Progress = func(pr client.Progress) {
			call.Progress(tool.Progress{Progress: pr.Progress, Total: pr.Total, Message: pr.Message})
		}
	}
	reply, err := rt.cl.Invoke(ctx, inv)
	res.ServerTime = reply.Waited
	if urls, needed := urlsRequired(err); needed {
		if ok, reason := rt.openRequired(ctx, call, urls); !ok {
			res.Outcome, res.Reason, res.Class = tool.Failed, reason, string(protocol.ClassRemote)
			res.Sent, res.Attempts = reply.Sent, reply.Attempts
			return res
		}
		first := reply.Attempts
		reply, err = rt.cl.Invoke(ctx, inv)
		reply.Attempts += first
		res.ServerTime += reply.Waited
		reply.Sent = true
	}
	res.Sent, res.Attempts = reply.Sent, reply.Attempts
	if err != nil {
		return p.failed(res, err)
	}
	if reply.Result == nil {
		res.Outcome, res.Reason = tool.Failed, "the server's answer holds no result"
		return res
	}
	return p.answered(res, reply.Result)
}

// failed gives a failure its outcome.
func (p *prepared) failed(res tool.Result, err error) tool.Result {
	var pe *protocol.Error
	if !errors.As(err, &pe) {
		res.Outcome, res.Reason = tool.Failed, "the call failed"
		return res
	}
	res.Class, res.Reason = string(pe.Class), safetext.ToLine(pe.Error()).String()
	switch pe.Class {
	case protocol.ClassRefused:
		if res.Outcome = tool.Failed; pe.Code == protocol.CodeRejected {
			// On 2026-07-28 the answer to a server's question is never an error:
			// what is refused ends the call that asked.
			res.Outcome = tool.Denied
			res.Reason = "the server's request for the model was not granted, which ends the call: " + safetext.ToLine(pe.Message).String()
		}
	case protocol.ClassTimeout:
		res.Outcome = tool.Timeout
	case protocol.ClassCancelled:
		res.Outcome = tool.Cancelled
	case protocol.ClassOverLimit:
		res.Outcome = tool.OverLimit
	case protocol.ClassLost, protocol.ClassClosed, protocol.ClassNoise:
		if res.Outcome = tool.Unavailable; res.Sent {
			res.Outcome = tool.Indeterminate
			res.Reason += "; the call had been sent, whether it took effect is unknown"
		}
	default:
		res.Outcome = tool.Failed
	}
	if pe.Class == protocol.ClassRemote && pe.Detail != "" {
		res.Content = []content.Block{content.Text(pe.Detail)}
	} else {
		res.Reason = p.h.rt.saying(res.Reason, err)
	}
	return res
}

// answered turns a server's answer into a result.
func (p *prepared) answered(res tool.Result, r *client.Result) tool.Result {
	lim := p.h.rt.cfg.Server.Limits
	blocks, err := mapContent(r.Content, lim)
	if err == nil && len(r.Structured) > lim.StructuredBytes {
		err = &limitError{"structured content", len(r.Structured), lim.StructuredBytes, "limits.structuredBytes"}
	}
	if err != nil {
		res.Outcome, res.Reason, res.Class = tool.OverLimit, "the result is refused: "+err.Error(), string(protocol.ClassOverLimit)
		return res
	}
	res.Outcome, res.Content, res.Structured = tool.OK, blocks, r.Structured
	if r.IsError {
		res.Outcome, res.Reason = tool.ToolError, "the tool reported an error"
	}
	res.StructuredInvalid = p.misfit(r)
	if len(blocks) == 0 && r.Structured != nil {
		res.Content = []content.Block{{Kind: content.KindStructured, JSON: r.Structured}}
	}
	return res
}

// misfit says how the structured content breaks the output schema.
func (p *prepared) misfit(r *client.Result) string {
	switch {
	case p.h.tool.Output == nil:
		return ""
	case r.Structured == nil && r.IsError:
		return ""
	case r.Structured == nil:
		return "the tool declares an output schema and sent no structured content"
	}
	if err := p.h.tool.Output.Validate(r.Structured); err != nil {
		return safetext.ToLineN(err.Error(), 1024).String()
	}
	return ""
}

// flight is a call that waits for the server; depth counts the requests for the
// model that it came of.
type flight struct {
	call  tool.Call
	depth int
}

func (rt *runtime) track(f flight) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.calls[f.call.ID] = f
}

func (rt *runtime) untrack(id string) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	delete(rt.calls, id)
}
