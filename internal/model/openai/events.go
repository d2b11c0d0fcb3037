package openai

import (
	"encoding/json"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/internal/jscan"
	"github.com/troupe-dev/troupe/internal/model/internal/upstream"
)

// accumulator builds a reply from its chunks. Fields it does not know are skipped, and a
// field that is null is one that is not there.
type accumulator struct {
	reply        int
	provider     string
	model        string // asked for; replaced by what the server says it used
	rawModel     string // as it came, in quotes
	sink         func(model.Delta)
	keepThoughts bool

	blocks []block
	calls  []call
	latest latest
	usage  usage
	bill   upstream.Bill
	finish string // why the reply ended; "" while it goes on
	refuse bool   // the model says why it declines
	over   bool
	pieces int // of the reply that have come
}

// block is one block of the reply, in the order they began. A call's is in calls.
type block struct {
	kind troupe.BlockType
	text []byte
	call int
}

var _ upstream.Decoder = (*accumulator)(nil)

// Progress implements upstream.Decoder. A reply is whole once it says why it ended; what
// it cost comes after that.
func (a *accumulator) Progress() upstream.Progress {
	switch {
	case a.over:
		return upstream.Over
	case a.finish != "":
		return upstream.Whole
	default:
		return upstream.Underway
	}
}

// Content implements upstream.Decoder.
func (a *accumulator) Content() int { return a.pieces }

// SoFar implements upstream.Decoder.
func (a *accumulator) SoFar() ([]troupe.Block, troupe.Usage, bool) {
	cost, estimated := a.bill.Sum(a.said(), false)
	return a.content(), cost, estimated
}

// said is how many bytes of the reply have come.
func (a *accumulator) said() int {
	n := 0
	for i := range a.blocks {
		n += len(a.blocks[i].text)
	}
	for i := range a.calls {
		n += len(a.calls[i].name) + len(a.calls[i].args)
	}
	return n
}

// Event implements upstream.Decoder.
func (a *accumulator) Event(data []byte) error {
	if string(data) == "[DONE]" {
		// Behind nothing it ends nothing: the reply is cut.
		a.over = a.finish != ""
		return nil
	}
	var choices, used, failure []byte
	isError := false
	ok := jscan.Object(data, func(k, v []byte) bool {
		switch string(k) {
		case "choices":
			choices = v
		case "usage":
			used = v
		case "error":
			failure = v
		case "object":
			isError = string(v) == `"error"`
		case "model":
			a.setModel(v)
		}
		return true
	})
	if !ok {
		return nil // a ping, or whatever it is: no chunk
	}
	if present(failure) || isError {
		return broken(data)
	}
	var err error
	jscan.Array(choices, func(c []byte) bool {
		err = a.choice(c)
		return err == nil
	})
	// It counts what came with it, too.
	if bad := a.take(used); err == nil {
		err = bad
	}
	return err
}

// setModel takes the name that every chunk repeats.
func (a *accumulator) setModel(v []byte) {
	if string(v) == a.rawModel {
		return
	}
	if s := unquote(v); s != "" {
		a.model, a.rawModel = s, string(v)
	}
}

func present(v []byte) bool { return len(v) > 0 && string(v) != "null" }

// choice takes in the first choice; we never ask for more.
func (a *accumulator) choice(c []byte) error {
	var delta, finish, used []byte
	first := true
	jscan.Object(c, func(k, v []byte) bool {
		switch string(k) {
		case "index":
			first = string(v) == "0" || string(v) == "null"
		case "delta", "message":
			delta = v
		case "finish_reason":
			finish = v
		case "usage": // some have it here
			used = v
		}
		return true
	})
	if !first {
		return nil
	}
	a.bill.Begin()
	if err := a.delta(delta); err != nil {
		return err
	}
	if err := a.take(used); err != nil {
		return err
	}
	s := unquote(finish)
	switch s {
	case "", "null":
		return nil
	case "insufficient_system_resource", "error", "abort":
		return &upstream.Broken{Kind: s, Said: "it could not finish its reply"}
	}
	a.finish = s
	return nil
}

func (a *accumulator) delta(d []byte) error {
	var content, thinking, refusal, calls []byte
	jscan.Object(d, func(k, v []byte) bool {
		switch string(k) {
		case "content":
			content = v
		case "reasoning_content":
			thinking = v
		case "reasoning":
			if !present(thinking) { // servers that have both say the same in both
				thinking = v
			}
		case "refusal":
			refusal = v
		case "tool_calls":
			calls = v
		}
		return true
	})
	if err := a.say(troupe.ThinkingBlock, thinking); err != nil {
		return err
	}
	if err := a.say(troupe.TextBlock, content); err != nil {
		return err
	}
	if present(refusal) && string(refusal) != `""` {
		a.refuse = true
		if err := a.say(troupe.TextBlock, refusal); err != nil {
			return err
		}
	}
	var err error
	if present(calls) {
		jscan.Array(calls, func(c []byte) bool {
			err = a.call(c)
			return err == nil
		})
	}
	return err
}

