package protocol

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/looprig/looprig/mcpadapter/internal/protocol/tap"
)

// fromSupported reads the list of an unsupported-revision error.
func (h *handshake) fromSupported(data json.RawMessage) string {
	fields, _ := tap.Object(data)
	listed, ok := revisionList(fields.Get("supported"))
	if !ok {
		return legacy[0]
	}
	return h.listed(listed)
}

func revisionList(raw json.RawMessage) ([]string, bool) {
	items, err := tap.Array(raw)
	if err != nil || len(items) == 0 || len(items) > maxListedRevs {
		return nil, false
	}
	revs := make([]string, 0, len(items))
	for _, item := range items {
		if rev, ok := tap.String(item); ok {
			revs = append(revs, rev)
		}
	}
	return revs, true
}

func newestCommon(listed []string) string {
	for _, rev := range legacy {
		if slices.Contains(listed, rev) {
			return rev
		}
	}
	return ""
}

// capabilities are the client's, as JSON, for a revision: what has a handler,
// and nothing else.
func (h *handshake) capabilities(revision string) string {
	s := h.s
	var caps []string
	if s.handlers.Elicit != nil && revision >= Revision20250618 {
		c := `"elicitation":{}`
		if revision >= Revision20251125 {
			c = `"elicitation":{"form":{},"url":{}}`
		}
		caps = append(caps, c)
	}
	if s.roots.declared() {
		c := `"roots":{"listChanged":true}`
		if revision >= Revision20260728 {
			c = `"roots":{}`
		}
		caps = append(caps, c)
	}
	if s.handlers.Sample != nil {
		c := `"sampling":{}`
		if s.samplingTools && revision >= Revision20251125 {
			c = `"sampling":{"tools":{}}`
		}
		caps = append(caps, c)
	}
	return "{" + strings.Join(caps, ",") + "}"
}

func (h *handshake) clientInfo() ([]byte, error) {
	info, err := jsontext.AppendQuote([]byte(`{"name":"`+clientName+`","version":`), h.s.version)
	return append(info, '}'), err
}

func (h *handshake) discoverParams() (json.RawMessage, error) {
	info, err := h.clientInfo()
	if err != nil {
		return nil, err
	}
	meta := `"` + metaRevision + `":"` + Revision20260728 + `","` + metaClientInfo + `":` + string(info) +
		`,"` + metaClientCaps + `":` + h.capabilities(Revision20260728)
	h.s.meta = []byte(meta)
	return json.RawMessage(`{"_meta":{` + meta + `}}`), nil
}

func (h *handshake) initializeParams(offer string) (json.RawMessage, error) {
	info, err := h.clientInfo()
	if err != nil {
		return nil, err
	}
	caps := h.capabilities(offer)
	h.declaredElicit = h.s.handlers.Elicit != nil && offer >= Revision20250618
	h.declaredSample = h.s.handlers.Sample != nil
	return json.RawMessage(`{"protocolVersion":"` + offer + `","capabilities":` + caps + `,"clientInfo":` + string(info) + `}`), nil
}

// take reads what both handshakes have in common into the session.
func (h *handshake) take(op, revision string, fields tap.Fields, server json.RawMessage) *Error {
	s := h.s
	info := Info{Revision: revision, Capabilities: json.RawMessage(`{}`)}
	if caps := fields.Get("capabilities"); len(caps) > maxCapabilities {
		return &Error{Class: ClassOverLimit, Op: op, Message: "the capabilities are too large", Sent: true, Size: int64(len(caps)), Limit: maxCapabilities, Setting: settingFixed}
	} else if tap.IsObject(caps) {
		info.Capabilities = bytes.Clone(caps)
	} else if caps == nil || tap.IsNull(caps) {
		s.mail.tolerate(toleratedNoCaps, "")
	} else {
		return protocolError(op, "capabilities that are not an object")
	}
	if raw := fields.Get("instructions"); raw != nil && !tap.IsNull(raw) {
		var ok bool
		if info.Instructions, ok = tap.String(raw); !ok {
			return protocolError(op, "instructions that are not a string")
		}
	}
	identity, err := tap.Object(server)
	if err != nil {
		s.mail.tolerate(toleratedNoServerInfo, "")
	}
	info.ServerName = s.identity(identity.Get("name"))
	info.ServerVersion = s.identity(identity.Get("version"))
	s.info = info
	s.negotiated.Store(&revision)
	s.declared = declaredChanges(info.Capabilities)
	return nil
}

// identity is a text with which a server names itself; an overlong one counts
// as none.
func (s *Session) identity(raw json.RawMessage) string {
	text, _ := tap.String(raw)
	if len(text) > maxIDBytes {
		s.mail.tolerate(toleratedNoServerInfo, "")
		return ""
	}
	return text
}

// declaredChanges are the families for which list_changed was announced.
func declaredChanges(caps json.RawMessage) map[Family]bool {
	fields, _ := tap.Object(caps)
	declared := map[Family]bool{}
	for name, families := range map[string][]Family{
		"tools": {Tools}, "prompts": {Prompts}, "resources": {Resources, Templates},
	} {
		members, _ := tap.Object(fields.Get(name))
		if yes, _ := tap.Bool(members.Get("listChanged")); yes {
			for _, fam := range families {
				declared[fam] = true
			}
		}
	}
	return declared
}
