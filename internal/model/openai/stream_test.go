package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/internal/sse"
	"github.com/troupe-dev/troupe/internal/model/internal/upstream"
	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

// recorded is a stream with everything in it that the API and its nearest kin have been
// seen to send, in the form they send it.
const recorded = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"gpt-x-2026-01-01","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"role":"assistant","content":null,"refusal":null},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"x"}

data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"","reasoning_content":"Let me "},"finish_reason":null}]}

data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":null,"reasoning":"\"see\"…","reasoning_content":"\"see\"…"},"finish_reason":null}]}

: keep-alive

data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"Caf\u00e9 \ud83d\ude00\n","reasoning_content":null},"finish_reason":null}]}

data: {"id":"chatcmpl-1","choices":[{"index":1,"delta":{"content":"another choice"},"finish_reason":"stop"}]}

data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"done."},"finish_reason":null}]}

data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_0","type":"function","function":{"name":"Read","arguments":""}}]},"finish_reason":null}]}

data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"file_path\": "}}]},"finish_reason":null}]}

data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_0","type":"function","function":{"name":"List"}}]},"finish_reason":null}]}

data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"","arguments":"\"a.go\"}"}},{"index":1,"id":null,"type":null,"function":{"name":null,"arguments":null}}]},"finish_reason":null}]}

data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}],"usage":null}

