package worktree

import (
	"context"
	"errors"
	"os"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// unborn reports whether no agent has ever been in the folder: its making came to no end, with the base on record
// already. Nothing of it is anybody's work, and the keeper may be half of one.
func unborn(p place, rec *record) bool {
	if rec.State != making || rec.Result != nil || rec.Inode != 0 && !placeless(p, rec) {
		return false
	}
	if there, other, err := p.has(rec); there || other || err != nil {
		return false
	}
	kept, err := readKept(p)
	return err == nil && kept[keptHead] == "" && kept[keptEnd] == ""
}

// placeless reports whether the folder that a record is of was made whole, and has not got its name: the record has it
// before.
func placeless(p place, rec *record) bool {
	info, err := os.Lstat(p.making)
	return err == nil && inode(info) == rec.Inode && bornAt(p.making) == rec.Born
}

// abandon removes what there is of it. Its record goes last: what could not be removed stays known.
func abandon(ctx context.Context, p place) error {
	if p.ws.Kind == troupe.WorkspaceTree {
		if c, err := p.k.callerOf(ctx, p.ws.Of); err == nil { // else it is gone, and its refs with it
			ctx, release, err := p.k.holdCaller(ctx, c)
			if err != nil {
				return err
			}
			defer release()
			if err := errors.Join(p.unpin(c), c.dropRefs(ctx, p.ws, "")); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(disk.RemoveTree(p.making), disk.RemoveTree(p.repo), p.k.step("abandoned")); err != nil {
		return err
	}
	p.tidy()
	return disk.RemoveTree(p.folder)
}
