package storetest

import (
	"errors"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

func testNotFound(e *env) {
	e.gone("nobody")
	root, _ := e.plant(1, 0)
	e.gone("nobody")
	if found := e.filter(store.Filter{Root: "nobody"}); len(found) != 0 {
		e.Errorf("sessions of an unknown tree: %v", found)
	}
	for name, write := range map[string]func(store.Tx) error{
		"AddTree": func(tx store.Tx) error { return tx.AddTree("nobody", troupe.TreeDelta{Total: 1}) },
		"SetCaps": func(tx store.Tx) error { return tx.SetCaps("nobody", troupe.Caps{}) },
	} {
		if err := e.Update(e.Context(), "nobody", write); !errors.Is(err, troupe.ErrNotFound) {
			e.Errorf("%s of an unknown tree: %v", name, err)
		}
	}
	if len(e.events(root.ID)) != 0 || len(e.unread(root.ID)) != 0 {
		e.Error("a new session has events or mail")
	}
}

func (e *env) filter(f store.Filter) (ids []troupe.SessionID) {
	e.Helper()
	for _, s := range read(e, func(r store.Reader) ([]troupe.Session, error) { return r.Sessions(f) }) {
		ids = append(ids, s.ID)
	}
	return ids
}

func testFilter(e *env) {
	a, b := newRoot(1), newRoot(2)
	a.Name, b.Name, b.Cwd = "Login", "Billing", "/home/ada/billing"
	a.By, b.By, a.Title, b.Title = "ann", "bob", "Fix the 100% LOGIN_bug", "Überblick"
	b.Archived = true
	a0, a1, b0 := newChild(a, 0), newChild(a, 1), newChild(b, 0)
	a00 := newChild(a0, 0)
	a1.Name, b0.Name, b0.Status = "billing", "Explorer", troupe.Failed
	b0.Cause, b0.EndedAt = troupe.CauseError, epoch()
	a.ID, a.Root, a0.Root, a1.Root, a00.Root, a0.Parent, a1.Parent = "0aaaaaaaaaa1", "0aaaaaaaaaa1", "0aaaaaaaaaa1",
		"0aaaaaaaaaa1", "0aaaaaaaaaa1", "0aaaaaaaaaa1", "0aaaaaaaaaa1"
	a0.ID, a00.Parent, a1.ID = "0aaaaaaaaab2", "0aaaaaaaaab2", "0aaaaaaaaab3"
	a00.ID, b0.ID = "zzzzzzzzzzz1", "zzzzzzzzzzz2"
	insert := func(sessions ...troupe.Session) {
		e.Helper()
		for _, s := range sessions {
			e.update(s.Root, func(tx store.Tx) error { return tx.Insert(s, ours(), nil) })
		}
	}
	insert(a, a0, b, a1, b0, a00) // the order of birth, across trees
	type ids = []troupe.SessionID
	for _, tt := range []struct {
		what string
		f    store.Filter
		want ids
	}{
		{"all", store.Filter{}, ids{a.ID, a0.ID, b.ID, a1.ID, b0.ID, a00.ID}},
		{"newest first", store.Filter{Newest: true}, ids{a00.ID, b0.ID, a1.ID, b.ID, a0.ID, a.ID}},
		{"limit", store.Filter{Limit: 2}, ids{a.ID, a0.ID}},
		{"newest two", store.Filter{Newest: true, Limit: 2}, ids{a00.ID, b0.ID}},
		{"limit beyond", store.Filter{Limit: 99, Root: b.ID}, ids{b.ID, b0.ID}},
		{"a tree", store.Filter{Root: a.ID}, ids{a.ID, a0.ID, a1.ID, a00.ID}},
		{"a tree, newest", store.Filter{Root: a.ID, Newest: true, Limit: 1}, ids{a00.ID}},
		{"children", store.Filter{Parent: a.ID}, ids{a0.ID, a1.ID}},
		{"children below", store.Filter{Root: a.ID, Parent: a0.ID}, ids{a00.ID}},
		{"children of nobody", store.Filter{Parent: "nobody"}, nil},
		{"children in another tree", store.Filter{Root: b.ID, Parent: a.ID}, nil},
		{"roots", store.Filter{RootsOnly: true}, ids{a.ID, b.ID}},
		{"the newest root", store.Filter{RootsOnly: true, Newest: true, Limit: 1}, ids{b.ID}},
		{"prefix of three", store.Filter{IDPrefix: "0aaaaaaaaa"}, ids{a.ID, a0.ID, a1.ID}},
		{"prefix of two", store.Filter{IDPrefix: "0aaaaaaaaab"}, ids{a0.ID, a1.ID}},
		{"prefix at the end of the alphabet", store.Filter{IDPrefix: "zzzzzzzzzzz"}, ids{b0.ID, a00.ID}},
		{"a whole id", store.Filter{IDPrefix: "0aaaaaaaaab2"}, ids{a0.ID}},
		{"more than an id", store.Filter{IDPrefix: "0aaaaaaaaab2x"}, nil},
		{"a prefix with a wildcard", store.Filter{IDPrefix: "%"}, nil},
		{"a prefix with the other wildcard", store.Filter{IDPrefix: "_"}, nil},
		{"a name", store.Filter{Name: "Explorer"}, ids{b0.ID}},
		{"a name in other case", store.Filter{Name: "BILLING"}, ids{b.ID, a1.ID}},
		{"a root's name in other case", store.Filter{Name: "bIlling", RootsOnly: true}, ids{b.ID}},
		{"part of a name", store.Filter{Name: "Bill"}, nil},
		{"a folder", store.Filter{Cwd: "/home/ada/billing"}, ids{b.ID, b0.ID}},
		{"part of a folder", store.Filter{Cwd: "/home/ada"}, nil},
		{"the newest root of a folder", store.Filter{Cwd: "/home/ada/login", RootsOnly: true, Newest: true, Limit: 1},
			ids{a.ID}},
		{"a status", store.Filter{Status: troupe.Failed}, ids{b0.ID}},
		{"a status in a tree", store.Filter{Root: a.ID, Status: troupe.Failed}, nil},
		{"who began it", store.Filter{By: "ann"}, ids{a.ID}},
		{"part of who began it", store.Filter{By: "an"}, nil},
		{"a text in a title, in other case", store.Filter{Text: "login_BUG"}, ids{a.ID}},
		{"a text in a name", store.Filter{Text: "ILLIN"}, ids{b.ID, a1.ID}},
		{"a text over the end of a title", store.Filter{Text: "bugLogin"}, nil},
		{"letters beyond ASCII as they are", store.Filter{Text: "Überb"}, ids{b.ID}},
		{"letters beyond ASCII in other case", store.Filter{Text: "überb"}, nil},
		{"a text with a wildcard", store.Filter{Text: "0% l"}, ids{a.ID}},
		{"a text that only a wildcard would find", store.Filter{Text: "fix%bug"}, nil},
		{"archived", store.Filter{RootsOnly: true, Archived: new(true)}, ids{b.ID}},
		{"not archived", store.Filter{RootsOnly: true, Archived: new(false)}, ids{a.ID}},
		{"archived of a folder, a person and a text", store.Filter{RootsOnly: true, Archived: new(true), Cwd: b.Cwd,
			By: "bob", Text: "blick", Newest: true, Limit: 1}, ids{b.ID}},
		{"not archived, of a text", store.Filter{RootsOnly: true, Archived: new(false), Text: "blick"}, nil},
		{"behind one", store.Filter{After: b.ID}, ids{a1.ID, b0.ID, a00.ID}},
		{"behind one, newest first", store.Filter{After: b.ID, Newest: true}, ids{a0.ID, a.ID}},
		{"roots behind one that is none", store.Filter{After: a1.ID, Newest: true, RootsOnly: true}, ids{b.ID, a.ID}},
		{"behind the last", store.Filter{After: a00.ID}, nil},
		{"behind one that is not there", store.Filter{After: "nobody"}, nil},
		{"everything at once", store.Filter{
			Root: b.ID, Parent: b.ID, IDPrefix: "z", Name: "explorer", Cwd: b.Cwd, Status: troupe.Failed, Newest: true,
			Limit: 5,
		}, ids{b0.ID}},
	} {
		e.same(tt.what, e.filter(tt.f), tt.want)
	}
}

// testOrder: lists follow the order of birth, not that of ids, names or clocks.
func testOrder(e *env) {
	const n = 40
	root, _ := e.plant(1, 0)
	var want []troupe.SessionID
	for i := range n {
		c := newChild(root, i)
		c.Name = fmt.Sprintf("worker %02d", n-i)
		c.CreatedAt = epoch().Add(-c.CreatedAt.Sub(epoch()))
		want = append(want, c.ID)
		e.update(root.ID, func(tx store.Tx) error { return tx.Insert(c, ours(), nil) })
	}
	e.same("children", e.filter(store.Filter{Parent: root.ID}), want)
	// Writing does not change the order.
	e.update(root.ID, func(tx store.Tx) error { return note(tx, ours(), want[3], "x") })
	e.same("the tree", e.filter(store.Filter{Root: root.ID}), append([]troupe.SessionID{root.ID}, want...))
}