// say adds a piece of text, which goes on from the block before if that is of its kind.
func (a *accumulator) say(kind troupe.BlockType, v []byte) error {
	if !present(v) || string(v) == `""` {
		return nil
	}
	if v[0] == '[' { // a list of parts, of which text is what matters
		var err error
		jscan.Array(v, func(part []byte) bool {
			text, _ := jscan.Get(part, "text")
			err = a.say(kind, text)
			return err == nil
		})
		return err
	}
	if n := len(a.blocks); n == 0 || a.blocks[n-1].kind != kind {
		if err := a.begin(block{kind: kind}); err != nil {
			return err
		}
	}
	a.pieces++
	b := &a.blocks[len(a.blocks)-1]
	before := len(b.text)
	var ok bool
	if b.text, ok = jscan.AppendUnquoted(b.text, v); !ok {
		return fmt.Errorf("%s is not a string", upstream.Clip(v))
	}
	if a.sink == nil || len(b.text) == before {
		return nil
	}
	if kind == troupe.ThinkingBlock {
		a.sink(model.Delta{Thinking: string(b.text[before:])})
	} else {
		a.sink(model.Delta{Text: string(b.text[before:])})
	}
	return nil
}

func (a *accumulator) begin(b block) error {
	if len(a.blocks) >= upstream.MaxBlocks {
		return upstream.TooManyBlocks()
	}
	a.blocks = append(a.blocks, b)
	return nil
}

// unquote is the text of a JSON string, and empty for anything else.
func unquote(val []byte) string {
	s, ok := jscan.AppendUnquoted(nil, val)
	if !ok {
		return ""
	}
	return string(s)
}

// usage is as servers report it: each number is the total so far. What was read from a
// cache is told in three ways, and is part of the prompt in all of them.
type usage struct {
	Prompt     upstream.Count `json:"prompt_tokens"`
	Completion upstream.Count `json:"completion_tokens"`
	Total      upstream.Count `json:"total_tokens"`
	Cached     upstream.Count `json:"cached_tokens"`
	CacheHit   upstream.Count `json:"prompt_cache_hit_tokens"`
	In         struct {
		Cached  upstream.Count `json:"cached_tokens"`
		Written upstream.Count `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	Out struct {
		Reasoning upstream.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// take keeps the larger of what is told and what was told before: totals only grow, and
// what one chunk leaves out or reports as zero, another has told.
func (a *accumulator) take(v []byte) error {
	if !present(v) {
		return nil
	}
	var u usage
	if err := json.Unmarshal(v, &u); err != nil {
		return fmt.Errorf("usage: %w", err)
	}
	t := &a.usage
	t.Prompt = max(t.Prompt, u.Prompt)
	t.Completion = max(t.Completion, u.Completion)
	t.Total = max(t.Total, u.Total)
	t.Cached = max(t.Cached, u.Cached, u.CacheHit, u.In.Cached)
	t.In.Written = max(t.In.Written, u.In.Written)
	t.Out.Reasoning = max(t.Out.Reasoning, u.Out.Reasoning)
	a.bill.Tell(t.told(), a.said())
	return nil
}

// told is usage in our own terms.
func (u *usage) told() troupe.Usage {
	read := min(u.Cached, u.Prompt)
	written := min(u.In.Written, u.Prompt-read)
	out := u.Completion
	// Some count the tokens of thoughts apart from the reply's; their total gives it away.
	if u.Out.Reasoning > 0 && u.Total == u.Prompt+u.Completion+u.Out.Reasoning {
		out += u.Out.Reasoning
	}
	return troupe.Usage{Input: int64(u.Prompt - read - written), Output: int64(out), CacheRead: int64(read),
		CacheWrite: int64(written)}
}

// whole is the finished reply.
func (a *accumulator) whole() troupe.Reply {
	cost, _ := a.bill.Sum(a.said(), true)
	return troupe.Reply{Blocks: a.content(), Stop: a.stop(), Usage: cost, Doubt: a.bill.Doubt(),
		Model: a.provider + "/" + a.model}
}

// stop is why the reply ended. Calls are what they are, whatever a server calls its end;
// but a reply that was cut short may have cut its last one.
func (a *accumulator) stop() troupe.StopReason {
	switch a.finish {
	case "length", "max_tokens", "model_length":
		return troupe.StopMaxTokens
	case "content_filter", "refusal":
		return troupe.StopRefusal
	}
	switch {
	case a.refuse:
		return troupe.StopRefusal
	case len(a.named()) > 0:
		return troupe.StopToolUse
	}
	switch a.finish {
	case "stop", "tool_calls", "function_call", "eos", "end_turn", "stop_sequence":
		return troupe.StopEndTurn
	default:
		return troupe.StopOther
	}
}

// content is what there is so far; nil if nothing has come.
func (a *accumulator) content() []troupe.Block {
	var out []troupe.Block
	index := a.named()
	for i := range a.blocks {
		b := &a.blocks[i]
		switch b.kind {
		case troupe.CallBlock:
			n, ok := index[b.call]
			if !ok {
				continue
			}
			c := &a.calls[b.call]
			out = append(out, troupe.Block{Type: b.kind, Call: &troupe.Call{
				Reply: a.reply, Index: n, Name: string(c.name), Input: c.input(), ProviderID: c.id,
			}})
		case troupe.ThinkingBlock:
			nb := troupe.Block{Type: b.kind, Provider: a.provider, Text: string(b.text)}
			if a.keepThoughts {
				nb.Raw = string(append(jscan.AppendQuoted([]byte(`{"reasoning_content":`), nb.Text), '}'))
			}
			out = append(out, nb)
		default:
			out = append(out, troupe.Text(string(b.text)))
		}
	}
	return out
}
