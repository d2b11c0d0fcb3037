package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// Begin starts a new tree with its root session, and with the members of the team that this leads.
func (h *Hub) Begin(ctx context.Context, b fleet.Birth, with ...troupe.NewMember) error {
	roles, err := h.d.Profiles.Open(b.Definitions.Body)
	if err != nil {
		return err
	}
	t := h.open(b.Root)
	defer h.unhold(t)
	var born []fleet.Born
	if b.Offer, err = h.offer(rolesOf(roles).tools(h, &b.Profile), b.Profile.Tools); err != nil {
		return err
	}
	b.Brief = h.rootBrief(h.folders.of(b.Cwd), b, roles)
	all, err := withTeam(h, b, roles, with)
	if err != nil {
		return err
	}
	ids := []troupe.SessionID{b.Root}
	for _, m := range all[1:] {
		ids = append(ids, troupe.ChildID(m.Parent, m.Coord))
	}
	defer t.buffer(ids...)()
	err = h.d.Store.Update(ctx, b.Root, func(tx store.Tx) error {
		var err error
		born, err = fleet.Spawn(tx, h.d.Owner, h.d.Now(), all)
		for i := range born {
			err = cmp.Or(err, born[i].Refused)
		}
		return err
	})
	if err != nil {
		return err
	}
	t.begin(&born[0].State, roles)
	for _, m := range born[1:] { // idle, so that they have no actor until they are written to
		h.debug(ctx, m.Events)
		h.d.Notify(b.Root, m.State.Session.ID, m.State.Session.Seq, m.Events)
	}
	t.start(ctx, born[0], nil)
	return nil
}

// Adoption says how a tree goes on.
type Adoption struct {
	Root troupe.SessionID
	// Expect is the lease whose owner was found dead. If the root is held under another
	// one by now, somebody else was faster, and the adoption is troupe.ErrFenced.
	Expect troupe.Lease
	Prompt []troupe.Block     // new words for the root; none: it goes on where it stopped
	Uses   *troupe.SkillUse   // the command that they begin with
	Typed  *string            // what of them a person typed, see troupe.Mail
	Read   []troupe.FileTouch // files that stand whole in them
	MailID troupe.MailID      // of the prompt
	// Wake has a tree go on that was put away. Without it that is troupe.ErrAsleep.
	Wake   bool
	Events []troupe.Body // logged before anything else: another model, another authority
	Caps   *troupe.Caps  // replaces the tree's
	// Settings replace those of the run before; nil: they stay. Definitions is the document that
	// they name, if it is new.
	Settings    *troupe.Settings
	Definitions fleet.Document
	// Idle: a root whose run has ended stays so until somebody writes to it, as Prompt does.
	Idle bool
	// Quiet: the ends of commands that the process before took with it begin no run. They are read with
	// what comes next.
	Quiet bool
	// Stops: nobody has resumed it, so that stops which wait for it are carried out.
	Stops  bool
	Caller *troupe.Caller // who has it go on
}

// Adopt takes over a tree that no living process owns and sets it going: the root, and
// every session of it whose run has not ended or whose mailbox asks for another. A root that
// had ended begins another run. It
// is the one way in which sessions go on, after a crash, an interrupt or an end alike; all
// it changes is one transaction.
func (h *Hub) Adopt(ctx context.Context, ad Adoption) error {
	t := h.open(ad.Root)
	defer h.unhold(t)
	if !t.beginAdoption(ad.Expect) {
		return fmt.Errorf("take over tree %s, which is being taken over here: %w", ad.Root, troupe.ErrFenced)
	}
	defer t.endAdoption()
	var got adopted
	var l looks
	err := l.update(ctx, h.d.Store, ad.Root, func(tx store.Tx) (err error) {
		got, err = t.adopt(tx, ad, &l)
		return err
	})
	if err != nil {
		return err
	}
	t.replace(got)
	for _, a := range got.actors {
		h.d.Notify(a.root, a.id, a.st.Session.Seq, nil)
	}
	for _, a := range got.actors {
		a.post(inAuthorityChanged{}) // what was granted last, or comes with the adoption, may settle what is open
	}
	return nil
}

// adopted is what a transaction that takes a tree over finds in it.
type adopted struct {
	caps   troupe.Caps
	roles  Roles
	actors []*actor      // the root's first
	line   []*turn.State // of these and of the sessions above them, from the top
}

