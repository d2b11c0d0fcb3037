package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/internal/jscan"
	"github.com/troupe-dev/troupe/internal/model/internal/upstream"
)

// accumulator builds a reply from its events. Events it does not know are skipped: the API
// may add some at any time.
type accumulator struct {
	reply int
	model string // asked for; replaced by what the service says it used
	sink  func(model.Delta)

	blocks  []block
	highest int // index of a block
	calls   int
	bill    upstream.Bill
	stop    string
	begun   bool // message_start has come
	done    bool // message_stop has come
	pieces  int  // events with something of the reply
}

// block is one content block on its way. start is its JSON at the beginning; the rest is
// what deltas have added since.
type block struct {
	index     int
	kind      string
	start     []byte
	name, id  string
	text      []byte // what was streamed, and in field the member it belongs to
	field     string
	signature []byte
	call      int
	complete  bool
}

var _ upstream.Decoder = (*accumulator)(nil)

// Progress implements upstream.Decoder. A reply is not whole before message_stop.
func (a *accumulator) Progress() upstream.Progress {
	if a.done {
		return upstream.Over
	}
	return upstream.Underway
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
		b := &a.blocks[i]
		n += len(b.text) + len(b.name)
		if b.kind == "tool_use" && len(b.text) == 0 {
			if in := b.input(); in != "{}" { // it came with the block's beginning
				n += len(in)
			}
		}
	}
	return n
}

// Event implements upstream.Decoder.
func (a *accumulator) Event(data []byte) error {
	kind, ok := jscan.Get(data, "type")
	if !ok {
		return nil
	}
	switch string(kind) {
	case `"content_block_delta"`:
		a.pieces++
		return a.delta(data)
	case `"content_block_start"`:
		a.pieces++
		return a.blockStart(data)
	case `"content_block_stop"`:
		a.pieces++
		if b := a.block(data); b != nil {
			b.complete = true
		}
	case `"message_start"`:
		a.pieces++
		var e struct {
			Message struct {
				Model string
				Usage usage
			}
		}
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("message_start: %w", err)
		}
		a.begun = true
		a.bill.Begin()
		if e.Message.Model != "" {
			a.model = e.Message.Model
		}
		a.tell(e.Message.Usage)
	case `"message_delta"`:
		var e struct {
			Delta struct {
				Stop string `json:"stop_reason"`
			}
			Usage usage
		}
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("message_delta: %w", err)
		}
		if e.Delta.Stop != "" {
			a.stop = e.Delta.Stop
		}
		a.tell(e.Usage)
	case `"message_stop"`:
		a.done = a.begun
	case `"error"`:
		var e errorBody
		if err := json.Unmarshal(data, &e); err != nil {
			return &upstream.Broken{Kind: "error", Said: string(data)}
		}
		return &upstream.Broken{Fault: faultOf(e.Error.Type, e.Error.Message), Kind: e.Error.Type,
			Said: e.Error.Message}
	}
	return nil
}

// usage is as both events report it: each number is the total so far.
type usage struct {
	Input      upstream.Count `json:"input_tokens"`
	Output     upstream.Count `json:"output_tokens"`
	CacheRead  upstream.Count `json:"cache_read_input_tokens"`
	CacheWrite upstream.Count `json:"cache_creation_input_tokens"`
}

// tell keeps the larger of what is told and what was told before: totals only grow, and
// what one event leaves out or reports as zero, another has told.
func (a *accumulator) tell(u usage) {
	t := a.bill.Told()
	a.bill.Tell(troupe.Usage{
		Input: max(t.Input, int64(u.Input)), Output: max(t.Output, int64(u.Output)),
		CacheRead: max(t.CacheRead, int64(u.CacheRead)), CacheWrite: max(t.CacheWrite, int64(u.CacheWrite)),
	}, a.said())
}

func (a *accumulator) block(data []byte) *block {
	raw, _ := jscan.Get(data, "index")
	index, ok := smallInt(raw)
	if !ok {
		return nil
	}
	for i := len(a.blocks) - 1; i >= 0; i-- {
		if a.blocks[i].index == index {
			return &a.blocks[i]
		}
	}
	return nil
}

