package sim_test

import (
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/sim"
)

// onNotify has one commit in twenty announced in another way.
func onNotify(change func(root, id troupe.SessionID, seq int64) (troupe.SessionID, troupe.SessionID,
	int64)) func() func(*session.Deps) {
	return func() func(*session.Deps) {
		n := 0
		return func(d *session.Deps) {
			real := d.Notify
			d.Notify = func(root, id troupe.SessionID, seq int64, events []troupe.Event) {
				if n++; n%20 == 0 {
					root, id, seq = change(root, id, seq)
				}
				real(root, id, seq, events)
			}
		}
	}
}

// otherEvents has one commit in twenty announced with a body that it did not write.
func otherEvents() func(*session.Deps) {
	n := 0
	return func(d *session.Deps) {
		real := d.Notify
		d.Notify = func(root, id troupe.SessionID, seq int64, events []troupe.Event) {
			if n++; n%20 == 0 && len(events) > 0 {
				events = slices.Clone(events)
				events[0].Body = troupe.BudgetWarned{Limit: "none"}
			}
			real(root, id, seq, events)
		}
	}
}

func toAnotherTree(_, id troupe.SessionID, seq int64) (troupe.SessionID, troupe.SessionID, int64) {
	return sim.Elsewhere, id, seq
}

func asAnotherSession(root, _ troupe.SessionID, seq int64) (troupe.SessionID, troupe.SessionID, int64) {
	return root, root, seq
}

// onDelta has every piece of a reply announced in another way.
func onDelta(change func(root troupe.SessionID, d session.Delta) (troupe.SessionID,
	session.Delta)) func() func(*session.Deps) {
	return func() func(*session.Deps) {
		return func(d *session.Deps) {
			real := d.Deltas
			d.Deltas = func(root, id troupe.SessionID, piece session.Delta) {
				root, piece = change(root, piece)
				real(root, id, piece)
			}
		}
	}
}

func strayPiece(_ troupe.SessionID, d session.Delta) (troupe.SessionID, session.Delta) {
	return sim.Elsewhere, d
}

func earlyPiece(root troupe.SessionID, d session.Delta) (troupe.SessionID, session.Delta) {
	d.After++
	return root, d
}
