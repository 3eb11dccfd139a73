package demo

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	readmeURI    = "demo://readme"
	logURI       = "demo://log"
	noteTemplate = "demo://note/{name}"
	notePrefix   = "demo://note/"
)

const readme = `# Demo server

| tool | shows |
|---|---|
| add | a structured result |
| echo | a plain text result |
| slow | progress and cancellation |
| fail | an error that a tool reports |
| ask-name | a form with every kind of field |
| ask-confirm | a question without a field |
| ask-url | a link to open |
| think | sampling: the server asks the client's model |
| big-result | a large result |
| evolve | a catalog that changes |
| lookup | a small glossary; evolve changes it |

The prompt greet asks for a greeting. The resource demo://log lists the calls
so far and can be subscribed to; demo://note/{name} holds a few notes.
`

// notes are what demo://note/{name} serves.
var notes = map[string]string{
	"forms":    "A form shows its defaults, and submits what it shows.\n",
	"gates":    "A gate waits for a person or for a rule, never for a server.\n",
	"glossary": "Try lookup with the word generation.\n",
	"welcome":  "Welcome. Nothing here leaves this machine.\n",
}

func (s *server) addResources() {
	s.sdk.AddResource(&mcp.Resource{
		URI: readmeURI, Name: "readme", Title: "Read me", Description: "What this server offers.",
		MIMEType: "text/markdown", Size: int64(len(readme)),
	}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return document(readmeURI, "text/markdown", readme), nil
	})
	s.sdk.AddResource(&mcp.Resource{
		URI: logURI, Name: "log", Title: "Call log", Description: "The tool calls so far; it can be subscribed to.",
		MIMEType: "text/plain",
	}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return document(logURI, "text/plain", s.logText()), nil
	})
	s.sdk.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: noteTemplate, Name: "note", Title: "Note", Description: "A note by its name.",
		MIMEType: "text/plain",
	}, readNote)
}

func readNote(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	note, ok := notes[strings.TrimPrefix(req.Params.URI, notePrefix)]
	if !ok {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	return document(req.Params.URI, "text/plain", note), nil
}

func document(uri, mime, body string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: mime, Text: body}}}
}

// subscribe accepts the resources that exist. Only demo://log ever changes.
func (s *server) subscribe(_ context.Context, req *mcp.SubscribeRequest) error {
	uri := req.Params.URI
	_, isNote := notes[strings.TrimPrefix(uri, notePrefix)]
	if uri == readmeURI || uri == logURI || isNote && strings.HasPrefix(uri, notePrefix) {
		return nil
	}
	return mcp.ResourceNotFoundError(uri)
}

func (s *server) unsubscribe(context.Context, *mcp.UnsubscribeRequest) error { return nil }
