package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// Begin gives birth to a root session and sets it going.
func (h *Hub) Begin(ctx context.Context, b fleet.Birth) error {
	defer h.expect(b.Root, b.Root)()
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
	// Idle: a root whose run has ended stays so until somebody writes to it, as Prompt does.
	Idle bool
}

// Adopt takes over a tree that no living process owns and sets it going: the root, and
// every session of it whose run has not ended or whose mailbox asks for another. A root that
// had ended begins another run. It
// is the one way in which sessions go on, after a crash, an interrupt or an end alike; all
// it changes is one transaction.
func (h *Hub) Adopt(ctx context.Context, ad Adoption) error {
	h.mu.Lock()
	h.taking[ad.Root] = &waking{root: ad.Root, from: ad.Expect}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		mail := h.taking[ad.Root].mail
		delete(h.taking, ad.Root)
		h.hand(mail)
	}()
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
		mailed, err := tx.Mailboxes(ad.Root)
		if err != nil {
			return fmt.Errorf("look into the mailboxes of tree %s: %w", ad.Root, err)
		}
		for _, s := range all {
			var opening []troupe.Body
			switch {
			case s.ID == ad.Root:
				opening = h.opening(s, ad)
			case !s.Status.Live() && !slices.Contains(mailed, s.ID):
				continue
			}
			a, err := h.load(tx, s.ID, true, opening)
			if err != nil {
				return err
			}
			if err := h.placeAncestors(tx, s); err != nil {
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
	h.mu.Lock()
	h.drop(ad.Root) // what is left from when the tree was ours before
	delete(h.lost, ad.Root)
	h.caps[ad.Root] = caps
	for _, a := range actors {
		h.install(a)
	}
	h.mu.Unlock()
	for _, a := range actors {
		h.d.Notify(a.root, a.id, a.st.Session.Seq)
	}
	for _, a := range actors {
		a.post(inRules{}) // what was granted last, or comes with the adoption, may settle what is open
	}
	return nil
}

// opening is what an adopted root's log goes on with.
func (h *Hub) opening(s troupe.Session, ad Adoption) []troupe.Body {
	out := slices.Clone(ad.Events)
	if s.Status.Ended() && (!ad.Idle || len(ad.Prompt) > 0) {
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
// What the process before left undone is logged as interrupted here; resumed takes back stops
// that it had not carried out.
func (h *Hub) load(tx store.Tx, id troupe.SessionID, resumed bool, opening []troupe.Body) (*actor, error) {
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
	a.known = delivered(events)
	if resumed {
		a.taken = turn.Taken{At: h.d.Now(), Seq: st.Session.Seq}
	}
	for _, o := range turn.Lost(&st) {
		m := troupe.Mail{
			ID: troupe.ShellEndedMailID(id, o.Task), Root: a.root, To: id, From: id,
			Kind: troupe.MailTaskEnded, SentAt: h.d.Now(), Ended: &o,
		}
		if _, err := tx.Send(m); err != nil {
			return nil, fmt.Errorf("tell session %s of a command that is gone: %w", id, err)
		}
	}
	mail, err := tx.Unread(id)
	if err != nil {
		return nil, fmt.Errorf("read the mail of session %s: %w", id, err)
	}
	bodies := append(turn.Recover(&st), opening...)
	void, stopped := st.Resume(mail, h.d.Now())
	if resumed && stopped {
		bodies = append([]troupe.Body{void}, bodies...)
	}
	for _, b := range bodies {
		e := a.event(&a.st, b)
		if err := a.st.Apply(e); err != nil {
			return nil, err
		}
		a.staged.events = append(a.staged.events, e)
	}
	if err := a.write(tx, a.staged.base, a.st.Session, a.staged.events); err != nil {
		return nil, fmt.Errorf("write session %s: %w", id, err)
	}
	a.staged = staging{base: a.st.Session}
	for _, m := range mail {
		if resumed && slices.ContainsFunc(void.Mail, func(v troupe.Mail) bool { return v.ID == m.ID }) {
			if err := tx.MarkDelivered(id, st.Session.Seq+1, []troupe.MailID{m.ID}); err != nil {
				return nil, fmt.Errorf("mark mail delivered: %w", err)
			}
			a.known[m.ID] = true
			continue
		}
		a.receive(m)
	}
	return a, nil
}

// delivered lists the mail that a log says was read. Who sent it may tell of it late, or send
// it again after a restart.
func delivered(events []troupe.Event) map[troupe.MailID]bool {
	known := make(map[troupe.MailID]bool)
	for _, e := range events {
		switch b := e.Body.(type) {
		case troupe.MailDelivered:
			for i := range b.Mail {
				known[b.Mail[i].ID] = true
			}
		case troupe.ToolFinished:
			known[b.Mail] = true
		case troupe.RequestAnswered:
			known[b.Mail] = true
		case troupe.AuthorityChanged:
			known[b.Mail] = true
		case troupe.ModelChanged:
			known[b.Mail] = true
		}
	}
	return known
}

// placeAncestors sees that everybody above a session has a place in the line of authority,
// those whose runs are over too. It is called in a transaction of a tree that is being taken
// over, or that this hub hosts.
func (h *Hub) placeAncestors(tx store.Reader, s troupe.Session) error {
	var missing []turn.State
	for up := s.Parent; up != "" && !h.placed(up); {
		events, err := tx.Events(up, 0, 0)
		if err != nil {
			return fmt.Errorf("read session %s: %w", up, err)
		}
		st, err := turn.Fold(events)
		if err != nil {
			return fmt.Errorf("read session %s: %w", up, err)
		}
		missing = append(missing, st)
		up = st.Session.Parent
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(missing) - 1; i >= 0; i-- {
		h.setLayer(&missing[i])
	}
	return nil
}

func (h *Hub) placed(id troupe.SessionID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.layers[id]
	return ok
}

// mailed tells the receivers of mail that was just committed. One that has no actor any more
// is loaded from its log if this hub hosts its tree.
func (h *Hub) mailed(mail ...troupe.Mail) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hand(mail)
}

// hand is mailed for those who hold h.mu.
func (h *Hub) hand(mail []troupe.Mail) {
	for _, m := range mail {
		if w := h.taking[m.Root]; w != nil {
			w.mail = append(w.mail, m)
			continue
		}
		w, under := h.loading[m.To] // first: what was kept for it so far has to come before this
		if a := h.actors[m.To]; a != nil && !under {
			a.post(inMail{m})
			continue
		}
		if _, hosted := h.caps[m.Root]; !under && (!hosted || h.lost[m.Root] != nil) {
			continue
		}
		if !under {
			w = &waking{root: m.Root}
			h.loading[m.To] = w
			h.d.Sched.Go(func(ctx context.Context) { h.wake(ctx, m.To, w) })
		}
		w.mail = append(w.mail, m)
	}
}

// expect keeps the mail to sessions that are about to be born until they have their actors:
// others see them as soon as they are committed. What it returns is called in any case.
func (h *Hub) expect(root troupe.SessionID, ids ...troupe.SessionID) (arrived func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	mine := make(map[troupe.SessionID]*waking)
	for _, id := range ids {
		if h.actors[id] == nil && h.loading[id] == nil {
			mine[id] = &waking{root: root}
			h.loading[id] = mine[id]
		}
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, id := range ids {
			if w := mine[id]; w != nil && h.loading[id] == w {
				delete(h.loading, id)
				h.hand(w.mail)
			}
		}
		h.atRest(root) // they may have ended before
	}
}

// waking is a session that mail is kept for until it has its actor.
type waking struct {
	root troupe.SessionID
	from troupe.Lease // of a tree that is being taken over: whom from
	mail []troupe.Mail
}

// wake gives a session that has ended its actor back.
func (h *Hub) wake(ctx context.Context, id troupe.SessionID, w *waking) {
	var a *actor
	err := h.d.Store.Update(context.WithoutCancel(ctx), w.root, func(tx store.Tx) error {
		a = nil
		if !h.wakes(id, w) {
			return nil
		}
		if err := h.hosts(tx, w.root); err != nil {
			return err
		}
		s, err := tx.Session(id)
		if err != nil {
			return fmt.Errorf("read session %s: %w", id, err)
		}
		if a, err = h.load(tx, id, false, nil); err != nil {
			return err
		}
		return h.placeAncestors(tx, s)
	})
	// All at once: the actor may have come to its end by the next moment, and then it is deaf
	// to what is handed to it, and the tree over but for the note that it is being loaded.
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.loading[id] != w:
	case err != nil:
		h.giveUp(w.root, fmt.Errorf("wake session %s: %w", id, err))
	case a == nil: // whoever takes the tree over finds the mail
		delete(h.loading, id)
	default:
		h.install(a)
		delete(h.loading, id)
		for _, m := range w.mail {
			a.post(inMail{m}) // what it found in its mailbox it does not take twice
		}
		a.post(inNudge{})
	}
}

// wakes reports whether a session is still to be woken: its tree may have been given up since, or
// be about to be adopted, which brings all back that has mail.
func (h *Hub) wakes(id troupe.SessionID, w *waking) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.loading[id] == w && h.taking[w.root] == nil
}

// hosts is troupe.ErrFenced if a tree is another process's by now: whoever takes a tree over
// claims its root, and leaves sessions that have ended as they are.
func (h *Hub) hosts(tx store.Reader, root troupe.SessionID) error {
	held, err := tx.Lease(root)
	if err != nil {
		return fmt.Errorf("look who owns tree %s: %w", root, err)
	}
	if held.Owner != h.d.Owner {
		return fmt.Errorf("tree %s is held by %s: %w", root, held.Owner, troupe.ErrFenced)
	}
	return nil
}

// takes reports whether this hub is about to take a tree over from whoever holds it now.
func (h *Hub) takes(tx store.Reader, root troupe.SessionID) bool {
	held, err := tx.Lease(root)
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.taking[root]
	return err == nil && w != nil && w.from == held
}

// Send commits mail that build makes and tells the receivers. All of it is for one tree. If
// another process owns that tree by now it is troupe.ErrFenced, and if the hub has given it up,
// the error for which it did: nobody here would read it.
func (h *Hub) Send(ctx context.Context, root troupe.SessionID, build func(tx store.Tx) ([]troupe.Mail, error)) error {
	var mail []troupe.Mail
	err := h.d.Store.Update(context.WithoutCancel(ctx), root, func(tx store.Tx) error {
		err := h.hosts(tx, root)
		if errors.Is(err, troupe.ErrFenced) && h.takes(tx, root) {
			err = nil // it is about to be ours, and what is sent until then is kept
		}
		if err == nil {
			err = h.given(root)
		}
		if err != nil {
			return err
		}
		if mail, err = build(tx); err != nil {
			return err
		}
		return sendAll(tx, mail)
	})
	if err != nil {
		return err
	}
	h.mailed(mail...)
	return nil
}

// Look hears what another process has left in the mailboxes of a tree that this hub hosts.
func (h *Hub) Look(ctx context.Context, root troupe.SessionID) error {
	var mail []troupe.Mail
	err := h.d.Store.View(ctx, func(r store.Reader) error {
		boxes, err := r.Mailboxes(root)
		if err != nil || len(boxes) == 0 {
			return err
		}
		if err := h.hosts(r, root); err != nil {
			return err
		}
		for _, id := range boxes {
			unread, err := r.Unread(id)
			if err != nil {
				return err
			}
			mail = append(mail, unread...)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look into the mailboxes of tree %s: %w", root, err)
	}
	h.mailed(mail...) // what is known already is not taken twice
	return nil
}

// Move has a sub-agent that its parent waits for go on in the background. It returns false
// if the parent does not wait for it.
func (h *Hub) Move(child troupe.SessionID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	l, ok := h.layers[child]
	a := h.actors[l.parent]
	if !ok || a == nil {
		return false
	}
	a.post(inMove{child})
	return true
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
	convo.fresh, convo.blocks = 0, 0
	a.convo = convo
	return nil
}
