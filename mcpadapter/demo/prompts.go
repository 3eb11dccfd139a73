package demo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxCompletions is the protocol's bound on the values of one completion.
const maxCompletions = 100

var greetings = map[string]string{
	"casual": "Say hi to %s in one short line.",
	"formal": "Write a formal greeting to %s in one sentence.",
}

var people = []string{"Ada", "Alan", "Barbara", "Grace", "Linus"}

func (s *server) addPrompts() {
	s.sdk.AddPrompt(&mcp.Prompt{
		Name: "greet", Title: "Greeting", Description: "A request to greet somebody.",
		Arguments: []*mcp.PromptArgument{
			{Name: "who", Title: "Who", Description: "Whom to greet.", Required: true},
			{Name: "style", Title: "Style", Description: "casual (the default) or formal."},
		},
	}, greetPrompt)
}

func greetPrompt(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	who := req.Params.Arguments["who"]
	if who == "" {
		return nil, invalidParams("the argument %q is required", "who")
	}
	style := req.Params.Arguments["style"]
	if style == "" {
		style = "casual"
	}
	format, ok := greetings[style]
	if !ok {
		return nil, invalidParams("the argument %q is neither casual nor formal", "style")
	}
	return &mcp.GetPromptResult{
		Description: "A " + style + " greeting.",
		Messages: []*mcp.PromptMessage{
			{Role: "user", Content: &mcp.TextContent{Text: fmt.Sprintf(format, who)}},
		},
	}, nil
}

// complete serves completion/complete for the prompt's arguments and the
// template's variable.
func (s *server) complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	var all []string
	ref, arg := req.Params.Ref, req.Params.Argument
	switch {
	case ref.Type == "ref/prompt" && ref.Name == "greet" && arg.Name == "who":
		all = people
	case ref.Type == "ref/prompt" && ref.Name == "greet" && arg.Name == "style":
		all = slices.Sorted(maps.Keys(greetings))
	case ref.Type == "ref/resource" && ref.URI == noteTemplate && arg.Name == "name":
		all = slices.Sorted(maps.Keys(notes))
	default:
		return nil, invalidParams("there is nothing to complete for argument %q", arg.Name)
	}
	values := []string{}
	for _, v := range all {
		if strings.HasPrefix(strings.ToLower(v), strings.ToLower(arg.Value)) {
			values = append(values, v)
		}
	}
	res := &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Total: len(values), Values: values}}
	if len(values) > maxCompletions {
		res.Completion.Values, res.Completion.HasMore = values[:maxCompletions], true
	}
	return res, nil
}
