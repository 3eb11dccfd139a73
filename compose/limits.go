package compose

import "github.com/looprig/looprig/mcpadapter/client"

// limits turns configured limits into the adapter's; what is not configured
// keeps its default.
func limits(m map[string]int) client.Limits {
	var l client.Limits
	for name, field := range limitFields(&l) {
		*field = m[name]
	}
	return l
}

// limitFields names the fields as mcp.json does.
func limitFields(l *client.Limits) map[string]*int {
	return map[string]*int{
		"frameBytes": &l.FrameBytes, "noiseLines": &l.NoiseLines, "jsonDepth": &l.JSONDepth, "jsonMembers": &l.JSONMembers, "malformedFrames": &l.MalformedFrames,
		"roundTrips": &l.RoundTrips, "requestStateBytes": &l.RequestStateBytes,
		"tools": &l.Tools, "prompts": &l.Prompts, "resources": &l.Resources, "templates": &l.Templates, "pages": &l.Pages,
		"cursorBytes": &l.CursorBytes, "pageBytes": &l.PageBytes, "catalogBytes": &l.CatalogBytes,
		"schemaBytes": &l.SchemaBytes, "schemaDepth": &l.SchemaDepth, "schemaNodes": &l.SchemaNodes,
		"nameBytes": &l.NameBytes, "titleBytes": &l.TitleBytes, "descriptionBytes": &l.DescriptionBytes, "instructionsBytes": &l.InstructionsBytes,
		"argumentBytes": &l.ArgumentBytes, "textBytes": &l.TextBytes, "structuredBytes": &l.StructuredBytes,
		"binaryItemBytes": &l.BinaryItemBytes, "binaryItems": &l.BinaryItems, "binaryBytes": &l.BinaryBytes, "blocks": &l.Blocks,
		"logBytes":           &l.LogBytes,
		"elicitMessageBytes": &l.ElicitMessageBytes, "elicitSchemaBytes": &l.ElicitSchemaBytes, "elicitFields": &l.ElicitFields,
		"elicitOptions": &l.ElicitOptions, "elicitValueBytes": &l.ElicitValueBytes, "elicitPending": &l.ElicitPending,
		"samplingBytes": &l.SamplingBytes, "samplingMessages": &l.SamplingMessages,
		"roots": &l.Roots, "subscriptions": &l.Subscriptions, "uriBytes": &l.URIBytes, "completionBytes": &l.CompletionBytes,
		"queuedNotifications": &l.QueuedNotifications, "concurrentRequests": &l.ConcurrentRequests,
	}
}
