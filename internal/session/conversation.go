package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
)

// conversation is what a session sends its model, as bytes. Each message is encoded once,
// when a seal settles it; a request is the head and all messages one after the other, so a
// turn costs what is new in it.
type conversation struct {
	transcript turn.Transcript
	provider   model.Provider
	modelID    string
	head       []byte
	messages   [][]byte
	chain      [sha256.Size]byte
	start      [sha256.Size]byte // of the chain, before the first message
	fresh      int               // messages that no call has sent yet
	blocks     int               // content blocks in them
	because    string            // why the next seal begins a new generation; "" while it does not
	whole      bool              // transcript holds all there ever was: the session was born here
	// what a fork has of its parent; nil: it is none, was summarized, or it is not read yet
	origin *origin
}

// add keeps the content of an event until a seal covers it, and forgets it then. What a seal
// settles was encoded before it was logged.
func (c *conversation) add(e troupe.Event) error {
	_, err := c.transcript.Add(e)
	if _, ok := e.Body.(troupe.Compacted); ok {
		c.restart()
	}
	return err
}

// openConversation chooses the provider and encodes what stands before the conversation, once for all
// sessions that are told the same.
func (ex *exchange) openConversation(ctx context.Context) (conversation, error) {
	p := ex.a.st.Profile
	provider, id, err := ex.a.h.d.Models.Provider(p.Model)
	if err != nil {
		return conversation{}, &modelGoneError{p.Model, err}
	}
	c := conversation{provider: provider, modelID: id}
	effort := ex.a.h.d.Models.Effort(p.Model, p.Effort)
	key := strings.Join([]string{provider.Name(), id, string(effort), p.Prompt, p.Offer, strings.Join(p.Tools, ",")},
		"\x00")
	var known bool
	if c.head, known = ex.a.h.heads.get(key); !known {
		tools, err := ex.offered(ctx)
		if err != nil {
			return conversation{}, err
		}
		c.head, err = provider.EncodeHead(model.Head{
			Model: id, System: p.Prompt, Tools: tools, MaxTokens: ex.a.h.d.Models.MaxOutput(p.Model),
			Effort: effort,
		})
		if err != nil {
			return conversation{}, &modelGoneError{p.Model, fmt.Errorf("encode the head of %s: %w", p.Type, err)}
		}
		ex.a.h.heads.put(key, c.head)
	}
	c.start = sha256.Sum256(append([]byte(provider.Encoder()+"\n"), c.head...))
	c.chain = c.start
	return c, nil
}

