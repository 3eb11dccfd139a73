package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"sync"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/config/doc"
)

// reference is a value that only refers to a variable, after the name of a
// scheme of authorisation perhaps: it is no secret itself.
var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z]{1,16} )?\$\{[A-Za-z_][A-Za-z0-9_]*\}$`) })

// shownEntry is an entry's text for people: the values of headers and variables
// are left out, unless they only refer to a variable.
func shownEntry(srv config.Server) string {
	node, err := doc.ParseJSON(srv.Source, srv.Entry)
	if err != nil { // it was read from there
		return ""
	}
	for _, key := range []string{"headers", "env"} {
		group := node.Get(key)
		if group == nil {
			continue
		}
		for _, m := range group.Members {
			if m.Value.Kind != doc.String || !reference().MatchString(m.Value.Text) {
				*m.Value = doc.Node{Kind: doc.String, Text: fmt.Sprintf("(not shown, %d bytes)", len(m.Value.Text))}
			}
		}
	}
	var out bytes.Buffer
	if json.Indent(&out, node.JSON(), "", "  ") != nil {
		return ""
	}
	return out.String()
}
