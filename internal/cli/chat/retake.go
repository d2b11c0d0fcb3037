package chat

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// talk is the words to trees that this process has in hand, or had: one that was idle may have
// been gone on with by another process since. It is taken up again then, as --continue would,
// and what is followed of it goes on where it was: what came meanwhile is shown.
type talk struct{ *local }

func (t talk) Send(ctx context.Context, id troupe.SessionID, m wire.Message) (sent wire.Sent, err error) {
	err = t.held(ctx, id, func() error {
		sent, err = t.a.Send(ctx, id, m)
		return err
	})
	return sent, err
}

func (t talk) Stop(ctx context.Context, id troupe.SessionID, s wire.Stop) error {
	return t.held(ctx, id, func() error { return t.a.Stop(ctx, id, s) })
}

func (t talk) Background(ctx context.Context, id troupe.SessionID) error {
	return t.a.Background(ctx, id)
}

func (t talk) Compact(ctx context.Context, id troupe.SessionID, hint string) error {
	return t.held(ctx, id, func() error { return t.a.Compact(ctx, id, hint) })
}

func (t talk) SetMode(ctx context.Context, root troupe.SessionID, mode troupe.Mode) error {
	return t.held(ctx, root, func() error { return t.a.SetMode(ctx, root, mode) })
}

func (t talk) SetModel(ctx context.Context, id troupe.SessionID, name string) (full string, err error) {
	err = t.held(ctx, id, func() error {
		full, err = t.a.SetModel(ctx, id, name)
		return err
	})
	return full, err
}

// Answer is for requests, which only whoever runs a tree has.
func (t talk) Answer(ctx context.Context, request string, a wire.Answer) error {
	return t.a.Answer(ctx, request, a)
}

// held calls fn, which says something to a session. If its tree is another's by now, nothing was
// said: the tree is taken up again, and fn called once more.
func (t talk) held(ctx context.Context, id troupe.SessionID, fn func() error) error {
	err := fn()
	if !errors.Is(err, troupe.ErrFenced) {
		return err
	}
	s, err := t.a.Find(ctx, string(id), t.r.Cwd)
	if err == nil {
		err = t.retake(ctx, s.Root)
	}
	if err != nil {
		return err
	}
	return fn()
}

// retake takes up a tree that another process has gone on with since. It is refused while that
// process is at work on it.
func (l *local) retake(ctx context.Context, root troupe.SessionID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := grown(l.r)
	r.Resume, r.Idle = string(root), true
	// What it works with may have been changed since this process began.
	r.Model, r.Mode = "", ""
	run, err := l.a.Start(ctx, r)
	if err == nil {
		l.runs[root] = run
		return nil
	}
	if t, terr := l.a.Tree(ctx, root); terr == nil && t.Running {
		return &troupe.UserError{
			Problem: fmt.Sprintf("process %d on %s works on this conversation now; nothing was sent", t.Owner.PID, t.Owner.Host),
			Hint: fmt.Sprintf("Send it once more when that is done; or now, from another terminal: troupe send %s \"…\". `troupe log %s --follow` shows what it does.",
				root, root),
			Code: 2, Err: err,
		}
	}
	return err
}
