package sim_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
)

// onSend plants a bug in what becomes of people's words on their way into the tree.
func onSend(change func(troupe.Mail)) func() func(*session.Deps) {
	return onTx(func(tx store.Tx) store.Tx { return mishears{tx, change} })
}

type mishears struct {
	store.Tx
	change func(troupe.Mail)
}

func (t mishears) Send(m troupe.Mail) (bool, error) {
	t.change(m)
	return t.Tx.Send(m)
}

func otherCall(m troupe.Mail) {
	if m.Answer == nil {
		return
	}
	var at troupe.Coord
	if _, err := fmt.Sscanf(strings.TrimPrefix(string(m.Answer.Request), string(m.To)), ".%d.%d", &at.Reply,
		&at.Call); err == nil {
		at.Call ^= 1
		m.Answer.Request = troupe.NewRequestID(m.To, at, 1)
	}
}

func yes(a *troupe.Answer) {
	if a != nil {
		a.Effect = troupe.Allow
	}
}

func widen(r *troupe.Rule) {
	if r != nil && r.Effect == troupe.Allow {
		r.Text, _, _ = strings.Cut(r.Text, "(")
	}
}

// onGuard plants a bug in what sandboxes are made of.
func onGuard[G interface {
	session.Guard
	with(session.Guard) session.Guard
}](bug G) func() func(*session.Deps) {
	return func() func(*session.Deps) {
		return func(d *session.Deps) { d.Guard = bug.with(d.Guard) }
	}
}

// lenient adds what was granted once to every later run of the session.
type lenient struct {
	session.Guard
	granted map[troupe.SessionID][]troupe.Attempt
}

func (*lenient) with(g session.Guard) session.Guard {
	return &lenient{g, make(map[troupe.SessionID][]troupe.Attempt)}
}

func (g *lenient) Confine(ctx context.Context, c session.Confine) (*troupe.Confinement, []string, error) {
	all := append(g.granted[c.Session.ID], c.Granted...)
	g.granted[c.Session.ID] = all
	c.Granted = slices.Clone(all)
	return g.Guard.Confine(ctx, c)
}

// generous gives the whole workspace to who was given what it wanted.
type generous struct{ session.Guard }

func (*generous) with(g session.Guard) session.Guard { return &generous{g} }

func (g *generous) Confine(ctx context.Context, c session.Confine) (*troupe.Confinement, []string, error) {
	out, environ, err := g.Guard.Confine(ctx, c)
	if out != nil && c.Level == troupe.LevelGranted {
		out.Writable = append(out.Writable, c.Session.Cwd)
	}
	return out, environ, err
}

// asksAndRuns grants what a request says, whatever is answered to it.
func asksAndRuns() func(*session.Deps) {
	return func(d *session.Deps) {
		wants := make(map[troupe.SessionID][]troupe.Attempt)
		onTx(func(tx store.Tx) store.Tx { return overhears{tx, wants} })()(d)
		d.Guard = rash{d.Guard, wants}
	}
}

type overhears struct {
	store.Tx
	wants map[troupe.SessionID][]troupe.Attempt
}

func (t overhears) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	for _, e := range events {
		if b, ok := e.Body.(troupe.RequestOpened); ok {
			t.wants[s.ID] = append(t.wants[s.ID], b.Wants...)
		}
	}
	return t.Tx.Append(l, s, events)
}

type rash struct {
	session.Guard
	wants map[troupe.SessionID][]troupe.Attempt
}

func (g rash) Confine(ctx context.Context, c session.Confine) (*troupe.Confinement, []string, error) {
	c.Granted = slices.Concat(c.Granted, g.wants[c.Session.ID])
	return g.Guard.Confine(ctx, c)
}

// roomy opens the workspace to commands that may only read.
type roomy struct{ session.Guard }

func (*roomy) with(g session.Guard) session.Guard { return &roomy{g} }

func (g *roomy) Confine(ctx context.Context, c session.Confine) (*troupe.Confinement, []string, error) {
	c.Level = troupe.LevelWorkspace
	return g.Guard.Confine(ctx, c)
}

type absent struct{ session.Guard }

func (*absent) with(g session.Guard) session.Guard { return &absent{g} }

func (*absent) Confine(context.Context, session.Confine) (*troupe.Confinement, []string, error) {
	return nil, nil, nil
}

type open struct{ session.Guard }

func (*open) with(g session.Guard) session.Guard { return &open{g} }

func (g *open) Confine(ctx context.Context, c session.Confine) (*troupe.Confinement, []string, error) {
	c.Reach = c.Level == troupe.LevelWorkspace
	return g.Guard.Confine(ctx, c)
}

// onRead plants a bug in what is read of logs. What is read is shared, and is not changed.
func onRead(tx store.Tx, id troupe.SessionID, after int64, limit int,
	change func(troupe.Body) troupe.Body) ([]troupe.Event, error) {
	events, err := tx.Events(id, after, limit)
	events = slices.Clone(events)
	for i := range events {
		events[i].Body = change(events[i].Body)
	}
	return events, err
}

