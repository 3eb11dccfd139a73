package protocol

import (
	"encoding/json"

	"github.com/looprig/looprig/mcpadapter/internal/protocol/tap"
)

// sampleTools reads the tools of a sampling request, which are refused unless
// the capability was declared.
func (s *Session) sampleTools(f tap.Fields, req *SampleRequest) *Error {
	tools, choice := optional(f, "tools"), optional(f, "toolChoice")
	if tools == nil && choice == nil {
		return nil
	}
	if !s.toolSampling() {
		return refusedSample("a sampling request with tools, which were not declared")
	}
	if choice != nil {
		c, err := tap.Object(choice)
		mode, ok := tap.String(c.Get("mode"))
		if err != nil || c.Get("mode") != nil && (!ok || mode != "auto" && mode != "required" && mode != "none") {
			return refusedSample("the toolChoice of a sampling request is unknown")
		}
		req.ToolChoice = choice
	}
	if tools == nil {
		return nil
	}
	items, err := tap.Array(tools)
	if err != nil {
		return refusedSample("the tools of a sampling request are not an array")
	}
	if len(items) > maxSampleTools {
		return sampleOverLimit("a sampling request with too many tools", len(items), maxSampleTools)
	}
	for _, item := range items {
		t, err := tap.Object(item)
		name, ok := tap.String(t.Get("name"))
		if err != nil || !ok || name == "" || !tap.IsObject(t.Get("inputSchema")) {
			return refusedSample("a tool of a sampling request lacks a name or a schema")
		}
	}
	req.Tools = items
	return nil
}

// toolBalance checks that every use of a tool is answered by results in the
// next message, which holds nothing else. Messages without tools pass.
func (s *Session) toolBalance(messages []SampleMessage) *Error {
	if !s.toolSampling() {
		return nil
	}
	var open map[string]bool
	for _, m := range messages {
		uses, results := toolIDs(m.Content, "tool_use", "id"), toolIDs(m.Content, "tool_result", "toolUseId")
		switch {
		case len(results) > 0 && len(results) != len(m.Content):
			return refusedSample("a sampling message mixes results of tools with other content")
		case len(results) != len(open):
			return refusedSample("a sampling message does not answer the uses of tools before it")
		}
		for _, id := range results {
			if !open[id] {
				return refusedSample("a sampling message has a result for no use of a tool")
			}
			delete(open, id)
		}
		open = make(map[string]bool, len(uses))
		for _, id := range uses {
			if open[id] {
				return refusedSample("a sampling message uses one id for two tools")
			}
			open[id] = true
		}
	}
	if len(open) > 0 {
		return refusedSample("a sampling request ends with unanswered uses of tools")
	}
	return nil
}

// toolIDs are the ids of the blocks of a kind.
func toolIDs(blocks []json.RawMessage, kind, member string) (ids []string) {
	for _, b := range blocks {
		f, _ := tap.Object(b)
		if k, _ := tap.String(f.Get("type")); k == kind {
			id, _ := tap.String(f.Get(member))
			ids = append(ids, id)
		}
	}
	return ids
}
