package modeltest

import (
	"bytes"
	"hash/maphash"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model/internal/jscan"
)

// Cache accounts requests of the Messages API as the service documents its prompt caching
// (platform.claude.com, "Prompt caching"): what stands before a mark is written, and read again by requests that begin
// with the same bytes, as far back as 20 blocks before one of their marks; prefixes below a least length are not
// written; one is there for others from the first byte of the answer on, for five minutes from when it was last used.
// A token is four bytes. All methods are safe for concurrent use.
type Cache struct {
	least int64 // tokens
	now   func() time.Time
	seed  maphash.Seed

	mu    sync.Mutex
	known map[uint64]time.Time // prefixes that are there, by their hash: until when
	sum   troupe.Usage
}

const (
	cacheLife     = 5 * time.Minute
	cacheLookback = 20
)

// NewCache makes a cache that keeps prefixes of so many tokens and more.
func NewCache(least int64, now func() time.Time) *Cache {
	return &Cache{least: least, now: now, seed: maphash.MakeSeed(), known: make(map[uint64]time.Time)}
}

// Sum is what all requests have been charged so far, without what was said to them.
func (c *Cache) Sum() troupe.Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sum
}

// prefix is a request up to the end of one of its blocks.
type prefix struct {
	hash   uint64
	tokens int64
	marked bool
}

// charge is what a request is charged as it comes, and keep has what it writes be there for others.
func (c *Cache) charge(r *Request) (u troupe.Usage, keep func()) {
	all := c.prefixes(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	now, read, last := c.now(), -1, -1
	for i := len(all) - 1; i >= 0 && read < 0; i-- {
		if !all[i].marked {
			continue
		}
		last = max(last, i)
		for j := i; j >= 0 && j > i-cacheLookback && read < 0; j-- {
			if now.Before(c.known[all[j].hash]) {
				read = j
				c.known[all[j].hash] = now.Add(cacheLife)
			}
		}
	}
	var total int64
	if len(all) > 0 {
		total = all[len(all)-1].tokens
	}
	if read >= 0 {
		u.CacheRead = all[read].tokens
	}
	var written []uint64
	if last > read && all[last].tokens >= c.least {
		u.CacheWrite = all[last].tokens - u.CacheRead
		for i, p := range all {
			if p.marked && i > read && p.tokens >= c.least {
				written = append(written, p.hash)
			}
		}
	}
	u.Input = total - u.CacheRead - u.CacheWrite
	c.sum = c.sum.Add(u)
	return u, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, h := range written {
			c.known[h] = c.now().Add(cacheLife)
		}
	}
}

// prefixes cuts a request at the ends of its blocks: tools, then the system prompt, then the messages.
func (c *Cache) prefixes(r *Request) (out []prefix) {
	var h maphash.Hash
	h.SetSeed(c.seed)
	var bytesSoFar int64
	add := func(who string, b []byte) {
		bare, marked := unmarked(b)
		h.WriteString(who)
		h.Write(bare)
		bytesSoFar += int64(len(bare))
		out = append(out, prefix{h.Sum64(), bytesSoFar / 4, marked})
	}
	each := func(who string, list []byte) {
		jscan.Array(list, func(b []byte) bool { add(who, b); return true })
	}
	each("tool", r.tools)
	each("system", r.system)
	for _, m := range r.Messages {
		content, _ := jscan.Get(m, "content")
		each(role(m), content)
	}
	if _, auto := jscan.Get(r.Body, "cache_control"); auto && len(out) > 0 {
		out[len(out)-1].marked = true
	}
	return out
}

// unmarked is a block without its cache mark, and whether it had one.
func unmarked(b []byte) (bare []byte, marked bool) {
	mark, ok := jscan.Get(b, "cache_control")
	if !ok {
		return b, false
	}
	return bytes.Replace(b, append([]byte(`,"cache_control":`), mark...), nil, 1), true
}
