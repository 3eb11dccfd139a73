package session

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/journal"
)

// The types of bodies that say none.
const (
	mimeText   = "text/plain; charset=utf-8"
	mimeJSON   = "application/json"
	mimeBinary = "application/octet-stream"
)

// digest names bytes: "sha256:<hex>".
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// setApart replaces the bodies of an event's content that are larger than limit
// by references. The event is copied when that changes it.
func setApart(e event.Event, limit int) (event.Event, []journal.Blob) {
	a := apart{limit: limit}
	switch e := e.(type) {
	case *event.MessageCompleted:
		if blocks := a.blocks(e.Content); len(a.blobs) > 0 {
			c := *e
			c.Content = blocks
			return &c, a.blobs
		}
	case *event.ToolCompleted:
		if blocks := a.blocks(e.Content); len(a.blobs) > 0 {
			c := *e
			c.Content = blocks
			return &c, a.blobs
		}
	}
	return e, nil
}

type apart struct {
	limit int
	blobs []journal.Blob
}

func (a *apart) blocks(in []content.Block) []content.Block {
	out := make([]content.Block, len(in))
	for i, b := range in {
		out[i] = a.block(b)
	}
	return out
}

func (a *apart) block(b content.Block) content.Block {
	switch {
	case len(b.Text) > a.limit:
		b = a.store(b, []byte(b.Text), content.BlobText, mimeText)
		b.Text = ""
	case len(b.Data) > a.limit:
		b = a.store(b, b.Data, content.BlobData, mimeBinary)
		b.Data = nil
	case len(b.JSON) > a.limit:
		b = a.store(b, b.JSON, content.BlobJSON, mimeJSON)
		b.JSON = nil
	}
	if len(b.Blocks) > 0 {
		b.Blocks = a.blocks(b.Blocks)
	}
	return b
}

func (a *apart) store(b content.Block, body []byte, of, mime string) content.Block {
	if b.MIME == "" {
		b.MIME = mime
	}
	b.Blob, b.BlobOf, b.Bytes = digest(body), of, int64(len(body))
	a.blobs = append(a.blobs, journal.Blob{Digest: b.Blob, MIME: b.MIME, Body: body})
	return b
}
