package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
)

// Harness is a provider under test.
type Harness struct {
	// New returns a provider that answers reply number n of any session with the nth of
	// these. It cleans up after itself with t.
	New func(t *testing.T, replies ...Reply) model.Provider
}

// Run is the suite that every provider passes: what sessions rely on, and nothing about
// how a provider does it.
func Run(t *testing.T, h Harness) {
	t.Run("Names", h.names)
	t.Run("EncodingIsPure", h.encodingIsPure)
	t.Run("EncodesWhateverThereIs", h.encodesWhateverThereIs)
	t.Run("Text", h.text)
	t.Run("Calls", h.calls)
	t.Run("Thinking", h.thinking)
	t.Run("Stops", h.stops)
	t.Run("Faults", h.faults)
	t.Run("Cut", h.cut)
	t.Run("Interrupted", h.interrupted)
	t.Run("Concurrent", h.concurrent)
}

func (h Harness) names(t *testing.T) {
	p := h.New(t)
	if n := p.Name(); n == "" || strings.Contains(n, "/") || !strings.HasPrefix(p.Encoder(), n+"/") {
		t.Errorf("name %q, encoder %q", n, p.Encoder())
	}
}

func head() model.Head {
	return model.Head{
		Model: "m-1", System: "Be <brief> & \"exact\".\n", MaxTokens: 1000,
		Tools: []troupe.Tool{
			{Name: "Grep", Description: "finds", Schema: json.RawMessage(`{ "type": "object" }`)},
			{Name: "Read", Description: "reads",
				Schema: json.RawMessage(`{"type":"object","properties":{"file_path":{"type":"string"}}}`)},
		},
	}
}

func everyBlock() []troupe.Message {
	return []troupe.Message{
		{Role: troupe.User, Blocks: []troupe.Block{troupe.Text("hi \x00 \xff é 😀 </s>\u2028"), troupe.Text("")}},
		{Role: troupe.User, Blocks: []troupe.Block{{Type: troupe.ImageBlock,
			Image: &troupe.Image{MediaType: "image/png", Data: []byte{1, 2, 3}}}}},
		{Role: troupe.Assistant, Blocks: []troupe.Block{
			{Type: troupe.ThinkingBlock, Text: "hm", Provider: "somebody", Raw: `{"alien":1}`},
			{Type: troupe.OpaqueBlock, Provider: "somebody", Raw: `{"alien":2}`},
			{Type: troupe.CallBlock, Call: &troupe.Call{Reply: 1, Index: 0, Name: "Read", Input: `{"file_path":"a"}`,
				ProviderID: "call_0"}},
			{Type: troupe.CallBlock, Call: &troupe.Call{Reply: 1, Index: 1, Name: "Read it!", Input: `{"file_path":`,
				ProviderID: "call_0"}},
			{Type: troupe.CallBlock, Call: &troupe.Call{Reply: 1, Index: 2, Name: "", Input: ``}},
			{Type: troupe.CallBlock, Call: &troupe.Call{Reply: 1, Index: 3, Name: "Read", Input: `["not an object"]`}},
		}},
		{Role: troupe.User, Blocks: []troupe.Block{
			troupe.Text("by the way"),
			{Type: troupe.ResultBlock, Result: &troupe.Result{Reply: 1, Call: 0,
				Blocks: []troupe.Block{troupe.Text("ok")}}},
			{Type: troupe.ResultBlock, Result: &troupe.Result{Reply: 1, Call: 1, IsError: true}},
		}},
		{Role: troupe.Assistant},
		{Role: troupe.Assistant, Blocks: []troupe.Block{{Type: troupe.ThinkingBlock, Text: "unsigned"}}},
	}
}

func (h Harness) encodingIsPure(t *testing.T) {
	p, again := h.New(t), h.New(t)
	first, err := p.EncodeHead(head())
	if err != nil {
		t.Fatal(err)
	}
	if second, _ := again.EncodeHead(head()); !bytes.Equal(first, second) {
		t.Errorf("one head, two encodings:\n%s\n%s", first, second)
	}
	var wg sync.WaitGroup
	for i, m := range everyBlock() {
		before, _ := json.Marshal(m)
		want, err := p.EncodeMessage(m)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			wg.Go(func() {
				if got, _ := again.EncodeMessage(everyBlock()[i]); !bytes.Equal(got, want) {
					t.Errorf("one message, two encodings:\n%s\n%s", want, got)
				}
			})
		}
		wg.Wait()
		if after, _ := json.Marshal(m); !bytes.Equal(before, after) {
			t.Errorf("encoding changed the message from %s to %s", before, after)
		}
	}
}

