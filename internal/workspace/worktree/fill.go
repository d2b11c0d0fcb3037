package worktree

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// fill writes the files of a workspace into the folder where it is made, and the repository that its agent sees.
func (p place) fill(ctx context.Context, r repo, c *caller, rec *record, m Making) error {
	kept, err := readKept(p)
	if err != nil {
		return err
	}
	from := kept.newest(rec)
	if err := os.Remove(filepath.Join(p.repo, "index")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	out := r.on(p.making).set("checkout.workers=0")
	if m.Progress != nil {
		out = out.with("GIT_PROGRESS_DELAY=0")
		out.runner.Err = &progress{tell: m.Progress}
	}
	if err := out.run(ctx, "read-tree", "--reset", "-u", "-v", from); err != nil {
		return err
	}
	if err := p.k.step("checkout"); err != nil {
		return err
	}
	if kept[keptBase] == "" {
		tree, err := r.out(ctx, "rev-parse", "--verify", rec.Base.Commit+"^{tree}")
		if err != nil {
			return err
		}
		kept[keptBase], kept[keptSaved] = rec.Base.Commit, tree
		if err := kept.write(p); err != nil {
			return err
		}
	}
	if err := p.restoreBeside(ctx, r, kept); err != nil {
		return err
	}
	if p.ws.Kind == troupe.WorkspaceTree {
		if err := p.carry(ctx, r, rec, m); err != nil {
			return err
		}
		if err := p.agentRepository(ctx, r, c, rec, kept); err != nil {
			return err
		}
	}
	sub := strings.TrimPrefix(p.ws.Folder, p.ws.Top)
	return errors.Join(os.MkdirAll(p.making+sub, 0o700), p.k.step("filled"))
}

// agentRepository makes the repository that the agent sees. Nothing of ours depends on it from then on.
func (p place) agentRepository(ctx context.Context, r repo, c *caller, rec *record, kept kept) error {
	y, err := carryOf(c, p.k.folders)
	if err != nil {
		return err
	}
	y.settings = maps.Clone(y.settings)
	for name, value := range map[string]string{"core.bare": "false", "core.logallrefupdates": "true",
		"commit.gpgsign": "false", "tag.gpgsign": "false",
		// A collection that goes on behind a command would be in the way of an end.
		"gc.auto": "0"} {
		y.settings[name] = value
	}
	y.files = maps.Clone(y.files)
	y.files["info/exclude"] = excluding(y.files["info/exclude"], rec.Base.Linked)
	if err := disk.Cache(filepath.Join(p.repo, "info", "exclude"), y.files["info/exclude"]); err != nil {
		return err
	}
	dir := filepath.Join(p.making, ".git")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	refs, err := readPacked(filepath.Join(p.folder, "born"))
	if err != nil {
		return err
	}
	was := p.wasAt(ctx, r, rec, kept)
	if err := layOut(dir, was.head, y); err != nil {
		return err
	}
	err = errors.Join(p.bornTags(ctx, r, refs, dir), was.bringBack(ctx, p, r, dir, rec, kept[keptSaved]))
	if err != nil {
		return err
	}
	if err := disk.Cache(filepath.Join(dir, "packed-refs"), packed(was.over(refs))); err != nil {
		return err
	}
	index, err := disk.Read(filepath.Join(p.repo, "index"), 4<<30)
	if err != nil {
		return err
	}
	if err := disk.Cache(filepath.Join(dir, "index"), index); err != nil {
		return err
	}
	if kept[keptSaved] == was.tree {
		return nil
	}
	// What was not committed is not again; what was staged is said to be changed. Where git does not take the tree that
	// the agent committed, all that is there is said to be staged.
	err = r.on(p.making).with("GIT_INDEX_FILE="+filepath.Join(dir, "index")).run(ctx, "read-tree", "-m", was.tree)
	return errors.Join(ctx.Err(), removeIf(filepath.Join(dir, "index.lock"), err != nil))
}

func removeIf(path string, really bool) error {
	if err := os.Remove(path); really && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
