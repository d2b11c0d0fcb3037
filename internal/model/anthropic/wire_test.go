package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

func TestHeadOnTheWire(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	got, err := p.EncodeHead(model.Head{
		Model: "claude-x", System: "Use <b> & \"q\".\n", MaxTokens: 64000,
		Tools: []troupe.Tool{{Name: "A", Description: "does a"},
			{Name: "B", Description: "does b", Schema: json.RawMessage("{ \"type\":\n \"object\" }")}},
	})
	want := `{"model":"claude-x","max_tokens":64000,"stream":true,` +
		`"tools":[{"name":"A","description":"does a","input_schema":{"type":"object"}},` +
		`{"name":"B","description":"does b","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],` +
		`"system":[{"type":"text","text":"Use <b> & \"q\".\n","cache_control":{"type":"ephemeral"}}],"messages":[`
	if err != nil || string(got) != want {
		t.Errorf("head, %v:\n%s\nwant\n%s", err, got, want)
	}
	if got, err = p.EncodeHead(model.Head{Model: "m", MaxTokens: 1}); err != nil ||
		string(got) != `{"model":"m","max_tokens":1,"stream":true,"messages":[` {
		t.Errorf("bare head: %s, %v", got, err)
	}
	if got, err = p.EncodeHead(model.Head{Model: "m", MaxTokens: 1, Effort: troupe.EffortXHigh}); err != nil ||
		string(got) != `{"model":"m","max_tokens":1,"output_config":{"effort":"xhigh"},"stream":true,"messages":[` {
		t.Errorf("head with an effort: %s, %v", got, err)
	}
	for _, h := range []model.Head{{Model: "m"}, {MaxTokens: 1},
		{Model: "m", MaxTokens: 1, Tools: []troupe.Tool{{Name: "A", Schema: json.RawMessage("{")}}}} {
		if got, err := p.EncodeHead(h); err == nil {
			t.Errorf("%+v was encoded as %s", h, got)
		}
	}
}

func TestMessagesOnTheWire(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	signed := `{"type":"thinking",  "thinking":"x","signature":"s"}`
	call := func(i int, name, input string) troupe.Block {
		return troupe.Block{Type: troupe.CallBlock, Call: &troupe.Call{Reply: 3, Index: i, Name: name, Input: input,
			ProviderID: "call_0"}}
	}
	result := func(i int, isErr bool, blocks ...troupe.Block) troupe.Block {
		return troupe.Block{Type: troupe.ResultBlock, Result: &troupe.Result{Reply: 3, Call: i, IsError: isErr,
			Blocks: blocks}}
	}
	for _, tt := range []struct {
		name string
		in   troupe.Message
		want string
	}{
		{"text, and empty text left out", troupe.Message{Role: troupe.User,
			Blocks: []troupe.Block{troupe.Text(""), troupe.Text("a\xffb"), troupe.Text(" \n")}},
			`{"role":"user","content":[{"type":"text","text":"a` + "\ufffd" + `b"}]}`},
		{"nothing left", troupe.Message{Role: troupe.Assistant, Blocks: []troupe.Block{troupe.Text("")}},
			`{"role":"assistant","content":[{"type":"text","text":"(nothing)"}]}`},
		{"image", troupe.Message{Role: troupe.User, Blocks: []troupe.Block{{Type: troupe.ImageBlock,
			Image: &troupe.Image{MediaType: "image/png", Data: []byte("abc")}}}},
			`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"YWJj"}}]}`},
		{"calls: our ids, the input's own bytes", troupe.Message{Role: troupe.Assistant, Blocks: []troupe.Block{
			call(0, "Read", ` {"b":1,  "a":"<x>"}`), call(1, "Edit file", `{"broken`), call(2, "", `[1]`),
			call(3, "A", ""), call(4, "A", "{\"a\":\"\xff\"}")}},
			`{"role":"assistant","content":[` +
				`{"type":"tool_use","id":"r3c0","name":"Read","input": {"b":1,  "a":"<x>"}},` +
				`{"type":"tool_use","id":"r3c1","name":"Edit_file","input":{"unreadable_input":"{\"broken"}},` +
				`{"type":"tool_use","id":"r3c2","name":"_","input":{"unreadable_input":"[1]"}},` +
				`{"type":"tool_use","id":"r3c3","name":"A","input":{"unreadable_input":""}},` +
				`{"type":"tool_use","id":"r3c4","name":"A","input":{"unreadable_input":"{\"a\":\"` + "\ufffd" +
				`\"}"}}]}`},
		{"results first, never empty", troupe.Message{Role: troupe.User, Blocks: []troupe.Block{
			troupe.Text("note"), result(0, false, troupe.Text("ok"), troupe.Text("")), result(1, true)}},
			`{"role":"user","content":[` +
				`{"type":"tool_result","tool_use_id":"r3c0","content":[{"type":"text","text":"ok"}]},` +
				`{"type":"tool_result","tool_use_id":"r3c1","content":[{"type":"text","text":"(nothing)"}],"is_error":true},` +
				`{"type":"text","text":"note"}]}`},
		{"thoughts: ours byte for byte, others' not at all",
			troupe.Message{Role: troupe.Assistant, Blocks: []troupe.Block{
				{Type: troupe.ThinkingBlock, Text: "x", Raw: signed, Provider: "anthropic"},
				{Type: troupe.ThinkingBlock, Text: "y", Raw: signed, Provider: "openai"},
				{Type: troupe.ThinkingBlock, Text: "cut short", Provider: "anthropic"},
				{Type: troupe.OpaqueBlock, Raw: `{"type":"new"}`, Provider: "anthropic"}, troupe.Text("z")}},
			`{"role":"assistant","content":[` + signed + `,{"type":"new"},{"type":"text","text":"z"}]}`},
		{"a message may not end in a thought", troupe.Message{Role: troupe.Assistant,
			Blocks: []troupe.Block{{Type: troupe.ThinkingBlock, Raw: signed, Provider: "anthropic"}}},
			`{"role":"assistant","content":[` + signed + `,{"type":"text","text":"(nothing)"}]}`},
	} {
		got, err := p.EncodeMessage(tt.in)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %v\n got %s\nwant %s", tt.name, err, got, tt.want)
		}
	}
	for _, m := range []troupe.Message{
		{Role: "system"},
		{Role: troupe.User, Blocks: []troupe.Block{{Type: "sound"}}},
		{Role: troupe.User, Blocks: []troupe.Block{{Type: troupe.ImageBlock}}},
		{Role: troupe.User, Blocks: []troupe.Block{{Type: troupe.CallBlock}}},
		{Role: troupe.User, Blocks: []troupe.Block{{Type: troupe.ResultBlock}}},
		{Role: troupe.User, Blocks: []troupe.Block{result(0, false, troupe.Block{Type: troupe.OpaqueBlock})}},
	} {
		if got, err := p.EncodeMessage(m); err == nil {
			t.Errorf("%+v was encoded as %s", m, got)
		}
	}
}

