package home

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/client"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TakeOver takes the tree of a session from a process that does not answer. It can then be gone on with as
// after a crash. One that answers keeps it: what it has at work is stopped in good order by asking it.
func (h *Home) TakeOver(ctx context.Context, id troupe.SessionID) error {
	t, silent, err := silent(ctx, h, id)
	if err != nil || !silent {
		return err
	}
	return h.app.TakeFrom(ctx, t.Root(), nil)
}

// StopOver is TakeOver with a stop of the session, which its own process will not log any more. taken is false if no
// other process has the session, or is gone: there is nothing to take from it.
func (h *Home) StopOver(ctx context.Context, s wire.Session, st wire.Stop) (taken bool, err error) {
	_, silent, err := silent(ctx, h, s.ID)
	if err != nil || !silent {
		return false, err
	}
	return true, h.app.TakeFrom(ctx, s.Root, &app.TakenStop{Session: s.ID, Tree: st.Tree, By: h.caller})
}

// silent reports whether another process runs the tree of a session and does not answer. It is an error if that
// process answers.
func silent(ctx context.Context, h *Home, id troupe.SessionID) (t wire.Tree, silent bool, err error) {
	if h.server != "" {
		return t, false, errTakeOver
	}
	t, err = h.API.Tree(ctx, id)
	if err != nil || !t.Running || t.Here {
		return t, false, err
	}
	if h.agent != "" {
		return t, false, &troupe.UserError{
			Problem: fmt.Sprintf("this command was started by an agent (session %.40s); agents may not take sessions "+
				"over",
				h.agent),
			Hint: "Type it in a terminal of your own.", Code: troupe.ExitPermission,
		}
	}
	if t.Owner.Socket != "" {
		c := client.Dial(t.Owner.Socket)
		defer c.Close()
		if err := c.Ping(ctx); !errors.Is(err, api.ErrSilent) {
			return t, false, &troupe.UserError{
				Problem: fmt.Sprintf("process %d on %s runs session %s and answers; it was not taken over", t.Owner.PID,
					t.Owner.Host, t.Root()),
				Hint: fmt.Sprintf("`troupe stop %s` stops it; leave --take-over out.", t.Root()),
				Code: troupe.ExitUsage,
			}
		}
	}
	return t, true, nil
}

// taking is the api of a home, which takes a tree over before it goes on with it, if that is wanted.
type taking struct {
	api.API

	home *Home
}

// Begin begins a tree, or goes on with one.
func (t taking) Begin(ctx context.Context, b wire.Begin) (wire.Begun, error) {
	if b.TakeOver {
		ref := b.Resume
		if b.Continue {
			ref = "main"
		}
		s, err := t.Find(ctx, ref, b.Cwd)
		if err == nil {
			err = t.home.TakeOver(ctx, s.ID)
		}
		if err != nil {
			return wire.Begun{}, err
		}
	}
	return t.API.Begin(ctx, b)
}
