package client

import (
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/mcpadapter/catalog"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// Limits bound what one server may send. A zero field means the default; the
// name of a field with a small first letter is the name of its setting.
type Limits struct {
	FrameBytes int // one inbound frame: 16 MiB
	NoiseLines int // lines that are not JSON: 1000
	JSONDepth  int // 64
	// JSONMembers are the object members of one frame, MalformedFrames those
	// that are refused before the connection is given up.
	JSONMembers     int // 200,000
	MalformedFrames int // 100

	Tools     int // 1024
	Prompts   int // 256
	Resources int // 4096
	Templates int // 1024
	Pages     int // pages of one listing: 64

	CursorBytes  int // 4 KiB
	PageBytes    int // one listing page: 4 MiB
	CatalogBytes int // all pages of one discovery together: 8 MiB

	SchemaBytes int // 256 KiB
	SchemaDepth int // 32
	SchemaNodes int // 10,000

	NameBytes         int // 512
	TitleBytes        int // 256
	DescriptionBytes  int // 64 KiB
	InstructionsBytes int // 64 KiB

	ArgumentBytes   int // arguments of one call: 1 MiB
	TextBytes       int // text of one result: 1 MiB
	StructuredBytes int // 1 MiB
	BinaryItemBytes int // 8 MiB
	BinaryItems     int // 16
	BinaryBytes     int // binary items of one result together: 10 MiB
	Blocks          int // blocks of one result: 256

	LogBytes int // one log message: 8 KiB

	ElicitMessageBytes int // 4 KiB
	ElicitSchemaBytes  int // 16 KiB
	ElicitFields       int // 32
	ElicitOptions      int // 64
	ElicitValueBytes   int // 4 KiB
	ElicitPending      int // open questions of one binding: 8

	// SamplingBytes is the text of one request for the model, SamplingMessages its
	// messages; SamplingPolicy bounds tokens, depth and concurrency.
	SamplingBytes    int // 1 MiB
	SamplingMessages int // 256

	// RoundTrips are the rounds of questions that one call may take,
	// RequestStateBytes what the server may have carried along (2026-07-28).
	RoundTrips        int // 10
	RequestStateBytes int // 64 KiB

	Roots           int // 64
	Subscriptions   int // resources whose changes are reported: 64
	URIBytes        int // a resource that is asked for: 8 KiB
	CompletionBytes int // all values of one completion: 64 KiB

	QueuedNotifications int // 1024
	ConcurrentRequests  int // 8
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		v   *int
		def int
	}{
		{&l.FrameBytes, 16 << 20}, {&l.NoiseLines, 1000}, {&l.JSONDepth, 64},
		{&l.JSONMembers, 200_000}, {&l.MalformedFrames, 100}, {&l.RoundTrips, 10}, {&l.RequestStateBytes, 64 << 10},
		{&l.Tools, 1024}, {&l.Prompts, 256}, {&l.Resources, 4096}, {&l.Templates, 1024}, {&l.Pages, 64},
		{&l.CursorBytes, 4 << 10}, {&l.PageBytes, 4 << 20}, {&l.CatalogBytes, 8 << 20},
		{&l.SchemaBytes, 256 << 10}, {&l.SchemaDepth, 32}, {&l.SchemaNodes, 10_000},
		{&l.NameBytes, 512}, {&l.TitleBytes, 256}, {&l.DescriptionBytes, 64 << 10}, {&l.InstructionsBytes, 64 << 10},
		{&l.ArgumentBytes, 1 << 20}, {&l.TextBytes, 1 << 20}, {&l.StructuredBytes, 1 << 20},
		{&l.BinaryItemBytes, 8 << 20}, {&l.BinaryItems, 16}, {&l.BinaryBytes, 10 << 20}, {&l.Blocks, 256},
		{&l.LogBytes, 8 << 10},
		{&l.ElicitMessageBytes, 4 << 10}, {&l.ElicitSchemaBytes, 16 << 10}, {&l.ElicitFields, 32},
		{&l.ElicitOptions, 64}, {&l.ElicitValueBytes, 4 << 10}, {&l.ElicitPending, 8},
		{&l.SamplingBytes, 1 << 20}, {&l.SamplingMessages, 256},
		{&l.Roots, 64}, {&l.Subscriptions, 64}, {&l.URIBytes, 8 << 10}, {&l.CompletionBytes, 64 << 10},
		{&l.QueuedNotifications, 1024}, {&l.ConcurrentRequests, 8},
	} {
		if *f.v <= 0 {
			*f.v = f.def
		}
	}
	return l
}

// Form gives the limits of an elicitation's form.
func (l Limits) Form() form.Limits {
	return form.Limits{SchemaBytes: l.ElicitSchemaBytes, Fields: l.ElicitFields, Options: l.ElicitOptions, ValueBytes: l.ElicitValueBytes}
}

func (l Limits) catalog() catalog.Limits {
	return catalog.Limits{
		Tools: l.Tools, Prompts: l.Prompts, Resources: l.Resources, Templates: l.Templates, Pages: l.Pages,
		CursorBytes: l.CursorBytes, PageBytes: l.PageBytes, CatalogBytes: l.CatalogBytes,
		SchemaBytes: l.SchemaBytes, SchemaDepth: l.SchemaDepth, SchemaNodes: l.SchemaNodes, JSONDepth: l.JSONDepth,
		NameBytes: l.NameBytes, TitleBytes: l.TitleBytes, DescriptionBytes: l.DescriptionBytes, InstructionsBytes: l.InstructionsBytes,
	}
}

func (d Definition) protocolLimits() protocol.Limits {
	l := d.Limits
	return protocol.Limits{
		JSONDepth: l.JSONDepth, CursorBytes: l.CursorBytes, PageBytes: l.PageBytes, LogBytes: l.LogBytes,
		ElicitMessageBytes: l.ElicitMessageBytes, ElicitSchemaBytes: l.ElicitSchemaBytes,
		InputRequests: l.ElicitPending, QueuedNotifications: l.QueuedNotifications,
		JSONMembers: l.JSONMembers, MalformedFrames: l.MalformedFrames,
		RoundTrips: l.RoundTrips, RequestStateBytes: l.RequestStateBytes,
		ConcurrentRequests: l.ConcurrentRequests, ElicitTimeout: d.ElicitTimeout,
	}
}

func (d Definition) wireOptions() wire.Options {
	return wire.Options{FrameBytes: d.Limits.FrameBytes, NoiseLines: d.Limits.NoiseLines}
}
