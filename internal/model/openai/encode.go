package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/internal/encode"
	"github.com/troupe-dev/troupe/internal/model/internal/jscan"
)

const (
	// longestName is how long the name of a tool may be.
	longestName = 64
	imageStart  = `{"type":"image_url",`
	imageEnd    = `"}}`
	// noParameters is the schema of a tool that has none.
	noParameters = `{"type":"object","properties":{}}`
)

// EncodeHead implements model.Provider. The system prompt is the first of the messages, so
// a head ends within that list.
func (p *Provider) EncodeHead(h model.Head) ([]byte, error) {
	if h.Model == "" || h.MaxTokens < 1 {
		return nil, fmt.Errorf("encode for %s: model %q with at most %d tokens: both must be set", p.o.Name, h.Model,
			h.MaxTokens)
	}
	if p.o.API == Responses {
		return p.responsesHead(h)
	}
	b := append([]byte(nil), `{"model":`...)
	b = jscan.AppendQuoted(b, h.Model)
	b = p.appendLimit(b, h.MaxTokens)
	b = append(b, `,"stream":true,"stream_options":{"include_usage":true}`...)
	if effort := p.chatEffort(h); effort != "" {
		b = jscan.AppendQuoted(append(b, `,"reasoning_effort":`...), effort)
	}
	for i, t := range h.Tools {
		if i == 0 {
			b = append(b, `,"tools":[`...)
		} else {
			b = append(b, ',')
		}
		var err error
		if b, err = p.appendTool(b, t); err != nil {
			return nil, err
		}
	}
	if len(h.Tools) > 0 {
		b = append(b, ']')
	}
	b = append(b, `,"messages":[`...)
	if strings.TrimSpace(h.System) != "" {
		b = append(appendText(append(b, `{"role":"system","content":`...), h.System), '}')
	}
	return b, nil
}

// chatEffort is how much a model is asked to reason over Chat Completions; "": nothing is said of it.
func (p *Provider) chatEffort(h model.Head) string {
	if p.official && len(h.Tools) > 0 && reasonsUnasked(h.Model) {
		return "none"
	}
	return string(h.Effort)
}

func (p *Provider) appendLimit(b []byte, tokens int) []byte {
	field := `,"max_tokens":`
	if p.official {
		field = `,"max_completion_tokens":`
	}
	return strconv.AppendInt(append(b, field...), int64(tokens), 10)
}

// reasonsUnasked reports whether a model of OpenAI's is one that must be told not to
// reason before it may be offered tools. Those before gpt-5.4 need not be told, and older
// ones do not know the word.
func reasonsUnasked(id string) bool {
	m := regexp.MustCompile(`^gpt-(\d+)(?:\.(\d+))?(?:-|$)`).FindStringSubmatch(id)
	if m == nil || strings.Contains(id, "-chat") || strings.HasSuffix(id, "-pro") {
		return false
	}
	major, _ := strconv.Atoi(m[1]) // digits; one too large counts as large
	minor, _ := strconv.Atoi(m[2])
	return major > 5 || major == 5 && minor >= 4
}

func (p *Provider) appendTool(b []byte, t troupe.Tool) ([]byte, error) {
	b = append(b, `{"type":"function","function":{"name":`...)
	b = jscan.AppendQuoted(b, t.Name)
	b = append(b, `,"description":`...)
	b = appendText(b, t.Description)
	b = append(b, `,"parameters":`...)
	b, err := encode.AppendSchema(b, t.Schema, noParameters)
	if err != nil {
		return nil, fmt.Errorf("encode for %s: the schema of tool %s: %w", p.o.Name, t.Name, err)
	}
	return append(b, `}}`...), nil
}

// EncodeMessage implements model.Provider. One message may become several on the wire, and
// is then a list, whose brackets are left out when it is sent. That is so where it holds
// results: each is a message of its own, right behind the calls. They carry text only, so
// the images in them stand at the beginning of the user's message that follows, which
// exists only if there is something to put into it.
func (p *Provider) EncodeMessage(m troupe.Message) ([]byte, error) {
	if p.o.API == Responses {
		return p.responsesMessage(m)
	}
	b := make([]byte, 0, encode.Room(m.Blocks))
	switch m.Role {
	case troupe.User:
		return p.appendUser(b, m.Blocks)
	case troupe.Assistant:
		return p.appendAssistant(b, m.Blocks)
	default:
		return nil, fmt.Errorf("encode for %s: a message by %q", p.o.Name, m.Role)
	}
}

