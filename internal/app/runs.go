package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// runs implements api.Runs.
type runs struct{ use }

func (a runs) Begin(ctx context.Context, b wire.Begin) (wire.Begun, error) {
	r, err := a.Start(ctx, Request{
		Prompt: b.Prompt, Images: b.Images, Cwd: b.Cwd, Name: b.Name, Resume: b.Resume, Continue: b.Continue,
		Idle:        b.Idle,
		Permissions: Permissions{Mode: string(b.Mode), Allow: b.Allow, Deny: b.Deny, Trust: b.Trust}, Model: b.Model,
		MaxTurns: b.MaxTurns, MaxCost: troupe.Dollars(b.MaxUSD), MaxTokens: b.MaxTokens,
		MaxTime: time.Duration(b.MaxMS) * time.Millisecond, AppendText: b.AppendText, Agents: b.Agents,
		Fallback: b.Fallback,
		AskFor:   time.Duration(b.AskMS) * time.Millisecond, Replay: a.replay, Look: a.env.Look, caller: a.caller,
	})
	if err != nil {
		return wire.Begun{}, err
	}
	out := wire.Begun{Root: r.Root, Warnings: r.Warnings, After: r.cursors}
	names := paths(r.before)
	for _, s := range r.before {
		out.Before = append(out.Before, a.shape(s, names[s.ID], false))
	}
	return out, nil
}

// hosting is the engine if it has a tree in hand, nil if it has not.
func (a *App) hosting(root troupe.SessionID) *engine {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.engine == nil || !a.engine.hub.Hosts(root) {
		return nil
	}
	return a.engine
}

func notRun(root troupe.SessionID) error {
	return &troupe.UserError{
		Problem: fmt.Sprintf("session %s is not run by this process", root),
		Hint:    fmt.Sprintf("Go on with it: troupe -p --resume %s", root), Code: troupe.ExitUsage,
		Err: troupe.ErrFenced,
	}
}

func (a runs) Wait(ctx context.Context, root troupe.SessionID) error {
	e := a.hosting(root)
	if e == nil {
		return notRun(root)
	}
	defer a.followers.Moved(root) // it may have been lost
	return e.hub.Wait(ctx, root)
}

func (a runs) Remove(ctx context.Context, root troupe.SessionID) error { return a.remove(ctx, root) }

func (a runs) Leave(ctx context.Context, root troupe.SessionID) (bool, error) {
	e := a.hosting(root)
	if e == nil {
		return false, notRun(root)
	}
	now, cancel := context.WithCancel(ctx)
	cancel() // so that it only looks
	defer a.followers.Moved(root)
	err := e.hub.Leave(now, root)
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}
