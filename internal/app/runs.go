package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
)

// runs implements api.Runs.
type runs struct{ bound }

// hosting is the engine if it has a tree in hand, nil if it has not.
func (a *App) hosting(root troupe.SessionID) *engine {
	e := a.engine.Load()
	if e == nil || !e.hub.Knows(root) {
		return nil
	}
	return e
}

func notRun(root troupe.SessionID) error {
	return &troupe.UserError{
		Problem: fmt.Sprintf("session %s is not run by this process", root),
		Hint:    fmt.Sprintf("Go on with it: troupe -p --resume %s", root), Code: troupe.ExitUsage,
		Err: troupe.ErrFenced,
	}
}

func (a runs) Wait(ctx context.Context, root troupe.SessionID) error {
	e := a.app.hosting(root)
	if e == nil {
		return notRun(root)
	}
	defer a.app.followers.Moved(root) // it may have been lost
	return e.hub.Wait(ctx, root)
}

func (a runs) Remove(ctx context.Context, root troupe.SessionID) error { return a.remove(ctx, root) }

func (a runs) Leave(ctx context.Context, root troupe.SessionID) (bool, error) {
	e := a.app.hosting(root)
	if e == nil {
		return false, notRun(root)
	}
	e.hub.Farewell(ctx, root)
	now, cancel := context.WithCancel(ctx)
	cancel() // so that it only looks
	defer a.app.followers.Moved(root)
	err := e.hub.Leave(now, root)
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		return false, nil
	}
	e.guard.trim(session.Folders(e.hub))
	return err == nil, err
}