// reborn reads every change of authority as the one that the session was born with.
type reborn struct{ store.Tx }

func (t reborn) Events(id troupe.SessionID, after int64, limit int) ([]troupe.Event, error) {
	var first troupe.Authority
	return onRead(t.Tx, id, after, limit, func(b troupe.Body) troupe.Body {
		switch b := b.(type) {
		case troupe.Created:
			first = b.Authority
		case troupe.AuthorityChanged:
			b.Authority = first
			return b
		}
		return b
	})
}

// unset reads that a run was started with other settings than it was.
type unset struct{ store.Tx }

func (t unset) Events(id troupe.SessionID, after int64, limit int) ([]troupe.Event, error) {
	return onRead(t.Tx, id, after, limit, func(b troupe.Body) troupe.Body {
		if b, ok := b.(troupe.Created); ok && b.Settings != nil {
			s := *b.Settings
			s.AskFor *= 2
			b.Settings = &s
			return b
		}
		return b
	})
}

// stubborn reads every change of settings as those that the tree was begun with.
type stubborn struct{ store.Tx }

func (t stubborn) Events(id troupe.SessionID, after int64, limit int) ([]troupe.Event, error) {
	var first troupe.Settings
	return onRead(t.Tx, id, after, limit, func(b troupe.Body) troupe.Body {
		switch b := b.(type) {
		case troupe.Created:
			if b.Settings != nil {
				first = *b.Settings
			}
		case troupe.SettingsChanged:
			b.Settings = first
			return b
		}
		return b
	})
}

type unboxed struct{ store.Tx }

func (t unboxed) Events(id troupe.SessionID, after int64, limit int) ([]troupe.Event, error) {
	return onRead(t.Tx, id, after, limit, func(b troupe.Body) troupe.Body {
		if b, ok := b.(troupe.Created); ok {
			b.Profile.Sandbox = ""
			return b
		}
		return b
	})
}

// early says that a grant is committed, and commits it a little later, or with what its session
// writes next.
func early() func(*session.Deps) {
	return func(d *session.Deps) {
		real, held := d.Store, make(map[troupe.SessionID]*kept)
		d.Store = planted{real, func(ctx context.Context, root troupe.SessionID, fn func(store.Tx) error) error {
			t := new(hasty) // a process that is gone writes nothing
			err := real.Update(ctx, root, func(tx store.Tx) error {
				t = &hasty{Tx: tx, before: held}
				err := fn(t)
				if err == nil && t.now != nil && !t.other {
					return errUndone
				}
				return err
			})
			if errors.Is(err, errUndone) {
				now := t.now
				held[now.row.ID] = now
				d.Sched.After(100*time.Millisecond, func() {
					if held[now.row.ID] != now {
						return
					}
					delete(held, now.row.ID)
					_ = real.Update(ctx, root, now.commit) // whoever took the tree over reads the mail again
				})
				return nil
			}
			for id := range t.wrote {
				delete(held, id)
			}
			return err
		}}
	}
}

// kept is a commit of nothing but a grant.
type kept struct {
	lease  troupe.Lease
	row    troupe.Session
	events []troupe.Event
	seq    int64
	read   []troupe.MailID
}

func (k *kept) commit(tx store.Tx) error {
	return errors.Join(tx.Append(k.lease, k.row, k.events), tx.MarkDelivered(k.row.ID, k.seq, k.read))
}

type hasty struct {
	store.Tx
	before map[troupe.SessionID]*kept
	now    *kept
	other  bool // it writes something else as well
	wrote  map[troupe.SessionID]bool
}

func (t *hasty) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	if k := t.before[s.ID]; k != nil && !t.wrote[s.ID] {
		if err := k.commit(t.Tx); err != nil {
			return err
		}
		t.other = true
	}
	if t.wrote == nil {
		t.wrote = make(map[troupe.SessionID]bool)
	}
	t.wrote[s.ID] = true
	if len(events) == 1 && events[0].Body.Kind() == troupe.KindAuthorityChanged {
		t.now = &kept{lease: l, row: s, events: slices.Clone(events)}
	} else {
		t.other = true
	}
	return t.Tx.Append(l, s, events)
}

func (t *hasty) AddTree(root troupe.SessionID, d troupe.TreeDelta) error {
	t.other = true
	return t.Tx.AddTree(root, d)
}

func (t *hasty) MarkDelivered(to troupe.SessionID, seq int64, ids []troupe.MailID) error {
	if t.now != nil {
		t.now.seq, t.now.read = seq, append(t.now.read, ids...)
	}
	return t.Tx.MarkDelivered(to, seq, ids)
}

// anonymous forgets who allowed a call.
type anonymous struct{ store.Tx }

func (t anonymous) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	for i, e := range events {
		if b, ok := e.Body.(troupe.RequestAnswered); ok {
			b.By = ""
			events[i].Body = b
		}
	}
	return t.Tx.Append(l, s, events)
}
