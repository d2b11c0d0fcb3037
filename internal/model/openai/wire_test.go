package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

func official() *Provider { return New(Options{}) }

func local() *Provider { return New(Options{BaseURL: "http://localhost:11434"}) }

func TestHeadOnTheWire(t *testing.T) {
	t.Parallel()
	h := model.Head{
		Model: "m", System: "Use <b> & \"q\".\n", MaxTokens: 64000,
		Tools: []troupe.Tool{{Name: "A", Description: "does a"},
			{Name: "B", Description: "does b", Schema: json.RawMessage("{ \"type\":\n \"object\", \"x\":1.0 }")}},
	}
	const tools = `"tools":[{"type":"function","function":{"name":"A","description":"does a","parameters":{"type":"object","properties":{}}}},` +
		`{"type":"function","function":{"name":"B","description":"does b","parameters":{"type":"object","x":1.0}}}],` +
		`"messages":[{"role":"system","content":"Use <b> & \"q\".\n"}`
	const stream = `"stream":true,"stream_options":{"include_usage":true},`
	for _, tt := range []struct {
		p           *Provider
		model, want string
	}{
		{local(), "m", `{"model":"m","max_tokens":64000,` + stream + tools},
		{local(), "gpt-6-sol", `{"model":"gpt-6-sol","max_tokens":64000,` + stream + tools},
		{official(), "gpt-4.1", `{"model":"gpt-4.1","max_completion_tokens":64000,` + stream + tools},
		{official(), "gpt-6-sol", `{"model":"gpt-6-sol","max_completion_tokens":64000,` + stream +
			`"reasoning_effort":"none",` + tools},
	} {
		h.Model = tt.model
		if got, err := tt.p.EncodeHead(h); err != nil || string(got) != tt.want {
			t.Errorf("head, %v:\n%s\nwant\n%s", err, got, tt.want)
		}
	}
	const bare = `{"model":"gpt-6-sol","max_completion_tokens":1,"stream":true,"stream_options":{"include_usage":true},"messages":[`
	if got, err := official().EncodeHead(model.Head{Model: "gpt-6-sol", MaxTokens: 1}); err != nil ||
		string(got) != bare {
		t.Errorf("bare head: %s, %v", got, err)
	}
	const chat = `,"stream":true,"stream_options":{"include_usage":true},"reasoning_effort":`
	a := []troupe.Tool{{Name: "A"}}
	for want, tt := range map[string]struct {
		p     *Provider
		model string
		tools []troupe.Tool
	}{
		`{"model":"gpt-6-sol","max_completion_tokens":1` + chat + `"low"`: {official(), "gpt-6-sol", nil},
		// it has no choice
		`{"model":"gpt-6-sol","max_completion_tokens":1` + chat + `"none"`: {official(), "gpt-6-sol", a},
		`{"model":"o3","max_completion_tokens":1` + chat + `"low"`:         {official(), "o3", a},
		`{"model":"gpt-6-sol","max_tokens":1` + chat + `"low"`:             {local(), "gpt-6-sol", a},
	} {
		got, err := tt.p.EncodeHead(model.Head{Model: tt.model, MaxTokens: 1, Tools: tt.tools,
			Effort: troupe.EffortLow})
		if err != nil || !strings.HasPrefix(string(got), want) {
			t.Errorf("head with an effort, %v:\n%s\nwant\n%s", err, got, want)
		}
	}
	for _, h := range []model.Head{{Model: "m"}, {MaxTokens: 1},
		{Model: "m", MaxTokens: 1, Tools: []troupe.Tool{{Name: "A", Schema: json.RawMessage("{")}}}} {
		if got, err := local().EncodeHead(h); err == nil {
			t.Errorf("%+v was encoded as %s", h, got)
		}
	}
}

func TestWhoMustBeToldNotToReason(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"gpt-6-sol": true, "gpt-6.1-sol": true, "gpt-5.6": true, "gpt-5.5-2026-04-01": true, "gpt-5.4-mini": true,
		"gpt-10": true,
		"gpt-5":  false, "gpt-5-mini": false, "gpt-5.2": false, "gpt-4.1": false, "gpt-4o": false, "o3": false,
		"gpt-5.4-pro":         false,
		"gpt-5.4-chat-latest": false, "gpt-oss-120b": false, "my-gpt-6": false,
	} {
		if reasonsUnasked(id) != want {
			t.Errorf("%s: %v", id, !want)
		}
	}
}

