package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// question is the name of the one input request that a tool makes.
const question = "question"

// answerOut is the structured result of the ask tools.
type answerOut struct {
	Action  string         `json:"action"`
	Answers map[string]any `json:"answers,omitempty"`
}

type noIn struct{}

func (s *server) addQuestions() {
	ask := func(name, title, description string, h handler[noIn, *answerOut]) {
		register(s, &mcp.Tool{
			Name: name, Title: title, Description: description,
			InputSchema: json.RawMessage(noArguments), OutputSchema: json.RawMessage(answerSchema),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: no(), OpenWorldHint: no()},
		}, h)
	}
	ask("ask-name", "Ask for a name", "Asks the user with a form that has one field of every kind.", s.askName)
	ask("ask-confirm", "Ask for a confirmation", "Asks the user a question without any field.", s.askConfirm)
	ask("ask-url", "Ask to open a page", "Asks the user to open a page in the browser.", s.askURL)
}

func (s *server) askName(ctx context.Context, req *mcp.CallToolRequest, _ noIn) (*mcp.CallToolResult, *answerOut, error) {
	return finish(elicit(ctx, req, "ask-name", &mcp.ElicitParams{
		Mode: "form", Message: "Who are you?", RequestedSchema: json.RawMessage(nameForm),
	}))
}

func (s *server) askConfirm(ctx context.Context, req *mcp.CallToolRequest, _ noIn) (*mcp.CallToolResult, *answerOut, error) {
	return finish(elicit(ctx, req, "ask-confirm", &mcp.ElicitParams{
		Mode: "form", Message: "Shall the demo go on?", RequestedSchema: json.RawMessage(emptyForm),
	}))
}

func (s *server) askURL(ctx context.Context, req *mcp.CallToolRequest, _ noIn) (*mcp.CallToolResult, *answerOut, error) {
	id, err := s.link(req.Params.RequestState)
	if err != nil {
		return nil, nil, err
	}
	answer, pending, err := elicit(ctx, req, linkState+id, &mcp.ElicitParams{
		Mode: "url", Message: "Open this page to go on.",
		URL: "https://example.com/looprig-demo?id=" + id, ElicitationID: id,
	})
	if answer != nil && answer.Action == "accept" && !modern(req) {
		// There is nothing to wait for on that page, so it is done at once.
		_ = req.Session.NotifyElicitationComplete(ctx, &mcp.ElicitationCompleteParams{ElicitationID: id})
	}
	return finish(answer, pending, err)
}

// linkState is what the request state of ask-url starts with; the id follows.
const linkState = "ask-url "

// link is the id of the link that a request is about: a new one, or the one
// that its state names.
func (s *server) link(state string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == "" {
		s.urls++
		return "demo-url-" + strconv.Itoa(s.urls), nil
	}
	id, ok := strings.CutPrefix(state, linkState+"demo-url-")
	if n, err := strconv.Atoi(id); !ok || err != nil || n < 1 || n > s.urls {
		return "", invalidParams("requestState is not one that was sent")
	}
	return "demo-url-" + id, nil
}

// elicit asks the user in the way of the request's era. It returns either the
// answer, or the input_required result that the tool must return, or an error
// that the tool reports. state comes back with the answer in the modern era;
// it carries no authority, so it is compared and not signed.
func elicit(ctx context.Context, req *mcp.CallToolRequest, state string, p *mcp.ElicitParams) (*mcp.ElicitResult, *mcp.CallToolResult, error) {
	if err := canElicit(req, p.Mode); err != nil {
		return nil, nil, err
	}
	if !modern(req) {
		sent := &answerCopy{}
		res, err := req.Session.Elicit(context.WithValue(ctx, answerKey{}, sent), p)
		if err != nil {
			return nil, nil, fmt.Errorf("the question was not answered: %w", err)
		}
		return &mcp.ElicitResult{Action: res.Action, Content: sent.content}, nil, nil
	}
	response, ok := req.Params.InputResponses[question]
	if !ok {
		return nil, &mcp.CallToolResult{
			Content:       []mcp.Content{}, // nil would be sent as null
			InputRequests: mcp.InputRequestMap{question: p}, RequestState: state,
		}, nil
	}
	if err := checkState(req, state); err != nil {
		return nil, nil, err
	}
	answer, ok := response.(*mcp.ElicitResult)
	if !ok {
		return nil, nil, invalidParams("the response to %q is not an elicitation result", question)
	}
	return answer, nil, nil
}

func checkState(req *mcp.CallToolRequest, want string) error {
	if req.Params.RequestState != want {
		return invalidParams("requestState is not the one that was sent")
	}
	return nil
}

func invalidParams(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// canElicit says whether the client offers the mode. A client that names
// neither mode means forms.
func canElicit(req *mcp.CallToolRequest, mode string) error {
	caps := req.ClientCapabilities()
	if caps == nil || caps.Elicitation == nil {
		return errors.New("this client does not offer elicitation, so the question cannot be asked")
	}
	e := caps.Elicitation
	if mode == "url" && e.URL == nil {
		return errors.New("this client does not offer elicitation by URL, so the page cannot be shown")
	}
	if mode == "form" && e.Form == nil && e.URL != nil {
		return errors.New("this client does not offer elicitation by form, so the question cannot be asked")
	}
	return nil
}

// finish turns an answer into the result of an ask tool.
func finish(answer *mcp.ElicitResult, pending *mcp.CallToolResult, err error) (*mcp.CallToolResult, *answerOut, error) {
	if err != nil || pending != nil {
		return pending, nil, err
	}
	switch answer.Action {
	case "decline":
		return text("declined"), &answerOut{Action: "decline"}, nil
	case "cancel":
		return text("cancelled"), &answerOut{Action: "cancel"}, nil
	case "accept":
	default:
		return nil, nil, fmt.Errorf("the answer has an unknown action %q", answer.Action)
	}
	if len(answer.Content) == 0 {
		return text("accepted"), &answerOut{Action: "accept"}, nil
	}
	if err := checkAnswers(answer.Content); err != nil {
		return nil, nil, fmt.Errorf("the answer does not fit the form: %w", err)
	}
	sent, err := json.Marshal(answer.Content)
	if err != nil {
		return nil, nil, err
	}
	return text("accepted: %s", sent), &answerOut{Action: "accept", Answers: answer.Content}, nil
}