func (h Harness) encodesWhateverThereIs(t *testing.T) {
	p := h.New(t)
	seen := map[string]bool{}
	for _, m := range everyBlock() {
		b, err := p.EncodeMessage(m)
		if err != nil {
			t.Errorf("%+v: %v", m, err)
		}
		if !json.Valid(b) {
			t.Errorf("not JSON: %s", b)
		}
		seen[string(b)] = true
	}
	if len(seen) < 5 {
		t.Errorf("different messages have the same encoding: %v", seen)
	}
}

// call makes one call of a fresh session with one message.
func call(ctx context.Context, t *testing.T, p model.Provider, sink func(model.Delta)) (troupe.Reply, error) {
	t.Helper()
	return p.Stream(ctx, request(t, p, 1, troupe.Message{Role: troupe.User, Blocks: []troupe.Block{troupe.Text("go")}}),
		sink)
}

func request(t *testing.T, p model.Provider, reply int, msgs ...troupe.Message) model.Request {
	t.Helper()
	b, err := p.EncodeHead(head())
	if err != nil {
		t.Fatal(err)
	}
	r := model.Request{Agent: model.Agent{Session: "s1", Type: "main", Name: "main", Path: "main", Reply: reply},
		Model: "m-1", Head: b, Fresh: 1, FreshBlocks: 1}
	for _, m := range msgs {
		b, err := p.EncodeMessage(m)
		if err != nil {
			t.Fatal(err)
		}
		r.Messages = append(r.Messages, b)
	}
	return r
}

func (h Harness) text(t *testing.T) {
	want := "Two words.\nAnd \"more\" – 😀, with \\ and </tags>."
	p := h.New(t, Reply{Text: want, Usage: troupe.Usage{Input: 7, Output: 11, CacheRead: 13, CacheWrite: 17}})
	var shown strings.Builder
	got, err := call(t.Context(), t, p, func(d model.Delta) { shown.WriteString(d.Text) })
	if err != nil {
		t.Fatal(err)
	}
	if s := troupe.JoinText(got.Blocks); s != want || shown.String() != want {
		t.Errorf("text %q, shown %q, want %q", s, shown.String(), want)
	}
	if got.Stop != troupe.StopEndTurn || got.Usage != (troupe.Usage{Input: 7, Output: 11, CacheRead: 13,
		CacheWrite: 17}) {
		t.Errorf("stop %q, usage %+v", got.Stop, got.Usage)
	}
	if !strings.HasPrefix(got.Model, p.Name()+"/") {
		t.Errorf("model %q is no full name", got.Model)
	}
	if _, err := call(t.Context(), t, p, nil); err != nil {
		t.Errorf("without a sink: %v", err)
	}
}

