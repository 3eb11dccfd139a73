package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"slices"

	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// The domains of the digests; a changed rule gets a new number.
const (
	domainCatalog = "looprig/catalog/v1"
	domainPages   = "looprig/catalog-pages/v1"
	domainItem    = "looprig/catalog-item/v1/" // followed by the family
	domainName    = "looprig/model-name/v1"
)

// framed hashes length-framed values, so that no two lists of values share
// their bytes.
type framed struct{ h hash.Hash }

func newHash(domain string) framed {
	f := framed{sha256.New()}
	f.frame([]byte(domain))
	return f
}

func (f framed) frame(b []byte) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(b)))
	f.h.Write(n[:])
	f.h.Write(b)
}

func (f framed) sum() string { return "sha256:" + hex.EncodeToString(f.h.Sum(nil)) }

// entry is an item as the catalog's digest covers it.
type entry struct {
	family protocol.Family
	key    string
	digest string
	item   item
}

// entries lists all items, ordered by family and key: the order of a listing
// means nothing.
func (g *Generation) entries() []entry {
	if g == nil {
		return nil
	}
	var out []entry
	for i := range g.Tools {
		t := &g.Tools[i]
		out = append(out, entry{family: protocol.Tools, key: t.Name, digest: t.Digest, item: t.item})
	}
	for i := range g.Prompts {
		p := &g.Prompts[i]
		out = append(out, entry{family: protocol.Prompts, key: p.Name, digest: p.Digest, item: p.item})
	}
	for fam, list := range map[protocol.Family][]Resource{protocol.Resources: g.Resources, protocol.Templates: g.Templates} {
		for i := range list {
			out = append(out, entry{family: fam, key: list[i].URI, digest: list[i].Digest, item: list[i].item})
		}
	}
	slices.SortFunc(out, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.family, b.family), cmp.Compare(a.key, b.key))
	})
	return out
}

func (g *Generation) digest() string {
	h := newHash(domainCatalog)
	h.frame([]byte(g.Instructions))
	for _, e := range g.entries() {
		h.frame([]byte(e.family))
		h.frame([]byte(e.digest))
	}
	return h.sum()
}

func (g *Generation) rawDigest() string {
	h := newHash(domainPages)
	for _, fam := range allFamilies {
		h.frame([]byte(fam))
		for _, p := range g.families[fam].pageDigests {
			h.frame(p[:])
		}
	}
	return h.sum()
}
