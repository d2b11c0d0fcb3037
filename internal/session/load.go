package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// Begin gives birth to a root session and sets it going.
func (h *Hub) Begin(ctx context.Context, b fleet.Birth) error {
	var born []fleet.Born
	err := h.d.Store.Update(ctx, b.Root, func(tx store.Tx) error {
		var err error
		born, err = fleet.Bear(tx, h.d.Owner, h.d.Now(), []fleet.Birth{b})
		if err == nil && born[0].Refused != nil {
			err = born[0].Refused
		}
		return err
	})
	if err != nil {
		return err
	}
	if b.Caps != nil {
		h.setCaps(b.Root, *b.Caps)
	}
	h.welcome(ctx, born[0])
	return nil
}

// Adoption says how a tree goes on.
type Adoption struct {
	Root troupe.SessionID
	// Expect is the lease whose owner was found dead. If the root is held under another
	// one by now, somebody else was faster, and the adoption is troupe.ErrFenced.
	Expect troupe.Lease
	Prompt []troupe.Block // new words for the root; none: it goes on where it stopped
	MailID troupe.MailID  // of the prompt
	Events []troupe.Body  // logged before anything else: another model, another authority
	Caps   *troupe.Caps   // replaces the tree's
}

// Adopt takes over a tree that no living process owns and sets it going: the root, and
// every session of it whose run has not ended. A root that had ended begins another run. It
// is the one way in which sessions go on, after a crash, an interrupt or an end alike; all
// it changes is one transaction.
func (h *Hub) Adopt(ctx context.Context, ad Adoption) error {
	var actors []*actor
	var caps troupe.Caps
	err := h.d.Store.Update(ctx, ad.Root, func(tx store.Tx) error {
		actors = nil
		held, err := tx.Lease(ad.Root)
		if err != nil {
			return fmt.Errorf("look who owns tree %s: %w", ad.Root, err)
		}
		if held != ad.Expect {
			return fmt.Errorf("take over tree %s: %w", ad.Root, troupe.ErrFenced)
		}
		if ad.Caps != nil {
			if err := tx.SetCaps(ad.Root, *ad.Caps); err != nil {
				return fmt.Errorf("set the caps of tree %s: %w", ad.Root, err)
			}
		}
		all, err := tx.Sessions(store.Filter{Root: ad.Root})
		if err != nil {
			return fmt.Errorf("list tree %s: %w", ad.Root, err)
		}
		for _, s := range all {
			if s.ID != ad.Root && !s.Status.Live() {
				continue
			}
			a, err := h.load(tx, s.ID, ad)
			if err != nil {
				return err
			}
			actors = append(actors, a)
		}
		tree, err := tx.Tree(ad.Root)
		if err != nil {
			return fmt.Errorf("read tree %s: %w", ad.Root, err)
		}
		caps = tree.Caps
		return nil
	})
	if err != nil {
		return err
	}
	h.setCaps(ad.Root, caps)
	for _, a := range actors {
		h.add(a)
		h.d.Notify(a.id, a.st.Session.Seq)
	}
	for _, a := range actors {
		a.post(inNudge{})
	}
	return nil
}

// opening is what an adopted root's log goes on with.
func (h *Hub) opening(s troupe.Session, ad Adoption) []troupe.Body {
	out := slices.Clone(ad.Events)
	if s.Status.Ended() {
		out = append(out, troupe.Started{Run: s.Run + 1})
	}
	if len(ad.Prompt) > 0 {
		out = append(out, troupe.MailDelivered{Mail: []troupe.Mail{{
			ID: ad.MailID, Root: ad.Root, To: ad.Root, Kind: troupe.MailPrompt, SentAt: h.d.Now(), Blocks: ad.Prompt,
		}}})
	}
	return out
}

// load claims a session and rebuilds its actor from the log, in its caller's transaction.
// What the process before left undone is logged as interrupted here.
func (h *Hub) load(tx store.Tx, id troupe.SessionID, ad Adoption) (*actor, error) {
	lease, err := tx.Claim(id, h.d.Owner)
	if err != nil {
		return nil, fmt.Errorf("claim session %s: %w", id, err)
	}
	events, err := tx.Events(id, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", id, err)
	}
	st, err := turn.Fold(events)
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", id, err)
	}
	a := newActor(h, st, lease)
	bodies := turn.Recover(&st)
	if id == ad.Root {
		bodies = append(bodies, h.opening(st.Session, ad)...)
	}
	for _, b := range bodies {
		e := a.event(&a.st, b)
		if err := a.st.Apply(e); err != nil {
			return nil, err
		}
		a.staged.events = append(a.staged.events, e)
	}
	if err := a.write(tx, a.st.Session, a.staged.events); err != nil {
		return nil, fmt.Errorf("write session %s: %w", id, err)
	}
	a.staged = staging{base: a.st.Session}
	mail, err := tx.Unread(id)
	if err != nil {
		return nil, fmt.Errorf("read the mail of session %s: %w", id, err)
	}
	for _, m := range mail {
		a.receive(m)
	}
	return a, nil
}

// rebuild encodes the whole conversation anew from the log: for a session that was just
// born (which has none yet) or loaded. If the bytes are not those the last seal recorded,
// the provider's cache cannot be used and the next seal begins a new generation.
func (a *actor) rebuild(ctx context.Context) error {
	convo, err := a.h.openConversation(a.st.Profile)
	if err != nil {
		return &modelGoneError{a.st.Session.Model, err}
	}
	if a.convo.whole {
		convo.transcript = a.convo.transcript
		a.convo = convo
		return nil
	}
	var events []troupe.Event
	err = a.h.d.Store.View(ctx, func(r store.Reader) error {
		var err error
		events, err = r.Events(a.id, 0, 0)
		return err
	})
	if err != nil {
		return fmt.Errorf("read session %s: %w", a.id, err)
	}
	convo.transcript = turn.Transcript{}
	changed := ""
	for _, e := range append(events, a.staged.events...) {
		msgs, err := convo.transcript.Add(e)
		if err != nil {
			return err
		}
		if err := convo.encode(msgs); err != nil {
			return err
		}
		switch b := e.Body.(type) {
		case troupe.CallSealed:
			changed = ""
			if b.Chain != convo.sum() {
				changed = "the tools, the prompt or the encoding are not what they were when the session last spoke"
			}
		case troupe.ModelChanged:
			changed = ""
		}
	}
	convo.because = changed
	convo.fresh, convo.blocks = 0, 0
	a.convo = convo
	return nil
}