// adopt takes the tree over in the caller's transaction.
func (t *tree) adopt(tx store.Tx, ad Adoption, l *looks) (out adopted, err error) {
	held, err := tx.Lease(ad.Root)
	if err != nil {
		return out, fmt.Errorf("look who owns tree %s: %w", ad.Root, err)
	}
	if held != ad.Expect {
		return out, fmt.Errorf("take over tree %s: %w", ad.Root, troupe.ErrFenced)
	}
	if ad.Caps != nil {
		if err := tx.SetCaps(ad.Root, *ad.Caps); err != nil {
			return out, fmt.Errorf("set the caps of tree %s: %w", ad.Root, err)
		}
	}
	if err := ad.Definitions.Keep(tx, ad.Root); err != nil {
		return out, err
	}
	all, err := tx.Sessions(store.Filter{Root: ad.Root})
	if err != nil {
		return out, fmt.Errorf("list tree %s: %w", ad.Root, err)
	}
	mailed, err := tx.Mailboxes(ad.Root)
	if err != nil {
		return out, fmt.Errorf("look into the mailboxes of tree %s: %w", ad.Root, err)
	}
	if len(all) > 0 && all[0].Archived {
		return out, fmt.Errorf("take over tree %s: %w", ad.Root, troupe.ErrArchived)
	}
	if len(all) > 0 && !all[0].AsleepAt.IsZero() && !ad.Wake {
		return out, asleep(ad.Root)
	}
	known := make(map[troupe.SessionID]bool)
	for _, s := range all {
		opening := func(*turn.State) []troupe.Body { return nil }
		switch {
		case s.ID == ad.Root:
			opening = ad.opening(t.h.d.Now())
		case !s.Status.Live() && !slices.Contains(mailed, s.ID):
			if unkept, err := Unkept(tx, s); err != nil {
				return out, err
			} else if unkept == "" {
				continue
			}
		}
		a, err := t.load(tx, s.ID, loading{resumed: true, stops: ad.Stops, quiet: ad.Quiet, opening: opening, looks: l,
			caller: ad.Caller})
		if err != nil {
			return out, err
		}
		line, err := lineage(tx, s, func(id troupe.SessionID) bool { return known[id] })
		if err != nil {
			return out, err
		}
		out.actors, out.line = append(out.actors, a), append(append(out.line, line...), &a.st)
		for _, st := range out.line[len(out.line)-len(line)-1:] {
			known[st.Session.ID] = true
		}
	}
	tree, err := tx.Tree(ad.Root)
	if err != nil {
		return out, fmt.Errorf("read tree %s: %w", ad.Root, err)
	}
	out.caps = tree.Caps
	out.roles, err = t.open(tx, out.actors[0].st.Settings.Definitions)
	return out, err
}

// opening is what an adopted root's log goes on with.
func (ad *Adoption) opening(now time.Time) func(*turn.State) []troupe.Body {
	return func(st *turn.State) []troupe.Body {
		s, out := &st.Session, slices.Clone(ad.Events)
		if ad.Settings != nil && *ad.Settings != st.Settings {
			out = append(out, troupe.SettingsChanged{Settings: *ad.Settings, Caller: ad.Caller})
		}
		if s.Status.Ended() && (!ad.Idle || len(ad.Prompt) > 0) {
			out = append(out, troupe.Started{Run: s.Run + 1, Caller: ad.Caller})
		}
		if len(ad.Prompt) > 0 {
			out = append(out, troupe.MailDelivered{Mail: []troupe.Mail{{
				ID: ad.MailID, Root: ad.Root, To: ad.Root, Caller: ad.Caller, Kind: troupe.MailPrompt,
				SentAt: now, Blocks: ad.Prompt, Uses: ad.Uses, Typed: ad.Typed, Read: ad.Read,
			}}})
		}
		return out
	}
}

// open reads the definitions that are kept under a hash.
func (t *tree) open(r store.Reader, hash string) (Roles, error) {
	var definitions []byte
	if hash != "" {
		var err error
		definitions, err = r.Document(t.root, hash)
		// One that is not there was lost with a damaged database.
		if err != nil && !errors.Is(err, troupe.ErrNotFound) {
			return nil, fmt.Errorf("read the definitions of tree %s: %w", t.root, err)
		}
	}
	return t.h.d.Profiles.Open(definitions)
}

// loading says how a session is loaded.
type loading struct {
	resumed bool // another process had it: stops that were not carried out are taken back
	stops   bool // they are not
	quiet   bool // as Adoption.Quiet
	opening func(*turn.State) []troupe.Body
	looks   *looks // at what was cut off; nil leaves it open what that came to
	caller  *troupe.Caller
	cut     *Interrupted // told of it; nil: nobody is
}

