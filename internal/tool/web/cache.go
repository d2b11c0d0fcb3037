package web

import (
	"slices"
	"sync"
	"time"
)

const (
	cacheTime    = 15 * time.Minute
	cacheEntries = 64
	cacheBytes   = 8 << 20
)

// cache keeps what pages said for a while, the latest used last.
type cache struct {
	mu    sync.Mutex
	pages []*page // guarded by mu; each is never written again
	bytes int
}

func newCache() *cache { return &cache{} }

// find returns the page that was read under an address, if that is not too long ago.
func (c *cache) find(key string, now time.Time) (*page, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.pages, func(p *page) bool { return p.key == key })
	if i < 0 {
		return nil, false
	}
	p := c.pages[i]
	c.drop(i)
	if now.Sub(p.read) >= cacheTime {
		return nil, false
	}
	c.pages, c.bytes = append(c.pages, p), c.bytes+p.size()
	return p, true
}

func (c *cache) keep(p *page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.IndexFunc(c.pages, func(q *page) bool { return q.key == p.key }); i >= 0 {
		c.drop(i)
	}
	if p.size() > cacheBytes/2 {
		return
	}
	c.pages, c.bytes = append(c.pages, p), c.bytes+p.size()
	for len(c.pages) > cacheEntries || c.bytes > cacheBytes {
		c.drop(0)
	}
}

// drop is called with mu held.
func (c *cache) drop(i int) {
	c.bytes -= c.pages[i].size()
	c.pages = slices.Delete(c.pages, i, i+1)
}
