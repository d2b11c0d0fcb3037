package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

func (w *world) ctx() context.Context { return context.Background() }

// expired is a context that is over, for asking without waiting.
func (w *world) expired() context.Context {
	ctx, cancel := context.WithCancel(w.ctx())
	cancel()
	return ctx
}

func (w *world) session(id troupe.SessionID) (troupe.Session, error) {
	var s troupe.Session
	err := w.store.View(w.ctx(), func(r store.Reader) error {
		var err error
		s, err = r.Session(id)
		return err
	})
	return s, err
}

func (w *world) all() []troupe.Session {
	var out []troupe.Session
	err := w.store.View(w.ctx(), func(r store.Reader) error {
		var err error
		out, err = r.Sessions(store.Filter{Root: w.root})
		return err
	})
	if err != nil {
		w.fault = err
	}
	return out
}

// checkActive holds after every step: the tree's sums never break its caps.
func (w *world) checkActive() error {
	return w.store.View(w.ctx(), func(r store.Reader) error {
		t, err := r.Tree(w.root)
		if err != nil {
			return err
		}
		if w.caps.MaxTotal > 0 && t.Total > w.caps.MaxTotal {
			return fmt.Errorf("%d sessions were born under a cap of %d", t.Total, w.caps.MaxTotal)
		}
		// With more than one level, a parent that wakes may take a slot beyond the cap.
		if w.caps.MaxActive > 0 && w.caps.MaxDepth == 1 && t.Active > w.caps.MaxActive {
			return fmt.Errorf("%d sessions are at work under a cap of %d", t.Active, w.caps.MaxActive)
		}
		return nil
	})
}

// check says what must hold of what a run left, whatever happened in it.
func (w *world) check() error {
	all := w.all()
	w.res.Sessions = len(all)
	var sum troupe.Tally
	ends := make(map[troupe.MailID]int) // ends told, by mail
	told := make(map[troupe.MailID]int) // ends that reached the parent's log
	for _, s := range all {
		if err := w.checkSession(s, ends, told); err != nil {
			return fmt.Errorf("session %s: %w", s.ID, err)
		}
		sum = sum.Add(s.Tally)
	}
	for id := range ends {
		if told[id] != 1 {
			return fmt.Errorf("the end %s is %d times in the parent's log", id, told[id])
		}
	}
	var tree troupe.Tree
	err := w.store.View(w.ctx(), func(r store.Reader) error {
		var err error
		tree, err = r.Tree(w.root)
		return err
	})
	switch {
	case err != nil:
		return err
	case tree.Tally != sum:
		return fmt.Errorf("the tree's bill is %+v, its sessions' bills are %+v", tree.Tally, sum)
	case tree.Active != 0:
		return fmt.Errorf("everything has ended and %d slots are taken", tree.Active)
	case tree.Total != len(all)-1:
		return fmt.Errorf("the tree counts %d births and has %d", tree.Total, len(all)-1)
	}
	return nil
}

func (w *world) checkSession(s troupe.Session, ends, told map[troupe.MailID]int) error {
	var events []troupe.Event
	var unread []troupe.Mail
	err := w.store.View(w.ctx(), func(r store.Reader) error {
		var err error
		if events, err = r.Events(s.ID, 0, 0); err != nil {
			return err
		}
		unread, err = r.Unread(s.ID)
		return err
	})
	if err != nil {
		return err
	}
	st, err := turn.Fold(events)
	switch {
	case err != nil:
		return err
	case st.Session != s:
		return fmt.Errorf("its row differs from its log:\nrow %+v\nlog %+v", s, st.Session)
	case s.Status.Live():
		return fmt.Errorf("it is still %s %s", s.Status, s.Waiting)
	case len(unread) > 0:
		return fmt.Errorf("%d pieces of mail were never read, the first is %s", len(unread), unread[0].ID)
	}
	return w.checkEvents(s, events, ends, told)
}

func (w *world) checkEvents(s troupe.Session, events []troupe.Event, ends, told map[troupe.MailID]int) error {
	asked := make(map[string]bool)
	results := make(map[string]int)
	for _, e := range events {
		switch b := e.Body.(type) {
		case troupe.CallSealed:
			if b.Generation != 1 {
				return fmt.Errorf("event %d begins generation %d: %s", e.Seq, b.Generation, b.Because)
			}
		case troupe.Replied:
			for _, block := range b.Blocks {
				if block.Call != nil {
					asked[coord(block.Call.Reply, block.Call.Index)] = true
				}
			}
		case troupe.ToolFinished:
			at := coord(b.Result.Reply, b.Result.Call)
			results[at]++
			if n := w.effects[outputDir(s.ID)+"/"+at]; n > 1 || (n == 0 && b.Name == "Edit" && !b.Result.IsError) {
				return fmt.Errorf("the edit %s took effect %d times", at, n)
			}
			if b.Mail != "" {
				told[b.Mail]++
			}
		case troupe.MailDelivered:
			for _, m := range b.Mail {
				if m.Kind == troupe.MailTaskEnded {
					told[m.ID]++
				}
			}
		case troupe.Ended:
			if s.Parent != "" {
				ends[troupe.ChildEndedMailID(s.ID, b.Outcome.Run)]++
			}
		}
	}
	for c := range asked {
		if results[c] != 1 {
			return fmt.Errorf("call %s has %d results", c, results[c])
		}
	}
	if len(results) != len(asked) {
		return errors.New("there are results of calls that nobody made")
	}
	return nil
}

func coord(reply, call int) string { return fmt.Sprintf("r%dc%d", reply, call) }

// adoption is how the next process goes on with the tree: sometimes with new words, and
// under another model or mode.
func (w *world) adoption() (session.Adoption, error) {
	ad := session.Adoption{Root: w.root}
	err := w.store.View(w.ctx(), func(r store.Reader) error {
		var err error
		ad.Expect, err = r.Lease(w.root)
		return err
	})
	if w.rng.IntN(4) == 0 {
		ad.Prompt = []troupe.Block{troupe.Text("and another thing")}
		ad.MailID = troupe.MailID(fmt.Sprintf("prompt:%d", w.procs))
	}
	if w.rng.IntN(6) == 0 {
		ad.Events = append(ad.Events, troupe.AuthorityChanged{Authority: troupe.Authority{Mode: troupe.ModeBypass}})
	}
	return ad, err
}
