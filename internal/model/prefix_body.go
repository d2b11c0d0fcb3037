package model

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/troupe-dev/troupe/internal/model/internal/jscan"
)

// CheckConversation is Check for a whole request body, in the form that one of the APIs reads, where it cannot
// be told whose request it is, as in a server: tools, system and messages are compared, cache marks and all else apart.
// Conversations are told apart by their tools, system and first message; among several that
// began alike, a request must go on from one of those that are known. A body that holds a
// model's reply but continues none of them is refused, unless midway says that requests may
// also come from the middle of a conversation (a process that was started again). A fork goes on from any request of a
// conversation that is known, and not only from its last.
func (c *PrefixChecker) CheckConversation(body []byte, midway, fork bool) error {
	r, err := c.splitBody(body)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPrefix, err)
	}
	key := fmt.Sprintf("conversation %x", r.identity(c))
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.turns == 0 { // nobody has answered yet: a conversation begins, or begins again
		for i := range c.tips[key] {
			if t := &c.tips[key][i]; len(t.parts) == len(r.parts) && common(t.parts, r.parts) == len(r.parts) {
				t.waiting++
				return nil
			}
		}
		c.add(key, tip{parts: r.parts, waiting: 1})
		return nil
	}
	best := -1
	for i, t := range c.tips[key] {
		n := common(t.parts, r.parts)
		if t.fork == fork && n == len(t.parts) && (best < 0 || n > len(c.tips[key][best].parts)) {
			best = i
		}
	}
	if best < 0 && fork && c.branches(key, r) {
		c.add(key, tip{parts: r.parts, waiting: 1, fork: true})
		return nil
	}
	if best < 0 {
		return c.refuse(key, r, midway)
	}
	t := &c.tips[key][best]
	switch {
	case len(t.parts) == len(r.parts): // sent again
	case t.waiting > 1:
		t.waiting--
		c.add(key, tip{parts: r.parts, waiting: 1, fork: fork})
	default:
		t.ends = append(t.ends, len(t.parts))
		t.parts = r.parts
	}
	return nil
}

// branches reports whether a request begins with all of one that a conversation had before.
func (c *PrefixChecker) branches(key string, r bodyParts) bool {
	return slices.ContainsFunc(c.tips[key], func(t tip) bool {
		n := common(t.parts, r.parts)
		return n == len(t.parts) || slices.ContainsFunc(t.ends, func(end int) bool { return end <= n })
	})
}

func (c *PrefixChecker) refuse(key string, r bodyParts, midway bool) error {
	known := c.tips[key]
	if len(known) == 0 {
		if !midway {
			return fmt.Errorf("%w: a request goes on from a reply, but no conversation that was begun has its tools, "+
				"system and first message; its first message is: %s", ErrPrefix, clip(r.raw[r.first]))
		}
		c.add(key, tip{parts: r.parts, waiting: 1})
		return nil
	}
	closest, n := known[0], -1
	for _, t := range known {
		if m := common(t.parts, r.parts); m > n {
			closest, n = t, m
		}
	}
	return differs(key, closest.parts, r.parts, n, r.at)
}

// bodyParts is a request body, cut into what the prefix rule compares.
type bodyParts struct {
	parts []part
	raw   [][]byte // of each part, cache marks included
	tools int      // how many parts are tools; system and messages follow
	first int      // the part that is the first message
	turns int      // messages that are a model's
}

// byModel reports whether a message is a model's, or an item of its reply in the Responses API.
func byModel(message []byte) bool {
	role, _ := jscan.Get(message, "role")
	kind, _ := jscan.Get(message, "type")
	return string(role) == `"assistant"` || string(kind) == `"function_call"` || string(kind) == `"reasoning"`
}

func (r bodyParts) at(i int) ([]byte, string) {
	switch {
	case i < r.tools:
		return r.raw[i], fmt.Sprintf("tools[%d]", i)
	case i < r.first:
		return r.raw[i], fmt.Sprintf("system[%d]", i-r.tools)
	default:
		return r.raw[i], fmt.Sprintf("messages[%d]", i-r.first)
	}
}

func (r bodyParts) identity(c *PrefixChecker) uint64 {
	var id []byte
	for _, p := range r.parts[:min(r.first+1, len(r.parts))] {
		id = fmt.Appendf(id, "%x.", p.hash)
	}
	return c.part(id).hash
}

func (c *PrefixChecker) splitBody(body []byte) (bodyParts, error) {
	var fields [3][]byte
	ok := jscan.Object(body, func(k, v []byte) bool {
		switch string(k) {
		case "tools":
			fields[0] = v
		case "system", "instructions":
			fields[1] = v
		case "messages", "input":
			fields[2] = v
		}
		return true
	})
	if !ok {
		return bodyParts{}, fmt.Errorf("the body is not a JSON object: %s", clip(body))
	}
	var r bodyParts
	var scratch []byte
	for i := range fields {
		switch i {
		case 1:
			r.tools = len(r.parts)
		case 2:
			r.first = len(r.parts)
		}
		add := func(v []byte) bool {
			scratch = appendUnmarked(scratch[:0], v)
			r.parts = append(r.parts, c.part(scratch))
			r.raw = append(r.raw, v)
			if i == 2 {
				if byModel(v) {
					r.turns++
				}
			}
			return true
		}
		if len(fields[i]) > 0 && !jscan.Array(fields[i], add) {
			add(fields[i]) // a system prompt may be a plain string
		}
	}
	if r.first == len(r.parts) {
		return bodyParts{}, fmt.Errorf("the body has no messages: %s", clip(body))
	}
	return r, nil
}

// appendUnmarked appends v without its cache marks: those of the value itself and of the
// blocks in its "content". A tool's input or schema is left alone, whatever its keys.
func appendUnmarked(dst, v []byte) []byte {
	if !bytes.Contains(v, []byte(`"cache_control"`)) {
		return append(dst, v...)
	}
	start, members := len(dst), 0
	dst = append(dst, '{')
	ok := jscan.Object(v, func(key, val []byte) bool {
		if string(key) == "cache_control" {
			return true
		}
		if members++; members > 1 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), key...), '"', ':')
		if string(key) != "content" || val[0] != '[' {
			dst = append(dst, val...)
			return true
		}
		dst = append(dst, '[')
		n := 0
		jscan.Array(val, func(e []byte) bool {
			if n++; n > 1 {
				dst = append(dst, ',')
			}
			dst = appendUnmarked(dst, e)
			return true
		})
		dst = append(dst, ']')
		return true
	})
	if !ok {
		return append(dst[:start], v...)
	}
	return append(dst, '}')
}
