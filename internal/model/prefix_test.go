package model

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func bytesOf(ss ...string) [][]byte {
	out := make([][]byte, len(ss))
	for i, s := range ss {
		out[i] = []byte(s)
	}
	return out
}

func TestPrefixChecker(t *testing.T) {
	t.Parallel()
	c := NewPrefixChecker(100)
	step := func(key, head string, want string, msgs ...string) {
		t.Helper()
		err := c.Check(key, []byte(head), bytesOf(msgs...))
		if want == "" && err != nil {
			t.Errorf("refused: %v", err)
		}
		if want != "" && (!errors.Is(err, ErrPrefix) || !strings.Contains(err.Error(), want)) {
			t.Errorf("err = %v, want %q", err, want)
		}
	}
	step("a", "head", "", "one")
	step("a", "head", "", "one", "two", "three")
	step("a", "head", "", "one", "two", "three") // a retry
	step("b", "other", "", "uno")                // another session
	step("a", "head", "message 2 of 4 differs from the request before, where it had 3 bytes and not 4; now it is: TWO!",
		"one", "TWO!", "three", "four")
	step("a", "head", "message 2 of 3 differs from the request before, at the same length", "one", "TWO", "three")
	step("a", "head", "may only grow", "one", "two")
	step("a", "tail", "the head", "one", "two", "three", "four")
	step("a", "head", "", "one", "two", "three", "four") // what was refused is not remembered
}

func TestPrefixCheckerForgetsTheOldest(t *testing.T) {
	t.Parallel()
	c := NewPrefixChecker(2)
	for i := range 50 {
		if err := c.Check(fmt.Sprint(i), []byte("h"), bytesOf("m")); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.tips) != 2 || len(c.order) != 2 {
		t.Errorf("remembers %d conversations", len(c.tips))
	}
	if err := c.Check("49", []byte("h"), bytesOf("x")); !errors.Is(err, ErrPrefix) {
		t.Errorf("the newest was forgotten: %v", err)
	}
}

func body(msgs ...string) []byte {
	return []byte(`{"model":"m","max_tokens":9,"tools":[{"name":"A","input_schema":{"cache_control":1}},{"name":"B","cache_control":{"type":"ephemeral"}}],` +
		`"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"messages":[` +
		strings.Join(msgs, ",") + `],"cache_control":{"type":"ephemeral"}}`)
}

const (
	user1   = `{"role":"user","content":[{"type":"text","text":"hi"}]}`
	user1m  = `{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}`
	reply1  = `{"role":"assistant","content":[{"type":"tool_use","id":"r1c0","name":"A","input":{"cache_control":1}}]}`
	reply1x = `{"role":"assistant","content":[{"type":"tool_use","id":"r1c0","name":"A","input":{"cache_control":2}}]}`
	result1 = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"r1c0","content":[{"type":"text","text":"ok","cache_control":{"type":"ephemeral"}}]}]}`
	result2 = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"r1c0","content":[{"type":"text","text":"ok"}]}]}`
	reply2  = `{"role":"assistant","content":"done"}`
)

func TestPrefixBodies(t *testing.T) {
	t.Parallel()
	c := NewPrefixChecker(10)
	for _, b := range [][]byte{body(user1m), body(user1, reply1, result1),
		body(user1, reply1, result2, reply2, user1m)} {
		if err := c.CheckConversation(b, false, false); err != nil {
			t.Errorf("cache marks count: %v", err)
		}
	}
	err := c.CheckConversation(body(user1, reply1x, result2, reply2, user1, user1), false, false)
	if !errors.Is(err, ErrPrefix) || !strings.Contains(err.Error(), "messages[1]") {
		t.Errorf("a changed input passed: %v", err)
	}
	other := strings.Replace(string(body(user1, reply1, result1)), `"text":"s"`, `"text":"S"`, 1)
	if err := c.CheckConversation([]byte(other), false, false); !errors.Is(err, ErrPrefix) ||
		!strings.Contains(err.Error(), "its tools, system and first message") {
		t.Errorf("a changed system prompt passed: %v", err)
	}
	for _, broken := range []string{"", "[]", "{", `{"messages":[]}`, `{"messages":[`} {
		if err := c.CheckConversation([]byte(broken), false, false); !errors.Is(err, ErrPrefix) {
			t.Errorf("%q: %v", broken, err)
		}
	}
}

// TestPrefixConversations: a server sees several workers that began with the same bytes.
func TestPrefixConversations(t *testing.T) {
	t.Parallel()
	c := NewPrefixChecker(10)
	ok := func(b []byte) {
		t.Helper()
		if err := c.CheckConversation(b, false, false); err != nil {
			t.Errorf("refused: %v", err)
		}
	}
	bad := func(b []byte) {
		t.Helper()
		if err := c.CheckConversation(b, false, false); !errors.Is(err, ErrPrefix) {
			t.Errorf("passed, err = %v", err)
		}
	}
	ok(body(user1))
	ok(body(user1)) // a twin
	ok(body(user1, reply1, result1))
	ok(body(user1, reply1x, result1)) // the twin goes its own way
	ok(body(user1, reply1, result2, reply2, user1))
	ok(body(user1, reply1x, result1, reply2, user1))
	bad(body(user1, reply2, user1)) // there were only two of them
	bad(body(user1, reply1, user1, reply2, user1))
	bad(body(reply2, reply1, user1))
	if err := c.CheckConversation(body(reply2, reply1, user1), true, false); err != nil {
		t.Errorf("midway: %v", err)
	}
}

func FuzzUnmarked(f *testing.F) {
	f.Add(user1m)
	f.Add(result1)
	f.Fuzz(func(t *testing.T, v string) {
		once := appendUnmarked(nil, []byte(v))
		if strings.Contains(v, "cache_control") && len(once) > len(v) {
			t.Errorf("grew: %q to %q", v, once)
		}
		_ = NewPrefixChecker(1).CheckConversation([]byte(v), false, false)
	})
}

func BenchmarkPrefixCheck(b *testing.B) {
	msgs := make([][]byte, 100)
	for i := range msgs {
		msgs[i] = []byte(strings.Repeat("x", 2000))
	}
	c := NewPrefixChecker(10)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Check("k", msgs[0], msgs); err != nil {
			b.Fatal(err)
		}
	}
}

// TestForksBranch: a fork goes on from an earlier request of a conversation, and from nothing else.
func TestForksBranch(t *testing.T) {
	t.Parallel()
	c := NewPrefixChecker(10)
	grown := [][]byte{body(user1), body(user1, reply1, result1), body(user1, reply1, result1, reply2, user1)}
	for _, b := range grown {
		if err := c.CheckConversation(b, false, false); err != nil {
			t.Fatal(err)
		}
	}
	const other = `{"role":"user","content":[{"type":"text","text":"beside it"}]}`
	fork := body(user1, reply1, other)
	if err := c.CheckConversation(fork, false, false); !errors.Is(err, ErrPrefix) {
		t.Errorf("a request that is no fork's branched: %v", err)
	}
	if err := c.CheckConversation(fork, false, true); err != nil {
		t.Errorf("a fork: %v", err)
	}
	if err := c.CheckConversation(body(user1, reply1, other, reply2, user1), false, true); err != nil {
		t.Errorf("the fork goes on: %v", err)
	}
}