func (p *Provider) appendUser(b []byte, blocks []troupe.Block) ([]byte, error) {
	var rest parts
	results := 0
	b = append(b, '[')
	for _, bl := range blocks {
		if bl.Type != troupe.ResultBlock {
			continue
		}
		if bl.Result == nil {
			return nil, fmt.Errorf("encode for %s: a result block without a result", p.o.Name)
		}
		if results++; results > 1 {
			b = append(b, ',')
		}
		var err error
		if b, err = p.appendResult(b, bl.Result, &rest); err != nil {
			return nil, err
		}
	}
	for _, bl := range blocks {
		switch bl.Type {
		case troupe.ResultBlock, troupe.ThinkingBlock, troupe.OpaqueBlock:
		case troupe.TextBlock:
			rest.text(bl.Text)
		case troupe.ImageBlock:
			if bl.Image == nil {
				return nil, fmt.Errorf("encode for %s: an image block without an image", p.o.Name)
			}
			rest.image(bl.Image)
		case troupe.CallBlock:
			return nil, fmt.Errorf("encode for %s: a call in a user's message", p.o.Name)
		default:
			return nil, fmt.Errorf("encode for %s: a block of type %q: %w", p.o.Name, bl.Type, troupe.ErrNewer)
		}
	}
	if results > 0 && len(rest) > 0 {
		b = append(b, ',')
	}
	if results == 0 || len(rest) > 0 {
		b = append(b, `{"role":"user","content":`...)
		b = append(rest.append(b), '}')
		results++
	}
	if results == 1 {
		return b[1:], nil // no list
	}
	return append(b, ']'), nil
}

// appendResult appends the message of one result, and puts the images in it aside.
func (p *Provider) appendResult(b []byte, r *troupe.Result, rest *parts) ([]byte, error) {
	b = appendCallID(append(b, `{"role":"tool","tool_call_id":"`...), r.Reply, r.Call)
	b = append(b, `","content":`...)
	text := troupe.JoinText(r.Blocks)
	images := 0
	for _, bl := range r.Blocks {
		switch {
		case bl.Type == troupe.TextBlock:
		case bl.Type == troupe.ImageBlock && bl.Image != nil:
			if images++; images == 1 {
				rest.text("What " + string(appendCallID(nil, r.Reply, r.Call)) + " returned:")
			}
			rest.image(bl.Image)
		default:
			return nil, fmt.Errorf("encode for %s: a block of type %q inside a result", p.o.Name, bl.Type)
		}
	}
	empty := encode.Nothing
	if images > 0 {
		empty = "(an image; it is in the next message)"
	}
	return append(appendText(b, resultText(text, empty, r.IsError)), '}'), nil
}

// resultText is the text of a result as a model is told it: never empty, and it says if it is an error, for which
// there is no field.
func resultText(text, empty string, isError bool) string {
	if strings.TrimSpace(text) == "" {
		text = empty
	}
	if isError && !strings.HasPrefix(strings.ToLower(text), "error") {
		text = "Error: " + text
	}
	return text
}

func (p *Provider) appendAssistant(b []byte, blocks []troupe.Block) ([]byte, error) {
	var text parts
	var calls []*troupe.Call
	var thoughts strings.Builder
	for _, bl := range blocks {
		switch bl.Type {
		case troupe.TextBlock:
			text.text(bl.Text)
		case troupe.CallBlock:
			if bl.Call == nil {
				return nil, fmt.Errorf("encode for %s: a call block without a call", p.o.Name)
			}
			calls = append(calls, bl.Call)
		case troupe.ThinkingBlock:
			if bl.Provider == p.o.Name {
				thoughts.WriteString(thoughtIn(bl.Raw))
			}
		case troupe.OpaqueBlock:
		case troupe.ImageBlock, troupe.ResultBlock:
			return nil, fmt.Errorf("encode for %s: a block of type %q in a model's message", p.o.Name, bl.Type)
		default:
			return nil, fmt.Errorf("encode for %s: a block of type %q: %w", p.o.Name, bl.Type, troupe.ErrNewer)
		}
	}
	b = append(b, `{"role":"assistant"`...)
	if p.o.SendThinking {
		b = appendText(append(b, `,"reasoning_content":`...), thoughts.String())
	}
	b = append(b, `,"content":`...)
	if len(text) == 0 && len(calls) > 0 {
		b = append(b, `null`...)
	} else {
		b = text.append(b)
	}
	for i, c := range calls {
		if i == 0 {
			b = append(b, `,"tool_calls":[`...)
		} else {
			b = append(b, ',')
		}
		b = appendCall(b, c)
	}
	if len(calls) > 0 {
		b = append(b, ']')
	}
	return append(b, '}'), nil
}