// offered is what the session's model was told of its tools when it was born, whatever has
// become of them. Those of old logs, and of such as lost it, are told what the tools are now.
func (ex *exchange) offered(ctx context.Context) (tools []troupe.Tool, err error) {
	p, all := ex.a.st.Profile, toolsOf(ex.a, &ex.a.st.Profile)
	if p.Offer == "" {
		return all.Specs(p.Tools), nil
	}
	o, _ := ex.a.h.offers.get(offerKey(all, p.Tools))
	if o.Hash != p.Offer { // it was born when the tools were others
		err = ex.a.h.d.Store.View(ctx, func(r store.Reader) error {
			o.Body, err = r.Document(ex.a.root, p.Offer)
			return err
		})
	}
	if errors.Is(err, troupe.ErrNotFound) { // it was lost with a damaged database
		return all.Specs(p.Tools), nil
	}
	if err == nil {
		if err = json.Unmarshal(o.Body, &tools); err != nil {
			err = fmt.Errorf("%w: %w", troupe.ErrDamaged, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read what session %s was offered: %w", ex.a.id, err)
	}
	return tools, nil
}

func offerKey(tools tool.Set, names []string) string { return tools.Stamp() + strings.Join(names, ",") }

// offer is what a session with these tools is told of them from now on.
func (h *Hub) offer(tools tool.Set, names []string) (fleet.Document, error) {
	key := offerKey(tools, names)
	if o, known := h.offers.get(key); known {
		return o, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the same bytes as in the descriptors
	if err := e.Encode(tools.Specs(names)); err != nil {
		return fleet.Document{}, fmt.Errorf("write down what is offered: %w", err)
	}
	o := fleet.Document{Hash: tool.Hash(b.Bytes()), Body: b.Bytes()}
	h.offers.put(key, o)
	return o, nil
}

// maxCached is more kinds of sessions than are at work at once.
const maxCached = 256

// cache keeps what sessions of a kind share, of the kinds made last.
type cache[V any] struct {
	mu    sync.Mutex
	known map[string]V
	keys  []string // the oldest first
}

func (c *cache[V]) get(key string) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.known[key]
	return v, ok
}

func (c *cache[V]) put(key string, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.known[key]; ok {
		return // two sessions made it at once
	}
	if len(c.keys) == maxCached {
		delete(c.known, c.keys[0])
		c.keys = append(c.keys[:0], c.keys[1:]...)
	}
	if c.known == nil {
		c.known = make(map[string]V)
	}
	c.known[key], c.keys = v, append(c.keys, key)
}

// encode appends messages that a seal has settled.
func (c *conversation) encode(msgs []troupe.Message) error {
	for _, m := range msgs {
		b, err := c.provider.EncodeMessage(m)
		if err != nil {
			return fmt.Errorf("encode a message: %w", err)
		}
		c.messages = append(c.messages, b)
		c.chain = link(c.chain, b)
		c.fresh++
		c.blocks += len(m.Blocks)
	}
	return nil
}

// link is the next value of the running hash over a generation's bytes.
func link(chain [sha256.Size]byte, message []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write(chain[:])
	h.Write(message)
	var out [sha256.Size]byte
	h.Sum(out[:0])
	return out
}

func (c *conversation) sum() string { return hex.EncodeToString(c.chain[:16]) }

// settle encodes what a seal of these events adds and returns how to take that back, for a
// seal that does not come about.
func (c *conversation) settle(e troupe.Event, refs []int64) (undo func(), err error) {
	before := *c
	undo = func() {
		c.messages, c.chain = before.messages, before.chain
		c.fresh, c.blocks = before.fresh, before.blocks
	}
	msgs, err := c.transcript.Peek(e, refs)
	if err != nil {
		return nil, err
	}
	if err := c.encode(msgs); err != nil {
		undo()
		return nil, err
	}
	return undo, nil
}

// restart begins the conversation anew: with a summary, the messages so far are history.
func (c *conversation) restart() {
	c.messages, c.fresh, c.blocks, c.because = nil, 0, 0, ""
	c.chain, c.origin = c.start, nil
}

// origin is what a fork has of its parent, which may have been out of reach before. After a summary it is nothing.
func (ex *exchange) origin(ctx context.Context) (o *origin, err error) {
	at := ex.a.st.Fork
	if o = ex.a.convo.origin; o != nil || at == nil || ex.a.st.Summarized {
		return o, nil
	}
	err = ex.ofParent(ctx, func(r store.Reader) error {
		o, err = ex.a.tree.origins.find(r, *at, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	o.give(ex.a)
	return o, nil
}

// ofParent reads the log that a fork goes on from.
func (ex *exchange) ofParent(ctx context.Context, fn func(store.Reader) error) error {
	err := ex.a.h.d.Store.View(context.WithoutCancel(ctx), fn)
	if errors.Is(err, troupe.ErrDamaged) {
		err = &originGoneError{*ex.a.st.Fork, err}
	}
	return err
}

// rebuild encodes the whole conversation anew from the log: for a session that was just
// born (which has none yet) or loaded. If the bytes are not those the last seal recorded,
// the provider's cache cannot be used and the next seal begins a new generation.
func (ex *exchange) rebuild(ctx context.Context) error {
	convo, err := ex.openConversation(ctx)
	if err != nil {
		return err
	}
	if convo.origin, err = ex.origin(ctx); err != nil {
		return err
	}
	if ex.a.convo.whole {
		convo.transcript = ex.a.convo.transcript
	}
	if convo.origin != nil {
		err := convo.origin.begin(&convo, func() (words turn.Origin, err error) {
			err = ex.ofParent(ctx, func(r store.Reader) error {
				words, err = read(r, convo.origin.at, nil)
				return err
			})
			return words, err
		})
		if err != nil {
			return err
		}
	}
	if ex.a.convo.whole {
		ex.a.convo = convo
		return nil
	}
	var events []troupe.Event
	err = ex.a.h.d.Store.View(ctx, func(r store.Reader) error {
		var err error
		events, err = r.Events(ex.a.id, 0, 0)
		return err
	})
	if err != nil {
		return fmt.Errorf("read session %s: %w", ex.a.id, err)
	}
	changed := ""
	for _, e := range append(events, ex.a.staged.events...) {
		msgs, err := convo.transcript.Add(e)
		if err != nil {
			return err
		}
		if err := convo.encode(msgs); err != nil {
			return err
		}
		switch b := e.Body.(type) {
		case troupe.Compacted:
			convo.restart()
			changed = ""
		case troupe.CallSealed:
			if b.Compact {
				continue
			}
			changed = ""
			if b.Chain != convo.sum() {
				changed = "the tools, the prompt or the encoding are not what they were when the session last spoke"
			}
		case troupe.ModelChanged:
			changed = ""
		}
	}
	convo.because = changed
	if ex.a.st.Reply() > 0 { // before that all is new to the model, in a fork with the end of its parent's words
		convo.fresh, convo.blocks = 0, 0
	}
	ex.a.convo = convo
	return nil
}
