package storetest

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

func testTreeSums(e *env) {
	one, _ := e.plant(1, 1)
	two, _ := e.plant(2, 1)
	delta := troupe.TreeDelta{
		Total: 2, Active: 3,
		Tally: troupe.Tally{
			Usage: troupe.Usage{Input: 4, Output: 5, CacheRead: 6, CacheWrite: 7}, Cost: 8, Turns: 9, ToolUses: 10,
		},
	}
	want := e.tree(one.ID)
	for range 3 {
		e.update(one.ID, func(tx store.Tx) error {
			return errors.Join(tx.AddTree(one.ID, delta), tx.AddTree(one.ID, troupe.TreeDelta{Active: -2}))
		})
		want.Total += 2
		want.SincePrompt += 2
		want.Active++
		want.Tally = want.Tally.Add(delta.Tally)
	}
	e.same("the sums", e.tree(one.ID), want)
	e.update(one.ID, func(tx store.Tx) error { return tx.AddTree(one.ID, troupe.TreeDelta{Prompted: true, Total: 1}) })
	want.Total, want.SincePrompt = want.Total+1, 1
	e.same("the sums after a prompt", e.tree(one.ID), want)
	failed := errors.New("no")
	e.refused(failed, one.ID, func(tx store.Tx) error {
		return errors.Join(tx.AddTree(one.ID, troupe.TreeDelta{Prompted: true}), failed)
	})
	e.same("the sums after a prompt that was not committed", e.tree(one.ID), want)
	e.same("the other tree's sums", e.tree(two.ID).Tally, troupe.Tally{})

	for what, d := range map[string]troupe.TreeDelta{
		"active sessions": {Active: -4},
		"sessions":        {Total: -8},
		"turns":           {Tally: troupe.Tally{Turns: -99}},
		"cost":            {Tally: troupe.Tally{Cost: -99}},
	} {
		if err := e.Update(e.Context(), one.ID, func(tx store.Tx) error { return tx.AddTree(one.ID, d) }); err == nil {
			e.Errorf("a tree may have less than no %s", what)
		}
	}
	e.same("the sums after refusals", e.tree(one.ID), want)
}

func testCaps(e *env) {
	root, _ := e.plant(1, 0)
	bare := newRoot(2)
	e.update(bare.ID, func(tx store.Tx) error { return tx.Insert(bare, ours(), nil) })
	e.same("the caps of a tree born without", e.tree(bare.ID).Caps, troupe.Caps{})
	caps := troupe.Caps{MaxDepth: 2, MaxActive: 3, MaxTotal: 4, MaxTokens: 5, MaxCost: 6, MaxTurns: 7}
	e.update(root.ID, func(tx store.Tx) error {
		return errors.Join(tx.AddTree(root.ID, troupe.TreeDelta{Total: 9}), tx.SetCaps(root.ID, caps))
	})
	e.same("the tree", e.tree(root.ID), troupe.Tree{Root: root.ID, Caps: caps, Total: 9, SincePrompt: 9})
	e.update(root.ID, func(tx store.Tx) error { return tx.SetCaps(root.ID, troupe.Caps{}) })
	e.same("the caps", e.tree(root.ID).Caps, troupe.Caps{})
}

func testDocuments(e *env) {
	one, kids := e.plant(1, 1)
	two, _ := e.plant(2, 0)
	body := func(root troupe.SessionID, hash string) string {
		return string(read(e, func(r store.Reader) ([]byte, error) { return r.Document(root, hash) }))
	}
	large := bytes.Repeat([]byte("policy\x00"), 1<<15)
	given := []byte("settings")
	e.update(one.ID, func(tx store.Tx) error {
		err := errors.Join(tx.PutDocument(one.ID, "a", given), tx.PutDocument(one.ID, "large", large),
			tx.PutDocument(one.ID, "empty", nil))
		if got, readErr := tx.Document(one.ID, "a"); readErr != nil || string(got) != "settings" {
			return fmt.Errorf("the transaction reads %q, %w", got, readErr)
		}
		return err
	})
	clear(given)
	e.update(two.ID, func(tx store.Tx) error { return tx.PutDocument(two.ID, "a", []byte("settings")) })
	e.update(one.ID, func(tx store.Tx) error { return tx.PutDocument(one.ID, "a", []byte("put again")) })
	e.same("a document that was put twice", body(one.ID, "a"), "settings")
	e.same("the other tree's", body(two.ID, "a"), "settings")
	e.same("a large one", body(one.ID, "large"), string(large))
	e.same("an empty one", body(one.ID, "empty"), "")
	read(e, func(r store.Reader) ([]byte, error) { // it belongs to its reader
		got, err := r.Document(one.ID, "a")
		clear(got)
		return got, err
	})
	e.same("a document whose copy was changed", body(one.ID, "a"), "settings")

	e.refused(troupe.ErrNotFound, "nobody", func(tx store.Tx) error { return tx.PutDocument("nobody", "a", large) })
	e.refused(nil, one.ID, func(tx store.Tx) error { _ = tx.PutDocument(one.ID, "", large); return nil })
	failed := errors.New("no")
	e.refused(failed, one.ID, func(tx store.Tx) error {
		return errors.Join(tx.PutDocument(one.ID, "b", large),
			failed)
	})
	e.noDocument(one.ID, "b")
	e.noDocument(kids[0].ID, "a") // a child is no tree
	e.noDocument(two.ID, "large")

	e.update(one.ID, func(tx store.Tx) error { return tx.DeleteTree(one.ID) })
	e.noDocument(one.ID, "a")
	e.update(one.ID, func(tx store.Tx) error { return tx.Insert(one, ours(), nil) })
	e.noDocument(one.ID, "large")
	e.same("the other tree's", body(two.ID, "a"), "settings")
}

