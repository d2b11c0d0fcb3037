package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/internal/sse"
	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

// recorded is a stream with everything in it that the API has been seen to send, in the
// form it sends it.
const recorded = `event: message_start
data: {"type":"message_start","message":{"model":"claude-x-20260101","id":"msg_1","type":"message","role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":100,"cache_read_input_tokens":2000,"cache_creation":{"ephemeral_5m_input_tokens":100},"output_tokens":1,"service_tier":"standard"}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":"","extra":[1, 2]}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me \"see\"…"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"RXFN+/=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"b3BhcXVl","z":1}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Caf\u00e9 \ud83d\ude00\n"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"done."}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"text":"no"}}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"hologram","text":"","depth":3}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"17"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{\"file_path\": "}}

event: content_block_delta
data: {"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"\"a.go\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: content_block_start
data: {"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"toolu_1","name":"List","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":5}

event: from_the_future
data: {"type":"from_the_future","index":"?"}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":3,"cache_read_input_tokens":2000,"output_tokens":89}}

event: message_stop
data: {"type":"message_stop"}

`

func recordedReply() troupe.Reply {
	return troupe.Reply{
		Blocks: []troupe.Block{
			{Type: troupe.ThinkingBlock, Provider: "anthropic", Text: `Let me "see"…`,
				Raw: `{"type":"thinking","thinking":"Let me \"see\"…","signature":"RXFN+/==","extra":[1, 2]}`},
			{Type: troupe.ThinkingBlock, Provider: "anthropic",
				Raw: `{"type":"redacted_thinking","data":"b3BhcXVl","z":1}`},
			troupe.Text("Café 😀\ndone."),
			{Type: troupe.OpaqueBlock, Provider: "anthropic", Raw: `{"type":"hologram","text":"17","depth":3}`},
			{Type: troupe.CallBlock, Call: &troupe.Call{Reply: 7, Index: 0, Name: "Read",
				Input: `{"file_path": "a.go"}`, ProviderID: "toolu_1"}},
			{Type: troupe.CallBlock, Call: &troupe.Call{Reply: 7, Index: 1, Name: "List", Input: `{}`,
				ProviderID: "toolu_1"}},
		},
		Stop: troupe.StopToolUse, Model: "anthropic/claude-x-20260101",
		Usage: troupe.Usage{Input: 3, Output: 89, CacheRead: 2000, CacheWrite: 100},
	}
}

// feed runs a stream through the reader and the accumulator, as Stream does.
func feed(r io.Reader, limit int) (troupe.Reply, *accumulator, error) {
	s := sse.Reader{Src: r, Buf: make([]byte, 64), Limit: limit}
	a := accumulator{reply: 7, model: "asked-for"}
	a.bill.Sent = func() int64 { return 1000 }
	for !a.done {
		data, err := s.Next()
		if err != nil {
			return troupe.Reply{}, &a, err
		}
		if err := a.Event(data); err != nil {
			return troupe.Reply{}, &a, err
		}
	}
	return a.whole(), &a, nil
}

