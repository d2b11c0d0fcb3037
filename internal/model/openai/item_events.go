package openai

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/troupe-dev/troupe/internal/model/internal/jscan"
	"github.com/troupe-dev/troupe/internal/model/internal/upstream"
)

// event is what events have in common.
type event struct {
	kind, itemID, field string
	output, index       int
	delta, text         []byte // quoted
	item, part          []byte
	response, failure   []byte
}

func readEvent(data []byte) (e event, ok bool) {
	e.output = -1
	ok = jscan.Object(data, func(k, v []byte) bool {
		switch string(k) {
		case "type":
			e.kind = unquote(v)
		case "item_id":
			e.itemID = unquote(v)
		case "output_index":
			e.output = place(v)
		case "content_index", "summary_index":
			e.index = max(place(v), 0)
		case "delta":
			e.delta = v
		case "text", "refusal", "arguments":
			e.text = v
		case "item":
			e.item = v
		case "part":
			e.part = v
		case "response":
			e.response = v
		case "error":
			e.failure = v
		}
		return true
	})
	return e, ok
}

// place reads an index; -1 is none.
func place(v []byte) int {
	n, err := strconv.Atoi(string(v))
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// itemUsage is as the Responses API tells it. What was read from a cache and what was written to it are part of the
// input, and the tokens of thoughts are part of the output.
type itemUsage struct {
	Input  upstream.Count `json:"input_tokens"`
	Output upstream.Count `json:"output_tokens"`
	Total  upstream.Count `json:"total_tokens"`
	In     struct {
		Cached  upstream.Count `json:"cached_tokens"`
		Written upstream.Count `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	Out struct {
		Reasoning upstream.Count `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// response takes in what an event tells of the whole reply: the model, and what it has cost by then.
func (a *itemAccumulator) response(v []byte) error {
	var used []byte
	jscan.Object(v, func(k, v []byte) bool {
		switch string(k) {
		case "model":
			if s := unquote(v); s != "" {
				a.model = s
			}
		case "usage":
			used = v
		}
		return true
	})
	if !present(used) {
		return nil
	}
	u := a.usage
	if err := json.Unmarshal(used, &u); err != nil {
		return fmt.Errorf("usage: %w", err)
	}
	// Totals only grow.
	t := &a.usage
	t.Input, t.Output, t.Total = max(t.Input, u.Input), max(t.Output, u.Output), max(t.Total, u.Total)
	t.In.Cached, t.In.Written = max(t.In.Cached, u.In.Cached), max(t.In.Written, u.In.Written)
	t.Out.Reasoning = max(t.Out.Reasoning, u.Out.Reasoning)
	chat := usage{Prompt: t.Input, Completion: t.Output, Total: t.Total, Cached: t.In.Cached}
	chat.In.Written, chat.Out.Reasoning = t.In.Written, t.Out.Reasoning
	a.bill.Tell(chat.told(), a.said())
	return nil
}
