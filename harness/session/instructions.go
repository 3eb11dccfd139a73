package session

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/looprig/looprig/harness/tool"
)

// MaxAllInstructions bounds the instructions of all bindings that a model is
// given, in bytes, beside tool.MaxInstructions of one.
const MaxAllInstructions = 16 << 10

// instructions are what the sources of a toolset say of how their tools are used,
// each between marks: it is text of servers like any other.
func (b boundary) instructions(defs []tool.Definition) string {
	var out strings.Builder
	left := MaxAllInstructions
	seen := map[string]bool{}
	for _, d := range defs {
		if d.Instructions == "" || seen[d.Identity.Binding] {
			continue
		}
		seen[d.Identity.Binding] = true
		if out.Len() == 0 {
			out.WriteString("What servers say of how their tools are used:")
		}
		text := cut(d.Instructions, min(left, tool.MaxInstructions))
		left -= len(text)
		fmt.Fprintf(&out, "\n%s: %s", d.Identity.Binding, b.enclose(text))
		if n := len(d.Instructions) - len(text); n > 0 {
			fmt.Fprintf(&out, " (%d more bytes were left out)", n)
		}
	}
	return out.String()
}

// cut is the beginning of a text, of whole characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
