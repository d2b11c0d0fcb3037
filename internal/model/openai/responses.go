package openai

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/internal/encode"
	"github.com/troupe-dev/troupe/internal/model/internal/jscan"
)

// The shapes of requests are those of the API reference, "Create a model response", as openai-go v3.52 has them
// (ResponseNewParams, ResponseInputItemUnionParam). What conversations must keep is from OpenAI's guides on reasoning
// models and on migrating to this API: all items of a reply go back, with their ids, in their order.

const (
	// inputImage is how an image in a request begins, and inputImageEnd how it ends.
	inputImage    = `{"type":"input_image","image_url":"data:`
	inputImageEnd = `"}`
)

// responsesHead encodes what stands before the conversation, which is the list "input": a head ends within it.
// Nothing is stored at the service: with store:false it keeps no item that a later request could name, so the
// thoughts come back encrypted, and are sent again. Functions are strict unless one says otherwise, and then
// may have no optional parameters. That calls may be made side by side is the default.
func (p *Provider) responsesHead(h model.Head) ([]byte, error) {
	b := jscan.AppendQuoted([]byte(`{"model":`), h.Model)
	b = strconv.AppendInt(append(b, `,"max_output_tokens":`...), int64(h.MaxTokens), 10)
	b = append(b, `,"stream":true,"store":false`...)
	if h.Effort != "" {
		b = append(jscan.AppendQuoted(append(b, `,"reasoning":{"effort":`...), string(h.Effort)), '}')
	}
	if familyOf(h.Model).reasons {
		b = append(b, `,"include":["reasoning.encrypted_content"]`...)
	}
	if strings.TrimSpace(h.System) != "" {
		b = appendText(append(b, `,"instructions":`...), h.System)
	}
	for i, t := range h.Tools {
		if i == 0 {
			b = append(b, `,"tools":[`...)
		} else {
			b = append(b, ',')
		}
		b = jscan.AppendQuoted(append(b, `{"type":"function","name":`...), t.Name)
		b = appendText(append(b, `,"description":`...), t.Description)
		b = append(b, `,"parameters":`...)
		var err error
		if b, err = encode.AppendSchema(b, t.Schema, noParameters); err != nil {
			return nil, fmt.Errorf("encode for %s: the schema of tool %s: %w", p.o.Name, t.Name, err)
		}
		b = append(b, `,"strict":false}`...)
	}
	if len(h.Tools) > 0 {
		b = append(b, ']')
	}
	return append(b, `,"input":[`...), nil
}

// responsesBody is one request. Behind the conversation stands what differs from session to session: the key by
// which the service finds the machine that has read this conversation before. It is the session's, or that of a fork's
// parent, because the key
// is good for some 15 requests a minute, and the service hashes the beginning of the request besides.
func responsesBody(r model.Request) encode.Body {
	tail := `]}`
	if whose := cmp.Or(r.Agent.Origin, r.Agent.Session); whose != "" {
		sum := sha256.Sum256([]byte(whose))
		tail = `],"prompt_cache_key":"troupe-` + hex.EncodeToString(sum[:16]) + `"}`
	}
	return joined(r.Head, r.Messages, tail)
}

// itemMeta is what is kept of an item of a reply beside the text and the calls in it, to be sent back with them: the
// Raw of text and calls.
type itemMeta struct {
	ID     string `json:"id,omitempty"`
	Status string `json:"status,omitempty"`
	// Phase tells what a model says on its way from its answer. Models from gpt-5.3-codex on get worse without it.
	Phase string `json:"phase,omitempty"`
	// Refusal says that the text tells why the model declines.
	Refusal bool `json:"refusal,omitempty"`
}

// keep puts the meta into a block, if there is any.
func (m itemMeta) keep(bl troupe.Block, provider string) troupe.Block {
	if m != (itemMeta{}) {
		raw, _ := json.Marshal(m) // strings and a bool
		bl.Raw, bl.Provider = string(raw), provider
	}
	return bl
}

// itemList is the items that a message becomes.
type itemList struct {
	p *Provider
	b []byte
	n int
	// withIDs: the items of this reply are sent with the ids they had. The service refuses the id of an item whose
	// thoughts it is not sent, so it is all of them or none.
	withIDs bool
	// open is the meta of the message that text goes on in, if there is one.
	open *itemMeta
	role troupe.Role
}

