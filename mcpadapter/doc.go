// Package mcpadapter turns MCP servers into tools of harness loops. A Manager
// owns a session's bindings (named servers attached to a scope), keeps their
// catalogs as numbered generations and their states as events; an Adopter
// carries loops to new generations at idle boundaries; elicitations and requests
// for the model become gates. For people it reads resources, gets prompts,
// completes arguments, subscribes, and keeps a binding's newest messages and
// logs.
//
// Invariants: nothing of a server is started before it is trusted; a turn runs
// under the generations that it started with; a call is never re-sent or
// re-pointed; a server uses the model only as far as policy, budget and whoever
// answers the gates allow; no server-written text enters a durable status or an
// open-url gate; nothing that an answer points to is fetched. The application owns the wiring: a Manager never reaches for a session.
//
// The package is independent of storage and must not import harness/session,
// harness/journal, harness/ledger, compose, tui or the MCP SDK.
package mcpadapter
