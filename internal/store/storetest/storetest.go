// Package storetest is what every implementation of store.Store has to pass, unchanged. It
// holds each sentence of the contract in internal/store to account.
package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// Opener is one home, empty at first, that several processes may use.
type Opener interface {
	// Open returns the store as one more process sees it. The suite closes or kills it.
	Open(t *testing.T) store.Store
	// Kill ends the process behind s as far as that can be done from outside it: nothing
	// is released, and its owners are dead.
	Kill(t *testing.T, s store.Store)
}

// Run runs the suite. Each test gets a fresh home from open.
func Run(t *testing.T, open func(t *testing.T) Opener) {
	tests := []struct {
		name string
		run  func(*env)
	}{
		{"Durable", testDurable},
		{"Atomic", testAtomic},
		{"ErrorsPassThrough", testErrorsPassThrough},
		{"TxSeesItsWrites", testTxSeesItsWrites},
		{"MistakesCannotBeSwallowed", testMistakesCannotBeSwallowed},
		{"OtherTreeIsRefused", testOtherTree},
		{"TxEndsWithItsFunction", testTxEnds},
		{"Panic", testPanic},
		{"Cancelled", testCancelled},
		{"Closed", testClosed},
		{"OneAtATimePerTree", testOneAtATime},
		{"FailuresHurtNobodyElse", testFailuresHurtNobodyElse},
		{"ManyWriters", testManyWriters},
		{"ViewIsConsistent", testViewIsConsistent},
		{"SlicesBelongToTheCaller", testSlicesBelongToTheCaller},

		{"Insert", testInsert},
		{"InsertClashes", testInsertClashes},
		{"InsertGoesOnAfterAClash", testInsertGoesOn},
		{"InsertWithoutParent", testInsertWithoutParent},
		{"StatusMachine", testStatusMachine},

		{"Append", testAppend},
		{"AppendIsFenced", testAppendIsFenced},
		{"AppendNeedsEvents", testAppendNeedsEvents},
		{"Claim", testClaim},
		{"ClaimRace", testClaimRace},
		{"Events", testEvents},
		{"EveryKind", testEveryKind},
		{"LargeBodies", testLargeBodies},
		{"Times", testTimes},

		{"Send", testSend},
		{"MarkDelivered", testMarkDelivered},
		{"DeliveryRace", testDeliveryRace},

		{"TreeSums", testTreeSums},
		{"Caps", testCaps},
		{"Documents", testDocuments},
		{"Requests", testRequests},
		{"DeleteTree", testDeleteTree},

		{"NotFound", testNotFound},
		{"Filter", testFilter}, {"Renamed", testRenamed},
		{"Order", testOrder},

		{"Records", testRecords},
		{"RecordsRefuse", testRecordsRefuse},
		{"RecordsRace", testRecordsRace},

		{"Watch", testWatch},
		{"Owners", testOwners},
		{"OwnersDie", testOwnersDie},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := &env{T: t, home: open(t)}
			e.Store = e.open()
			tt.run(e)
		})
	}
}

// env is one test's home, and the first process in it.
type env struct {
	*testing.T
	store.Store
	home Opener
}

func (e *env) open() store.Store {
	e.Helper()
	s := e.home.Open(e.T)
	e.Cleanup(func() {
		if err := s.Close(); err != nil {
			e.Errorf("close: %v", err)
		}
	})
	return s
}

// update runs fn in the tree of root and demands that it goes well.
func (e *env) update(root troupe.SessionID, fn func(store.Tx) error) {
	e.Helper()
	if err := e.Update(e.Context(), root, fn); err != nil {
		e.Fatalf("Update: %v", err)
	}
}

// refused runs fn in the tree of root and demands that it fails, with want unless that is nil.
func (e *env) refused(want error, root troupe.SessionID, fn func(store.Tx) error) {
	e.Helper()
	err := e.Update(e.Context(), root, fn)
	if err == nil {
		e.Fatal("Update went well, and should have failed")
	}
	if want != nil && !errors.Is(err, want) {
		e.Fatalf("Update failed with %q, want %q", err, want)
	}
}

func (e *env) view(fn func(store.Reader) error) {
	e.Helper()
	if err := e.View(e.Context(), fn); err != nil {
		e.Fatalf("View: %v", err)
	}
}

func (e *env) same(what string, got, want any) {
	e.Helper()
	if d := cmp.Diff(want, got); d != "" {
		e.Fatalf("%s is not as it should be (-want +got):\n%s", what, d)
	}
}

// read returns what get reads in a View of s.
func read[T any](e *env, get func(store.Reader) (T, error)) (out T) {
	e.Helper()
	e.view(func(r store.Reader) (err error) {
		out, err = get(r)
		return err
	})
	return out
}

