// Package acceptance holds tests that run the looprig binary as people and CI
// do, against servers that misbehave: a process, its stdout, its exit code, the
// journal and ledger that it leaves, and what the server says that it received.
// It has no code of its own and imports nothing of the module but the fixture.
package acceptance
