package anthropic

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/internal/encode"
	"github.com/troupe-dev/troupe/internal/model/internal/jscan"
)

// The API allows four cache marks in a request. They go to: the last tool, the system
// prompt, the end of what was sent before (from a burst of blocks on) or, in a first request, of what
// others begin with as well, and, moved by the service itself, the last block of all.
const (
	cacheMark = `,"cache_control":{"type":"ephemeral"}`
	// lookback is how many blocks, the marked one included, the service goes back from a
	// mark to find what it has cached.
	lookback = 20
	// longestName is how long the name of a tool may be.
	longestName = 128
	imageStart  = `{"type":"image",`
	imageEnd    = `"}}`
)

// EncodeHead implements model.Provider.
func (p *Provider) EncodeHead(h model.Head) ([]byte, error) {
	if h.Model == "" || h.MaxTokens < 1 {
		return nil, fmt.Errorf("encode for anthropic: model %q with at most %d tokens: both must be set", h.Model,
			h.MaxTokens)
	}
	b := append([]byte(nil), `{"model":`...)
	b = jscan.AppendQuoted(b, h.Model)
	b = append(b, `,"max_tokens":`...)
	b = strconv.AppendInt(b, int64(h.MaxTokens), 10)
	if h.Effort != "" {
		b = append(jscan.AppendQuoted(append(b, `,"output_config":{"effort":`...), string(h.Effort)), '}')
	}
	b = append(b, `,"stream":true`...)
	for i, t := range h.Tools {
		if i == 0 {
			b = append(b, `,"tools":[`...)
		} else {
			b = append(b, ',')
		}
		var err error
		if b, err = appendTool(b, t, i == len(h.Tools)-1); err != nil {
			return nil, err
		}
	}
	if len(h.Tools) > 0 {
		b = append(b, ']')
	}
	if strings.TrimSpace(h.System) != "" {
		b = append(b, `,"system":[{"type":"text","text":`...)
		b = jscan.AppendQuoted(b, h.System)
		b = append(b, cacheMark+`}]`...)
	}
	return append(b, `,"messages":[`...), nil
}

func appendTool(b []byte, t troupe.Tool, last bool) ([]byte, error) {
	b = append(b, `{"name":`...)
	b = jscan.AppendQuoted(b, t.Name)
	b = append(b, `,"description":`...)
	b = jscan.AppendQuoted(b, t.Description)
	b = append(b, `,"input_schema":`...)
	b, err := encode.AppendSchema(b, t.Schema, `{"type":"object"}`)
	if err != nil {
		return nil, fmt.Errorf("encode for anthropic: the schema of tool %s: %w", t.Name, err)
	}
	if last {
		b = append(b, cacheMark...)
	}
	return append(b, '}'), nil
}

// EncodeMessage implements model.Provider. Results stand before everything else in a
// message, as the API wants them.
func (p *Provider) EncodeMessage(m troupe.Message) ([]byte, error) {
	if m.Role != troupe.User && m.Role != troupe.Assistant {
		return nil, fmt.Errorf("encode for anthropic: a message by %q", m.Role)
	}
	e := blockList{b: append(make([]byte, 0, encode.Room(m.Blocks)), `{"role":"`+string(m.Role)+`","content":[`...)}
	for _, results := range []bool{true, false} {
		for _, bl := range m.Blocks {
			if (bl.Type == troupe.ResultBlock) == results {
				if err := e.add(bl); err != nil {
					return nil, err
				}
			}
		}
	}
	// A message needs a block, and a model's may not end in its thoughts.
	if e.n == 0 || e.endsInThought {
		e.text(encode.Nothing)
	}
	return append(e.b, ']', '}'), nil
}

type blockList struct {
	b             []byte
	n             int
	endsInThought bool
}

func (e *blockList) next() {
	if e.n > 0 {
		e.b = append(e.b, ',')
	}
	e.n++
	e.endsInThought = false
}

func (e *blockList) text(s string) {
	e.next()
	e.b = append(jscan.AppendQuoted(append(e.b, `{"type":"text","text":`...), s), '}')
}