func (e *env) session(id troupe.SessionID) troupe.Session {
	e.Helper()
	return read(e, func(r store.Reader) (troupe.Session, error) { return r.Session(id) })
}

func (e *env) events(id troupe.SessionID) []troupe.Event {
	e.Helper()
	return read(e, func(r store.Reader) ([]troupe.Event, error) { return r.Events(id, 0, 0) })
}

func (e *env) unread(id troupe.SessionID) []troupe.MailID {
	e.Helper()
	var ids []troupe.MailID
	for _, m := range read(e, func(r store.Reader) ([]troupe.Mail, error) { return r.Unread(id) }) {
		ids = append(ids, m.ID)
	}
	return ids
}

func (e *env) tree(id troupe.SessionID) troupe.Tree {
	e.Helper()
	return read(e, func(r store.Reader) (troupe.Tree, error) { return r.Tree(id) })
}

// epoch is the moment the suite's sessions are born.
func epoch() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 89, time.UTC) }

// rootID names the suite's nth tree.
func rootID(n int) troupe.SessionID {
	return troupe.ChildID("storetest", troupe.Coord{Reply: n})
}

// newRoot is a root as it is inserted.
func newRoot(n int) troupe.Session {
	return troupe.Session{
		ID: rootID(n), Root: rootID(n), Cwd: "/home/ada/login", Type: "main", Model: "script/main",
		Status: troupe.Spawning, CreatedAt: epoch(),
	}
}

// newChild is the session that the nth call of the parent's first reply asks for.
func newChild(parent troupe.Session, n int) troupe.Session {
	c := troupe.Coord{Reply: 1, Call: n}
	var own troupe.Workspace
	team := "the team"
	if n%2 == 1 {
		team = ""
		own = troupe.Workspace{Kind: troupe.WorkspaceTree, Owner: troupe.ChildID(parent.ID, c), Name: "child",
			From: parent.Cwd, Of: parent.Cwd, Top: "/trees/child", Folder: "/trees/child", Branch: "troupe/child"}
	}
	return troupe.Session{
		ID: troupe.ChildID(parent.ID, c), Root: parent.Root, Parent: parent.ID, Coord: c,
		Name: fmt.Sprintf("Child %d", n), Title: "look at something", Depth: parent.Depth + 1,
		Cwd: parent.Cwd, Workspace: own, Type: "Explore", Model: "script/small", Team: team,
		Status: troupe.Spawning, CreatedAt: epoch().Add(time.Duration(n) * time.Second),
	}
}

// ours is the lease under which the suite's sessions are born.
func ours() troupe.Lease { return troupe.Lease{Owner: "owner-a", Epoch: 1} }

// plant makes a tree of a root and n children.
func (e *env) plant(n, children int) (root troupe.Session, kids []troupe.Session) {
	e.Helper()
	root = newRoot(n)
	for i := range children {
		kids = append(kids, newChild(root, i))
	}
	e.update(root.ID, func(tx store.Tx) error {
		err := tx.Insert(root, ours(), &troupe.Caps{MaxDepth: 1, MaxActive: 4})
		for _, k := range kids {
			err = errors.Join(err, tx.Insert(k, ours(), nil))
		}
		return err
	})
	return root, kids
}

// next is s after one more event, and the event: the note text.
func next(s troupe.Session, text string) (troupe.Session, []troupe.Event) {
	s.Seq++
	return s, []troupe.Event{{
		Root: s.Root, Session: s.ID, Seq: s.Seq, At: epoch().Add(time.Duration(s.Seq)),
		Body: troupe.ModelChanged{Model: s.Model, Why: text},
	}}
}

// note appends one event to the session as it stands in the transaction.
func note(tx store.Tx, l troupe.Lease, id troupe.SessionID, text string) error {
	s, err := tx.Session(id)
	if err != nil {
		return err
	}
	s, events := next(s, text)
	return tx.Append(l, s, events)
}

// prompt is a piece of mail from a person.
func prompt(to troupe.Session, id troupe.MailID) troupe.Mail {
	return troupe.Mail{
		ID: id, Root: to.Root, To: to.ID, Kind: troupe.MailPrompt, SentAt: epoch(),
		Blocks: []troupe.Block{troupe.Text("please " + string(id))},
	}
}

// send is Tx.Send for mail that must be new.
func send(tx store.Tx, m troupe.Mail) error {
	sent, err := tx.Send(m)
	if err == nil && !sent {
		err = fmt.Errorf("mail %s was there before", m.ID)
	}
	return err
}
