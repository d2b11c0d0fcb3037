package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
)

// asleep is the state of a workspace whose folder was put away while its agent sleeps: it is made again from what is
// kept when somebody opens it. What it holds is as of then, and no run of it has ended.
const asleep = "asleep"

// PutAway saves the folder of a workspace whose agent is asleep, and removes it if it can be made again as it is. Gone
// is false with the reason if it stays; both are zero if there is no folder that a run still needs. opened is how often
// it had been opened when its agent fell asleep, as a Row says; if it was opened since, it stays.
func PutAway(ctx context.Context, k *Keeper, ws troupe.Workspace, opened int) (gone bool, why string, err error) {
	p, err := k.place(ws)
	if err != nil {
		return false, "", err
	}
	ctx, release, err := k.hold(ctx, string(ws.Owner))
	if err != nil {
		return false, "", err
	}
	defer release()
	rec, err := readRecord(p.folder)
	if errors.Is(err, fs.ErrNotExist) || err == nil && rec.State != made && rec.State != asleep {
		return false, "", nil // it was never made, or its run has ended
	}
	if err == nil && rec.Opened != opened {
		err = ErrOpened
	}
	if err == nil {
		err = p.putBack()
	}
	if err != nil {
		return false, "", err
	}
	there, other, err := p.has(rec)
	switch {
	case err != nil:
		return false, "", err
	case other:
		return false, "something else is in its place", nil
	case !there:
		return true, "", nil
	case ws.ByHook:
		return false, "a hook made it, which may not make the same again", nil
	}
	if in, err := within(k, ws); err != nil || len(in) > 0 {
		return false, fmt.Sprintf("the folder of %s was made from it", some(in)), err
	}
	if what := underway(ws.Top); what != "" {
		return false, what + " is under way there", nil
	}
	if ws.Kind == troupe.WorkspaceTree {
		c, err := k.callerOf(ctx, ws.Of)
		if err != nil || !c.has(gitRef{name: refOf(ws, "base"), id: rec.Base.Commit}) {
			return false, "what it began with is kept in " + ws.Of + " no more, so that it could not be made again", err
		}
	}
	return putAway(ctx, p, rec)
}

// putAway is PutAway of a folder that is there.
func putAway(ctx context.Context, p place, rec *record) (gone bool, why string, err error) {
	r, err := p.k.keeper(p)
	if err != nil {
		return false, "", err
	}
	e := &ending{k: p.k, p: p, r: r, rec: rec, there: true}
	if e.saved, err = p.k.save(ctx, p, rec, p.ws.Top, nil); err != nil {
		return false, "", err
	}
	rec.State = asleep
	if err := errors.Join(p.k.write(p, rec), p.k.step("asleep")); err != nil {
		return false, "", err
	}
	if err := e.removeFolder(ctx); err != nil || !e.res.Gone {
		rec.State = made
		return false, e.res.Kept, errors.Join(err, p.k.write(p, rec))
	}
	return true, "", nil
}

// underway is what git has begun in a folder, and its refs do not tell of: it would not be under way when the folder is
// made again. "": nothing is.
func underway(folder string) string {
	for _, of := range []struct{ file, what string }{
		{"rebase-merge", "a rebase"}, {"rebase-apply", "a rebase"}, {"MERGE_HEAD", "a merge"},
		{"CHERRY_PICK_HEAD", "a cherry-pick"}, {"REVERT_HEAD", "a revert"}, {"sequencer", "a sequence of commits"},
		{"BISECT_LOG", "a bisection"},
	} {
		if _, err := os.Lstat(filepath.Join(folder, ".git", of.file)); err == nil {
			return of.what
		}
	}
	return ""
}