// TestEveryShapeOfStream: one reply, whatever the line endings, the comments, the names of
// events, or the pieces it arrives in.
func TestEveryShapeOfStream(t *testing.T) {
	t.Parallel()
	noNames := strings.ReplaceAll(recorded, "event: ", ": ")
	for name, in := range map[string]string{
		"as recorded":                  recorded,
		"CRLF":                         strings.ReplaceAll(recorded, "\n", "\r\n"),
		"CR":                           strings.ReplaceAll(recorded, "\n", "\r"),
		"no event lines, but comments": noNames,
		"data without a space":         strings.ReplaceAll(recorded, "data: ", "data:"),
		"BOM, ids, retry and empty events": "\ufeff" + strings.ReplaceAll(recorded, "event: ",
			"\n\nid: 1\nretry: 5\nid\nevent:"),
		"two data lines": strings.ReplaceAll(recorded, `"index"`, "\ndata: \"index\""),
		"two data lines, CRLF": strings.ReplaceAll(strings.ReplaceAll(recorded, `"index"`,
			"\ndata: \"index\""), "\n", "\r\n"),
	} {
		for _, size := range []int{0, 1, 2, 3, 7, 100} {
			var r io.Reader = strings.NewReader(in)
			if size > 0 {
				r = &pieces{[]byte(in), size}
			}
			got, _, err := feed(r, 1<<20)
			if err != nil || !reflect.DeepEqual(got, recordedReply()) {
				t.Errorf("%s, %d bytes at a time: %v\n got %+v\nwant %+v", name, size, err, got, recordedReply())
			}
		}
	}
	if got, _, err := feed(iotest.DataErrReader(strings.NewReader(recorded)), 1<<20); err != nil ||
		len(got.Blocks) != 6 {
		t.Errorf("EOF together with the last bytes: %v", err)
	}
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

// TestCutAtEveryByte, in memory: no prefix of a stream passes for a reply, and what had
// come by then only grows.
func TestCutAtEveryByte(t *testing.T) {
	t.Parallel()
	last := 0
	var usage troupe.Usage
	end := strings.Index(recorded, "data: {\"type\":\"message_stop\"}") + len("data: {\"type\":\"message_stop\"}\n")
	for i := 0; i <= end; i++ {
		_, a, err := feed(strings.NewReader(recorded[:i]), 1<<20)
		if !errors.Is(err, io.EOF) {
			t.Fatalf("cut after %d bytes: %v", i, err)
		}
		n := len(troupe.JoinText(a.content())) + len(a.content())
		_, cost, _ := a.SoFar()
		if n < last || cost.Total() < usage.Total() {
			t.Fatalf("cut after %d bytes: there was more a byte earlier", i)
		}
		last, usage = n, cost
		for _, b := range a.content() {
			if b.Type == troupe.ThinkingBlock && b.Raw != "" && !strings.Contains(b.Raw, "RXFN+/==") &&
				!strings.Contains(b.Raw, "b3Bh") {
				t.Fatalf("cut after %d bytes: an unsigned thought would go back: %s", i, b.Raw)
			}
		}
	}
	if last < len("Café 😀\ndone.") || usage.Output != 89 {
		t.Errorf("at the end there were %d bytes and %+v", last, usage)
	}
}

// TestCutOnTheWire tears and ends real connections in the middle of a reply.
func TestCutOnTheWire(t *testing.T) {
	t.Parallel()
	for i := 1; i < len(recorded)-30; i += 97 {
		for _, rep := range []modeltest.Reply{{Raw: []byte(recorded), Cut: i}, {Raw: []byte(recorded), End: i}} {
			p, _ := serve(t, always(rep), modeltest.Options{Midway: true})
			_, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
			var me *model.Error
			if !errors.As(err, &me) || me.Fault != troupe.FaultRetry {
				t.Fatalf("cut at %d, ended at %d: %v", rep.Cut, rep.End, err)
			}
			if i > 2200 && (troupe.JoinText(me.Partial) == "" || me.Usage.CacheRead != 2000) {
				t.Errorf("cut at %d: partial %+v, usage %+v", i, me.Partial, me.Usage)
			}
		}
	}
}

func TestReplyOnTheWire(t *testing.T) {
	t.Parallel()
	p, _ := serve(t, always(modeltest.Reply{Raw: []byte(recorded), Pieces: 9}), modeltest.Options{Midway: true})
	var shown []string
	r := ask(t, p, "go")
	r.Agent.Reply = 7
	got, err := p.Stream(t.Context(), r, func(d model.Delta) {
		shown = append(shown, d.Text+d.Thinking+d.Tool)
	})
	want := recordedReply()
	want.RequestID = "req_fake_1"
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
	}
	if s := strings.Join(shown, "|"); s != `Let me "see"…|Café 😀`+"\n|done.|Read|List" {
		t.Errorf("shown: %q", s)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	endless := io.MultiReader(strings.NewReader(recorded[:400]), &repeat{"data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"})
	if _, _, err := feed(endless, 1<<20); !errors.Is(err, sse.ErrTooLarge) {
		t.Errorf("one endless line: %v", err)
	}
	if _, _, err := feed(&repeat{": a comment\n\n"}, 1<<20); !errors.Is(err, sse.ErrTooLarge) {
		t.Errorf("endless comments: %v", err)
	}
	if _, _, err := feed(&repeat{"data: {}\n"}, 1<<20); !errors.Is(err, sse.ErrTooLarge) {
		t.Errorf("an endless event: %v", err)
	}
	big := strings.Repeat("x", 1<<19)
	got, _, err := feed(strings.NewReader(strings.Replace(recorded, "done.", big, 1)), 1<<20)
	if err != nil || !strings.HasSuffix(troupe.JoinText(got.Blocks), big) {
		t.Errorf("a long line within the limit: %v", err)
	}
}

type repeat struct{ s string }

func (r *repeat) Read(b []byte) (int, error) { return copy(b, r.s), nil }

func TestNonsense(t *testing.T) {
	t.Parallel()
	start := "data: " + strings.SplitN(recorded, "data: ", 3)[1]
	for _, in := range []string{
		"data: {\"type\":\"message_start\",\"message\":7}\n\n",
		start + "data: {\"type\":\"content_block_start\",\"index\":0}\n\n",
		start + "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":5}}\n\n",
		start +
			strings.Repeat("data: "+
				"{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\"}}\n\n", 2),
		start + "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\"}}\n\ndata: " +
			"{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":5}}\n\n",
		start + "data: {\"type\":\"message_delta\",\"usage\":[]}\n\n",
		start + "data: {\"type\":\"error\",\"error\":7}\n\n",
	} {
		if _, _, err := feed(strings.NewReader(in), 1<<20); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%q: %v", in, err)
		}
	}
	// What cannot be placed, or is not known, is skipped.
	skipped := start + "data: [DONE]\n\ndata: 5\n\ndata:\n\ndata: " +
		"{\"type\":\"content_block_delta\",\"index\":99,\"delta\":{\"type\":\"text_delta\",\"text\":\"?\"}}\n\ndata: " +
		"{\"type\":\"message_stop\"}\n\n"
	if got, _, err := feed(strings.NewReader(skipped), 1<<20); err != nil || len(got.Blocks) != 0 ||
		got.Stop != troupe.StopOther {
		t.Errorf("%+v, %v", got, err)
	}
	if _, _, err := feed(strings.NewReader("data: {\"type\":\"message_stop\"}\n\n"), 1<<20); !errors.Is(err, io.EOF) {
		t.Errorf("a stop without a start: %v", err)
	}
}

