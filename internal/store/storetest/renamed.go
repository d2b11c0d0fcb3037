package storetest

import (
	"errors"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// testRenamed: an event gives a root another name, if no other has it. Any other event, and one of a sub-agent, leaves
// the name as it was at birth.
func testRenamed(e *env) {
	a, kids := e.plant(1, 1)
	b, _ := e.plant(2, 0)
	rename := func(id troupe.SessionID, l troupe.Lease, to string, body troupe.Body) error {
		root := read(e, func(r store.Reader) (troupe.Session, error) { return r.Session(id) }).Root
		return e.Update(e.Context(), root, func(tx store.Tx) error {
			s, err := tx.Session(id)
			if err != nil {
				return err
			}
			s.Name, s.Archived = to, true
			s.Seq++
			return tx.Append(l, s, []troupe.Event{{Root: s.Root, Session: id, Seq: s.Seq, At: epoch(), Body: body}})
		})
	}
	to := func(name string) troupe.Body { return troupe.SessionChanged{Name: name} }
	is := func(id troupe.SessionID, name string, archived bool) {
		e.Helper()
		s := read(e, func(r store.Reader) (troupe.Session, error) { return r.Session(id) })
		if s.Name != name || s.Archived != archived {
			e.Errorf("%s is named %q, archived: %t, want %q, %t", id, s.Name, s.Archived, name, archived)
		}
	}
	if err := rename(a.ID, ours(), "One", to("One")); err != nil {
		e.Fatal(err)
	}
	is(a.ID, "One", true)
	if t := read(e, func(r store.Reader) (troupe.Tree, error) { return r.Tree(a.ID) }); t.Name != "One" {
		e.Errorf("its tree is named %q", t.Name)
	}
	if err := rename(b.ID, ours(), "oNE", to("oNE")); !errors.Is(err, troupe.ErrExists) {
		e.Errorf("a name that another has: %v", err)
	}
	is(b.ID, "", false)
	other := ours()
	other.Epoch++
	if err := rename(b.ID, other, "Two", to("Two")); !errors.Is(err, troupe.ErrFenced) {
		e.Errorf("under another lease: %v", err)
	}
	is(b.ID, "", false)
	if err := rename(a.ID, ours(), "ONE", to("ONE")); err != nil {
		e.Errorf("its own name in other letters: %v", err)
	}
	if err := rename(a.ID, ours(), "Three", troupe.ModelChanged{Model: "script/x"}); err != nil {
		e.Fatal(err)
	}
	is(a.ID, "ONE", true)
	if err := rename(kids[0].ID, ours(), "Four", to("Four")); err != nil {
		e.Fatal(err)
	}
	is(kids[0].ID, kids[0].Name, true)
	// The name that it had is free, and a root that is new takes it; what it has now is not.
	for name, want := range map[string]error{"one": troupe.ErrExists, "Free": nil} {
		c := newRoot(len(name))
		c.Name = name
		err := e.Update(e.Context(), c.ID, func(tx store.Tx) error { return tx.Insert(c, ours(), nil) })
		if !errors.Is(err, want) {
			e.Errorf("a root named %q: %v", name, err)
		}
	}
	if err := rename(a.ID, ours(), "Last", to("Last")); err != nil {
		e.Fatal(err)
	}
	if err := rename(b.ID, ours(), "one", to("one")); err != nil {
		e.Errorf("a name that was given up: %v", err)
	}
	e.same("by its name", e.filter(store.Filter{RootsOnly: true, Name: "ONE"}), []troupe.SessionID{b.ID})
}