func (h Harness) calls(t *testing.T) {
	p := h.New(t, Text("unused"), Reply{Text: "Let me see.", Calls: []Call{
		{Name: "Read", Input: `{"file_path":"a b","limit":3}`}, {Name: "Grep", Input: `{"pattern":`},
		{Name: "Read", Input: `{}`},
	}, Usage: troupe.Usage{Output: 1}})
	var announced []string
	got, err := p.Stream(t.Context(), request(t, p, 2,
		troupe.Message{Role: troupe.User, Blocks: []troupe.Block{troupe.Text("go")}},
		troupe.Message{Role: troupe.Assistant, Blocks: []troupe.Block{troupe.Text("unused")}},
		troupe.Message{Role: troupe.User, Blocks: []troupe.Block{troupe.Text("go on")}},
	), func(d model.Delta) {
		if d.Tool != "" {
			announced = append(announced, d.Tool)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var calls []troupe.Call
	for _, b := range got.Blocks {
		if b.Type == troupe.CallBlock {
			calls = append(calls, *b.Call)
		}
	}
	want := []troupe.Call{
		{Reply: 2, Index: 0, Name: "Read", Input: `{"file_path":"a b","limit":3}`},
		{Reply: 2, Index: 1, Name: "Grep", Input: `{"pattern":`},
		{Reply: 2, Index: 2, Name: "Read", Input: `{}`},
	}
	if len(calls) != len(want) || got.Stop != troupe.StopToolUse || fmt.Sprint(announced) != "[Read Grep Read]" {
		t.Fatalf("calls %+v, stop %q, announced %q", calls, got.Stop, announced)
	}
	for i := range want {
		calls[i].ProviderID = ""
		if calls[i] != want[i] {
			t.Errorf("call %d = %+v, want %+v", i, calls[i], want[i])
		}
	}
}

// thinking comes back with the conversation, whatever it was.
func (h Harness) thinking(t *testing.T) {
	p := h.New(t, Reply{Thinking: "First, \"think\".", Text: "Done.", Usage: troupe.Usage{Output: 1}}, Text("Again."))
	var thought strings.Builder
	got, err := call(t.Context(), t, p, func(d model.Delta) { thought.WriteString(d.Thinking) })
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Blocks) != 2 || got.Blocks[0].Type != troupe.ThinkingBlock ||
		got.Blocks[0].Text != "First, \"think\"." || thought.String() != got.Blocks[0].Text {
		t.Fatalf("blocks %+v, shown %q", got.Blocks, thought.String())
	}
	r := request(t, p, 2,
		troupe.Message{Role: troupe.User, Blocks: []troupe.Block{troupe.Text("go")}},
		troupe.Message{Role: troupe.Assistant, Blocks: got.Blocks},
		troupe.Message{Role: troupe.User, Blocks: []troupe.Block{troupe.Text("on")}})
	if got, err = p.Stream(t.Context(), r, nil); err != nil || troupe.JoinText(got.Blocks) != "Again." {
		t.Errorf("second turn: %+v, %v", got, err)
	}
}

func (h Harness) stops(t *testing.T) {
	for stop, want := range map[string]troupe.StopReason{
		"max_tokens": troupe.StopMaxTokens, "refusal": troupe.StopRefusal, "end_turn": troupe.StopEndTurn,
	} {
		got, err := call(t.Context(), t, h.New(t, Reply{Text: "x", Stop: stop, Usage: troupe.Usage{Output: 1}}), nil)
		if err != nil || got.Stop != want {
			t.Errorf("%s: %+v, %v", stop, got, err)
		}
	}
}

func (h Harness) faults(t *testing.T) {
	for _, tt := range []struct {
		reply Reply
		want  troupe.ModelFault
		after time.Duration
	}{
		{Fail(529, "overloaded_error", "Overloaded"), troupe.FaultRetry, 0},
		{Reply{Status: 429, ErrorType: "rate_limit_error", ErrorMessage: "slow down", RetryAfter: "7"},
			troupe.FaultRetry, 7 * time.Second},
		{Fail(500, "api_error", "oops"), troupe.FaultRetry, 0},
		{Fail(401, "authentication_error", "invalid x-api-key"), troupe.FaultAuth, 0},
		{Fail(404, "not_found_error", "model: m-1"), troupe.FaultNoModel, 0},
		{Fail(400, "invalid_request_error", "prompt is too long: 2 tokens > 1 maximum"), troupe.FaultTooLong, 0},
		{Fail(400, "invalid_request_error", "no"), troupe.FaultBad, 0},
	} {
		_, err := call(t.Context(), t, h.New(t, tt.reply), nil)
		var me *model.Error
		if !errors.As(err, &me) || me.Fault != tt.want || me.RetryAfter != tt.after || me.Message == "" {
			t.Errorf("%d %s: %+v", tt.reply.Status, tt.reply.ErrorType, err)
		}
	}
}

func (h Harness) cut(t *testing.T) {
	rep := Reply{Text: "This is what had been said.", ErrorType: "overloaded_error", ErrorMessage: "Overloaded",
		Usage: troupe.Usage{Input: 9, Output: 1}}
	_, err := call(t.Context(), t, h.New(t, rep), nil)
	var me *model.Error
	if !errors.As(err, &me) || me.Fault != troupe.FaultRetry || troupe.JoinText(me.Partial) != rep.Text ||
		me.Usage.Input != 9 {
		t.Errorf("err = %+v", err)
	}
}

func (h Harness) interrupted(t *testing.T) {
	p := h.New(t, Reply{Text: "late", Delay: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := call(ctx, t, p, nil)
	var me *model.Error
	if !errors.As(err, &me) || me.Fault != troupe.FaultInterrupted {
		t.Errorf("cancelled before: %+v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err = call(ctx, t, p, nil); !errors.As(err, &me) || me.Fault != troupe.FaultInterrupted {
		t.Errorf("cancelled during: %+v", err)
	}
}

// concurrent runs sessions side by side on one provider and looks for mixed-up replies.
func (h Harness) concurrent(t *testing.T) {
	p := h.New(t, Text("one"), Text("two"), Text("three"))
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			msgs := []troupe.Message{{Role: troupe.User, Blocks: []troupe.Block{troupe.Text(fmt.Sprint("session ",
				i))}}}
			for n, want := range []string{"one", "two", "three"} {
				r := request(t, p, n+1, msgs...)
				r.Agent.Session = troupe.SessionID(fmt.Sprint("s", i))
				got, err := p.Stream(t.Context(), r, nil)
				if err != nil || troupe.JoinText(got.Blocks) != want {
					t.Errorf("session %d, turn %d: %+v, %v", i, n+1, got, err)
					return
				}
				msgs = append(msgs, troupe.Message{Role: troupe.Assistant, Blocks: got.Blocks},
					troupe.Message{Role: troupe.User, Blocks: []troupe.Block{troupe.Text("on")}})
			}
		})
	}
	wg.Wait()
}