data: {"id":"chatcmpl-1","choices":[],"usage":{"prompt_tokens":2103,"completion_tokens":89,"total_tokens":2192,"prompt_tokens_details":{"cached_tokens":2000,"cache_write_tokens":100,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":12,"accepted_prediction_tokens":0}}}

data: [DONE]

`

func callBlock(index int, name, input, id string) troupe.Block {
	return troupe.Block{Type: troupe.CallBlock, Call: &troupe.Call{Reply: 7, Index: index, Name: name, Input: input,
		ProviderID: id}}
}

func thoughtBlock(text string) troupe.Block {
	return troupe.Block{Type: troupe.ThinkingBlock, Provider: "openai", Text: text}
}

func recordedReply() troupe.Reply {
	return troupe.Reply{
		Blocks: []troupe.Block{
			thoughtBlock(`Let me "see"…`), troupe.Text("Café 😀\ndone."),
			callBlock(0, "Read", `{"file_path": "a.go"}`, "call_0"), callBlock(1, "List", `{}`, "call_0"),
		},
		Stop: troupe.StopToolUse, Model: "openai/gpt-x-2026-01-01",
		Usage: troupe.Usage{Input: 3, Output: 89, CacheRead: 2000, CacheWrite: 100},
	}
}

// feed runs a stream through the reader and the accumulator, as Stream does.
func feed(r io.Reader) (troupe.Reply, *accumulator, error) {
	s := sse.Reader{Src: r, Buf: make([]byte, 64), Limit: 1 << 20}
	a := accumulator{reply: 7, provider: "openai", model: "asked-for"}
	a.bill.Sent = func() int64 { return 1000 }
	for a.Progress() != upstream.Over {
		data, err := s.Next()
		if err != nil {
			if a.Progress() == upstream.Whole {
				break
			}
			return troupe.Reply{}, &a, err
		}
		if err := a.Event(data); err != nil {
			return troupe.Reply{}, &a, err
		}
	}
	return a.whole(), &a, nil
}

func TestReplyOnTheWire(t *testing.T) {
	t.Parallel()
	p, _ := serve(t, always(modeltest.Reply{Raw: []byte(recorded), Pieces: 9}), modeltest.Options{Midway: true})
	var shown []string
	r := ask(t, p, "go")
	r.Agent.Reply = 7
	got, err := p.Stream(t.Context(), r, func(d model.Delta) { shown = append(shown, d.Text+d.Thinking+d.Tool) })
	want := recordedReply()
	want.RequestID = "req_fake_1"
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
	}
	if s := strings.Join(shown, "|"); s != `Let me |"see"…|Café 😀`+"\n|done.|Read|List" {
		t.Errorf("shown: %q", s)
	}
}

// TestCutOnTheWire tears and ends real connections in the middle of a reply.
func TestCutOnTheWire(t *testing.T) {
	t.Parallel()
	whole := strings.Index(recorded, `"finish_reason":"tool_calls"`)
	for i := 1; i < whole; i += 97 {
		for _, rep := range []modeltest.Reply{{Raw: []byte(recorded), Cut: i}, {Raw: []byte(recorded), End: i}} {
			p, _ := serve(t, always(rep), modeltest.Options{})
			_, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
			me := failed(t, err)
			if me.Fault != troupe.FaultRetry {
				t.Fatalf("cut at %d, ended at %d: %+v", rep.Cut, rep.End, me)
			}
			if i > 1200 && (troupe.JoinText(me.Partial) == "" || me.Usage.Input < 50 || me.Usage.Output == 0 ||
				!strings.Contains(me.Message, "estimated")) {
				t.Errorf("cut at %d: partial %+v, usage %+v, %s", i, me.Partial, me.Usage, me.Message)
			}
		}
	}
}

// chunk is one event, with a delta and, if there is one, a finish reason.
func chunk(delta, finish string) string {
	if finish != "" {
		finish = `,"finish_reason":"` + finish + `"`
	}
	return `data: {"choices":[{"index":0,"delta":` + delta + finish + "}]}\n\n"
}

func toolCalls(list string) string { return chunk(`{"tool_calls":[`+list+`]}`, "") }

// TestDialectsOfCalls: what servers have been seen to make of tool calls.
func TestDialectsOfCalls(t *testing.T) {
	t.Parallel()
	const stop = "stop"
	two := []troupe.Block{callBlock(0, "Read", `{"a":1}`, ""), callBlock(1, "Read", `{"b":2}`, "")}
	for name, tt := range map[string]struct {
		stream string
		want   []troupe.Block
	}{
		"no index, whole calls in one chunk, one id": {
			toolCalls(`{"id":"call_0","function":{"name":"Read","arguments":"{\"a\":1}"}},{"id":"call_0","function":{"name":"Read","arguments":"{\"b\":2}"}}`), two,
		},
		"no index, no id, a chunk each": {
			toolCalls(`{"function":{"name":"Read","arguments":"{\"a\":1}"}}`) +
				toolCalls(`{"function":{"name":"Read","arguments":"{\"b\":2}"}}`), two,
		},
		"every index 0, ids differ": {
			toolCalls(`{"index":0,"id":"x","function":{"name":"Read","arguments":"{\"a\":1}"}}`) +
				toolCalls(`{"index":0,"id":"y","function":{"name":"Read","arguments":"{\"b\":2}"}}`), two,
		},
		"every index 0, one id": {
			toolCalls(`{"index":0,"id":"x","function":{"name":"Read","arguments":"{\"a\":1}"}}`) +
				toolCalls(`{"index":0,"id":"x","function":{"name":"Read","arguments":"{\"b\":2}"}}`), two,
		},
		"null index, arguments in pieces without id": {
			toolCalls(`{"index":null,"id":"x","function":{"name":"Read","arguments":"{\"a\""}}`) +
				toolCalls(`{"index":null,"function":{"arguments":":1}"}}`) +
				toolCalls(`{"index":null,"id":"y","function":{"name":"Read","arguments":"{\"b\""}}`) +
				toolCalls(`{"function":{"arguments":":2}"}}`), two,
		},
		"id and name with every piece": {
			toolCalls(`{"index":0,"id":"x","function":{"name":"Read","arguments":"{\"a\""}}`) +
				toolCalls(`{"index":0,"id":"x","function":{"name":"Read","arguments":":1}"}}`) +
				toolCalls(`{"index":1,"id":"y","function":{"name":"Read","arguments":"{\"b\""}}`) +
				toolCalls(`{"index":1,"id":"y","function":{"name":"Read","arguments":":2}"}}`), two,
		},
		"a new id with every piece": {
			toolCalls(`{"index":0,"id":"x","function":{"name":"Read","arguments":"{\"a\""}}`) +
				toolCalls(`{"index":0,"id":"x2","function":{"name":"","arguments":":1}"}}`) +
				toolCalls(`{"index":1,"id":"y","function":{"name":"Read","arguments":"{\"b\""}}`) +
				toolCalls(`{"index":1,"id":"y2","function":{"arguments":":2}"}}`), two,
		},
		"pieces of both in turn": {
			toolCalls(`{"index":0,"function":{"name":"Read","arguments":"{\"a\""}},{"index":1,"function":{"name":"Read","arguments":"{\"b\""}}`) +
				toolCalls(`{"index":1,"function":{"arguments":":2}"}},{"index":0,"function":{"arguments":":1}"}}`), two,
		},
		"no index, pieces of both in turn by id": {
			toolCalls(`{"id":"x","function":{"name":"Read","arguments":"{\"a\""}},{"id":"y","function":{"name":"Read","arguments":"{\"b\""}}`) +
				toolCalls(`{"id":"x","function":{"arguments":":1}"}},{"id":"y","function":{"arguments":":2}"}}`), two,
		},
		"indexes with gaps, from 1": {
			toolCalls(`{"index":1,"function":{"name":"Read","arguments":"{\"a\":1}"}}`) +
				toolCalls(`{"index":5,"function":{"name":"Read","arguments":"{\"b\":2}"}}`), two,
		},
		"arguments that are not quoted": {
			toolCalls(`{"index":0,"function":{"name":"Read","arguments":{"a":1}}},{"index":1,"function":{"name":"Read","arguments":{"b":2}}}`), two,
		},
		"an empty piece first, the name later and in two": {
			toolCalls(`{"index":0}`) + toolCalls(`{"index":0,"id":"x","type":"function"}`) +
				toolCalls(`{"index":0,"function":{"name":"Re"}}`) + toolCalls(`{"index":0,"function":{"name":"ad"}}`) +
				toolCalls(`{"index":0,"function":{"arguments":"{\"a\":1}"}}`), two[:1],
		},
		"pieces that came to nothing": {toolCalls(`{}`) +
			toolCalls(`{"index":3,"id":"z","function":{"name":"","arguments":""}}`) + chunk(`{"content":"x"}`, ""),
			[]troupe.Block{troupe.Text("x")}},
		"no arguments, twice, names alone": {
			toolCalls(`{"function":{"name":"List"}}`) + toolCalls(`{"function":{"name":"Read"}}`),
			[]troupe.Block{callBlock(0, "List", `{}`, ""), callBlock(1, "Read", `{}`, "")},
		},
		"null": {`data: {"choices":[{"delta":{"content":null,"tool_calls":null,"refusal":null,"reasoning":null},"finish_reason":null}],"error":null,"usage":null}` + "\n\n" + toolCalls(`{"index":0,"function":{"name":"Read","arguments":"{\"a\":1}"}}`), two[:1]},
		"broken JSON is kept": {toolCalls(`{"index":0,"function":{"name":"Read","arguments":"{\"a\": oops"}}`),
			[]troupe.Block{callBlock(0, "Read", `{"a": oops`, "")}},
		"text behind calls": {
			toolCalls(`{"index":0,"function":{"name":"Read","arguments":"{\"a\":1}"}}`) +
				chunk(`{"content":"then"}`, ""), []troupe.Block{two[0], troupe.Text("then")},
		},
	} {
		for _, finish := range []string{stop, "tool_calls"} {
			for _, end := range []string{"", "data: [DONE]\n\n"} {
				got, _, err := feed(strings.NewReader(tt.stream + chunk(`{}`, finish) + end))
				for _, b := range got.Blocks {
					if b.Call != nil {
						b.Call.ProviderID = ""
					}
				}
				if err != nil || !reflect.DeepEqual(got.Blocks, tt.want) {
					t.Errorf("%s: %v\n got %s\nwant %s", name, err, show(got.Blocks), show(tt.want))
				}
				if calls := strings.Contains(show(got.Blocks), `"call"`); (got.Stop == troupe.StopToolUse) != calls {
					t.Errorf("%s, %s: stop %q", name, finish, got.Stop)
				}
			}
		}
	}
}

func show(blocks []troupe.Block) string {
	b, err := json.Marshal(blocks)
	return fmt.Sprintf("%s %v", b, err)
}

func TestDialectsOfText(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stream string
		want   []troupe.Block
		stop   troupe.StopReason
	}{
		"parts": {chunk(`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"odd"}]}`, "stop"),
			[]troupe.Block{troupe.Text("ab")}, troupe.StopEndTurn},
		"reasoning alone": {chunk(`{"reasoning":"hm"}`, "") + chunk(`{"content":"a"}`, "stop"),
			[]troupe.Block{thoughtBlock("hm"), troupe.Text("a")}, troupe.StopEndTurn},
		"message, no delta": {`data: {"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}` + "\n\n",
			[]troupe.Block{troupe.Text("a")}, troupe.StopEndTurn},
		"refusal": {chunk(`{"refusal":"I can"}`, "") + chunk(`{"refusal":"not."}`, "stop"),
			[]troupe.Block{troupe.Text("I cannot.")}, troupe.StopRefusal},
		"filtered": {chunk(`{"content":"a"}`, "content_filter"), []troupe.Block{troupe.Text("a")},
			troupe.StopRefusal},
		"length": {chunk(`{"content":"a"}`, "length"), []troupe.Block{troupe.Text("a")},
			troupe.StopMaxTokens},
		"unheard of": {chunk(`{"content":"a"}`, "vacation"), []troupe.Block{troupe.Text("a")}, troupe.StopOther},
		"nothing":    {chunk(`{}`, "stop"), nil, troupe.StopEndTurn},
		"calls, but none": {chunk(`{"content":"a"}`, "tool_calls"), []troupe.Block{troupe.Text("a")},
			troupe.StopEndTurn},
		"null as a word": {`data: {"choices":[{"delta":{"content":"a"},"finish_reason":"null"}]}` + "\n\n" +
			chunk(`{"content":"b"}`, "stop"), []troupe.Block{troupe.Text("ab")}, troupe.StopEndTurn},
		"not a chunk": {"data: 5\n\ndata: hello\n\ndata: []\n\n" + chunk(`{"content":"a"}`, "stop"),
			[]troupe.Block{troupe.Text("a")}, troupe.StopEndTurn},
	} {
		got, _, err := feed(strings.NewReader(tt.stream))
		if err != nil || !reflect.DeepEqual(got.Blocks, tt.want) || got.Stop != tt.stop {
			t.Errorf("%s: %v, %q\n got %s\nwant %s", name, err, got.Stop, show(got.Blocks), show(tt.want))
		}
	}
	for _, in := range []string{
		"data: [DONE]\n\n", chunk(`{"content":"a"}`, "") + "data: [DONE]\n\n", "data: {\"choices\":[]}\n\n",
		chunk(`{"content":5}`, "stop"), toolCalls(`{"function":{"name":"A","arguments":5}}`),
		"data: {\"usage\":[]}\n\n",
		chunk(`{"content":"a"}`, "insufficient_system_resource"), chunk(`{}`, "error"),
		toolCalls(strings.Repeat(`{"function":{"name":"A","arguments":"{}"}},`, upstream.MaxBlocks+1) + `{}`),
	} {
		if got, _, err := feed(strings.NewReader(in)); err == nil {
			t.Errorf("%.80q passes for a reply: %+v", in, got)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]troupe.Usage{
		`{"prompt_tokens":10,"completion_tokens":5}`:                                                                                                {Input: 10, Output: 5},
		`{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":8}}`:                                                    {Input: 2, Output: 5, CacheRead: 8},
		`{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":null,"completion_tokens_details":null}`:                                  {Input: 10, Output: 5},
		`{"prompt_tokens":10,"completion_tokens":5,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":2}`:                                       {Input: 2, Output: 5, CacheRead: 8},
		`{"prompt_tokens":10,"completion_tokens":5,"cached_tokens":8}`:                                                                              {Input: 2, Output: 5, CacheRead: 8},
		`{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":80,"cache_write_tokens":9}}`:                            {Output: 5, CacheRead: 10},
		`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":35,"completion_tokens_details":{"reasoning_tokens":20}}`:                          {Input: 10, Output: 25},
		`{"prompt_tokens":10,"completion_tokens":25,"total_tokens":35,"completion_tokens_details":{"reasoning_tokens":20}}`:                         {Input: 10, Output: 25},
		`{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":3,"cache_write_tokens":4},"prompt_cache_hit_tokens":3}`: {Input: 3, Output: 5, CacheRead: 3, CacheWrite: 4},
	} {
		whole := `data: {"choices":[],"usage":` + in + "}\n\n"
		inside := `data: {"choices":[{"delta":{},"finish_reason":"stop","usage":` + in + "}]}\n\n"
		for _, stream := range []string{chunk(`{"content":"a"}`, "stop") + whole, chunk(`{"content":"a"}`, "") + inside,
			whole + chunk(`{"content":"a"}`, "stop") + whole} {
			if got, _, err := feed(strings.NewReader(stream)); err != nil || got.Usage != want {
				t.Errorf("%s: %+v, %v, want %+v", in, got.Usage, err, want)
			}
		}
	}
	for in, want := range map[string]troupe.Usage{"": {Input: 1000, Output: 2},
		`data: {"choices":[],"usage":{"prompt_tokens":7}}` + "\n\n": {Input: 7, Output: 2}} {
		got, _, err := feed(strings.NewReader(in + chunk(`{"content":"abcd"}`, "") + chunk(`{"content":"e"}`, "stop")))
		if err != nil || got.Usage != want {
			t.Errorf("not told after %q: %+v, %v", in, got.Usage, err)
		}
	}
}

// FuzzStream: any bytes, in any pieces, either make a reply or an error. How they are cut
// into reads makes no difference, and all that would be sent back is JSON.
func FuzzStream(f *testing.F) {
	f.Add([]byte(recorded), uint8(5))
	f.Add([]byte(strings.ReplaceAll(recorded, "\n", "\r")), uint8(1))
	f.Add([]byte("data: {\"error\":{\"message\":\"x\",\"code\":400}}\r\n\r\n"), uint8(3))
	f.Add([]byte(toolCalls(`{"id":"call_0","function":{"name":"Read","arguments":"{\"a\":1}"}},{"id":"call_0","function":{"name":"Read","arguments":{"b":2}}}`)+chunk(`{}`, "stop")), uint8(9))
	p := New(Options{SendThinking: true})
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		whole, a, err := feed(bytes.NewReader(in))
		cut, _, err2 := feed(&pieces{in, int(size)%64 + 1})
		if fmt.Sprint(err) != fmt.Sprint(err2) && !errors.Is(err, sse.ErrTooLarge) || !reflect.DeepEqual(whole, cut) {
			t.Errorf("at once: %+v, %v; in pieces: %+v, %v", whole, err, cut, err2)
		}
		a.keepThoughts = true
		if b, err := p.EncodeMessage(troupe.Message{Role: troupe.Assistant, Blocks: a.content()}); err != nil ||
			!json.Valid(b) {
			t.Errorf("cannot be sent back: %v: %s", err, b)
		}
	})
}

type pieces struct {
	rest []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(p.size, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}