func smallInt(raw []byte) (int, bool) {
	n := 0
	for _, c := range raw {
		if c < '0' || c > '9' || n > upstream.MaxBlocks {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, len(raw) > 0
}

func (a *accumulator) blockStart(data []byte) error {
	start, ok := jscan.Get(data, "content_block")
	index, _ := jscan.Get(data, "index")
	at, placed := smallInt(index)
	if !ok || !placed || !json.Valid(start) || start[0] != '{' {
		return fmt.Errorf("content_block_start: %s", upstream.Clip(data))
	}
	if len(a.blocks) >= upstream.MaxBlocks {
		return upstream.TooManyBlocks()
	}
	if at <= a.highest && a.block(data) != nil {
		return fmt.Errorf("content_block_start: block %d of %d is one too many", at, len(a.blocks))
	}
	nb := block{index: at, start: bytes.Clone(start)}
	var text, thinking string
	jscan.Object(nb.start, func(key, val []byte) bool {
		switch string(key) {
		case "type":
			nb.kind = unquote(val)
		case "text":
			text = unquote(val)
		case "thinking":
			thinking = unquote(val)
		case "name":
			nb.name = unquote(val)
		case "id":
			nb.id = unquote(val)
		case "signature":
			nb.signature = []byte(unquote(val))
		}
		return true
	})
	if nb.kind == "" {
		return fmt.Errorf("content_block_start: %s", upstream.Clip(data))
	}
	var d model.Delta
	switch nb.kind {
	case "text":
		nb.text, d.Text = []byte(text), text
	case "thinking":
		nb.text, d.Thinking = []byte(thinking), thinking
	case "tool_use":
		nb.call, d.Tool = a.calls, nb.name
		a.calls++
	}
	a.blocks, a.highest = append(a.blocks, nb), max(a.highest, at)
	if a.sink != nil && d != (model.Delta{}) {
		a.sink(d)
	}
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

// delta is the event that comes most: it is read without reflection, and without a copy
// except into the block.
func (a *accumulator) delta(data []byte) error {
	b := a.block(data)
	raw, ok := jscan.Get(data, "delta")
	if b == nil || !ok {
		return nil
	}
	var kind, value []byte
	jscan.Object(raw, func(k, v []byte) bool {
		switch string(k) {
		case "type":
			kind = v
		case "text", "thinking", "partial_json", "signature":
			value = v
		}
		return true
	})
	to := &b.text
	switch string(kind) {
	case `"text_delta"`:
		b.field = "text"
	case `"thinking_delta"`:
		b.field = "thinking"
	case `"input_json_delta"`:
		b.field = "input"
	case `"signature_delta"`:
		to = &b.signature
	default:
		return nil
	}
	before := len(*to)
	var good bool
	if *to, good = jscan.AppendUnquoted(*to, value); !good {
		return fmt.Errorf("content_block_delta: %s is not a string", upstream.Clip(value))
	}
	if a.sink == nil || len(*to) == before {
		return nil
	}
	switch b.kind + "." + b.field {
	case "text.text":
		a.sink(model.Delta{Text: string((*to)[before:])})
	case "thinking.thinking":
		if to == &b.text {
			a.sink(model.Delta{Thinking: string((*to)[before:])})
		}
	}
	return nil
}

// whole is the finished reply.
func (a *accumulator) whole() troupe.Reply {
	cost, _ := a.bill.Sum(a.said(), true)
	return troupe.Reply{Blocks: a.content(), Stop: stopReason(a.stop), Usage: cost, Doubt: a.bill.Doubt(),
		Model: name + "/" + a.model}
}

func stopReason(s string) troupe.StopReason {
	switch s {
	case "end_turn", "stop_sequence":
		return troupe.StopEndTurn
	case "tool_use":
		return troupe.StopToolUse
	case "max_tokens", "model_context_window_exceeded":
		return troupe.StopMaxTokens
	case "refusal":
		return troupe.StopRefusal
	default:
		return troupe.StopOther
	}
}

// content is what there is so far; nil if nothing has come.
func (a *accumulator) content() []troupe.Block {
	var out []troupe.Block
	for i := range a.blocks {
		b := &a.blocks[i]
		switch b.kind {
		case "text":
			out = append(out, troupe.Text(string(b.text)))
		case "tool_use":
			out = append(out, troupe.Block{Type: troupe.CallBlock, Call: &troupe.Call{
				Reply: a.reply, Index: b.call, Name: b.name, Input: b.input(), ProviderID: b.id,
			}})
		case "thinking", "redacted_thinking":
			nb := troupe.Block{Type: troupe.ThinkingBlock, Provider: name}
			if b.kind == "thinking" {
				nb.Text = string(b.text)
			}
			// Thoughts that were cut short are not signed, and would be refused.
			if b.complete && (b.kind != "thinking" || len(b.signature) > 0) {
				nb.Raw = string(b.raw())
			}
			out = append(out, nb)
		default:
			if b.complete {
				out = append(out, troupe.Block{Type: troupe.OpaqueBlock, Provider: name, Raw: string(b.raw())})
			}
		}
	}
	return out
}

// input is the arguments as the model wrote them. It streams them as text; a service that
// does not has them in the block's beginning.
func (b *block) input() string {
	if len(b.text) > 0 {
		return string(b.text)
	}
	if in, ok := jscan.Get(b.start, "input"); ok && bytes.HasPrefix(in, []byte("{")) {
		return string(in)
	}
	return "{}"
}

// raw is the block's own JSON as it would have come at once: its beginning, with what was
// streamed put where it belongs.
func (b *block) raw() json.RawMessage {
	streamed := map[string][]byte{}
	switch {
	case b.field == "":
	case b.field == "input" && json.Valid(b.text):
		streamed["input"] = b.text
	case b.field != "input":
		streamed[b.field] = jscan.AppendQuoted(nil, string(b.text))
	}
	if len(b.signature) > 0 {
		streamed["signature"] = jscan.AppendQuoted(nil, string(b.signature))
	}
	if len(streamed) == 0 {
		return json.RawMessage(b.start)
	}
	out := []byte{'{'}
	member := func(key, val []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(append(out, '"'), key...), '"', ':'), val...)
	}
	jscan.Object(b.start, func(key, val []byte) bool {
		if s, ok := streamed[string(key)]; ok {
			val = s
			delete(streamed, string(key))
		}
		member(key, val)
		return true
	})
	for _, key := range []string{"thinking", "input", "text", "signature"} {
		if s, ok := streamed[key]; ok {
			member([]byte(key), s)
		}
	}
	return append(out, '}')
}
