package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

func testInsert(e *env) {
	root := newRoot(1)
	root.Name, root.Title = "Login", "repair it"
	child := newChild(root, 3)
	caps := troupe.Caps{MaxDepth: 1, MaxActive: 2, MaxTotal: 3, MaxTokens: 4, MaxCost: 5, MaxTurns: 6}
	lease := troupe.Lease{Owner: "owner-z", Epoch: 41}
	e.update(root.ID, func(tx store.Tx) error {
		return errors.Join(tx.Insert(root, ours(), &caps), tx.Insert(child, lease, nil))
	})
	e.same("the root", e.session(root.ID), root)
	e.same("the child", e.session(child.ID), child)
	e.same("the tree", e.tree(root.ID), troupe.Tree{Root: root.ID, Name: "Login", Caps: caps})
	got := read(e, func(r store.Reader) (troupe.Lease, error) { return r.Lease(child.ID) })
	e.same("the child's lease", got, lease)
	if n := len(e.events(child.ID)); n != 0 {
		e.Errorf("a session without events has %d", n)
	}

	late := newChild(root, 4)
	late.Seq = 1
	e.refused(nil, root.ID, func(tx store.Tx) error { return tx.Insert(late, ours(), nil) })
}

func testInsertClashes(e *env) {
	root, kids := e.plant(1, 2)
	named := newRoot(2)
	named.Name = "Login Bug"
	e.update(named.ID, func(tx store.Tx) error { return tx.Insert(named, ours(), nil) })

	free := func() troupe.Session { return newChild(root, 7) }
	tests := map[string]struct {
		s    troupe.Session
		want error // nil: there is room for it
	}{
		"all different": {free(), nil},
		"same id":       {with(free(), func(s *troupe.Session) { s.ID = kids[0].ID }), troupe.ErrExists},
		"same id as a root of another tree": {
			with(free(), func(s *troupe.Session) { s.ID = named.ID }), troupe.ErrExists},
		"same coordinates": {with(free(), func(s *troupe.Session) { s.Coord = kids[0].Coord }), troupe.ErrExists},
		"same reply, other call": {
			with(free(), func(s *troupe.Session) { s.Coord = troupe.Coord{Reply: 1, Call: 8} }), nil},
		"same call, other reply": {
			with(free(), func(s *troupe.Session) { s.Coord = troupe.Coord{Reply: 2, Call: 0} }), nil},
		"same name":               {with(free(), func(s *troupe.Session) { s.Name = kids[1].Name }), troupe.ErrExists},
		"same name in other case": {with(free(), func(s *troupe.Session) { s.Name = "cHILD 1" }), troupe.ErrExists},
		"a root's name":           {with(free(), func(s *troupe.Session) { s.Name = named.Name }), nil},
		"the name below another parent": {with(free(), func(s *troupe.Session) {
			s.Parent, s.Depth, s.Coord, s.Name = kids[0].ID, 2, kids[1].Coord, kids[1].Name
		}), nil},
		"same id as a root":          {newRoot(1), troupe.ErrExists},
		"a root without a name":      {newRoot(3), nil},
		"a root with a free name":    {with(newRoot(3), func(s *troupe.Session) { s.Name = "Login" }), nil},
		"a root with a child's name": {with(newRoot(3), func(s *troupe.Session) { s.Name = kids[0].Name }), nil},
		"a root with a taken name": {with(newRoot(3), func(s *troupe.Session) { s.Name = "Login Bug" }),
			troupe.ErrExists},
		"the same in other case": {with(newRoot(3), func(s *troupe.Session) { s.Name = "LOGIN bug" }),
			troupe.ErrExists},
		"letters beyond ASCII in case": {with(newRoot(3), func(s *troupe.Session) { s.Name = "Login Büg" }), nil},
	}
	undo := errors.New("undo")
	for name, tt := range tests {
		err := e.Update(e.Context(), tt.s.Root, func(tx store.Tx) error {
			if err := tx.Insert(tt.s, ours(), nil); err != nil {
				return err
			}
			return undo
		})
		want := tt.want
		if want == nil {
			want = undo
		}
		if !errors.Is(err, want) {
			e.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
}

func with(s troupe.Session, change func(*troupe.Session)) troupe.Session {
	change(&s)
	return s
}

// testInsertGoesOn: a clash is an answer, not the end of the transaction.
func testInsertGoesOn(e *env) {
	root, kids := e.plant(1, 1)
	second := newChild(root, 1)
	second.Name = kids[0].Name
	e.update(root.ID, func(tx store.Tx) error {
		if err := tx.AddTree(root.ID, troupe.TreeDelta{Total: 1}); err != nil {
			return err
		}
		for n := 2; ; n++ {
			err := tx.Insert(second, ours(), nil)
			if !errors.Is(err, troupe.ErrExists) {
				return err
			}
			second.Name = fmt.Sprintf("%s %d", kids[0].Name, n)
		}
	})
	if got := e.session(second.ID).Name; got != "Child 0 2" {
		e.Errorf("the second of that name is %q", got)
	}
	if got := e.tree(root.ID).Total; got != 1 {
		e.Errorf("what was written before the clash is gone: total %d", got)
	}
}

func testInsertWithoutParent(e *env) {
	root, _ := e.plant(1, 0)
	other, _ := e.plant(2, 0)
	orphan := newChild(root, 0)
	orphan.Parent = "nobody"
	e.refused(troupe.ErrNotFound, root.ID, func(tx store.Tx) error { return tx.Insert(orphan, ours(), nil) })
	orphan.Parent = other.ID
	e.refused(troupe.ErrNotFound, root.ID, func(tx store.Tx) error { return tx.Insert(orphan, ours(), nil) })
	ghost := newChild(newRoot(3), 0)
	e.refused(troupe.ErrNotFound, ghost.Root, func(tx store.Tx) error { return tx.Insert(ghost, ours(), nil) })
}

// testStatusMachine tries every status with every reason to wait, every cause, and with
// and without a start and an end: the store takes exactly the projections that the status
// machine knows, in Insert and in Append.
func testStatusMachine(e *env) {
	root, _ := e.plant(1, 0)
	undo := errors.New("undo")
	try := func(s troupe.Session, write func(store.Tx) error) {
		e.Helper()
		err := e.Update(e.Context(), root.ID, func(tx store.Tx) error {
			if err := write(tx); err != nil {
				return err
			}
			return undo
		})
		if got, want := errors.Is(err, undo), possible(s); got != want {
			e.Errorf("%s: taken %v, want %v (%v)", describe(s), got, want, err)
		}
	}
	for _, s := range projections(newChild(root, 0)) {
		try(s, func(tx store.Tx) error { return tx.Insert(s, ours(), nil) })
	}
	kid := newChild(root, 1)
	e.update(root.ID, func(tx store.Tx) error { return tx.Insert(kid, ours(), nil) })
	for _, s := range projections(kid) {
		s, events := next(s, "x")
		try(s, func(tx store.Tx) error { return tx.Append(ours(), s, events) })
	}
	below := with(newChild(root, 2), func(s *troupe.Session) { s.Tally.Cost = -1 })
	e.refused(nil, root.ID, func(tx store.Tx) error { return tx.Insert(below, ours(), nil) })
}

// projections are all combinations of what the status machine speaks about, good and bad.
// One bad waiting, cause and status each stand for all.
func projections(base troupe.Session) (out []troupe.Session) {
	waits := append(troupe.WaitReasons(), "", "rain")
	causes := []troupe.Cause{
		troupe.CauseNone, troupe.CauseError, troupe.CausePermission, troupe.CauseLimit,
		troupe.CauseInterrupt, troupe.CauseRefusal, troupe.CauseNoModel, "fate",
	}
	for _, st := range append(troupe.Statuses(), "", "asleep") {
		for _, w := range waits {
			for _, c := range causes {
				if w != "" && c != "" && w != waits[0] {
					continue // no status has both; one such pair is enough
				}
				for bits := range 8 {
					s := base
					s.Status, s.Waiting, s.Cause = st, w, c
					s.Run = bits & 1
					if bits&2 != 0 {
						s.StartedAt = epoch().Add(time.Minute)
					}
					if bits&4 != 0 {
						s.EndedAt = epoch().Add(time.Hour)
					}
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// possible is the status machine, in words of its own.
func possible(s troupe.Session) bool {
	known := func(c troupe.Cause) bool { return c != "" && c != "fate" }
	started := s.Run > 0 && !s.StartedAt.IsZero()
	notYet := s.Run == 0 && s.StartedAt.IsZero()
	again := s.Run > 0
	over := !s.EndedAt.IsZero()
	switch s.Status {
	case troupe.Spawning:
		return s.Waiting == "" && s.Cause == "" && !over && (notYet || again)
	case troupe.Running:
		return s.Waiting == "" && s.Cause == "" && !over && started
	case troupe.Waiting:
		return s.Waiting != "" && s.Waiting != "rain" && s.Cause == "" && !over && started
	case troupe.Completed:
		return s.Waiting == "" && s.Cause == "" && over && started
	case troupe.MaxTurns:
		return s.Waiting == "" && known(s.Cause) && over && started
	case troupe.Failed, troupe.Cancelled: // also before the first run
		return s.Waiting == "" && known(s.Cause) && over && (notYet || again)
	default:
		return false
	}
}

func describe(s troupe.Session) string {
	return fmt.Sprintf("%q waiting %q cause %q run %d started %v ended %v",
		s.Status, s.Waiting, s.Cause, s.Run, !s.StartedAt.IsZero(), !s.EndedAt.IsZero())
}
