package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/internal/jscan"
	"github.com/troupe-dev/troupe/internal/model/internal/upstream"
)

// itemAccumulator builds a reply from the events of the Responses API, as openai-go v3.52 lists them
// (ResponseStreamEventUnion). A reply is a list of items. Each is begun (output_item.added), comes in pieces, and is
// told whole at its end (output_item.done); the whole counts. The last event has the counts of tokens. Events and
// fields that are not known are skipped, and items that are not known are kept as they came.
type itemAccumulator struct {
	reply    int
	provider string
	model    string // asked for; replaced by what the service says it used
	sink     func(model.Delta)

	items   []item
	highest int // place of an item, plus 1
	blocks  int // items, and parts of them
	pieces  int // events with something of the reply
	usage   itemUsage
	bill    upstream.Bill
	// status is how the reply ended, and why what is incomplete is; "" while it goes on.
	status, why string
}

// item is one item of a reply.
type item struct {
	kind  string
	index int // the service's; -1 if it gave none
	meta  itemMeta
	parts []itemPart
	// callID, name and args are a call's.
	callID, name string
	args         []byte
	// raw is the whole item as it was told at its end; "" before.
	raw string
}

// itemPart is one text of an item: a part of a message, or of what is told of a thought.
type itemPart struct {
	field   string // "" in a message; of a thought, the field it is in
	index   int
	refusal bool
	text    []byte
}

// Kinds of item that we know.
const (
	messageItem   = "message"
	reasoningItem = "reasoning"
	callItem      = "function_call"
)

var _ upstream.Decoder = (*itemAccumulator)(nil)

// Progress implements upstream.Decoder.
func (a *itemAccumulator) Progress() upstream.Progress {
	if a.status != "" {
		return upstream.Over
	}
	return upstream.Underway
}

// Content implements upstream.Decoder.
func (a *itemAccumulator) Content() int { return a.pieces }

// SoFar implements upstream.Decoder.
func (a *itemAccumulator) SoFar() ([]troupe.Block, troupe.Usage, bool) {
	cost, estimated := a.bill.Sum(a.said(), false)
	return a.content(), cost, estimated
}

// said is how many bytes of the reply have come. Encrypted thoughts are not counted: they are longer than what they
// cost.
func (a *itemAccumulator) said() int {
	n := 0
	for i := range a.items {
		it := &a.items[i]
		n += len(it.name) + len(it.args)
		for j := range it.parts {
			n += len(it.parts[j].text)
			if j > 0 && it.kind == reasoningItem {
				n += len(thoughtBreak)
			}
		}
	}
	return n
}

// Event implements upstream.Decoder. Some servers leave the event's name out and all have it in the data, so only
// that counts.
func (a *itemAccumulator) Event(data []byte) error {
	e, ok := readEvent(data)
	if !ok {
		return nil // [DONE], a ping, or whatever it is
	}
	switch e.kind {
	case "error":
		return broken(data)
	case "response.failed":
		if err := a.response(e.response); err != nil {
			return err
		}
		failure, _ := jscan.Get(e.response, "error")
		return brokenResponse(failure)
	case "response.created", "response.queued", "response.in_progress":
		if e.kind == "response.created" {
			a.pieces++
		}
		a.bill.Begin()
		return a.response(e.response)
	case "response.completed", "response.incomplete", "response.cancelled":
		return a.end(e)
	case "response.output_item.added", "response.output_item.done":
		a.pieces++
		a.bill.Begin()
		it, err := a.find(e, e.item)
		if err != nil {
			return err
		}
		return a.told(it, e.item, e.kind == "response.output_item.done")
	case "":
		if present(e.failure) {
			return broken(data)
		}
		return nil
	default:
		return a.piece(e)
	}
}

// piece takes in a piece of an item, or the whole of a part of one.
func (a *itemAccumulator) piece(e event) error {
	kind, field := messageItem, ""
	refusal := false
	switch strings.TrimPrefix(e.kind, "response.") {
	case "output_text.delta", "output_text.done":
	case "refusal.delta", "refusal.done":
		refusal = true
	case "reasoning_summary_text.delta", "reasoning_summary_text.done":
		kind, field = reasoningItem, "summary"
	case "reasoning_text.delta", "reasoning_text.done":
		kind, field = reasoningItem, "content"
	case "function_call_arguments.delta", "function_call_arguments.done":
		kind = callItem
	default:
		return nil
	}
	a.pieces++
	a.bill.Begin()
	e.field = kind
	it, err := a.find(e, nil)
	if err != nil {
		return err
	}
	whole := strings.HasSuffix(e.kind, ".done")
	v := e.delta
	if whole {
		v = e.text
	}
	if whole && !present(v) {
		return nil
	}
	if kind == callItem {
		return a.arguments(it, v, whole)
	}
	p, err := a.part(it, field, e.index)
	if err != nil {
		return err
	}
	p.refusal = p.refusal || refusal
	return a.say(it, p, v, whole)
}