// TestCacheMarks: at most four; the third only after a burst of blocks, at the end of the
// request before; and none of them changes anything else.
func TestCacheMarks(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	gateway := New(Options{NoAutoCache: true})
	user := troupe.Message{Role: troupe.User, Blocks: []troupe.Block{troupe.Text("u")}}
	reply := troupe.Message{Role: troupe.Assistant, Blocks: []troupe.Block{troupe.Text("a")}}
	r := conversation(t, p, 3, user, reply, user, reply, user)
	const u, a, mark = `{"role":"user","content":[{"type":"text","text":"u"}]}`,
		`{"role":"assistant","content":[{"type":"text","text":"a"}]}`, `,"cache_control":{"type":"ephemeral"}`
	um := `{"role":"user","content":[{"type":"text","text":"u"` + mark + `}]}`
	for _, tt := range []struct {
		p             *Provider
		fresh, blocks int
		want          string
	}{
		{p, 2, 2, strings.Join([]string{u, a, u, a, u}, ",") + `]` + mark + `}`},
		{p, 2, 19, strings.Join([]string{u, a, u, a, u}, ",") + `]` + mark + `}`},
		{p, 2, 21, strings.Join([]string{u, a, um, a, u}, ",") + `]` + mark + `}`},
		{p, 5, 21, strings.Join([]string{u, a, u, a, u}, ",") + `]` + mark + `}`},
		// the model's own message carries none
		{p, 1, 21, strings.Join([]string{u, a, u, a, u}, ",") + `]` + mark + `}`},
		{gateway, 2, 21, strings.Join([]string{u, a, um, a, um}, ",") + `]}`},
	} {
		r.Fresh, r.FreshBlocks = tt.fresh, tt.blocks
		b := tt.p.body(r)
		got, err := io.ReadAll(b.Reader())
		if err != nil || string(got) != string(r.Head)+tt.want || int64(len(got)) != b.Size() {
			t.Errorf("%+v: %v, size %d\n%s\nwant\n%s", tt, err, b.Size(), got[len(r.Head):], tt.want)
		}
		if n := bytes.Count(got, []byte(mark)); n > 4 {
			t.Errorf("%d marks", n)
		}
		if !json.Valid(got) {
			t.Errorf("not JSON: %s", got)
		}
	}
}

