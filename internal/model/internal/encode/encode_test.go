package encode

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestBodyReader reads with buffers of every size: pieces must join without a seam.
func TestBodyReader(t *testing.T) {
	t.Parallel()
	b := Body{[]byte("head"), nil, []byte("x"), []byte(","), []byte("message"), []byte("]}")}
	for size := 1; size < 20; size++ {
		var got []byte
		r, buf := b.Reader(), make([]byte, size)
		for {
			n, err := r.Read(buf)
			got = append(got, buf[:n]...)
			if err != nil {
				break
			}
		}
		if string(got) != "headx,message]}" || b.Size() != int64(len(got)) {
			t.Fatalf("with %d bytes at a time: %q, size %d", size, got, b.Size())
		}
	}
}

func TestAppendInput(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		` {"b":1,  "a":"<x>"}`: ` {"b":1,  "a":"<x>"}`,
		``:                     `{"unreadable_input":""}`,
		`[1]`:                  `{"unreadable_input":"[1]"}`,
		`{"a":`:                `{"unreadable_input":"{\"a\":"}`,
		"{\"a\":\"\xff\"}":     "{\"unreadable_input\":\"{\\\"a\\\":\\\"\ufffd\\\"}\"}",
		"{\"a\":\"\x00\"}":     `{"unreadable_input":"{\"a\":\"\u0000\"}"}`,
	} {
		if got := string(AppendInput(nil, in)); got != want || !json.Valid([]byte(got)) {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestToolName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Read": "Read", "": "_", "Read it!": "Read_it_", "mcp__a-b": "mcp__a-b",
		"é": "__", strings.Repeat("x", 100): strings.Repeat("x", 64),
	} {
		if got := ToolName(in, 64); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
