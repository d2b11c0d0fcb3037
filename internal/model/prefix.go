package model

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
)

// ErrPrefix is what every refusal of a PrefixChecker wraps.
var ErrPrefix = errors.New("the prefix rule is broken")

// PrefixChecker holds requests to the prefix rule: within one generation, the tools, system
// and messages of each request, cache marks apart, begin with those of the one before. What
// breaks the rule makes a provider forget its cache, and with some models it makes them
// refuse the conversation, so tests and the script provider check it at every call.
//
// It keeps a hash and a length per message, not the messages. All methods are safe for concurrent use. Nothing is kept
// over a restart: the first request of a process is believed.
type PrefixChecker struct {
	seed  maphash.Seed
	limit int

	mu    sync.Mutex
	tips  map[string][]tip
	order []string // keys as they came, the oldest first
}

// tip is the last request known of one conversation.
type tip struct {
	parts []part
	ends  []int // how many parts earlier requests of the conversation had
	fork  bool  // it is a fork's
	// waiting counts conversations that stand at exactly this request. It can exceed one
	// where nothing but the bytes tells conversations apart: several workers may be sent
	// the same first prompt and go different ways from there.
	waiting int
}

type part struct {
	hash uint64
	size int
}

// NewPrefixChecker returns a checker that remembers the given number of conversations (at
// least one) and forgets the oldest first.
func NewPrefixChecker(limit int) *PrefixChecker {
	return &PrefixChecker{seed: maphash.MakeSeed(), limit: max(limit, 1), tips: map[string][]tip{}}
}

// Check compares a request, as a provider's encoder made it, with the one before it under
// the same key, and remembers it if it follows. The error says which part differs.
func (c *PrefixChecker) Check(key string, head []byte, messages [][]byte) error {
	parts := make([]part, 0, len(messages)+1)
	parts = append(parts, c.part(head))
	for _, m := range messages {
		parts = append(parts, c.part(m))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.tips[key]
	if len(known) == 0 {
		c.add(key, tip{parts: parts, waiting: 1})
		return nil
	}
	if n := common(known[0].parts, parts); n < len(known[0].parts) {
		return differs(key, known[0].parts, parts, n, func(i int) ([]byte, string) {
			if i == 0 {
				return head, "the head (model, tools and system)"
			}
			return messages[i-1], fmt.Sprintf("message %d", i)
		})
	}
	known[0].parts = parts
	return nil
}

func (c *PrefixChecker) part(b []byte) part { return part{maphash.Bytes(c.seed, b), len(b)} }

func (c *PrefixChecker) add(key string, t tip) {
	if _, ok := c.tips[key]; !ok {
		c.order = append(c.order, key)
		if len(c.order) > c.limit {
			delete(c.tips, c.order[0])
			c.order = c.order[1:]
		}
	}
	c.tips[key] = append(c.tips[key], t)
}

func common(before, now []part) int {
	n := 0
	for n < len(before) && n < len(now) && before[n] == now[n] {
		n++
	}
	return n
}

// differs says in words where a request leaves the one before: at part i.
func differs(key string, before, now []part, i int, at func(int) ([]byte, string)) error {
	if i == len(now) {
		return fmt.Errorf("%w (%s): this request has %d parts, the one before had %d; a request may only grow",
			ErrPrefix, key, len(now), len(before))
	}
	b, name := at(i)
	if before[i].size != now[i].size {
		return fmt.Errorf("%w (%s): %s of %d differs from the request before, where it had %d bytes and not %d; now "+
			"it is: %s",
			ErrPrefix, key, name, len(now)-1, before[i].size, now[i].size, clip(b))
	}
	return fmt.Errorf("%w (%s): %s of %d differs from the request before, at the same length of %d bytes; now it is: "+
		"%s",
		ErrPrefix, key, name, len(now)-1, now[i].size, clip(b))
}

func clip(b []byte) string {
	const most = 240
	if len(b) <= most {
		return string(bytes.ToValidUTF8(b, []byte("?")))
	}
	return string(bytes.ToValidUTF8(b[:most/2], []byte("?"))) + " … " +
		string(bytes.ToValidUTF8(b[len(b)-most/2:], []byte("?")))
}