// load claims a session and rebuilds its actor from the log, in its caller's transaction.
// What the process before left undone is logged as interrupted here.
func (t *tree) load(tx store.Tx, id troupe.SessionID, how loading) (*actor, error) {
	lease, err := tx.Claim(id, t.h.d.Owner)
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
	a := newActor(t, st, lease)
	a.known = delivered(events)
	if at := st.Fork; at != nil {
		o, err := t.origins.find(tx, *at, nil)
		if err == nil {
			o.give(a)
		} else { // it is told when the session goes on: nobody else's work depends on it
			t.h.d.Log.Warn("read what a fork goes on from", "session", id, "err", err)
		}
	}
	if how.resumed {
		a.taken = turn.Taken{At: t.h.d.Now(), Seq: st.Session.Seq}
	}
	for _, o := range turn.Lost(&st) {
		how.cut.command(o)
		m := troupe.Mail{
			ID: troupe.ShellEndedMailID(id, o.Task), Root: a.root, To: id, From: id,
			Kind: troupe.MailTaskEnded, SentAt: t.h.d.Now(), Ended: &o, Quiet: how.quiet,
		}
		if _, err := tx.Send(m); err != nil {
			return nil, fmt.Errorf("tell session %s of a command that is gone: %w", id, err)
		}
	}
	mail, err := tx.Unread(id)
	if err != nil {
		return nil, fmt.Errorf("read the mail of session %s: %w", id, err)
	}
	recovered := t.h.recovered(&st, how.looks)
	how.cut.calls(recovered)
	bodies := append(recovered, how.opening(&st)...)
	void, stopped := st.Resume(mail, t.h.d.Now())
	if how.resumed && !how.stops && stopped {
		bodies = append([]troupe.Body{void}, bodies...)
	}
	at := st.Session.Seq + 1 // of what takes stops back
	if !st.Session.AsleepAt.IsZero() {
		at++
		bodies = append([]troupe.Body{troupe.Woke{Caller: how.caller}}, bodies...)
	}
	for _, b := range bodies {
		e := a.event(&a.st, b)
		if err := a.st.Apply(e); err != nil {
			return nil, err
		}
		a.staged.add(e, a.st.Changed())
		if _, woke := b.(troupe.Woke); woke { // they wait for longer
			a.staged.asks = append(a.staged.asks, turn.Open(&a.st)...)
		}
	}
	if err := a.write(tx, a.st.Session, a.staged); err != nil {
		return nil, fmt.Errorf("write session %s: %w", id, err)
	}
	a.staged = staging{base: a.st.Session}
	for _, m := range mail {
		if how.resumed && !how.stops && slices.ContainsFunc(void.Mail,
			func(v troupe.Mail) bool { return v.ID == m.ID }) {
			if err := tx.MarkDelivered(id, at, []troupe.MailID{m.ID}); err != nil {
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
		case troupe.VerifyEnded:
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

// lineage folds the sessions above one that are not known yet, from the top: those whose runs
// are over have a part in what it may do, too.
func lineage(tx store.Reader, s troupe.Session, known func(troupe.SessionID) bool) ([]*turn.State, error) {
	var out []*turn.State
	for up := s.Parent; up != "" && !known(up); {
		events, err := tx.Events(up, 0, 0)
		if err != nil {
			return nil, fmt.Errorf("read session %s: %w", up, err)
		}
		st, err := turn.Fold(events)
		if err != nil {
			return nil, fmt.Errorf("read session %s: %w", up, err)
		}
		out = append(out, &st)
		up = st.Session.Parent
	}
	slices.Reverse(out)
	return out, nil
}

// beginAdoption notes that the tree is about to be taken over; false: it is already.
func (t *tree) beginAdoption(from troupe.Lease) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.adoption != nil {
		return false
	}
	t.adoption = &adoption{from: from}
	return true
}

// adoption is a tree that is being taken over: from which lease, and the mail to it that is kept
// until it is.
type adoption struct {
	from troupe.Lease
	mail []troupe.Mail
}

// endAdoption ends a taking over, whatever came of it.
func (t *tree) endAdoption() {
	t.mu.Lock()
	defer t.mu.Unlock()
	mail := t.adoption.mail
	t.adoption = nil
	t.deliver(mail)
}

// replace makes what was taken over all there is: what is left from when the tree was ours
// before goes.
func (t *tree) replace(got adopted) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop()
	t.up, t.lost, t.since = true, nil, t.h.d.Now()
	t.caps, t.run = got.caps, got.actors[0].st.Settings
	t.roles.replace(t.h, got.roles)
	for _, st := range got.line {
		t.chain.set(st, t.caps)
	}
	for _, a := range got.actors {
		t.install(a)
	}
	if t.live == 0 {
		awaitPerson(t)
	}
	t.keepPulse()
}

// begin notes that the tree is there: its root has been born.
func (t *tree) begin(st *turn.State, roles Roles) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.up, t.since, t.caps, t.run = true, t.h.d.Now(), st.Caps, st.Settings
	t.roles.replace(t.h, roles)
	t.keepPulse()
}