// appendCall appends one call.
func appendCall(b []byte, c *troupe.Call) []byte {
	b = appendCallID(append(b, `{"id":"`...), c.Reply, c.Index)
	b = append(b, `","type":"function","function":{"name":`...)
	b = jscan.AppendQuoted(b, encode.ToolName(c.Name, longestName))
	b = append(b, `,"arguments":`...)
	return append(appendArguments(b, c.Input), `}}`...)
}

// appendArguments appends the arguments of a call. They are text to both APIs, but servers that put a
// conversation into a model's own template read them, and some refuse the whole request if
// they are no object; so it always is one.
func appendArguments(b []byte, input string) []byte {
	if strings.TrimSpace(input) == "" {
		return append(b, `"{}"`...)
	}
	return jscan.AppendQuoted(b, string(encode.AppendInput(nil, input)))
}

// appendCallID writes the name a call has on the wire. It is our own: many servers call
// every first call call_0, or give none.
func appendCallID(b []byte, reply, call int) []byte {
	b = strconv.AppendInt(append(b, "call_"...), int64(reply), 10)
	return strconv.AppendInt(append(b, '_'), int64(call), 10)
}

// appendText appends s as a JSON string without NUL, which ends a text for servers that
// are written in C.
func appendText(b []byte, s string) []byte {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\ufffd")
	}
	return jscan.AppendQuoted(b, s)
}

// thought is the form in which a thought is kept to be sent back, and thoughtIn is its text.
type thought struct {
	Text string `json:"reasoning_content"`
}

func thoughtIn(raw string) string {
	var t thought
	if json.Unmarshal([]byte(raw), &t) != nil {
		return ""
	}
	return t.Text
}

// parts is the content of one message on the wire.
type parts []part

type part struct {
	text  string
	image *troupe.Image
}

func (p *parts) text(s string) {
	if strings.TrimSpace(s) != "" {
		*p = append(*p, part{text: s})
	}
}

func (p *parts) image(i *troupe.Image) { *p = append(*p, part{image: i}) }

// append appends the content: a plain string, which every server understands, unless there
// are images in it.
func (p parts) append(b []byte) []byte {
	var plain []string
	for _, it := range p {
		if it.image != nil {
			return p.appendList(b)
		}
		plain = append(plain, it.text)
	}
	if len(plain) == 0 {
		return appendText(b, encode.Nothing)
	}
	return appendText(b, strings.Join(plain, "\n"))
}

func (p parts) appendList(b []byte) []byte {
	for i, it := range p {
		if i == 0 {
			b = append(b, '[')
		} else {
			b = append(b, ',')
		}
		if it.image == nil {
			b = append(appendText(append(b, `{"type":"text","text":`...), it.text), '}')
			continue
		}
		// The type stands in a URL that is not escaped again.
		b = append(b, imageStart+`"image_url":{"url":"data:`...)
		quoted := jscan.AppendQuoted(nil, it.image.MediaType)
		b = append(b, quoted[1:len(quoted)-1]...)
		b = append(b, `;base64,`...)
		b = base64.StdEncoding.AppendEncode(b, it.image.Data)
		b = append(b, imageEnd...)
	}
	return append(b, ']')
}

// body is one request.
func body(r model.Request) encode.Body { return joined(r.Head, r.Messages, `]}`) }

// joined puts a request together: the head, which ends within a list, what goes on in that list, and what ends
// the request. Nothing that the caller has cached is copied.
func joined(head []byte, messages [][]byte, tail string) encode.Body {
	out := make(encode.Body, 0, 2*len(messages)+2)
	out = append(out, head)
	comma := !bytes.HasSuffix(head, []byte{'['}) // a system prompt is the first message
	for _, m := range messages {
		if comma {
			out = append(out, []byte{','})
		}
		comma = true
		if len(m) > 0 && m[0] == '[' {
			m = m[1 : len(m)-1] // several messages
		}
		out = append(out, m)
	}
	return append(out, []byte(tail))
}
