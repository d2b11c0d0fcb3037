package sim

import (
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// watchReader remembers logs that it has read: what was written once does not change, and
// decoding it again for each reader is most of what a run would cost.
type watchReader struct {
	store.Reader
	watch *watch
}

func (r watchReader) Events(id troupe.SessionID, after int64, limit int) ([]troupe.Event, error) {
	have := r.watch.events[id]
	news, err := r.Reader.Events(id, int64(len(have)), 0)
	if err != nil {
		return nil, err
	}
	have = append(have, news...)
	r.watch.events[id] = have
	return cut(have, after, limit), nil
}

func cut(all []troupe.Event, after int64, limit int) []troupe.Event {
	out := slices.Clone(all[min(max(after, 0), int64(len(all))):])
	if limit > 0 && len(out) > limit {
		out = out[:limit]
	}
	return out
}

// watchTx notes what one transaction writes.
type watchTx struct {
	store.Tx
	p *process

	appends []appended
	mail    []troupe.Mail
	read    []letter
	claimed bool // the root
	claims  []troupe.SessionID
	started int // sessions that took a slot, and are not in the tree's sums yet
}

func (t *watchTx) AddTree(root troupe.SessionID, d troupe.TreeDelta) error {
	t.started = 0
	return t.Tx.AddTree(root, d)
}

// appended is one call of Append.
type appended struct {
	row    troupe.Session
	events []troupe.Event
}

// Events leaves what this transaction wrote itself to the store: it may be undone.
func (t *watchTx) Events(id troupe.SessionID, after int64, limit int) ([]troupe.Event, error) {
	if slices.ContainsFunc(t.appends, func(a appended) bool { return a.row.ID == id }) {
		return t.Tx.Events(id, after, limit)
	}
	return watchReader{t.Tx, &t.p.w.watch}.Events(id, after, limit)
}

func (t *watchTx) Insert(s troupe.Session, l troupe.Lease, caps *troupe.Caps) error {
	err := t.Tx.Insert(s, l, caps)
	t.claimed = t.claimed || (err == nil && s.Parent == "")
	return err
}

func (t *watchTx) Claim(id troupe.SessionID, owner troupe.OwnerID) (troupe.Lease, error) {
	l, err := t.Tx.Claim(id, owner)
	t.claimed = t.claimed || (err == nil && id == t.p.w.root)
	t.claims = append(t.claims, id)
	return l, err
}

// Append looks at the tree as it is before the write: whose session it is, and whether there
// is room for a model call.
func (t *watchTx) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	held, lookup := t.Lease(s.ID)
	tree, _ := t.Tree(t.p.w.root)
	if was, err := t.Session(s.ID); err == nil {
		tree.Reserved = tree.Reserved.Minus(was.Reserved) // its own is given back with what it does next
	}
	if err := t.Tx.Append(l, s, events); err != nil {
		return err
	}
	if lookup == nil && held.Owner != t.p.owner {
		t.p.w.broken("%s wrote event %d of session %s, which is %s's", t.p.owner, s.Seq, s.ID, held.Owner)
	}
	for _, e := range events {
		switch b := e.Body.(type) {
		case troupe.CallSealed:
			t.p.w.watch.fits(s, tree, b)
		case troupe.Started:
			// Who wakes may go beyond the cap; who begins a run may not.
			if limit := tree.Caps.MaxActive; s.Depth > 0 && limit > 0 && tree.Active+t.started >= limit {
				t.p.w.broken("session %s begins a run beside %d others under a cap of %d", s.ID, tree.Active+t.started,
					limit)
			}
			if s.Active() {
				t.started++
			}
		}
	}
	t.appends = append(t.appends, appended{s, events})
	return nil
}

// fits: a call begins only while there is something left of the tree's limits, and beside
// others only if all of them together are expected to fit. So the overshoot is at most what
// the calls cost that were under way.
func (h *watch) fits(s troupe.Session, tree troupe.Tree, b troupe.CallSealed) {
	c, r := tree.Caps, tree.Reserved
	tokens, cost := tree.Tally.Usage.Total(), tree.Tally.Cost
	if (c.MaxTokens > 0 && tokens >= c.MaxTokens) || (c.MaxCost > 0 && cost >= c.MaxCost) {
		h.w.broken("session %s begins a model call although its tree has used %d tokens and %s of %d and %s", s.ID,
			tokens, cost, c.MaxTokens, c.MaxCost)
	}
	if r == (troupe.Reservation{}) {
		return
	}
	all := r.Add(b.Reserved)
	if turns := int64(tree.Tally.Turns + all.Turns); c.MaxTurns > 0 && turns > c.MaxTurns {
		h.w.broken("session %s begins a model call that may bring reply %d of the tree's %d", s.ID, turns, c.MaxTurns)
	}
	if (c.MaxTokens > 0 && tokens+all.Tokens > c.MaxTokens) || (c.MaxCost > 0 && cost+all.Cost > c.MaxCost) {
		h.w.broken("session %s begins a model call beside others for which nothing is left: used %d tokens and %s, "+
			"held back %+v, of %d and %s", s.ID, tokens, cost, all, c.MaxTokens, c.MaxCost)
	}
}

func (t *watchTx) Send(m troupe.Mail) (bool, error) {
	sent, err := t.Tx.Send(m)
	if err == nil && sent {
		t.mail = append(t.mail, m)
	}
	return sent, err
}

func (t *watchTx) MarkDelivered(to troupe.SessionID, seq int64, ids []troupe.MailID) error {
	if err := t.Tx.MarkDelivered(to, seq, ids); err != nil {
		return err
	}
	for _, id := range ids {
		t.read = append(t.read, letter{to, id})
	}
	return nil
}
