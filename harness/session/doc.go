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
//
// A loop's history can be rebuilt from turn.started (what the user said),
// message.completed (what the model said) and tool.completed.
//
// The package must not import an adapter, an interface or a model provider.
package session
