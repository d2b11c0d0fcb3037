package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// A run that ends with nothing changed leaves no folder, and no list shows it. Its agent may be sent a message later
// and then finds the folder as it was: so the record stays, aside, and with it the ref of the base, or of a copy the
// keeper. The name is free.

// spent is where the record of such a workspace is.
func (k *Keeper) spent(id troupe.SessionID) string { return filepath.Join(k.data, "spent", string(id)) }

// forget removes what is left of a workspace in which nothing was changed.
func (e *ending) forget(ctx context.Context) error {
	if e.caller != nil {
		ctx, release, err := e.k.holdCaller(ctx, e.caller)
		if err != nil {
			return err
		}
		defer release()
		if err := e.caller.dropRefs(ctx, e.p.ws, refOf(e.p.ws, "base")); err != nil {
			return err
		}
	}
	aside := e.k.spent(e.p.ws.Owner)
	if err := errors.Join(disk.RemoveTree(aside), os.MkdirAll(filepath.Dir(aside), 0o700)); err != nil {
		return err
	}
	if err := os.Rename(e.p.folder, aside); err != nil {
		return err
	}
	if err := e.k.step("forgotten"); err != nil || e.caller == nil {
		return err
	}
	return disk.RemoveTree(filepath.Join(aside, filepath.Base(e.p.repo))) // all of it is in the caller's repository
}

// unspend brings back the record of a workspace that was spent. Another may have its name by then, and keeps it.
func (p place) unspend(ctx context.Context) (*record, error) {
	aside := p.k.spent(p.ws.Owner)
	if _, err := readRecord(aside); err != nil {
		return nil, err
	}
	_, release, err := p.k.hold(ctx, "names-"+p.k.project(p.ws.Of))
	if err != nil {
		return nil, err
	}
	defer release()
	if err := errors.Join(p.free(), p.k.apart(p.ws)); err != nil {
		return nil, err
	}
	if err := os.Rename(aside, p.folder); err != nil {
		return nil, err
	}
	return readRecord(p.folder)
}

// unspent reports whether it is one that was spent, and that a run began to open and ended before it had a folder. Its
// keeper may be gone, or half of one.
func unspent(p place, rec *record) bool {
	if r := rec.Result; rec.State != closed || r == nil || !r.Gone || r.Tip != rec.Base.Commit {
		return false
	}
	kept, err := readKept(p)
	e := ending{rec: rec, saved: saved{kept: kept}}
	return err == nil && e.extra() == 0
}

// spendAgain puts it aside again: nothing was done since its last end.
func spendAgain(ctx context.Context, p place, rec *record) (res troupe.WorkspaceResult, err error) {
	res = *rec.Result
	if res.Run != nil {
		res.Run = &troupe.Checkpoint{Tree: res.Run.Tree, Tip: res.Run.Tip}
	}
	e := ending{k: p.k, p: p, rec: rec}
	if p.ws.Kind == troupe.WorkspaceTree {
		if e.caller, err = p.k.callerOf(ctx, p.ws.Of); err != nil {
			return res, err
		}
	}
	return res, errors.Join(disk.RemoveTree(p.making), e.forget(ctx))
}

// Sweep removes what workspaces in which nothing was changed have left, of those that may go.
func (k *Keeper) Sweep(ctx context.Context, may func(troupe.Workspace) bool) error {
	entries, err := os.ReadDir(filepath.Join(k.data, "spent"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if _, ok := troupe.ParseSessionID(e.Name()); ok && ctx.Err() == nil {
			err = errors.Join(err, k.sweep(ctx, troupe.SessionID(e.Name()), may))
		}
	}
	return errors.Join(err, ctx.Err())
}

func (k *Keeper) sweep(ctx context.Context, id troupe.SessionID, may func(troupe.Workspace) bool) error {
	ctx, release, err := k.hold(ctx, string(id))
	if err != nil {
		return err
	}
	defer release()
	rec, err := readRecord(k.spent(id))
	if err != nil || !may(rec.Workspace) {
		return ignoreMissing(err) // it is in use again
	}
	if rec.Workspace.Kind == troupe.WorkspaceTree {
		if c, err := k.callerOf(ctx, rec.Workspace.Of); err == nil { // else it is gone, and its refs with it
			ctx, release, err := k.holdCaller(ctx, c)
			if err != nil {
				return err
			}
			defer release()
			if err := c.dropRefs(ctx, rec.Workspace, ""); err != nil {
				return err
			}
		}
	}
	return disk.RemoveTree(k.spent(id))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
