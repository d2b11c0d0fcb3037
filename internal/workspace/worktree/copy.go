package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
)

// baseOfCopy is base for a workspace that has no repository of a caller: all files of the folder that it is a copy of,
// ignored ones too, or none. The keeper alone has it.
func (p place) baseOfCopy(ctx context.Context, r repo, rec *record, m Making) error {
	kept, err := readKept(p)
	if err != nil {
		return err
	}
	if rec.Base.Commit != "" && kept[keptBase] == rec.Base.Commit {
		return nil
	}
	if rec.Base.Commit != "" && !holds(ctx, r, rec.Base.Commit) {
		return baseGone(rec.Base)
	}
	if err := os.Remove(filepath.Join(p.repo, "index")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	b := troupe.WorkspaceBase{}
	if p.ws.Kind == troupe.WorkspaceCopy {
		all := size(p.ws.From)
		if err := p.roomFor(want{p.k.data, all + little}, want{p.k.folders, all + spare}); err != nil {
			return err
		}
		s, err := r.scan(ctx, p.ws.From)
		if err != nil {
			return err
		}
		if err := r.takeNested(ctx, p.ws.From, &s); err != nil {
			return err
		}
		s.nested = nil
		b.Left = leave(p.k, p.ws.From, &s, m.Hidden)
		if err := takeGiven(ctx, r, p.ws.From, s, &b); err != nil {
			return err
		}
		large, err := p.saveBeside(ctx, r, p.ws.From, kept)
		if err != nil {
			return err
		}
		b.Left = append(b.Left, tooLarge(large)...)
	}
	if err := nameOld(ctx, r, &b); err != nil {
		return err
	}
	tree, err := r.out(ctx, "write-tree")
	if err != nil {
		return err
	}
	message := "What was in " + filepath.Base(p.ws.From) + " when " + p.ws.Name + " was made"
	if b.Commit, err = p.k.commit(ctx, r, tree, message); err != nil {
		return err
	}
	kept[keptBase], kept[keptSaved] = b.Commit, tree
	rec.Base = b
	if err := kept.write(p); err != nil {
		return err
	}
	if err := p.k.write(p, rec); err != nil {
		return err
	}
	return p.k.step("base")
}
