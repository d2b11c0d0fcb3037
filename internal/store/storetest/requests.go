package storetest

import (
	"errors"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// newRequest is the nth request of a session about the first call of its first reply.
func newRequest(s troupe.Session, n int) troupe.Request {
	at := troupe.Coord{Reply: 1}
	return troupe.Request{
		ID: troupe.NewRequestID(s.ID, at, n), Root: s.Root, Session: s.ID, Coord: at,
		Opened: epoch().Add(time.Duration(n)),
		RequestBody: troupe.RequestBody{
			Kind: troupe.RequestPermission, Reason: troupe.WaitApproval, Tool: "Bash", Action: "rm -r ./x",
			Until:    epoch().Add(time.Hour),
			Decision: troupe.Decision{Effect: troupe.Ask, Step: "ask", Grant: "Bash(rm:*)"}, With: []int{2},
			Wants: []troupe.Attempt{{Op: troupe.OpRemove, Path: "/x"}}, Output: "half", Rules: []string{"Edit(/**)"},
		},
	}
}

func (e *env) requests(f store.RequestFilter) []troupe.Request {
	e.Helper()
	return read(e, func(r store.Reader) ([]troupe.Request, error) { return r.Requests(f) })
}

func testRequests(e *env) {
	one, kids := e.plant(1, 1)
	two, _ := e.plant(2, 0)
	first, second, child, other := newRequest(one, 1), newRequest(one, 2), newRequest(kids[0], 1), newRequest(two, 1)
	put := func(r troupe.Request) {
		e.Helper()
		e.update(r.Root, func(tx store.Tx) error {
			err := tx.PutRequest(r)
			if got, readErr := tx.Requests(store.RequestFilter{Root: r.Root, IDPrefix: string(r.ID)}); readErr != nil ||
				len(got) == 0 {
				return errors.Join(readErr, errors.New("the transaction does not see its request"))
			}
			return err
		})
	}
	put(second) // what is put first stands first, whatever its id
	put(other)
	put(child)
	put(first)
	type list = []troupe.Request
	open := store.RequestFilter{Open: true}
	e.same("all of them", e.requests(store.RequestFilter{}), list{second, other, child, first})
	e.same("those of a tree", e.requests(store.RequestFilter{Root: one.ID}), list{second, child, first})
	e.same("those of a session", e.requests(store.RequestFilter{IDPrefix: string(two.ID) + "."}), list{other})
	e.same("one and what begins like it", e.requests(store.RequestFilter{IDPrefix: string(first.ID)}),
		list{second, first})
	e.same("nobody's", e.requests(store.RequestFilter{IDPrefix: "nobody"}), list(nil))
	e.same("the open ones", e.requests(open), list{second, other, child, first})

	first.Until = epoch().Add(time.Hour) // it waits for longer than it was opened for
	put(first)
	e.same("what waits for longer", e.requests(open), list{second, other, child, first})

	second.Settled = epoch().Add(time.Minute)
	second.Answer = &troupe.Answer{Request: second.ID, By: "ada", Effect: troupe.Allow, Note: "once",
		Said: []troupe.Said{{Choices: []string{"a"}, Text: "b"}}}
	put(second)
	child.Settled = second.Settled // without an answer
	put(child)
	e.same("what was settled", e.requests(store.RequestFilter{Root: one.ID}), list{second, child, first})
	e.same("what is open then", e.requests(open), list{other, first})

	// An answer that was sent and not read yet.
	answer := prompt(one, troupe.AnswerMailID(first.ID))
	e.update(one.ID, func(tx store.Tx) error { return send(tx, answer) })
	e.same("what waits for an answer", e.requests(open), list{other})
	e.update(two.ID, func(tx store.Tx) error { return send(tx, prompt(two, troupe.AnswerMailID(first.ID))) })
	e.same("after an answer to another's request", e.requests(open), list{other})

	e.refused(troupe.ErrNotFound, one.ID, func(tx store.Tx) error {
		r := newRequest(one, 3)
		r.Session = "nobody"
		return tx.PutRequest(r)
	})
	e.refused(nil, two.ID, func(tx store.Tx) error { _ = tx.PutRequest(newRequest(one, 3)); return nil })
	failed := errors.New("no")
	e.refused(failed, one.ID, func(tx store.Tx) error { return errors.Join(tx.PutRequest(newRequest(one, 3)), failed) })
	e.refused(failed, one.ID, func(tx store.Tx) error {
		late := first
		late.Settled = epoch()
		return errors.Join(tx.PutRequest(late), failed)
	})
	e.same("after mistakes", e.requests(store.RequestFilter{Root: one.ID}), list{second, child, first})
	e.update(one.ID, func(tx store.Tx) error { return tx.DeleteTree(one.ID) })
	e.same("what is left without the tree", e.requests(store.RequestFilter{}), list{other})
}
