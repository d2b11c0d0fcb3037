package host

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// API is the api of a server: next, but that what is begun with it goes on whichever process is gone, and that what is
// said to a tree which no process has in hand has one take it up.
func (h *Host) API(next api.API, c troupe.Caller) api.API { return serving{next, h, c} }

type serving struct {
	api.API

	h      *Host
	caller troupe.Caller
}

// Begin begins a tree, or goes on with one, in a process that has its folder.
func (s serving) Begin(ctx context.Context, b wire.Begin) (begun wire.Begun, err error) {
	cwd := b.Cwd
	if b.Resume != "" || b.Continue {
		ref := b.Resume
		if b.Continue {
			ref = "main"
		}
		t, err := s.Find(ctx, ref, b.Cwd)
		if err != nil {
			return begun, err
		}
		cwd, b.Resume, b.Continue = t.Cwd, string(t.ID), false
	}
	if b.Once == "" && b.Root == "" { // a worker that is asked again, or another one, knows it for the same
		b.Once = rand.Text()
	}
	if b.Resume == "" && b.Root == "" { // else it was claimed
		if b.Root, err = rootOf(s.caller, b); err != nil {
			return begun, err
		}
	}
	if there, err := s.h.begunBefore(ctx, b); there || err != nil {
		return wire.Begun{Root: b.Root}, err
	}
	if b.Repo != "" && b.Resume == "" {
		cwd = s.h.o.Checkouts
	}
	if err := refusePaused(ctx, s.h.o.Records, cwd); err != nil {
		return begun, err
	}
	if !s.h.Has(cwd) {
		if s.caller.Relayed { // two that each take the other for one that has it would ask for ever
			return begun, s.h.unableToCheckOut(b, s.h.without(cwd, nil))
		}
		return s.h.beginThere(ctx, s.caller, cwd, b)
	}
	if b.Resume != "" {
		if begun, err = s.API.Begin(ctx, b); err == nil {
			err = s.h.want(ctx, begun.Root)
		}
		return begun, err
	}
	if b.Repo != "" {
		if b, err = s.h.o.CheckOut(ctx, b); err != nil {
			return begun, err
		}
	}
	if err := s.h.want(ctx, b.Root); err != nil {
		return begun, err
	}
	// What the record is left for, if this process ends here, is forgotten after a while.
	begun, err = s.API.Begin(ctx, b)
	if errors.Is(err, troupe.ErrExists) {
		if there, terr := s.h.begunBefore(ctx, b); there || terr != nil {
			return wire.Begun{Root: b.Root}, terr
		}
	}
	if err != nil && ctx.Err() == nil {
		err = errors.Join(err, s.h.unborn(ctx, b.Root))
	}
	return begun, err
}

// unableToCheckOut says of a repository that no process takes one.
func (h *Host) unableToCheckOut(b wire.Begin, err error) error {
	switch {
	case b.Repo == "" || !errors.Is(err, errNoWorker):
		return err
	case h.o.TakesRepositories:
		return &troupe.UserError{Problem: "no worker checks repositories out in " + h.o.Checkouts,
			Hint: "Its admin starts one with --git-host, too, and with the same TROUPE_HOME: checkouts lie beside " +
				"that.",
			Code: troupe.ExitUsage, Err: err}
	}
	return &troupe.UserError{Problem: "this server takes no repositories",
		Hint: "Its admin lists hosts: troupe serve --git-host github.com. Or name one of its folders with --cwd.",
		Code: troupe.ExitUsage, Err: err}
}

// beginThere has a worker begin a tree, and another one where that does not answer or dies over it: the tree has its id
// already, so that it is born once.
func (h *Host) beginThere(ctx context.Context, c troupe.Caller, cwd string, b wire.Begin) (wire.Begun, error) {
	var silent []string
	for {
		w, err := h.pick(ctx, cwd, silent)
		if err != nil {
			return wire.Begun{}, h.unableToCheckOut(b, err)
		}
		begun, err := h.beginAt(ctx, c, w, b)
		switch {
		case ctx.Err() == nil && (errors.Is(err, api.ErrSilent) || errors.Is(err, api.ErrUnreachable) ||
			b.Resume == "" && errors.Is(err, api.ErrLost)):
			h.o.Log.Warn("a worker does not answer", "pid", w.PID, "host", w.Host, "err", err)
			silent = append(silent, w.r.Key)
		case len(silent) > 0 && b.Resume == "" && errors.Is(err, troupe.ErrExists): // the first one was only slow
			return wire.Begun{Root: b.Root}, nil
		default:
			return begun, err
		}
	}
}

