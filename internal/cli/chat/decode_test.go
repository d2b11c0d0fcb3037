package chat

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
)

// TestFields: each order has its own fields, and a line with another one is none.
func TestFields(t *testing.T) {
	t.Parallel()
	yes := true
	png := troupe.Image{MediaType: "image/png", Data: []byte("abc")}
	for line, want := range map[string]order{
		`{"type":"user","text":"go","cancel":true}`: {Type: "user",
			Text: "go", Cancel: true},
		`{"type":"answer","request":"r","allow":true,"session":true,"always":true,"note":"n"}`: {Type: "answer",
			Request: "r", Allow: &yes, Session: true, Always: true, Note: "n"},
		`{"type":"stop","now":true}`: {Type: "stop",
			Now: true},
		`{"type":"compact","hint":"keep"}`: {Type: "compact",
			Hint: "keep"},
		`{"type":"user","message":{"role":"user","content":"go"},"parent_tool_use_id":null,"session_id":"x","uuid":"y"}`: {Type: "user", Text: "go"},
		`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"YWJj"}},{"type":"text","text":"b"}]},"cancel":true}`: {
			Type: "user", Text: "a\n\nb", Images: []troupe.Image{png}, Cancel: true,
		},
	} {
		got, problem := decodeOrder([]byte(line))
		got.Message = nil
		if d := cmp.Diff(want, got, cmp.AllowUnexported(order{})); d != "" || problem != "" {
			t.Errorf("%s: %s\n%s", line, problem, d)
		}
	}
	for line, want := range map[string]string{
		`{"type":"compact","text":"keep"}`:                                   `a "compact" line has no field "text"; besides type it has hint`,
		`{"type":"stop","text":"x"}`:                                         `a "stop" line has no field "text"; besides type it has now`,
		`{"type":"end","now":true}`:                                          `an "end" line has no field "now"; besides type it has nothing else`,
		`{"type":"answer","request":"r","allow":true,"now":true}`:            `an "answer" line has no field "now"; besides type it has request, allow, session, wider, always, note`,
		`{"type":"user","text":"x","hint":"y"}`:                              `a "user" line has no field "hint"; besides type it has text, images, cancel, message`,
		`{"type":"user","Text":"x"}`:                                         `has no field "Text"`,
		`{"type":"user","text":"x","message":{"role":"user","content":"y"}}`: `a "user" line with "message" has no field "text"`,
		`{"type":"user","message":{"role":"assistant","content":"y"}}`:       `the role "assistant"; there is user`,
		`{"type":"user","message":{"role":"user","content":7}}`: "a text or a list " +
			"of text and image blocks",
		`{"type":"user","message":{"role":"user"}}`: "a text or a list " +
			"of text and image blocks",
		`{"type":"user","message":{"role":"user","content":[{"type":"tool_result"}]}}`:           `block 0 has the type "tool_result"`,
		`{"type":"user","message":{"role":"user","content":""}}`:                                 `needs "text" or "images"`,
		`{"type":"user","message":{"role":"user","content":"x"},"parent_tool_use_id":"toolu_1"}`: "sub-agents",
		`{"type":"user","message":null}`:                                                         `needs "text" or "images"`,
	} {
		if got, problem := decodeOrder([]byte(line)); !strings.Contains(problem, want) {
			t.Errorf("%s: %q, %+v; want %q", line, problem, got, want)
		}
	}
}

func TestSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in     string
		stream bool
		want   []string
	}{
		{"one\n\n/cost\n//cost now\r\ny\n", false, []string{"one", "/cost now", "y"}},
		{"{\"type\":\"user\",\"text\":\"one\"}\nnothing\n{\"type\":\"stop\"}\n{\"type\":\"user\",\"message\":{\"ro" +
			"le\":\"user\",\"content\":\"two\"}}", true, []string{"one", "two"}},
		{"{\"type\":\"user\",\"text\":\"one\"}\n{\"type\":\"end\"}\n{\"type\":\"user\",\"text\":\"two\"}", true,
			[]string{"one"}},
	} {
		if got, err := Said(strings.NewReader(c.in), c.stream); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v", c.in, got, err)
		}
	}
	for line, want := range map[string]bool{"y": true, " Always ": true, "n, use the other": true, "no": true,
		"nothing": false, "yes please": false} {
		if IsAnswer(line) != want {
			t.Errorf("%q", line)
		}
	}
}