// responsesMessage encodes a message as the items it becomes, a list whose brackets are left out when it is sent;
// one item stands alone.
func (p *Provider) responsesMessage(m troupe.Message) ([]byte, error) {
	l := itemList{p: p, b: append(make([]byte, 0, encode.Room(m.Blocks)), '['), role: m.Role}
	var err error
	switch m.Role {
	case troupe.User:
		err = l.user(m.Blocks)
	case troupe.Assistant:
		err = l.assistant(m.Blocks)
	default:
		err = fmt.Errorf("encode for %s: a message by %q", p.o.Name, m.Role)
	}
	if err != nil {
		return nil, err
	}
	if l.n == 0 {
		l.text(encode.Nothing, itemMeta{})
	}
	l.close()
	if l.n == 1 {
		return l.b[1:], nil // no list
	}
	return append(l.b, ']'), nil
}

// user appends what a user's message holds: results first, each an item of its own.
func (l *itemList) user(blocks []troupe.Block) error {
	for _, bl := range blocks {
		if bl.Type != troupe.ResultBlock {
			continue
		}
		if bl.Result == nil {
			return fmt.Errorf("encode for %s: a result block without a result", l.p.o.Name)
		}
		if err := l.result(bl.Result); err != nil {
			return err
		}
	}
	for _, bl := range blocks {
		switch bl.Type {
		case troupe.ResultBlock, troupe.ThinkingBlock, troupe.OpaqueBlock:
		case troupe.TextBlock:
			l.text(bl.Text, itemMeta{})
		case troupe.ImageBlock:
			if bl.Image == nil {
				return fmt.Errorf("encode for %s: an image block without an image", l.p.o.Name)
			}
			l.part(itemMeta{})
			l.b = appendInputImage(l.b, bl.Image)
		case troupe.CallBlock:
			return fmt.Errorf("encode for %s: a call in a user's message", l.p.o.Name)
		default:
			return fmt.Errorf("encode for %s: a block of type %q: %w", l.p.o.Name, bl.Type, troupe.ErrNewer)
		}
	}
	return nil
}

// assistant appends the items of a reply. Thoughts go back as they came if something of the same reply follows them:
// the service refuses a thought "without its required following item".
func (l *itemList) assistant(blocks []troupe.Block) error {
	last := 0 // so many blocks, up to the last that is sent and is no thought
	l.withIDs = true
	for i, bl := range blocks {
		switch {
		case bl.Type == troupe.CallBlock, bl.Type == troupe.OpaqueBlock && l.p.ours(bl),
			bl.Type == troupe.TextBlock && strings.TrimSpace(bl.Text) != "":
			last = i + 1
		case bl.Type == troupe.ThinkingBlock && !l.p.ours(bl):
			l.withIDs = false
		}
	}
	for i, bl := range blocks {
		switch bl.Type {
		case troupe.TextBlock:
			l.text(bl.Text, l.meta(bl))
		case troupe.CallBlock:
			if bl.Call == nil {
				return fmt.Errorf("encode for %s: a call block without a call", l.p.o.Name)
			}
			l.call(bl.Call, l.meta(bl))
		case troupe.ThinkingBlock, troupe.OpaqueBlock:
			if l.p.ours(bl) && i < last {
				l.next()
				l.b = append(l.b, bl.Raw...)
			}
		case troupe.ImageBlock, troupe.ResultBlock:
			return fmt.Errorf("encode for %s: a block of type %q in a model's message", l.p.o.Name, bl.Type)
		default:
			return fmt.Errorf("encode for %s: a block of type %q: %w", l.p.o.Name, bl.Type, troupe.ErrNewer)
		}
	}
	return nil
}

// ours reports whether a block's Raw is an item that this server sent over this API.
func (p *Provider) ours(bl troupe.Block) bool {
	if bl.Provider != p.o.Name || bl.Raw == "" {
		return false
	}
	kind, _ := jscan.Get([]byte(bl.Raw), "type")
	return len(kind) > 2
}

// meta is what goes back with a block of text or a call.
func (l *itemList) meta(bl troupe.Block) (m itemMeta) {
	if bl.Provider != l.p.o.Name || json.Unmarshal([]byte(bl.Raw), &m) != nil {
		return itemMeta{}
	}
	if !l.withIDs {
		m.ID, m.Status = "", ""
	}
	return m
}

// close ends the message that is open.
func (l *itemList) close() {
	if l.open != nil {
		l.b = append(l.b, `]}`...)
		l.open = nil
	}
}

// next begins another item.
func (l *itemList) next() {
	l.close()
	if l.n++; l.n > 1 {
		l.b = append(l.b, ',')
	}
}