// find is the item that an event is about, or a new one. The place in the list counts: there are gateways that give
// an item another id with every event. An id counts where no place is told, and else the latest item of the kind.
func (a *itemAccumulator) find(e event, whole []byte) (*item, error) {
	kind, id := e.field, e.itemID
	if whole != nil {
		v, _ := jscan.Get(whole, "type")
		kind = unquote(v)
		v, _ = jscan.Get(whole, "id")
		id = unquote(v)
	}
	for i := len(a.items) - 1; i >= 0 && e.output < a.highest; i-- {
		it := &a.items[i]
		switch {
		case e.output >= 0:
			if it.index == e.output {
				return it, nil
			}
		case id != "":
			if it.meta.ID == id {
				return it, nil
			}
		case it.kind == kind && it.raw == "":
			return it, nil
		}
	}
	if a.blocks++; a.blocks > upstream.MaxBlocks {
		return nil, upstream.TooManyBlocks()
	}
	a.highest = max(a.highest, e.output+1)
	a.items = append(a.items, item{kind: kind, index: e.output, meta: itemMeta{ID: id}})
	return &a.items[len(a.items)-1], nil
}

// part is one text of an item.
func (a *itemAccumulator) part(it *item, field string, index int) (*itemPart, error) {
	for i := range it.parts {
		if p := &it.parts[i]; p.field == field && p.index == index {
			return p, nil
		}
	}
	if a.blocks++; a.blocks > upstream.MaxBlocks {
		return nil, upstream.TooManyBlocks()
	}
	it.parts = append(it.parts, itemPart{field: field, index: index})
	return &it.parts[len(it.parts)-1], nil
}

// say adds a piece of a text, or the rest of it once it is told whole, and shows what is new.
func (a *itemAccumulator) say(it *item, p *itemPart, v []byte, whole bool) error {
	before := len(p.text)
	if whole {
		text, ok := jscan.AppendUnquoted(nil, v)
		if !ok {
			return fmt.Errorf("%s is not a string", upstream.Clip(v))
		}
		if !strings.HasPrefix(string(text), string(p.text)) {
			before = len(text) // what was shown of it cannot be taken back
		}
		p.text = text
	} else {
		var ok bool
		if p.text, ok = jscan.AppendUnquoted(p.text, v); !ok {
			return fmt.Errorf("%s is not a string", upstream.Clip(v))
		}
	}
	if a.sink == nil || len(p.text) <= before {
		return nil
	}
	if it.kind != reasoningItem {
		a.sink(model.Delta{Text: string(p.text[before:])})
		return nil
	}
	more := string(p.text[before:])
	if before == 0 && len(it.parts) > 1 {
		more = thoughtBreak + more
	}
	a.sink(model.Delta{Thinking: more})
	return nil
}

// thoughtBreak stands between two parts of what is told of a thought.
const thoughtBreak = "\n\n"

func (a *itemAccumulator) arguments(it *item, v []byte, whole bool) error {
	args := it.args
	if whole {
		args = nil
	}
	if len(v) > 0 && v[0] == '{' { // arguments that are not even quoted
		it.args = append(args, v...)
		return nil
	}
	args, ok := jscan.AppendUnquoted(args, v)
	if !ok {
		return fmt.Errorf("the arguments of a call: %s is not a string", upstream.Clip(v))
	}
	it.args = args
	return nil
}

// told takes in an item as its first or last event has it. Of a thought only the last is good to be sent back: the
// first may have no more than the beginning of what is encrypted.
func (a *itemAccumulator) told(it *item, v []byte, whole bool) error {
	var parts [2][]byte // content and summary
	named := it.name != ""
	var args []byte
	jscan.Object(v, func(k, v []byte) bool {
		switch string(k) {
		case "type":
			it.kind = unquote(v)
		case "id":
			it.meta.ID = unquote(v)
		case "status":
			it.meta.Status = unquote(v)
		case "phase":
			it.meta.Phase = unquote(v)
		case "call_id":
			it.callID = unquote(v)
		case "name":
			it.name = unquote(v)
		case "arguments":
			args = v
		case "content":
			parts[0] = v
		case "summary":
			parts[1] = v
		}
		return true
	})
	if it.kind == callItem && !named && it.name != "" && a.sink != nil {
		a.sink(model.Delta{Tool: it.name})
	}
	if !whole {
		return nil
	}
	if !json.Valid(v) { // it is to be sent back as it is
		return fmt.Errorf("an item that is not JSON: %s", upstream.Clip(v))
	}
	it.raw = string(v)
	switch it.kind {
	case callItem:
		if present(args) {
			return a.arguments(it, args, true)
		}
	case messageItem:
		return a.wholeParts(it, "", parts[0])
	case reasoningItem:
		if err := a.wholeParts(it, "summary", parts[1]); err != nil {
			return err
		}
		return a.wholeParts(it, "content", parts[0])
	}
	return nil
}

