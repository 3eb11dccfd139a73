// Package acceptance holds tests that run the looprig binary as people and CI
// do, against servers that misbehave: a process, its stdout, its exit code, the
// journal and ledger that it leaves, and what the server says that it received.
// It has no code of its own and imports nothing of the module but the fixture
// and the test terminal.
//
// # Where each fault of the SDK is kept out
//
// The faults of the MCP SDK that were reproduced have numbers. Those of messages
// (1–3, 6, 10, 14, 16–19, 22–26, 31, 32, 34, 35) are listed with their tests, and
// with the same exchange against the bare SDK, in hazards_test.go of
// internal/protocol; what is said there holds on every transport, because every
// frame passes there. Those of transports, processes and schemas:
//
//	 4 no headers on the standing GET   streamhttp.TestStandingStreamTouchesNoCall, TestBrokenServers/hangget
//	 5 no headers on the listen stream  streamhttp.TestListenStream, TestBrokenServers/hanglisten
//	 6 discover ignored, or exit on it  TestHostileServers, TestBrokenServers/slow
//	 7 text on stdout                   stdio.TestNoiseIsSkippedAndCapped, sse.TestNoiseIsBounded, TestHostileServers
//	 8 answers of hundreds of megabytes streamhttp.TestHugeAnswerIsBounded, httpguard.TestLargeFramesCostTheirSize, TestHugeAnswersOverANetwork
//	 9 a stream kept open after the end streamhttp.TestAnsweredStreamIsClosed, TestBrokenServers/linger
//	11 a cursor that repeats            catalog.TestFetchRefusesByName, TestHugeAnswersOverANetwork
//	12 405 when the GET is reopened     streamhttp.TestStandingStreamTouchesNoCall
//	13 404 with an id                   streamhttp.TestSessionExpiry, TestBrokenServers/gone
//	14 a page instead of an answer      streamhttp.TestNotAnEndpoint, TestBrokenServers/htmlall
//	15 the context of an SSE stream     sse.TestDialHeedsItsContext, sse.TestStreamEnds
//	20 the end of stdin ignored         stdio.TestStubbornFamiliesAreEnded
//	21 huge frames                      stdio.TestMemoryStaysAtTheLimit, streamhttp.TestFrameLimit, transporttest
//	27 redirects to elsewhere           httpguard.TestRedirects, httpguard.TestForeignAddressAtConnect, TestBrokenServers/movedall
//	30 children that survive            stdio.TestStubbornFamiliesAreEnded, stdio.TestKilledHostLeavesNothing, TestKilledAtRandomMoments
//	33 schemas that overflow the stack  schema.TestCompileRefuses, schema.TestValidationIsBounded, TestBrokenServers/refs
//
// 28 and 29 are faults of authorisation, which is not offered yet.
package acceptance
