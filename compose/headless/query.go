package headless

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/itchyny/gojq"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/tool"
)

// Bounds of what one query prints.
const (
	MaxQueryValues = 100_000
	MaxQueryBytes  = 16 << 20
)

// Query is a compiled jq expression over a Result.
type Query struct{ code *gojq.Code }

// NewQuery compiles an expression.
func NewQuery(text string) (*Query, error) {
	code, err := Compile(text)
	if err != nil {
		return nil, err
	}
	return &Query{code: code}, nil
}

// Lines evaluates the query and gives each value on a line: strings as JSON, so
// that one value stays one line and nothing in it reaches a terminal raw.
func (q *Query) Lines(ctx context.Context, r *Result) ([]byte, error) {
	input, err := decode(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, ExpectTimeout)
	defer cancel()
	iter := q.code.RunWithContext(ctx, input)
	var out bytes.Buffer
	for range MaxQueryValues {
		v, ok := iter.Next()
		if !ok {
			return out.Bytes(), nil
		}
		if err, bad := v.(error); bad {
			return nil, evalError(err)
		}
		b, err := gojq.Marshal(v)
		if err != nil {
			return nil, err
		}
		if out.Len()+len(b) > MaxQueryBytes {
			return nil, fmt.Errorf("the expression yields more than %d bytes", MaxQueryBytes)
		}
		out.Write(event.Escape(b))
		out.WriteByte('\n')
	}
	return nil, fmt.Errorf("the expression yields more than %d values", MaxQueryValues)
}

// Line is the whole result as one line of JSON.
func Line(r *Result) ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return append(event.Escape(b), '\n'), nil
}

// Display is the result for people: its text, and a line for each block that is
// something else.
func (r *Result) Display() string {
	var parts []string
	for _, m := range r.Messages {
		said := make([]string, len(m.Blocks))
		for i, b := range m.Blocks {
			said[i] = describe(b)
		}
		parts = append(parts, string(m.Role)+": "+strings.Join(said, "\n"))
	}
	if len(parts) > 0 {
		return strings.Join(parts, "\n")
	}
	for _, b := range r.Content {
		parts = append(parts, describe(b))
	}
	if len(parts) == 0 && r.Text != "" {
		parts = append(parts, r.Text)
	}
	if len(parts) == 0 && len(r.Structured) > 0 {
		parts = append(parts, string(r.Structured))
	}
	return strings.Join(parts, "\n")
}

func describe(b content.Block) string {
	switch b.Kind {
	case content.KindText:
		return b.Text
	case content.KindImage, content.KindAudio:
		return fmt.Sprintf("[%s, %s, %d bytes]", b.Kind, b.MIME, max(int64(len(b.Data)), b.Bytes))
	case content.KindResource:
		if b.Text != "" {
			return b.Text
		}
		return fmt.Sprintf("[resource %s, %s, %d bytes]", b.URI, b.MIME, max(int64(len(b.Data)), b.Bytes))
	case content.KindResourceLink:
		return fmt.Sprintf("[link %s %s]", b.URI, b.Name)
	case content.KindReasoning, content.KindToolUse, content.KindToolResult, content.KindStructured, content.KindUnknown:
	}
	return fmt.Sprintf("[%s] %s", b.Kind, b.JSON)
}

// Why is the reason of a result that is not ok; what a tool itself says of its
// error is the better one.
func (r *Result) Why() string {
	if r.Outcome == tool.ToolError {
		return first(r.Text, r.Reason)
	}
	return first(r.Reason, r.Text)
}