// wholeParts takes in the texts of an item that is told whole.
func (a *itemAccumulator) wholeParts(it *item, field string, list []byte) error {
	i := -1
	var err error
	jscan.Array(list, func(v []byte) bool {
		i++
		text, _ := jscan.Get(v, "text")
		refusal, refuses := jscan.Get(v, "refusal")
		if refuses {
			text = refusal
		}
		if !present(text) {
			return true
		}
		var p *itemPart
		if p, err = a.part(it, field, i); err != nil {
			return false
		}
		p.refusal = refuses
		err = a.say(it, p, text, true)
		return err == nil
	})
	return err
}

// end takes in the last event. A server that tells no items on the way has them all in it.
func (a *itemAccumulator) end(e event) error {
	a.bill.Begin()
	if err := a.response(e.response); err != nil {
		return err
	}
	a.status = strings.TrimPrefix(e.kind, "response.")
	var output []byte
	jscan.Object(e.response, func(k, v []byte) bool {
		switch string(k) {
		case "status":
			if s := unquote(v); s != "" {
				a.status = s
			}
		case "incomplete_details":
			why, _ := jscan.Get(v, "reason")
			a.why = unquote(why)
		case "output":
			output = v
		}
		return true
	})
	switch a.status {
	case "failed":
		failure, _ := jscan.Get(e.response, "error")
		return brokenResponse(failure)
	case "cancelled":
		return &upstream.Broken{Kind: a.status, Said: "its reply was cancelled at the service"}
	}
	if len(a.items) > 0 {
		return nil
	}
	i := -1
	var err error
	jscan.Array(output, func(v []byte) bool {
		i++
		var it *item
		if it, err = a.find(event{output: i}, v); err == nil {
			err = a.told(it, v, true)
		}
		return err == nil
	})
	return err
}

// whole is the finished reply.
func (a *itemAccumulator) whole() troupe.Reply {
	cost, _ := a.bill.Sum(a.said(), true)
	return troupe.Reply{Blocks: a.content(), Stop: a.stop(), Usage: cost, Doubt: a.bill.Doubt(),
		Model: a.provider + "/" + a.model}
}

// stop is why the reply ended. Calls are what they are; but a reply that was cut short may have cut its last one.
func (a *itemAccumulator) stop() troupe.StopReason {
	calls := false
	for i := range a.items {
		it := &a.items[i]
		calls = calls || it.kind == callItem
		for j := range it.parts {
			if it.parts[j].refusal {
				return troupe.StopRefusal
			}
		}
	}
	switch {
	case a.status == "incomplete" && a.why == "max_output_tokens":
		return troupe.StopMaxTokens
	case a.status == "incomplete" && a.why == "content_filter":
		return troupe.StopRefusal
	case a.status == "incomplete":
		return troupe.StopOther
	case calls:
		return troupe.StopToolUse
	case a.status == "completed":
		return troupe.StopEndTurn
	default:
		return troupe.StopOther
	}
}

// content is what there is so far; nil if nothing has come.
func (a *itemAccumulator) content() []troupe.Block {
	var out []troupe.Block
	calls := 0
	for i := range a.items {
		it := &a.items[i]
		switch it.kind {
		case messageItem:
			for j := range it.parts {
				if p := &it.parts[j]; len(p.text) > 0 {
					meta := it.meta
					meta.Refusal = p.refusal
					out = append(out, meta.keep(troupe.Text(string(p.text)), a.provider))
				}
			}
		case callItem:
			input := string(it.args)
			if strings.TrimSpace(input) == "" {
				input = "{}"
			}
			out = append(out, it.meta.keep(troupe.Block{Type: troupe.CallBlock, Call: &troupe.Call{Reply: a.reply,
				Index: calls, Name: it.name, Input: input, ProviderID: it.callID}}, a.provider))
			calls++
		case reasoningItem:
			if b, ok := it.thought(a.provider); ok {
				out = append(out, b)
			}
		default:
			if it.raw != "" {
				out = append(out, troupe.Block{Type: troupe.OpaqueBlock, Provider: a.provider, Raw: it.raw})
			}
		}
	}
	return out
}

// thought is an item of thoughts as a block. It can be sent back if what was thought is in it, encrypted or as text:
// the service keeps nothing, so it would not find what an id alone names.
func (it *item) thought(provider string) (troupe.Block, bool) {
	b := troupe.Block{Type: troupe.ThinkingBlock, Provider: provider}
	for i := range it.parts {
		if i > 0 {
			b.Text += thoughtBreak
		}
		b.Text += string(it.parts[i].text)
	}
	encrypted, _ := jscan.Get([]byte(it.raw), "encrypted_content")
	content, _ := jscan.Get([]byte(it.raw), "content")
	if len(encrypted) > 2 && encrypted[0] == '"' || len(content) > 2 && content[0] == '[' {
		b.Raw = it.raw
	}
	return b, b.Text != "" || b.Raw != ""
}
