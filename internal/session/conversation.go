package session

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
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
	fresh      int    // messages that no call has sent yet
	blocks     int    // content blocks in them
	because    string // why the next seal begins a new generation; "" while it does not
	whole      bool   // transcript holds all there ever was: the session was born here
}

// add keeps the content of an event until a seal covers it. Seals do not come here.
func (c *conversation) add(e troupe.Event) error {
	_, err := c.transcript.Add(e)
	return err
}

// open chooses the provider and encodes what stands before the conversation.
func (h *Hub) openConversation(p troupe.Profile) (conversation, error) {
	provider, id, err := h.d.Models.Provider(p.Model)
	if err != nil {
		return conversation{}, err
	}
	c := conversation{provider: provider, modelID: id}
	if c.head, err = h.head(provider, id, p); err != nil {
		return conversation{}, err
	}
	c.chain = sha256.Sum256(append([]byte(provider.Encoder()+"\n"), c.head...))
	return c, nil
}

// head encodes the head of a profile, once for all sessions that share it.
func (h *Hub) head(provider model.Provider, id string, p troupe.Profile) ([]byte, error) {
	key := strings.Join([]string{provider.Name(), id, p.Prompt, strings.Join(p.Tools, ",")}, "\x00")
	h.mu.Lock()
	defer h.mu.Unlock()
	if b, ok := h.heads[key]; ok {
		return b, nil
	}
	b, err := provider.EncodeHead(model.Head{
		Model: id, System: p.Prompt, Tools: h.d.Tools.Specs(p.Tools), MaxTokens: h.d.Models.MaxOutput(p.Model),
	})
	if err != nil {
		return nil, fmt.Errorf("encode the head of %s: %w", p.Type, err)
	}
	h.heads[key] = b
	return b, nil
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

// seal settles what the next call is sent and logs it.
func (a *actor) seal(reply int) error {
	if a.convo.provider == nil {
		return fmt.Errorf("seal: no provider is open")
	}
	s := troupe.CallSealed{
		Reply: reply, Generation: a.st.Generation, Model: a.st.Session.Model,
		Encoder: a.convo.provider.Encoder(), Refs: a.st.Refs(),
	}
	if a.convo.because != "" {
		s.Generation++
		s.Because, a.convo.because = a.convo.because, ""
	}
	msgs, err := a.convo.transcript.Add(a.event(&a.st, s))
	if err != nil {
		return err
	}
	if err := a.convo.encode(msgs); err != nil {
		return err
	}
	s.Chain = a.convo.sum()
	e := a.event(&a.st, s)
	if err := a.st.Apply(e); err != nil {
		return err
	}
	a.staged.events = append(a.staged.events, e)
	return nil
}
