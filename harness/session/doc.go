// Package session runs agents: a session coordinates loops, each loop runs turns
// of a model (or of an operator) under an immutable toolset, every call passes
// policy, gates, journal and ledger, and everything that happens is an event.
//
// Invariants:
//
//   - No byte of a call is sent before its ledger intent and its tool.started
//     are durable, in one append. A call that is refused leaves a decision.
//   - A toolset changes only at an idle boundary of its loop.
//   - Input is never lost: it runs, or it is journaled as queued.
//   - Durable events are encoded once; the journal's bytes are the subscribers'.
//   - After the first journal error no further call is made.
//   - A slow subscriber, watcher or answerer never blocks a loop.
//   - What a model is given of a result is capped, and says so; the whole is in
//     the journal and is read with Session.Result.
//
// Where a toolset has deferred tools, its loop has tool_search and tool_schema:
// the model is given the tools that are not deferred and those whose schema it
// asked for, from that step on and for as long as their definitions stay the
// same. Both are recorded like every call (as builtin:tool_search and
// builtin:tool_schema), can be denied by policy, and are never asked about. A
// deferred tool can be called by its name without having been looked up, and
// people see and call all tools alike.
//
// A loop's history can be rebuilt from turn.started (what the user said),
// message.completed (what the model said) and tool.completed.
//
// The package must not import an adapter, an interface or a model provider.
package session
