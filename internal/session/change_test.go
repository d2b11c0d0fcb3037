package session_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// TestRenameAtWork: a main agent is named in the middle of a model call, which goes on; a name that is taken is
// refused, and all else goes on too.
func TestRenameAtWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		other := troupe.SessionID("0000000000aa")
		if err := h.db.Open().Update(t.Context(), other, func(tx store.Tx) error {
			return tx.Insert(troupe.Session{ID: other, Root: other, Name: "taken", Cwd: "/", Type: "main", Model: "m/m",
				Status: troupe.Spawning, CreatedAt: time.Now()}, troupe.Lease{}, nil)
		}); err != nil {
			t.Fatal(err)
		}
		p := h.start(func(model.Request) troupe.Reply { return say("done") }, func(p *process) {
			p.llm.takes = func(model.Request) time.Duration { return time.Minute }
		}).begin(troupe.Caps{})
		pass(time.Second)
		by := &troupe.Caller{Name: "ann"}
		here, err := session.Change(t.Context(), p.hub, h.root, troupe.SessionChanged{Name: "Taken", Caller: by})
		if !here || !errors.Is(err, troupe.ErrExists) {
			t.Errorf("a name that is taken: %t, %v", here, err)
		}
		here, err = session.Change(t.Context(), p.hub, h.root, troupe.SessionChanged{Name: "mine", Caller: by})
		if s := h.get(h.root); !here || err != nil || s.Name != "mine" || s.Status != troupe.Waiting {
			t.Errorf("named: %t, %v, %+v", here, err, s)
		}
		p.end()
		if s := h.get(h.root); s.Name != "mine" || s.Status != troupe.Completed || len(p.llm.requests) != 1 {
			t.Errorf("it ended as %+v, after %d requests", s, len(p.llm.requests))
		}
		if k := h.logged(h.root); slices.Index(k, troupe.KindSessionChanged) > slices.Index(k, troupe.KindReplied) {
			t.Errorf("its log is %v", k)
		}
	})
}

// TestChangeLeft: what no process runs is changed under the lease of the one that had it, and by nobody else. What is
// archived is not gone on with.
func TestChangeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reply := func(model.Request) troupe.Reply { return say("done") }
		h := newHome(t)
		p := h.start(reply).begin(troupe.Caps{})
		p.end()
		change := func(held troupe.Lease, b troupe.SessionChanged, check error) error {
			return session.ChangeLeft(t.Context(), h.db.Open(), h.root, held, time.Now(), b,
				func(store.Reader, *turn.State) error { return check })
		}
		gone := h.lease()
		gone.Epoch--
		if err := change(gone, troupe.SessionChanged{Name: "n"}, nil); !errors.Is(err, troupe.ErrFenced) {
			t.Errorf("under a lease of before: %v", err)
		}
		no := errors.New("no")
		if err := change(h.lease(), troupe.SessionChanged{Name: "n"}, no); !errors.Is(err, no) {
			t.Errorf("it was not to be: %v", err)
		}
		if err := change(h.lease(), troupe.SessionChanged{Name: "n", Archived: true}, nil); err != nil {
			t.Fatal(err)
		}
		if s := h.get(h.root); s.Name != "n" || !s.Archived {
			t.Errorf("it is %+v", s)
		}
		q := h.start(reply)
		ad := session.Adoption{Root: h.root, Expect: h.lease(), MailID: "m",
			Prompt: []troupe.Block{troupe.Text("more")}}
		for _, wake := range []bool{false, true} {
			ad.Wake = wake
			if err := q.hub.Adopt(t.Context(), ad); !errors.Is(err, troupe.ErrArchived) {
				t.Errorf("gone on with, awake: %t: %v", wake, err)
			}
		}
		here, err := session.Change(t.Context(), q.hub, h.root, troupe.SessionChanged{Name: "x"})
		if here || err != nil {
			t.Errorf("changed where it does not run: %t, %v", here, err)
		}
		if err := change(h.lease(), troupe.SessionChanged{Unarchived: true}, nil); err != nil {
			t.Fatal(err)
		}
		ad.Wake = false
		if err := q.hub.Adopt(t.Context(), ad); err != nil {
			t.Fatal(err)
		}
		q.end()
	})
}
