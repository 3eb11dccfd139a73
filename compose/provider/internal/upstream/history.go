package upstream

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/internal/safetext"
)

// NoResult stands in for the result of a call that has none in the history: no
// provider takes a call without its result.
const NoResult = "(no result: the call was interrupted)"

// NoOutput stands in for a result without content, which some endpoints refuse.
const NoOutput = "(no output)"

// Paired is a history as providers want it: no empty message, the results of a
// message's calls in one message right behind it, in the order of the calls and
// complete. A result without its call becomes text of the user.
func Paired(in []content.Message) []content.Message {
	var out []content.Message
	for i := 0; i < len(in); i++ {
		m := in[i]
		switch {
		case len(m.Blocks) == 0:
		case m.Role == content.RoleTool:
			out = append(out, orphans(m.Blocks))
		case m.Role != content.RoleAssistant:
			out = append(out, m)
		default:
			out = append(out, m)
			var given []content.Block
			for i+1 < len(in) && in[i+1].Role == content.RoleTool {
				i++
				given = append(given, in[i].Blocks...)
			}
			results, rest := answers(m.Blocks, given)
			if len(results) > 0 {
				out = append(out, content.Message{Role: content.RoleTool, Blocks: results})
			}
			if len(rest) > 0 {
				out = append(out, orphans(rest))
			}
		}
	}
	return out
}

// answers finds the result of each call; rest are results of no call.
func answers(message, given []content.Block) (results, rest []content.Block) {
	taken := make([]bool, len(given))
	for _, use := range message {
		if use.Kind != content.KindToolUse {
			continue
		}
		r := content.Block{
			Kind: content.KindToolResult, CallID: use.CallID, IsError: true,
			Blocks: []content.Block{content.Text(NoResult)},
		}
		for i, g := range given {
			if !taken[i] && g.Kind == content.KindToolResult && g.CallID == use.CallID {
				taken[i], r = true, g
				break
			}
		}
		r.Name = use.Name
		results = append(results, r)
	}
	for i, g := range given {
		if !taken[i] {
			rest = append(rest, g)
		}
	}
	return results, rest
}

func orphans(blocks []content.Block) content.Message {
	m := content.Message{Role: content.RoleUser}
	for _, b := range blocks {
		if b.Kind != content.KindToolResult {
			m.Blocks = append(m.Blocks, b)
			continue
		}
		m.Blocks = append(m.Blocks, content.Text("[the result of an earlier call]"))
		m.Blocks = append(m.Blocks, b.Blocks...)
	}
	return m
}

// StateOf reads what this provider attached to a block; false where there is
// nothing, or it is another's.
func StateOf(b content.Block, origin string, into any) bool {
	return b.State != nil && b.State.Origin == origin && json.Unmarshal(b.State.Data, into) == nil
}

// NewState makes a state of what a provider wants back.
func NewState(origin string, data any) *content.State {
	raw, err := json.Marshal(data)
	if err != nil {
		return nil // only types of this tree come here, all of which encode
	}
	return &content.State{Origin: origin, Data: raw}
}

// CallState is what is kept of a call.
type CallState struct {
	// ID is the provider's own id of the call.
	ID string `json:"id,omitempty"`
	// Signature is Gemini's thought signature.
	Signature string `json:"signature,omitempty"`
}

// IDs translates a session's ids of calls to a provider's while a history is
// read from its beginning. A provider's ids may repeat between turns, so each
// call counts from where it stands to the next of the same id.
type IDs struct {
	origin string
	wire   map[string]string
}

// NewIDs begins at the start of a history.
func NewIDs(origin string) *IDs { return &IDs{origin: origin, wire: map[string]string{}} }

// Use is the provider's id of a call: its own, or the session's for a call of
// another model.
func (x *IDs) Use(b content.Block) (id string, own bool) {
	var s CallState
	own = StateOf(b, x.origin, &s)
	if id = s.ID; !own {
		id = b.CallID
	}
	x.wire[b.CallID] = id
	return id, own
}

// Result is the provider's id of the call that a result belongs to.
func (x *IDs) Result(b content.Block) string {
	if id, ok := x.wire[b.CallID]; ok {
		return id
	}
	return b.CallID
}

// Arguments are a call's arguments as an object, as written by the model where
// that is one.
func Arguments(b content.Block) json.RawMessage {
	raw := json.RawMessage(strings.TrimSpace(string(b.JSON)))
	switch {
	case len(raw) == 0:
		return json.RawMessage("{}")
	case raw[0] == '{' && json.Valid(raw):
		return raw
	}
	wrapped, err := json.Marshal(map[string]string{"invalid_arguments": scalar(raw)})
	if err != nil {
		return json.RawMessage("{}")
	}
	return wrapped
}

// Part is a piece of a message: text, or an image where Data is set.
type Part struct {
	Text string
	MIME string
	Data []byte
}

// pictures are the kinds of image that every provider with images takes.
var pictures = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// Parts is how blocks are given to a model: text, and images where they may be.
// What cannot be given is named. Reasoning and tool uses have no part.
func Parts(blocks []content.Block, images bool) []Part {
	var out []Part
	for _, b := range blocks {
		if b.Kind == content.KindImage && images && pictures[b.MIME] && len(b.Data) > 0 {
			out = append(out, Part{MIME: b.MIME, Data: b.Data})
			continue
		}
		if text := textOf(b); text != "" {
			out = append(out, Part{Text: text})
		}
	}
	return out
}

func textOf(b content.Block) string {
	label := func(kind string) string {
		s := "[" + kind
		for _, x := range []string{b.Name, b.URI, b.MIME, b.Description} {
			if x != "" {
				s += " " + safetext.ToLineN(x, 512).String()
			}
		}
		return s
	}
	switch b.Kind {
	case content.KindText:
		return b.Text
	case content.KindImage, content.KindAudio:
		return fmt.Sprintf("%s, %d bytes, not shown]", label(string(b.Kind)), max(int64(len(b.Data)), b.Bytes))
	case content.KindResource:
		if b.Text != "" {
			return label("resource") + "]\n" + b.Text
		}
		return fmt.Sprintf("%s, %d bytes, not shown]", label("resource"), max(int64(len(b.Data)), b.Bytes))
	case content.KindResourceLink:
		return label("link to a resource") + "]"
	case content.KindStructured, content.KindUnknown:
		return string(b.JSON)
	case content.KindToolResult:
		return JoinText(Parts(b.Blocks, false))
	case content.KindReasoning, content.KindToolUse:
	}
	return ""
}

// JoinText is the text of parts, a newline between two.
func JoinText(parts []Part) string {
	var all []string
	for _, p := range parts {
		if p.Data == nil {
			all = append(all, p.Text)
		}
	}
	return strings.Join(all, "\n")
}
