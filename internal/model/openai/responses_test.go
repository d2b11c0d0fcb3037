package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

// serveResponses starts a fake of the Responses API and a provider that talks to it.
func serveResponses(t testing.TB, h modeltest.Handler, o modeltest.Options) (*Provider, *modeltest.Server) {
	t.Helper()
	s := modeltest.NewResponses(h, o)
	p := New(Options{API: Responses, APIKey: testKey, BaseURL: s.URL()})
	t.Cleanup(func() {
		p.Close()
		s.Close()
		if err := s.Err(); err != nil {
			t.Errorf("the server was sent what it refuses: %v", err)
		}
	})
	return p, s
}

func TestResponsesConformance(t *testing.T) {
	t.Parallel()
	modeltest.Run(t, modeltest.Harness{New: func(t *testing.T, replies ...modeltest.Reply) model.Provider {
		p, _ := serveResponses(t, func(r *modeltest.Request) modeltest.Reply { return replies[r.Turn-1] },
			modeltest.Options{Midway: true})
		return p
	}})
}

func TestResponsesWire(t *testing.T) {
	t.Parallel()
	modeltest.RunWire(t, modeltest.Wire{API: modeltest.Responses, Recorded: []byte(recordedItems),
		New: func(t *testing.T, base string, rt http.RoundTripper) model.Provider {
			p := New(Options{API: Responses, APIKey: testKey, BaseURL: base, Transport: rt,
				IdleTimeout: modeltest.Idle})
			t.Cleanup(p.Close)
			return p
		}})
}

func responsesLocal() *Provider {
	return New(Options{API: Responses, BaseURL: "http://localhost:11434"})
}

// TestAPIFor: OpenAI's own models that reason are spoken to in the Responses API, all else in Chat Completions.
func TestAPIFor(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]API{
		"gpt-6-sol": Responses, "gpt-6.2-sol": Responses, "gpt-6-astra": Responses, "gpt-5": Responses,
		"gpt-5-mini": Responses, "gpt-5.4": Responses, "gpt-5.4-mini": Responses, "gpt-5.5-2026-04-23": Responses,
		"gpt-5-pro": Responses, "gpt-5.3-codex": Responses, "gpt-10": Responses, "o1": Responses, "o1-pro": Responses,
		"o3": Responses, "o4-mini": Responses, "o3-deep-research": Responses, "codex-mini-latest": Responses,
		"computer-use-preview": Responses, "chat-latest": Responses, "GPT-6-Sol": Responses,
		"gpt-4.1": ChatCompletions, "gpt-4o": ChatCompletions, "gpt-3.5-turbo": ChatCompletions,
		"gpt-oss-120b": ChatCompletions, "gpt-5-chat-latest": ChatCompletions, "gpt-5.2-chat-latest": ChatCompletions,
		"gpt-5-search-api": ChatCompletions, "gpt-4o-search-preview": ChatCompletions,
		"chatgpt-4o-latest": ChatCompletions, "ft:gpt-4.1:me": ChatCompletions, "my-gpt-6": ChatCompletions,
		"omni": ChatCompletions, "": ChatCompletions,
	} {
		for base, want := range map[string]API{"": want, DefaultBaseURL: want, " https://API.openai.com/ ": want,
			"http://localhost:11434": ChatCompletions, "https://gateway.example/openai/v1": ChatCompletions} {
			if got := APIFor(base, id); got != want {
				t.Errorf("%q at %q: %s, want %s", id, base, got, want)
			}
		}
	}
}