// beginAt has a worker begin a tree for as long as it lives.
func (h *Host) beginAt(ctx context.Context, c troupe.Caller, w announced, b wire.Begin) (begun wire.Begun, err error) {
	peer := h.o.Dial(w.Socket, c)
	defer peer.Close()
	if err := peer.Ping(ctx); errors.Is(err, api.ErrSilent) || errors.Is(err, api.ErrUnreachable) {
		return begun, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if alive, err := h.o.Trees.Alive(ctx, troupe.OwnerID(w.r.Key)); err == nil && !alive {
					cancel(api.ErrSilent)
				}
			}
		}
	})
	begun, err = peer.Begin(ctx, b)
	if err != nil && errors.Is(context.Cause(ctx), api.ErrSilent) {
		err = api.ErrSilent
	}
	cancel(nil)
	watch.Wait()
	return begun, err
}

// unborn forgets what was not born.
func (h *Host) unborn(ctx context.Context, root troupe.SessionID) error {
	switch s, err := h.o.Trees.Stand(ctx, root); {
	case err != nil:
		return err
	case s.Standing != Unborn:
		return nil
	}
	r, err := h.o.Records.Record(ctx, kind, string(root))
	switch {
	case errors.Is(err, troupe.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("forget session %s, which was not born: %w", root, err)
	}
	return h.forget(ctx, r)
}

// rootOf is the id that a new tree gets. A key of the caller's gives the same one each time.
func rootOf(c troupe.Caller, b wire.Begin) (troupe.SessionID, error) {
	if b.Once == "" {
		return troupe.NewRootID(rand.Reader)
	}
	return troupe.NewRootID(hex.NewDecoder(strings.NewReader(c.Key(b.Once))))
}

// begunBefore reports whether a tree that is to begin once has begun.
func (h *Host) begunBefore(ctx context.Context, b wire.Begin) (bool, error) {
	if b.Once == "" || b.Resume != "" {
		return false, nil
	}
	s, err := h.o.Trees.Stand(ctx, b.Root)
	return s.Standing != Unborn, err
}

// List lists sessions, and says of those that nothing goes on with why.
func (s serving) List(ctx context.Context, l wire.Listing) ([]wire.Session, error) {
	out, err := s.API.List(ctx, l)
	return out, errors.Join(err, s.parked(ctx, out))
}

// Find finds a session.
func (s serving) Find(ctx context.Context, ref, cwd string) (wire.Session, error) {
	x, err := s.API.Find(ctx, ref, cwd)
	if err != nil {
		return x, err
	}
	one := []wire.Session{x}
	err = s.parked(ctx, one)
	return one[0], err
}

// Tree reads a tree.
func (s serving) Tree(ctx context.Context, id troupe.SessionID) (wire.Tree, error) {
	t, err := s.API.Tree(ctx, id)
	if err != nil || t.Running {
		return t, err
	}
	if err := s.parked(ctx, t.Sessions); err != nil {
		return t, err
	}
	wanted, parked, err := s.h.wanted(ctx, t.Root())
	t.Kept = wanted && parked == ""
	return t, err
}

// parked says of sessions that no process goes on with any more why.
func (s serving) parked(ctx context.Context, all []wire.Session) (err error) {
	why := map[troupe.SessionID]string{}
	for i := range all {
		x := &all[i]
		if x.Running || !x.Status.Live() || !x.AsleepAt.IsZero() {
			continue
		}
		if _, known := why[x.Root]; !known {
			if _, why[x.Root], err = s.h.wanted(ctx, x.Root); err != nil {
				return err
			}
		}
		x.Parked = why[x.Root]
	}
	return nil
}

// Send gives a session words. Where no process had its tree, one has by the answer.
func (s serving) Send(ctx context.Context, id troupe.SessionID, m wire.Message) (wire.Sent, error) {
	if err := s.refuseRun(ctx, id); err != nil {
		return wire.Sent{}, err
	}
	sent, err := s.API.Send(ctx, id, m)
	if err != nil {
		return sent, err
	}
	taken, err := s.goOn(ctx, id)
	if err != nil {
		return sent, err
	}
	if sent.Effect == effectWaits && taken {
		sent.Effect = "resumes"
	}
	return sent, nil
}

// effectWaits is what is told where no process runs a tree.
const effectWaits = "waits"

// refuseRun refuses what begins another run of a tree in a paused folder. What is at work there goes on.
func (s serving) refuseRun(ctx context.Context, id troupe.SessionID) error {
	t, err := s.API.Tree(ctx, id)
	if err != nil || slices.ContainsFunc(t.Sessions, func(x wire.Session) bool { return x.Status.Live() }) {
		return err
	}
	return refusePaused(ctx, s.h.o.Records, t.Sessions[0].Cwd)
}

// Compact has a session shorten its conversation.
func (s serving) Compact(ctx context.Context, id troupe.SessionID, hint string) error {
	err := s.refuseRun(ctx, id)
	if err == nil {
		err = s.API.Compact(ctx, id, hint)
	}
	if err == nil {
		_, err = s.goOn(ctx, id)
	}
	return err
}

// Answer answers a request.
func (s serving) Answer(ctx context.Context, id string, a wire.Answer) error {
	q, err := s.Request(ctx, id)
	if errors.Is(err, troupe.ErrNotFound) { // it may have been answered so before
		return s.API.Answer(ctx, id, a)
	}
	if err == nil {
		err = s.API.Answer(ctx, q.ID, a)
	}
	if err == nil {
		_, err = s.goOn(ctx, q.Session)
	}
	return err
}

// Stop ends the run of a session. Where its tree is between two processes, the next one reads it first.
func (s serving) Stop(ctx context.Context, id troupe.SessionID, st wire.Stop) error {
	t, err := s.Tree(ctx, id)
	if err != nil {
		return err
	}
	if st.Kept, _, err = s.h.wanted(ctx, t.Root()); err != nil {
		return err
	}
	return s.API.Stop(ctx, id, st)
}

// goOn has the tree of a session kept going, and waits until a process has it, for a while.
func (s serving) goOn(ctx context.Context, id troupe.SessionID) (taken bool, err error) {
	t, err := s.Tree(ctx, id)
	if err == nil {
		err = s.h.want(ctx, t.Root())
	}
	if err != nil {
		return false, err
	}
	return s.h.taken(ctx, t.Root()), nil
}

// Wait returns when every session of a tree has ended, whichever process has it, and whichever had it before.
func (s serving) Wait(ctx context.Context, root troupe.SessionID) error {
	for {
		err := s.API.Wait(ctx, root)
		moves := errors.Is(err, troupe.ErrFenced) || errors.Is(err, api.ErrUnreachable) || errors.Is(err, api.ErrLost)
		if err == nil || ctx.Err() != nil || !moves {
			return err
		}
		stand, serr := s.h.o.Trees.Stand(ctx, root)
		if serr != nil {
			return serr
		}
		switch stand.Standing {
		case Unborn:
			return err
		case Asleep:
			return &troupe.UserError{Problem: fmt.Sprintf("session %s was put away", root),
				Hint: fmt.Sprintf("It goes on with: troupe wake %s", root), Err: troupe.ErrAsleep}
		case Over, Rests:
			return nil
		case Here, There, Left:
		}
		wanted, parked, werr := s.h.wanted(ctx, root)
		switch {
		case werr != nil:
			return werr
		case !wanted:
			return err
		case parked != "":
			return &troupe.UserError{Problem: fmt.Sprintf("session %s is parked: %s", root, parked),
				Hint: fmt.Sprintf("Words to it have it go on: troupe send %s \"...\"", root), Code: troupe.ExitFailed}
		}
		select {
		case <-time.After(4 * looksAgain):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Change renames a session or archives it. A process that only holds its tree lets go of it for that.
func (s serving) Change(ctx context.Context, root troupe.SessionID, c wire.SessionChange) (wire.Session, error) {
	if c.Archive {
		if _, err := s.Leave(ctx, root); err != nil {
			return wire.Session{}, err
		}
	}
	return s.API.Change(ctx, root, c)
}

// Leave lets go of a tree that is over. Where no process has it, nothing is to be done.
func (s serving) Leave(ctx context.Context, root troupe.SessionID) (bool, error) {
	left, err := s.API.Leave(ctx, root)
	if !errors.Is(err, troupe.ErrFenced) {
		return left, err
	}
	stand, err := s.h.o.Trees.Stand(ctx, root)
	return stand.Standing == Over || stand.Standing == Asleep, err
}