// TestEncoder: what encodes otherwise has another name.
func TestEncoder(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Options{
		"openai/1+completion": {}, "openai/1": {BaseURL: "http://localhost/v1"},
		"ollama/1":            {Name: "ollama", BaseURL: "http://localhost:11434"},
		"deepseek/1+thinking": {Name: "deepseek", BaseURL: "https://API.deepseek.com"},
		"x/1+thinking":        {Name: "x", BaseURL: "http://localhost", SendThinking: true},
	} {
		if p := New(o); p.Encoder() != want || !strings.HasPrefix(want, p.Name()+"/") {
			t.Errorf("%+v: %s, want %s", o, p.Encoder(), want)
		}
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                        "https://api.openai.com/v1/chat/completions",
		"https://api.openai.com":                  "https://api.openai.com/v1/chat/completions",
		"http://localhost:11434":                  "http://localhost:11434/v1/chat/completions",
		"http://localhost:11434/":                 "http://localhost:11434/v1/chat/completions",
		" http://h/v1/ ":                          "http://h/v1/chat/completions",
		"http://h/v1/chat/completions":            "http://h/v1/chat/completions",
		"http://h/v1/chat/completions/":           "http://h/v1/chat/completions",
		"https://h/openai/v1":                     "https://h/openai/v1/chat/completions",
		"https://h/api/paas/v4/":                  "https://h/api/paas/v4/chat/completions",
		"https://h/v1beta/openai":                 "https://h/v1beta/openai/chat/completions",
		"https://h/gateway":                       "https://h/gateway/v1/chat/completions",
		"https://h/openai/v1?api-version=preview": "https://h/openai/v1/chat/completions?api-version=preview",
	} {
		if p := New(Options{BaseURL: in}); p.badURL != nil || p.endpoint != want {
			t.Errorf("%q: %s, %v, want %s", in, p.endpoint, p.badURL, want)
		}
	}
	for _, in := range []string{"localhost:11434", "ftp://h", "http://", "://", "h/v1"} {
		p := New(Options{BaseURL: in})
		_, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
		if me := failed(t, err); me.Fault != troupe.FaultBad || !strings.Contains(me.Message, "OPENAI_BASE_URL") {
			t.Errorf("%q: %+v", in, me)
		}
		if _, err := p.Models(t.Context()); err == nil {
			t.Errorf("%q has models", in)
		}
	}
}

func calls(i int, name, input string) troupe.Block {
	return troupe.Block{Type: troupe.CallBlock, Call: &troupe.Call{Reply: 3, Index: i, Name: name, Input: input,
		ProviderID: "call_0"}}
}

func result(i int, isErr bool, blocks ...troupe.Block) troupe.Block {
	return troupe.Block{Type: troupe.ResultBlock, Result: &troupe.Result{Reply: 3, Call: i, IsError: isErr,
		ProviderID: "call_0", Blocks: blocks}}
}

func picture(data string) troupe.Block {
	return troupe.Block{Type: troupe.ImageBlock, Image: &troupe.Image{MediaType: "image/png", Data: []byte(data)}}
}