// TestForkMarks: what a fork is sent first has the head of its parent, with the marks of that, byte for byte, then what
// the parent was sent last, and behind that a mark where the parent's request ended: there it is in the cache.
func TestForkMarks(t *testing.T) {
	t.Parallel()
	text := func(role troupe.Role, s string) troupe.Message {
		return troupe.Message{Role: role, Blocks: []troupe.Block{troupe.Text(s)}}
	}
	sent := []troupe.Message{text(troupe.User, "u1"), text(troupe.Assistant, "a1"), text(troupe.User, "u2")}
	own := append(slices.Clone(sent), text(troupe.Assistant, "its reply"), text(troupe.User, "what it is to do"))
	for _, p := range []*Provider{New(Options{}), New(Options{NoAutoCache: true})} {
		parent, fork := conversation(t, p, 2, sent...), conversation(t, p, 1, own...)
		fork.Fresh, fork.FreshBlocks = 2, lookback
		whole := func(r model.Request) []byte {
			b, err := io.ReadAll(p.body(r).Reader())
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		was, is := whole(parent), whole(fork)
		// With marks of its own the parent's last message carries one; else the service puts it there.
		upTo, _ := bytes.CutSuffix(was, []byte(`]}`))
		if !p.o.NoAutoCache {
			upTo, _ = bytes.CutSuffix(was, []byte(`}]}]`+cacheMark+`}`))
			upTo = append(upTo, []byte(cacheMark+`}]}`)...)
		}
		if !bytes.HasPrefix(is, upTo) {
			t.Errorf("the fork is sent\n%s\nwhich does not begin as its parent's, with a mark at its end\n%s", is,
				upTo)
		}
		if n := bytes.Count(is, []byte(cacheMark)); n > 4 {
			t.Errorf("%d marks", n)
		}
	}
}

// TestRequestOnTheWire: the exact bytes arrive, with their length, and the key only in its header.
func TestRequestOnTheWire(t *testing.T) {
	t.Parallel()
	p, s := serve(t, always(modeltest.Text("ok")), modeltest.Options{})
	r := ask(t, p, "hello")
	if _, err := p.Stream(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	got := s.Requests()[0]
	want := string(r.Head) + string(r.Messages[0]) + `],"cache_control":{"type":"ephemeral"}}`
	if string(got.Body) != want {
		t.Errorf("body\n%s\nwant\n%s", got.Body, want)
	}
	for k, v := range map[string]string{
		"X-Api-Key": testKey, "Anthropic-Version": "2023-06-01", "Content-Type": "application/json",
		"Content-Length": fmt.Sprint(len(want)), "Accept-Encoding": "",
	} {
		if got.Header.Get(k) != v {
			t.Errorf("%s: %q, want %q", k, got.Header.Get(k), v)
		}
	}
	if bytes.Contains(got.Body, []byte(testKey)) || got.CacheMarks() != 3 {
		t.Errorf("%d marks in %s", got.CacheMarks(), got.Body)
	}
}

// TestWholeConversation lets the fake service watch several turns of calls and results,
// bursts of blocks among them: it refuses a broken prefix, and a call without a result.
func TestWholeConversation(t *testing.T) {
	t.Parallel()
	p, s := serve(t, func(r *modeltest.Request) modeltest.Reply {
		rep := modeltest.Reply{Thinking: "Hm <" + fmt.Sprint(r.Turn) + ">", Text: "Working."}
		for i := range r.Turn * 6 {
			rep.Calls = append(rep.Calls, modeltest.Call{Name: "Read", Input: fmt.Sprintf(`{"n":%d}`, i)})
		}
		return rep
	}, modeltest.Options{})
	msgs := []troupe.Message{{Role: troupe.User, Blocks: []troupe.Block{troupe.Text("go")}}}
	fresh := 1
	for turn := 1; turn <= 6; turn++ {
		r := conversation(t, p, turn, msgs...)
		r.Fresh, r.FreshBlocks = fresh, 0
		for _, m := range msgs[len(msgs)-fresh:] {
			r.FreshBlocks += len(m.Blocks)
		}
		got, err := p.Stream(t.Context(), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		var results []troupe.Block
		for _, b := range got.Blocks {
			if b.Type == troupe.CallBlock {
				results = append(results, troupe.Block{Type: troupe.ResultBlock,
					Result: &troupe.Result{Reply: b.Call.Reply, Call: b.Call.Index,
						Blocks: []troupe.Block{troupe.Text("ok")}}})
			}
		}
		msgs = append(msgs, troupe.Message{Role: troupe.Assistant, Blocks: got.Blocks},
			troupe.Message{Role: troupe.User, Blocks: results})
		fresh = 2
	}
	if reqs := s.Requests(); reqs[1].CacheMarks() != 3 || reqs[4].CacheMarks() != 4 {
		t.Errorf("marks: %d after 14 blocks, %d after 50", reqs[1].CacheMarks(), reqs[4].CacheMarks())
	}
}