// part begins another part of a message: of the one before, if it is one message.
func (l *itemList) part(m itemMeta) {
	same := m
	same.Refusal = false
	if l.open != nil && *l.open == same {
		l.b = append(l.b, ',')
		return
	}
	l.next()
	l.open = &same
	l.b = append(l.b, `{"type":"message",`...)
	l.identify(m)
	if m.Phase != "" {
		l.b = append(jscan.AppendQuoted(append(l.b, `"phase":`...), m.Phase), ',')
	}
	l.b = jscan.AppendQuoted(append(l.b, `"role":`...), string(l.role))
	l.b = append(l.b, `,"content":[`...)
}

func (l *itemList) identify(m itemMeta) {
	if m.ID != "" {
		l.b = append(jscan.AppendQuoted(append(l.b, `"id":`...), m.ID), ',')
	}
	if m.Status != "" {
		l.b = append(jscan.AppendQuoted(append(l.b, `"status":`...), m.Status), ',')
	}
}

func (l *itemList) text(s string, m itemMeta) {
	if strings.TrimSpace(s) == "" {
		return
	}
	l.part(m)
	switch {
	case l.role == troupe.User:
		l.b = append(appendText(append(l.b, `{"type":"input_text","text":`...), s), '}')
	case m.Refusal:
		l.b = append(appendText(append(l.b, `{"type":"refusal","refusal":`...), s), '}')
	default:
		l.b = append(appendText(append(l.b, `{"type":"output_text","text":`...), s), `,"annotations":[]}`...)
	}
}

func (l *itemList) call(c *troupe.Call, m itemMeta) {
	l.next()
	l.b = append(l.b, `{"type":"function_call",`...)
	l.identify(m)
	l.b = append(l.b, `"call_id":"`...)
	l.b = appendOwnCallID(l.b, c.Reply, c.Index, c.ProviderID)
	l.b = append(l.b, `","name":`...)
	l.b = jscan.AppendQuoted(l.b, encode.ToolName(c.Name, longestName))
	l.b = append(appendArguments(append(l.b, `,"arguments":`...), c.Input), '}')
}

// result appends one result: a text, or a list if there are images in it, which stand where they stood.
func (l *itemList) result(r *troupe.Result) error {
	l.next()
	l.b = append(l.b, `{"type":"function_call_output","call_id":"`...)
	l.b = appendOwnCallID(l.b, r.Reply, r.Call, r.ProviderID)
	l.b = append(l.b, `","output":`...)
	images := false
	for _, bl := range r.Blocks {
		switch {
		case bl.Type == troupe.TextBlock:
		case bl.Type == troupe.ImageBlock && bl.Image != nil:
			images = true
		default:
			return fmt.Errorf("encode for %s: a block of type %q inside a result", l.p.o.Name, bl.Type)
		}
	}
	text := troupe.JoinText(r.Blocks)
	if !images {
		l.b = append(appendText(l.b, resultText(text, encode.Nothing, r.IsError)), '}')
		return nil
	}
	l.b = append(l.b, '[')
	n := 0
	comma := func() {
		if n++; n > 1 {
			l.b = append(l.b, ',')
		}
	}
	if marked := resultText(text, encode.Nothing, r.IsError); r.IsError && marked != text {
		comma()
		l.b = append(l.b, `{"type":"input_text","text":"Error:"}`...)
	}
	for _, bl := range r.Blocks {
		switch {
		case bl.Type == troupe.ImageBlock:
			comma()
			l.b = appendInputImage(l.b, bl.Image)
		case strings.TrimSpace(bl.Text) != "":
			comma()
			l.b = append(appendText(append(l.b, `{"type":"input_text","text":`...), bl.Text), '}')
		}
	}
	l.b = append(l.b, `]}`...)
	return nil
}

func appendInputImage(b []byte, i *troupe.Image) []byte {
	// The type stands in a URL that is not escaped again.
	quoted := jscan.AppendQuoted(nil, i.MediaType)
	b = append(append(b, inputImage...), quoted[1:len(quoted)-1]...)
	b = base64.StdEncoding.AppendEncode(append(b, `;base64,`...), i.Data)
	return append(b, inputImageEnd...)
}

// appendOwnCallID writes the name that a call has on the wire: the service's own goes back as it came, because a
// reply is to go back as it came. Anything else is taken for the work of a server that calls every first call
// call_0; those get our name.
func appendOwnCallID(b []byte, reply, call int, provider string) []byte {
	if encode.OwnID(provider, "call_") {
		return append(b, provider...)
	}
	return appendCallID(b, reply, call)
}