func TestMessagesOnTheWire(t *testing.T) {
	t.Parallel()
	const abc, xyz = `{"type":"image_url","image_url":{"url":"data:image/png;base64,YWJj"}}`,
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,eHl6"}}`
	for _, tt := range []struct {
		name string
		in   troupe.Message
		want string
	}{
		{"text, and empty text left out", says(troupe.User, troupe.Text(""), troupe.Text("a\xff\x00b"),
			troupe.Text(" \n"), troupe.Text("c")), `{"role":"user","content":"a` + "\ufffd\ufffd" + `b\nc"}`},
		{"nothing left", says(troupe.User, troupe.Text("")), `{"role":"user","content":"(nothing)"}`},
		{"nothing said", says(troupe.Assistant, troupe.Text("")), `{"role":"assistant","content":"(nothing)"}`},
		{"images", says(troupe.User, troupe.Text("see"), picture("abc")),
			`{"role":"user","content":[{"type":"text","text":"see"},` + abc + `]}`},
		{"calls: our ids, always an object", says(troupe.Assistant, calls(0, "Read", ` {"b":1,  "a":"<x>"}`),
			calls(1, "Edit file", `{"broken`), calls(2, "", `[1]`), calls(3, "A", ""),
			calls(4, "A", "{\"a\":\"\xff\x00\"}")),
			`{"role":"assistant","content":null,"tool_calls":[` +
				`{"id":"call_3_0","type":"function","function":{"name":"Read","arguments":" {\"b\":1,  \"a\":\"<x>\"}"}},` +
				`{"id":"call_3_1","type":"function","function":{"name":"Edit_file","arguments":"{\"unreadable_input\":\"{\\\"broken\"}"}},` +
				`{"id":"call_3_2","type":"function","function":{"name":"_","arguments":"{\"unreadable_input\":\"[1]\"}"}},` +
				`{"id":"call_3_3","type":"function","function":{"name":"A","arguments":"{}"}},` +
				`{"id":"call_3_4","type":"function","function":{"name":"A","arguments":"{\"unreadable_input\":\"{\\\"a\\\":\\\"` + "\ufffd" + `\\u0000\\\"}\"}"}}]}`},
		{"text and a call", says(troupe.Assistant, troupe.Text("a"), calls(0, "Read", `{}`), troupe.Text("b")),
			`{"role":"assistant","content":"a\nb","tool_calls":[{"id":"call_3_0","type":"function","function":{"name":"Read","arguments":"{}"}}]}`},
		{"one result", says(troupe.User, result(0, false, troupe.Text("ok"), troupe.Text("more"))),
			`{"role":"tool","tool_call_id":"call_3_0","content":"ok\nmore"}`},
		{"results first, never empty, errors told", says(troupe.User, troupe.Text("note"), result(0, false),
			result(1, true), result(2, true, troupe.Text("no file")), result(3, true, troupe.Text("error: no file"))),
			`[{"role":"tool","tool_call_id":"call_3_0","content":"(nothing)"},{"role":"tool","tool_call_id":"call_3_1","content":"Error: (nothing)"},` +
				`{"role":"tool","tool_call_id":"call_3_2","content":"Error: no file"},{"role":"tool","tool_call_id":"call_3_3","content":"error: no file"},` +
				`{"role":"user","content":"note"}]`},
		{"images in results", says(troupe.User, result(0, false, picture("abc")),
			result(1, false, troupe.Text("t"), picture("xyz"), picture("abc")), troupe.Text("note"), picture("xyz")),
			`[{"role":"tool","tool_call_id":"call_3_0","content":"(an image; it is in the next message)"},{"role":"tool","tool_call_id":"call_3_1","content":"t"},` +
				`{"role":"user","content":[{"type":"text","text":"What call_3_0 returned:"},` + abc +
				`,{"type":"text","text":"What call_3_1 returned:"},` + xyz + `,` + abc +
				`,{"type":"text","text":"note"},` + xyz + `]}]`},
		{"thoughts stay here", says(troupe.Assistant, thoughtBlock("hm"),
			troupe.Block{Type: troupe.OpaqueBlock, Provider: "openai", Raw: `{}`}, troupe.Text("z")),
			`{"role":"assistant","content":"z"}`},
	} {
		got, err := local().EncodeMessage(tt.in)
		if err != nil || string(got) != tt.want || !json.Valid(got) {
			t.Errorf("%s: %v\n got %s\nwant %s", tt.name, err, got, tt.want)
		}
	}
	for _, m := range []troupe.Message{
		{Role: "system"}, says(troupe.User, troupe.Block{Type: "sound"}),
		says(troupe.Assistant, troupe.Block{Type: "sound"}), says(troupe.User, troupe.Block{Type: troupe.ImageBlock}),
		says(troupe.User, troupe.Block{Type: troupe.ResultBlock}),
		says(troupe.Assistant, troupe.Block{Type: troupe.CallBlock}), says(troupe.User, calls(0, "A", "{}")),
		says(troupe.Assistant, result(0, false)), says(troupe.Assistant, picture("abc")),
		says(troupe.User, result(0, false, troupe.Block{Type: troupe.OpaqueBlock})),
	} {
		if got, err := local().EncodeMessage(m); err == nil {
			t.Errorf("%+v was encoded as %s", m, got)
		}
	}
}

// TestThoughtsGoBack: to a server that wants them, and only its own; and every message has
// the field then, because a message without it is refused.
func TestThoughtsGoBack(t *testing.T) {
	t.Parallel()
	p := New(Options{Name: "deepseek", BaseURL: "https://api.deepseek.com",
		Transport: canned{[]byte(chunk(`{"reasoning_content":"Hm \"so\"."}`, "") +
			toolCalls(`{"index":0,"function":{"name":"Read","arguments":"{}"}}`) + chunk(`{}`, "tool_calls"))}})
	got, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
	if err != nil {
		t.Fatal(err)
	}
	const calls = `"tool_calls":[{"id":"call_1_0","type":"function","function":{"name":"Read","arguments":"{}"}}]}`
	for want, blocks := range map[string][]troupe.Block{
		`{"role":"assistant","reasoning_content":"Hm \"so\".","content":null,` + calls: got.Blocks,
		`{"role":"assistant","reasoning_content":"","content":null,` + calls:           got.Blocks[1:],
		`{"role":"assistant","reasoning_content":"","content":"a"}`: {{Type: troupe.ThinkingBlock,
			Provider: "anthropic", Text: "x", Raw: got.Blocks[0].Raw}, troupe.Text("a")},
	} {
		if b, err := p.EncodeMessage(says(troupe.Assistant, blocks...)); err != nil || string(b) != want {
			t.Errorf("%v\n got %s\nwant %s", err, b, want)
		}
	}
}