func TestResponsesHead(t *testing.T) {
	t.Parallel()
	h := model.Head{
		Model: "gpt-6-sol", System: "Use <b> & \"q\".\n", MaxTokens: 64000,
		Tools: []troupe.Tool{{Name: "A", Description: "does a"},
			{Name: "B", Description: "does b", Schema: json.RawMessage("{ \"type\":\n \"object\", \"x\":1.0 }")}},
	}
	const rest = `"instructions":"Use <b> & \"q\".\n","tools":[` +
		`{"type":"function","name":"A","description":"does a","parameters":{"type":"object","properties":{}},"strict":false},` +
		`{"type":"function","name":"B","description":"does b","parameters":{"type":"object","x":1.0},"strict":false}],"input":[`
	p := New(Options{API: Responses})
	for id, include := range map[string]string{"gpt-6-sol": `"include":["reasoning.encrypted_content"],`,
		"openai/o3": `"include":["reasoning.encrypted_content"],`, "gpt-4.1": "", "gpt-5-chat-latest": "", "qwen": ""} {
		h.Model = id
		want := `{"model":"` + id + `","max_output_tokens":64000,"stream":true,"store":false,` + include + rest
		if got, err := p.EncodeHead(h); err != nil || string(got) != want {
			t.Errorf("%v\n got %s\nwant %s", err, got, want)
		}
	}
	const bare = `{"model":"m","max_output_tokens":1,"stream":true,"store":false,"input":[`
	if got, err := p.EncodeHead(model.Head{Model: "m", MaxTokens: 1}); err != nil || string(got) != bare {
		t.Errorf("bare head: %s, %v", got, err)
	}
	const effort = `{"model":"m","max_output_tokens":1,"stream":true,"store":false,"reasoning":{"effort":"max"},"input":[`
	if got, err := p.EncodeHead(model.Head{Model: "m", MaxTokens: 1, Effort: troupe.EffortMax}); err != nil ||
		string(got) != effort {
		t.Errorf("head with an effort: %s, %v", got, err)
	}
	for _, h := range []model.Head{{Model: "m"}, {MaxTokens: 1},
		{Model: "m", MaxTokens: 1, Tools: []troupe.Tool{{Name: "A", Schema: json.RawMessage("{")}}}} {
		if got, err := p.EncodeHead(h); err == nil {
			t.Errorf("%+v was encoded as %s", h, got)
		}
	}
	if e, other := p.Encoder(), New(Options{}).Encoder(); e != "openai/1+responses" || e == other {
		t.Errorf("encoder %q, and of Chat Completions %q", e, other)
	}
	for in, want := range map[string]string{
		"":                             "https://api.openai.com/v1/responses",
		"http://h/v1/responses/":       "http://h/v1/responses",
		"http://h/openai/v1":           "http://h/openai/v1/responses",
		"http://h/v1/chat/completions": "http://h/v1/responses",
	} {
		if p := New(Options{API: Responses, BaseURL: in}); p.endpoint != want {
			t.Errorf("%q: %s, want %s", in, p.endpoint, want)
		}
	}
}

// kept is a block with what is sent back beside it.
func kept(bl troupe.Block, raw string) troupe.Block {
	bl.Provider, bl.Raw = "openai", raw
	return bl
}

func sealed(id string) troupe.Block {
	return kept(troupe.Block{Type: troupe.ThinkingBlock, Text: "hm"},
		`{"id":"`+id+`", "type":"reasoning","summary":[], "encrypted_content":"g=="}`)
}