func (e *blockList) add(bl troupe.Block) error {
	switch bl.Type {
	case troupe.TextBlock:
		if strings.TrimSpace(bl.Text) != "" {
			e.text(bl.Text)
		}
	case troupe.ImageBlock:
		if bl.Image == nil {
			return fmt.Errorf("encode for anthropic: an image block without an image")
		}
		e.next()
		e.b = append(e.b, imageStart+`"source":{"type":"base64","media_type":`...)
		e.b = jscan.AppendQuoted(e.b, bl.Image.MediaType)
		e.b = append(e.b, `,"data":"`...)
		e.b = base64.StdEncoding.AppendEncode(e.b, bl.Image.Data)
		e.b = append(e.b, imageEnd...)
	case troupe.CallBlock:
		if bl.Call == nil {
			return fmt.Errorf("encode for anthropic: a call block without a call")
		}
		e.call(bl.Call)
	case troupe.ResultBlock:
		if bl.Result == nil {
			return fmt.Errorf("encode for anthropic: a result block without a result")
		}
		return e.result(bl.Result)
	case troupe.ThinkingBlock, troupe.OpaqueBlock:
		if bl.Provider == name && len(bl.Raw) > 0 {
			e.next()
			e.b = append(e.b, bl.Raw...)
			e.endsInThought = bl.Type == troupe.ThinkingBlock
		}
	default:
		return fmt.Errorf("encode for anthropic: a block of type %q: %w", bl.Type, troupe.ErrNewer)
	}
	return nil
}

func (e *blockList) call(c *troupe.Call) {
	e.next()
	e.b = append(e.b, `{"type":"tool_use","id":"`...)
	e.b = appendCallID(e.b, c.Reply, c.Index, c.ProviderID)
	e.b = append(e.b, `","name":`...)
	e.b = jscan.AppendQuoted(e.b, encode.ToolName(c.Name, longestName))
	e.b = append(e.b, `,"input":`...)
	e.b = append(encode.AppendInput(e.b, c.Input), '}')
}

func (e *blockList) result(r *troupe.Result) error {
	e.next()
	e.b = append(e.b, `{"type":"tool_result","tool_use_id":"`...)
	e.b = appendCallID(e.b, r.Reply, r.Call, r.ProviderID)
	e.b = append(e.b, `","content":[`...)
	inner := blockList{b: e.b}
	for _, bl := range r.Blocks {
		if bl.Type != troupe.TextBlock && bl.Type != troupe.ImageBlock {
			return fmt.Errorf("encode for anthropic: a block of type %q inside a result", bl.Type)
		}
		if err := inner.add(bl); err != nil {
			return err
		}
	}
	if inner.n == 0 {
		inner.text(encode.Nothing)
	}
	e.b = append(inner.b, ']')
	if r.IsError {
		e.b = append(e.b, `,"is_error":true`...)
	}
	e.b = append(e.b, '}')
	return nil
}

// appendCallID writes the name a call has on the wire. The service's own names go back as
// they came, because it may compare what stands before a signed thought with what it said.
// Anything else is taken for the work of a gateway, some of which call every first call
// call_0; those get our own name, which is unique in a conversation.
func appendCallID(b []byte, reply, call int, provider string) []byte {
	if encode.OwnID(provider, "toolu_") {
		return append(b, provider...)
	}
	b = strconv.AppendInt(append(b, 'r'), int64(reply), 10)
	return strconv.AppendInt(append(b, 'c'), int64(call), 10)
}

// body is one request. Nothing that the caller has cached is copied.
func (p *Provider) body(r model.Request) encode.Body {
	// After a burst of blocks the service would not find the end of the request before
	// within its lookback; a mark just there leads it to it.
	marked := -1
	if r.FreshBlocks >= lookback {
		marked = len(r.Messages) - r.Fresh - 1
	}
	tail := `]` + cacheMark + `}`
	if p.o.NoAutoCache {
		tail = `]}`
	}
	out := make(encode.Body, 0, 2*len(r.Messages)+3)
	out = append(out, r.Head)
	for i, m := range r.Messages {
		if i > 0 {
			out = append(out, []byte{','})
		}
		if i == 0 && r.Common > 0 {
			out = append(out, m[:r.Common-1], []byte(cacheMark))
			m = m[r.Common-1:]
		}
		if i == marked || p.o.NoAutoCache && i == len(r.Messages)-1 {
			out = appendMarked(out, m, r.Messages[i])
		} else {
			out = append(out, m)
		}
	}
	return append(out, []byte(tail))
}

// appendMarked adds the rest of a message with a cache mark on its last block. Only a user's messages
// are marked: they end in a block that may carry a mark.
func appendMarked(out encode.Body, m, whole []byte) encode.Body {
	const end = `}]}`
	if !bytes.HasPrefix(whole, []byte(`{"role":"user"`)) || !bytes.HasSuffix(m, []byte(end)) {
		return append(out, m)
	}
	return append(out, m[:len(m)-len(end)], []byte(cacheMark+end))
}
