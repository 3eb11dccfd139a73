package mcpadapter

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/mcpadapter/catalog"
	"github.com/looprig/looprig/mcpadapter/client"
)

// limitError names a bound that a result exceeds.
type limitError struct {
	what    string
	size    int
	limit   int
	setting string
}

func (e *limitError) Error() string {
	return fmt.Sprintf("%s: %d over the limit of %d (setting %s)", e.what, e.size, e.limit, e.setting)
}

// rawBlock is a content block of any kind as a server writes it.
type rawBlock struct {
	Type        string         `json:"type"`
	Text        *string        `json:"text"`
	Data        *string        `json:"data"`
	MIMEType    string         `json:"mimeType"`
	URI         string         `json:"uri"`
	Name        string         `json:"name"`
	Title       string         `json:"title"`
	Description string         `json:"description"`
	Resource    *rawResource   `json:"resource"`
	Size        jsontext.Value `json:"size"`
	Meta        jsontext.Value `json:"_meta"`
	Annotations *struct {
		Audience     []string `json:"audience"`
		Priority     *float64 `json:"priority"`
		LastModified string   `json:"lastModified"`
	} `json:"annotations"`
}

// rawResource is what a resource holds: text or a blob.
type rawResource struct {
	URI      string         `json:"uri"`
	MIMEType string         `json:"mimeType"`
	Text     *string        `json:"text"`
	Blob     *string        `json:"blob"`
	Meta     jsontext.Value `json:"_meta"`
}

// block is false for what holds neither or both.
func (r rawResource) block() (b content.Block, ok bool) {
	b = content.Block{Kind: content.KindResource, URI: r.URI, MIME: r.MIMEType, ResourceMeta: rawMeta(r.Meta)}
	switch {
	case (r.Text == nil) == (r.Blob == nil):
		return b, false
	case r.Text != nil:
		b.Text = *r.Text
		return b, true
	}
	ok = decodeData(&b, r.Blob)
	return b, ok
}

// totals adds up what one result holds.
type totals struct{ text, items, binary int }

// mapContent turns a server's blocks into neutral ones; what fits no kind is
// kept whole. Over a limit the whole result is refused with a *limitError.
func mapContent(raw []json.RawMessage, lim client.Limits) ([]content.Block, error) {
	if len(raw) > lim.Blocks {
		return nil, &limitError{"content blocks", len(raw), lim.Blocks, "limits.blocks"}
	}
	var sum totals
	var out []content.Block
	for _, r := range raw {
		b := mapBlock(r)
		if err := sum.add(b, lim); err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

func (s *totals) add(b content.Block, lim client.Limits) error {
	s.text += len(b.Text) + len(b.JSON) + len(b.Title) + len(b.Description) + len(b.Name) + len(b.URI) +
		len(b.Meta) + len(b.ResourceMeta) + len(b.LastModified)
	for _, a := range b.Audience {
		s.text += len(a)
	}
	if s.text > lim.TextBytes {
		return &limitError{"text", s.text, lim.TextBytes, "limits.textBytes"}
	}
	return s.binaryOf(b, lim)
}

func (s *totals) binaryOf(b content.Block, lim client.Limits) error {
	if b.Data == nil {
		return nil
	}
	s.items++
	s.binary += len(b.Data)
	switch {
	case len(b.Data) > lim.BinaryItemBytes:
		return &limitError{"a binary item", len(b.Data), lim.BinaryItemBytes, "limits.binaryItemBytes"}
	case s.items > lim.BinaryItems:
		return &limitError{"binary items", s.items, lim.BinaryItems, "limits.binaryItems"}
	case s.binary > lim.BinaryBytes:
		return &limitError{"binary items together", s.binary, lim.BinaryBytes, "limits.binaryBytes"}
	}
	return nil
}

// mapResources turns the contents of a resource into blocks, under the limits of
// a result.
func mapResources(raw []json.RawMessage, lim client.Limits) ([]content.Block, error) {
	if len(raw) > lim.Blocks {
		return nil, &limitError{"content blocks", len(raw), lim.Blocks, "limits.blocks"}
	}
	var sum totals
	out := []content.Block{}
	for _, r := range raw {
		b := content.Block{}
		var in rawResource
		ok := jsonv2.Unmarshal(r, &in) == nil
		if ok {
			b, ok = in.block()
		}
		if !ok {
			b = unknownBlock(r, "resource")
		}
		if err := sum.add(b, lim); err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// mapBlock reads one block. Member names count as they are written.
func mapBlock(raw json.RawMessage) content.Block {
	var in rawBlock
	if err := jsonv2.Unmarshal(raw, &in); err != nil {
		return unknownBlock(raw, "")
	}
	b, ok := in.block()
	if !ok {
		return unknownBlock(raw, in.Type)
	}
	if a := in.Annotations; a != nil {
		b.Audience, b.Priority, b.LastModified = a.Audience, a.Priority, a.LastModified
	}
	b.Meta = rawMeta(in.Meta)
	return b
}

func (in rawBlock) block() (b content.Block, ok bool) {
	switch in.Type {
	case "text":
		if in.Text == nil {
			return b, false
		}
		return content.Text(*in.Text), true
	case "image", "audio":
		b = content.Block{Kind: content.Kind(in.Type), MIME: in.MIMEType}
		ok = decodeData(&b, in.Data)
		return b, ok
	case "resource_link":
		return content.Block{
			Kind: content.KindResourceLink, URI: in.URI, MIME: in.MIMEType,
			Name: in.Name, Title: in.Title, Description: in.Description, Size: catalog.ByteSize(in.Size),
		}, in.URI != ""
	case "resource":
		if in.Resource == nil {
			return b, false
		}
		return in.Resource.block()
	}
	return b, false
}

// rawMeta is what was attached, nil for nothing.
func rawMeta(v jsontext.Value) json.RawMessage {
	if len(v) == 0 || v.Kind() == 'n' {
		return nil
	}
	return json.RawMessage(v)
}

func decodeData(b *content.Block, data *string) bool {
	if data == nil {
		return false
	}
	raw, err := base64.StdEncoding.DecodeString(*data)
	if err != nil {
		return false
	}
	b.Data = raw
	return true
}

// unknownBlock keeps a block that is of no known kind, or malformed, whole.
func unknownBlock(raw json.RawMessage, kind string) content.Block {
	return content.Block{Kind: content.KindUnknown, Name: kind, JSON: raw}
}