func TestResponsesMessages(t *testing.T) {
	t.Parallel()
	const abc, xyz = `{"type":"input_image","image_url":"data:image/png;base64,YWJj"}`,
		`{"type":"input_image","image_url":"data:image/png;base64,eHl6"}`
	const user, said = `{"type":"message","role":"user","content":[`, `{"type":"message","role":"assistant","content":[`
	in := func(s string) string { return `{"type":"input_text","text":"` + s + `"}` }
	out := func(s string) string { return `{"type":"output_text","text":"` + s + `","annotations":[]}` }
	long := calls(1, "Read", `{}`)
	long.Call.ProviderID = "call_MpCHoJbcGCbxDXSV"
	longResult := result(1, false, troupe.Text("ok"))
	longResult.Result.ProviderID = long.Call.ProviderID
	for _, tt := range []struct {
		name string
		in   troupe.Message
		want string
	}{
		{"text, and empty text left out", says(troupe.User, troupe.Text(""), troupe.Text("a\xff\x00b"),
			troupe.Text(" \n"),
			troupe.Text("c")), user + in("a\ufffd\ufffdb") + "," + in("c") + "]}"},
		{"nothing left", says(troupe.User, troupe.Text("")), user + in("(nothing)") + "]}"},
		{"nothing said", says(troupe.Assistant), said + out("(nothing)") + "]}"},
		{"images", says(troupe.User, troupe.Text("see"), picture("abc")), user + in("see") + "," + abc + "]}"},
		{"calls: always an object", says(troupe.Assistant, calls(0, "Read", ` {"b":1,  "a":"<x>"}`),
			calls(1, "Edit file", `{"broken`), calls(2, "", `[1]`), calls(3, "A", "")),
			`[{"type":"function_call","call_id":"call_3_0","name":"Read","arguments":" {\"b\":1,  \"a\":\"<x>\"}"},` +
				`{"type":"function_call","call_id":"call_3_1","name":"Edit_file","arguments":"{\"unreadable_input\":\"{\\\"broken\"}"},` +
				`{"type":"function_call","call_id":"call_3_2","name":"_","arguments":"{\"unreadable_input\":\"[1]\"}"},` +
				`{"type":"function_call","call_id":"call_3_3","name":"A","arguments":"{}"}]`},
		{"the service's own ids", says(troupe.Assistant, kept(long, `{"id":"fc_1","status":"completed"}`)),
			`{"type":"function_call","id":"fc_1","status":"completed","call_id":"call_MpCHoJbcGCbxDXSV","name":"Read","arguments":"{}"}`},
		{"and its results", says(troupe.User, longResult),
			`{"type":"function_call_output","call_id":"call_MpCHoJbcGCbxDXSV","output":"ok"}`},
		{"results first, never empty, errors told", says(troupe.User, troupe.Text("note"), result(0, false),
			result(1, true), result(2, true, troupe.Text("no file")), result(3, true, troupe.Text("error: no file"))),
			`[{"type":"function_call_output","call_id":"call_3_0","output":"(nothing)"},{"type":"function_call_output","call_id":"call_3_1","output":"Error: (nothing)"},` +
				`{"type":"function_call_output","call_id":"call_3_2","output":"Error: no file"},{"type":"function_call_output","call_id":"call_3_3","output":"error: no file"},` +
				user + in("note") + "]}]"},
		{"images in results stand where they stood", says(troupe.User, result(0, false, picture("abc")),
			result(1, true, troupe.Text("t"), picture("xyz"), troupe.Text(" "), troupe.Text("u"))),
			`[{"type":"function_call_output","call_id":"call_3_0","output":[` + abc +
				`]},{"type":"function_call_output","call_id":"call_3_1","output":[` + in("Error:") + "," + in("t") +
				"," + xyz + "," +
				in("u") + "]}]"},
		{"a thought goes back as it came", says(troupe.Assistant, sealed("rs_1"),
			kept(troupe.Text("a"), `{"id":"msg_1","status":"completed","phase":"commentary"}`),
			kept(troupe.Text("b"), `{"id":"msg_1","status":"completed","phase":"commentary"}`),
			kept(troupe.Text("no"), `{"id":"msg_2","phase":"final_answer","refusal":true}`)),
			`[{"id":"rs_1", "type":"reasoning","summary":[], "encrypted_content":"g=="},` +
				`{"type":"message","id":"msg_1","status":"completed","phase":"commentary","role":"assistant","content":[` + out("a") +
				"," + out("b") +
				`]},{"type":"message","id":"msg_2","phase":"final_answer","role":"assistant","content":[` +
				`{"type":"refusal","refusal":"no"}]}]`},
		{"not one that nothing follows", says(troupe.Assistant, troupe.Text("a"), sealed("rs_1"), troupe.Text(" ")),
			said + out("a") + "]}"},
		{"nor one that is all there is", says(troupe.Assistant, sealed("rs_1")), said + out("(nothing)") + "]}"},
		{"no ids without all thoughts", says(troupe.Assistant, thoughtBlock("for people"), sealed("rs_2"),
			kept(troupe.Text("a"), `{"id":"msg_1","status":"completed","phase":"final_answer"}`)),
			`[{"id":"rs_2", "type":"reasoning","summary":[], "encrypted_content":"g=="},` +
				`{"type":"message","phase":"final_answer","role":"assistant","content":[` + out("a") + "]}]"},
		{"nothing of other providers or of the other API", says(troupe.Assistant,
			troupe.Block{Type: troupe.ThinkingBlock, Provider: "anthropic", Raw: `{"type":"thinking"}`},
			kept(troupe.Block{Type: troupe.ThinkingBlock}, `{"reasoning_content":"x"}`),
			troupe.Block{Type: troupe.OpaqueBlock, Provider: "anthropic", Raw: `{"type":"x"}`},
			troupe.Block{Type: troupe.TextBlock, Text: "z", Provider: "anthropic", Raw: `{"id":"msg_9"}`}),
			said + out("z") + "]}"},
		{"what is not known goes back as it came", says(troupe.Assistant, sealed("rs_1"),
			kept(troupe.Block{Type: troupe.OpaqueBlock}, `{"type":"from_the_future","x":1}`)),
			`[{"id":"rs_1", "type":"reasoning","summary":[], "encrypted_content":"g=="},{"type":"from_the_future","x":1}]`},
	} {
		got, err := responsesLocal().EncodeMessage(tt.in)
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
		if got, err := responsesLocal().EncodeMessage(m); err == nil {
			t.Errorf("%+v was encoded as %s", m, got)
		}
	}
}

