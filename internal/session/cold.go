package session

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
)

// What several sessions begin with is read by the provider once and cached, if one of them goes first: those that come
// while its answer has not begun would each pay for writing the same.

const (
	// cacheLife is how long providers keep what was not read meanwhile: five minutes at Anthropic, five to ten at
	// OpenAI.
	cacheLife = 5 * time.Minute
	// mostFollowing is the longest that a call waits for another one's first byte.
	mostFollowing = 20 * time.Second
	// maxPrefixes is how many prefixes are known; what is forgotten counts as cold.
	maxPrefixes = 1024
	// cacheBytes is how many bytes a token counts for when a prefix is weighed: rather too many than too few.
	cacheBytes = 4
)

// coldPrefixes are the beginnings of conversations that first calls of this process have sent. Nothing of it outlives
// the process. What waits is called back without a lock held.
type coldPrefixes struct {
	mu    sync.Mutex
	known map[string]*coldPrefix
}

// coldPrefix is cold while first is under way, and warm from its first byte on.
type coldPrefix struct {
	first   *coldCall
	until   time.Time // it is warm
	waiting []*coldCall
}

// coldCall is a call whose beginning others may have. The zero value is one of which nothing is shared.
type coldCall struct {
	h     *Hub
	key   string
	once  sync.Once
	ready func()
	timer func()
}

var errGivenUp = errors.New("given up")

// coldCall is the call as one that others may wait for, or that waits for another's. It is only if that saves enough.
func (ex *exchange) coldCall(r model.Request) *coldCall {
	above := ex.a.tree.settings().Policy.WaitAbove
	if above <= 0 || ex.a.st.Reply() > 0 || ex.a.st.Generation > 1 || ex.a.st.Compacting() || ex.a.h.d.Replay != nil {
		return &coldCall{}
	}
	key, tokens := "", int64(0)
	if o := ex.a.convo.origin; o != nil {
		if o.Model == ex.a.st.Session.Model && ex.a.h.d.Now().Before(o.At.Add(cacheLife)) {
			return &coldCall{} // its parent has warmed it
		}
		key, tokens = fmt.Sprint(o.at), o.Context()
	} else {
		h := sha256.New()
		h.Write(r.Head)
		if len(r.Messages) > 0 {
			h.Write(r.Messages[0][:r.Common])
		}
		key, tokens = string(h.Sum(nil)), int64(len(r.Head)+r.Common)/cacheBytes
	}
	m, full := ex.a.h.d.Models, ex.a.st.Session.Model
	written, priced := m.Cost(full, troupe.Usage{CacheWrite: tokens})
	plain, _ := m.Cost(full, troupe.Usage{Input: tokens})
	read, _ := m.Cost(full, troupe.Usage{CacheRead: tokens})
	if !priced || max(written, plain)-read <= above {
		return &coldCall{}
	}
	return &coldCall{h: ex.a.h, key: ex.a.convo.provider.Name() + "\x00" + ex.a.convo.modelID + "\x00" + key}
}

// common is how much of the first message others begin with as well, in a first call: the brief.
func (ex *exchange) common() int {
	c := &ex.a.convo
	if ex.a.st.Reply() > 0 || c.origin != nil || ex.a.st.Told() == "" || len(c.messages) == 0 {
		return 0
	}
	return model.FirstBlock(c.messages[0])
}

// wait says whether the call is to wait: cancel is nil if it goes at once, and else takes it out. ready is called when
// it may go.
func (c *coldCall) wait(ready func()) (cancel func()) {
	if c.h == nil {
		return nil
	}
	cold := &c.h.cold
	cold.mu.Lock()
	defer cold.mu.Unlock()
	now := c.h.d.Now()
	p := cold.known[c.key]
	switch {
	case p == nil:
		cold.forget(now)
		cold.known[c.key] = &coldPrefix{first: c}
		return nil
	case p.first == nil && now.Before(p.until):
		return nil
	case p.first == nil:
		p.first = c
		return nil
	}
	c.ready = ready
	p.waiting = append(p.waiting, c)
	c.timer = c.h.d.Sched.After(mostFollowing, func() { cold.leave(c); ready() })
	return func() { cold.leave(c) }
}

// forget makes room for another prefix. It is called with mu held.
func (cold *coldPrefixes) forget(now time.Time) {
	if cold.known == nil {
		cold.known = make(map[string]*coldPrefix)
	}
	if len(cold.known) < maxPrefixes {
		return
	}
	for key, p := range cold.known {
		if p.first == nil && (!now.Before(p.until) || len(cold.known) >= maxPrefixes) {
			delete(cold.known, key)
		}
	}
}

// leave takes a call out that waits.
func (cold *coldPrefixes) leave(c *coldCall) {
	cold.mu.Lock()
	defer cold.mu.Unlock()
	if p := cold.known[c.key]; p != nil {
		p.waiting = slices.DeleteFunc(p.waiting, func(w *coldCall) bool { return w == c })
	}
	if c.timer != nil {
		c.timer()
	}
}

// watch has those that wait go when the answer begins.
func (c *coldCall) watch(sink func(model.Delta)) func(model.Delta) {
	if c.h == nil {
		return sink
	}
	return func(d model.Delta) {
		c.once.Do(func() { c.release(true) })
		if sink != nil {
			sink(d)
		}
	}
}

// ended has those that wait go, whatever came of the call.
func (c *coldCall) ended(err error) {
	if c.h != nil {
		c.once.Do(func() { c.release(err == nil) })
	}
}

// release has those that wait for the call go. warm: the provider has what it began with.
func (c *coldCall) release(warm bool) {
	cold := &c.h.cold
	cold.mu.Lock()
	p := cold.known[c.key]
	if p == nil || p.first != c && !warm {
		cold.mu.Unlock()
		return
	}
	if warm {
		p.until = c.h.d.Now().Add(cacheLife)
	}
	var ready []*coldCall
	if p.first == c {
		p.first = nil
		ready, p.waiting = p.waiting, nil
	}
	cold.mu.Unlock()
	for _, w := range ready {
		w.timer()
		w.ready()
	}
}