func (e *env) noDocument(root troupe.SessionID, hash string) {
	e.Helper()
	e.view(func(r store.Reader) error {
		if got, err := r.Document(root, hash); !errors.Is(err, troupe.ErrNotFound) {
			e.Errorf("document %s of %s: %d bytes, %v, want %v", hash, root, len(got), err, troupe.ErrNotFound)
		}
		return nil
	})
}

func testDeleteTree(e *env) {
	root := newRoot(1)
	root.Name = "Login"
	kid := newChild(root, 0)
	grandchild := newChild(kid, 0)
	build := func(tx store.Tx) error {
		return errors.Join(
			tx.Insert(root, ours(), &troupe.Caps{MaxDepth: 2}), tx.Insert(kid, ours(), nil),
			tx.Insert(grandchild, ours(), nil),
			note(tx, ours(), root.ID, "a"), note(tx, ours(), grandchild.ID, "b"), send(tx, prompt(kid, "m")),
			tx.AddTree(root.ID, troupe.TreeDelta{Total: 2}))
	}
	e.update(root.ID, build)
	built := e.draw(root.ID)
	other, kids := e.plant(2, 2)
	e.update(other.ID, func(tx store.Tx) error {
		return errors.Join(note(tx, ours(), kids[0].ID, "x"), send(tx, prompt(kids[1], "m")))
	})
	untouched := e.draw(other.ID)

	e.update(root.ID, func(tx store.Tx) error {
		if err := tx.DeleteTree(root.ID); err != nil {
			return err
		}
		if _, err := tx.Session(kid.ID); !errors.Is(err, troupe.ErrNotFound) {
			return errors.New("the transaction still sees what it deleted")
		}
		return nil
	})
	for _, s := range []troupe.Session{root, kid, grandchild} {
		e.gone(s.ID)
	}
	e.same("what is left", len(read(e, func(r store.Reader) ([]troupe.Session,
		error) {
		return r.Sessions(store.Filter{})
	})), 3)
	e.same("the other tree", e.draw(other.ID), untouched)
	e.refused(troupe.ErrNotFound, root.ID, func(tx store.Tx) error { return tx.DeleteTree(root.ID) })
	e.refused(troupe.ErrFenced, root.ID, func(tx store.Tx) error {
		s, events := next(kid, "late")
		return tx.Append(ours(), s, events)
	})

	// Nothing of it is in the way of the same tree, made anew.
	e.update(root.ID, build)
	e.same("the tree made anew", e.draw(root.ID), built)
	e.update(root.ID, func(tx store.Tx) error { return errors.Join(tx.DeleteTree(root.ID), build(tx)) })
	e.same("the tree made anew in one go", e.draw(root.ID), built)
}

// gone demands that nothing is known of a session.
func (e *env) gone(id troupe.SessionID) {
	e.Helper()
	e.view(func(r store.Reader) error {
		_, err1 := r.Session(id)
		_, err2 := r.Lease(id)
		_, err3 := r.Events(id, 0, 0)
		_, err4 := r.Unread(id)
		_, err5 := r.Tree(id)
		for what, err := range map[string]error{"Session": err1, "Lease": err2, "Events": err3, "Unread": err4,
			"Tree": err5} {
			if !errors.Is(err, troupe.ErrNotFound) {
				e.Errorf("%s of what is not there: %v, want %v", what, err, troupe.ErrNotFound)
			}
		}
		return nil
	})
}
