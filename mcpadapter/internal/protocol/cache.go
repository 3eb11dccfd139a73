package protocol

import (
	"bytes"
	"container/list"
	"encoding/json"
	"math"
	"sync"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/protocol/tap"
)

// The bounds of what one session keeps of resources that a server of
// 2026-07-28 allows to be kept.
const (
	maxCached      = 256
	maxCachedBytes = 8 << 20
	maxCachedEntry = 1 << 20
	// maxTTL bounds how long a server may have an answer kept.
	maxTTL = time.Hour
)

// readCache keeps resources/read results by URI, within its own bounds, for as
// long as the server said that they are fresh. The least recently used goes
// first. Nothing without a positive ttlMs is kept. Listings are never kept:
// they are asked for only when they are known or thought to be stale.
type readCache struct {
	now func() time.Time

	mu      sync.Mutex
	entries map[string]*list.Element
	order   list.List // of *cached, most recently used first
	size    int
	// epoch counts invalidations: an answer to a question from before one is
	// not kept.
	epoch uint64
}

type cached struct {
	uri     string
	raw     json.RawMessage
	expires time.Time
}

func newReadCache() *readCache {
	return &readCache{now: time.Now, entries: map[string]*list.Element{}}
}

// get returns a fresh result, or nil and the epoch that put wants.
func (c *readCache) get(uri string) (json.RawMessage, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.entries[uri]
	if el == nil {
		return nil, c.epoch
	}
	entry := el.Value.(*cached)
	if !c.now().Before(entry.expires) {
		c.drop(el)
		return nil, c.epoch
	}
	c.order.MoveToFront(el)
	return bytes.Clone(entry.raw), c.epoch
}

// put keeps a result for ttl; what is over the bounds then goes.
func (c *readCache) put(uri string, raw json.RawMessage, ttl time.Duration, epoch uint64) {
	if ttl <= 0 || len(raw)+len(uri) > maxCachedEntry {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch != c.epoch {
		return
	}
	if el := c.entries[uri]; el != nil {
		c.drop(el)
	}
	c.entries[uri] = c.order.PushFront(&cached{uri, bytes.Clone(raw), c.now().Add(min(ttl, maxTTL))})
	c.size += len(raw) + len(uri)
	for c.order.Len() > maxCached || c.size > maxCachedBytes {
		c.drop(c.order.Back())
	}
}

func (c *readCache) drop(el *list.Element) {
	entry := c.order.Remove(el).(*cached)
	delete(c.entries, entry.uri)
	c.size -= len(entry.raw) + len(entry.uri)
}

// forget drops one resource, or all for "".
func (c *readCache) forget(uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	if uri == "" {
		clear(c.entries)
		c.order.Init()
		c.size = 0
		return
	}
	if el := c.entries[uri]; el != nil {
		c.drop(el)
	}
}

// timeToLive reads the caching hints of a result; 0 says that it is not to be
// kept. The scope does not matter to a cache that serves one session, but one
// that is not known might.
func timeToLive(f tap.Fields) time.Duration {
	if scope := f.Get("cacheScope"); scope != nil {
		if s, _ := tap.String(scope); s != "public" && s != "private" {
			return 0
		}
	}
	ms, ok := tap.Number(f.Get("ttlMs"))
	if !ok || ms < 1 {
		return 0
	}
	return time.Duration(math.Min(ms, float64(maxTTL/time.Millisecond))) * time.Millisecond
}