// TestUnsignedThoughts: thoughts that ended without a signature are kept for people, and
// not sent back: the service would refuse them for ever.
func TestUnsignedThoughts(t *testing.T) {
	t.Parallel()
	in := strings.Replace(recorded, `"signature":"RXFN+/=="`, `"signature":""`, 1)
	got, _, err := feed(strings.NewReader(in), 1<<20)
	if err != nil || got.Blocks[0].Text == "" || got.Blocks[0].Raw != "" {
		t.Errorf("%+v, %v", got.Blocks[0], err)
	}
}

// FuzzStream: any bytes, in any pieces, either make a reply or an error. How they are cut
// into reads makes no difference, and all that would be sent back is JSON.
func FuzzStream(f *testing.F) {
	f.Add([]byte(recorded), uint8(5))
	f.Add([]byte(strings.ReplaceAll(recorded, "\n", "\r")), uint8(1))
	f.Add([]byte("data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\r\n\r\n"), uint8(3))
	p := New(Options{})
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		whole, a, err := feed(bytes.NewReader(in), 1<<16)
		cut, _, err2 := feed(&pieces{in, int(size)%64 + 1}, 1<<16)
		if fmt.Sprint(err) != fmt.Sprint(err2) && !errors.Is(err, sse.ErrTooLarge) || !reflect.DeepEqual(whole, cut) {
			t.Errorf("at once: %+v, %v; in pieces: %+v, %v", whole, err, cut, err2)
		}
		if b, err := p.EncodeMessage(troupe.Message{Role: troupe.Assistant, Blocks: a.content()}); err != nil ||
			!json.Valid(b) {
			t.Errorf("cannot be sent back: %v: %s", err, b)
		}
	})
}