// TestResponsesRequest: the exact bytes arrive, and behind the conversation a key for the cache, which is the same
// for all requests of a session and tells nothing of it.
func TestResponsesRequest(t *testing.T) {
	t.Parallel()
	p, s := serveResponses(t, always(modeltest.Text("ok")), modeltest.Options{Midway: true})
	origins := map[troupe.SessionID]troupe.SessionID{"s-1": "s-1", "fork-1": "s-1", "fork-2": "s-1"}
	ask := func(session troupe.SessionID, msgs ...troupe.Message) model.Request {
		r := conversation(t, p, 4, msgs...)
		r.Agent.Session, r.Agent.Origin = session, origins[session]
		if _, err := p.Stream(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := ask("s-1", says(troupe.User, troupe.Text("go")),
		says(troupe.Assistant, calls(0, "Read", "{}"), calls(1, "Read", "{}")),
		says(troupe.User, result(0, false), result(1, false)))
	ask("s-1", says(troupe.User, troupe.Text("other")))
	ask("s-2", says(troupe.User, troupe.Text("another")))
	ask("", says(troupe.User, troupe.Text("no session")))
	ask("fork-1", says(troupe.User, troupe.Text("a part of it")))
	ask("fork-2", says(troupe.User, troupe.Text("another part")))
	var keys []string
	for i, got := range s.Requests() {
		var body struct {
			Key string `json:"prompt_cache_key"`
		}
		if err := json.Unmarshal(got.Body, &body); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, body.Key)
		if i == 0 {
			want := string(r.Head) + string(r.Messages[0]) + "," + strings.Trim(string(r.Messages[1]), "[]") + "," +
				strings.Trim(string(r.Messages[2]), "[]") + `],"prompt_cache_key":"` + body.Key + `"}`
			if string(got.Body) != want {
				t.Errorf("body\n%s\nwant\n%s", got.Body, want)
			}
		}
	}
	if keys[0] == "" || keys[0] != keys[1] || keys[0] == keys[2] || keys[3] != "" || strings.Contains(keys[0], "s-1") {
		t.Errorf("keys %q", keys)
	}
	if keys[4] != keys[0] || keys[5] != keys[0] { // the machine that has read what their parent was told
		t.Errorf("forks of one parent have the keys %q, and it has %q", keys[4:], keys[0])
	}
}

// TestResponsesWindow: the test of a window is made in the API that is spoken.
func TestResponsesWindow(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !strings.HasSuffix(r.URL.Path, "/v1/responses") ||
			!strings.Contains(string(body), `"store":false,"input":[{"role":"user"`) {
			http.Error(w, "no", http.StatusNotFound)
			return
		}
		fmt.Fprintf(w, `{"usage":{"input_tokens":%d}}`, min(strings.Count(string(body), probeWord), 4096))
	}))
	defer srv.Close()
	p := New(Options{API: Responses, BaseURL: srv.URL})
	defer p.Close()
	for claimed, want := range map[int]Verdict{4096: WindowHolds, 32768: WindowTruncates} {
		if got, err := p.Window(t.Context(), "m", claimed); err != nil || got.Verdict != want {
			t.Errorf("%d: %+v, %v", claimed, got, err)
		}
	}
}