// TestRequestOnTheWire: the exact bytes arrive, with their length, and the key only in its
// header; without a key there is no header.
func TestRequestOnTheWire(t *testing.T) {
	t.Parallel()
	for key, header := range map[string]string{testKey: "Bearer " + testKey, "": ""} {
		p, s := serve(t, always(modeltest.Text("ok")), modeltest.Options{Midway: true},
			func(o *Options) { o.APIKey = key })
		r := conversation(t, p, 4, says(troupe.User, troupe.Text("go")),
			says(troupe.Assistant, calls(0, "Read", "{}"), calls(1, "Read", "{}")),
			says(troupe.User, result(0, false), result(1, false)))
		if _, err := p.Stream(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
		got := s.Requests()[0]
		want := string(r.Head) + "," + string(r.Messages[0]) + "," + string(r.Messages[1]) + "," +
			strings.Trim(string(r.Messages[2]), "[]") + `]}`
		if string(got.Body) != want {
			t.Errorf("body\n%s\nwant\n%s", got.Body, want)
		}
		for k, v := range map[string]string{
			"Authorization": header, "Content-Type": "application/json", "Accept": "text/event-stream",
			"User-Agent":     "troupe",
			"Content-Length": fmt.Sprint(len(want)), "Accept-Encoding": "",
		} {
			if got.Header.Get(k) != v {
				t.Errorf("%s: %q, want %q", k, got.Header.Get(k), v)
			}
		}
		if bytes.Contains(got.Body, []byte(testKey)) {
			t.Errorf("the key is in %s", got.Body)
		}
	}
}

// TestNoSystem: without a system prompt the first message stands behind no comma.
func TestNoSystem(t *testing.T) {
	t.Parallel()
	p := local()
	head, err := p.EncodeHead(model.Head{Model: "m", MaxTokens: 1})
	if err != nil {
		t.Fatal(err)
	}
	one, err := p.EncodeMessage(says(troupe.User, troupe.Text("a")))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(body(model.Request{Head: head, Messages: [][]byte{one}}).Reader())
	if err != nil || !json.Valid(got) || !bytes.HasSuffix(got, []byte(`"messages":[{"role":"user","content":"a"}]}`)) {
		t.Errorf("%s, %v", got, err)
	}
}

// TestWholeConversation lets the fake server watch several turns of calls, results and
// images: it refuses a broken prefix, a name used twice, and a call without a result.
func TestWholeConversation(t *testing.T) {
	t.Parallel()
	p, s := serve(t, func(r *modeltest.Request) modeltest.Reply {
		rep := modeltest.Reply{Thinking: "Hm <" + fmt.Sprint(r.Turn) + ">", Text: "Working."}
		for i := range r.Turn * 3 {
			rep.Calls = append(rep.Calls, modeltest.Call{Name: "Read", Input: fmt.Sprintf(`{"n":%d}`, i)})
		}
		return rep
	}, modeltest.Options{})
	msgs := []troupe.Message{says(troupe.User, troupe.Text("go"))}
	for turn := 1; turn <= 6; turn++ {
		got, err := p.Stream(t.Context(), conversation(t, p, turn, msgs...), nil)
		if err != nil {
			t.Fatal(err)
		}
		var results []troupe.Block
		for _, b := range got.Blocks {
			if b.Type == troupe.CallBlock {
				results = append(results, troupe.Block{Type: troupe.ResultBlock,
					Result: &troupe.Result{Reply: b.Call.Reply, Call: b.Call.Index,
						Blocks: []troupe.Block{troupe.Text("ok"), picture("abc")}}})
			}
		}
		if turn%2 == 0 {
			results = append(results, troupe.Text("By the way."))
		}
		msgs = append(msgs, says(troupe.Assistant, got.Blocks...), says(troupe.User, results...))
	}
	last := s.Requests()[5]
	if last.Turn != 6 || last.System() != "Be brief." || last.FirstText() != "go" ||
		fmt.Sprint(last.Tools()) != "[Read]" || !strings.HasPrefix(last.LastText(), "ok\nok\n") {
		t.Errorf("turn %d, system %q, first %q, tools %q, last %q", last.Turn, last.System(), last.FirstText(),
			last.Tools(), last.LastText())
	}
}
