package worktree

import (
	"context"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/workspace/git"
)

// diffMost is how much of a diff is given.
const diffMost = 1 << 20

// Diff shows what was changed in the workspace since its base, committed or not. What the caller handed to it with
// conflicts is not of its own making, where it has been taken over; nor are markers that are still there. stat: only
// how much of each file.
func (k *Keeper) Diff(ctx context.Context, ws troupe.Workspace, stat bool) (string, error) {
	p, err := k.place(ws)
	if err != nil {
		return "", err
	}
	release, err := k.hold(ctx, string(ws.Owner))
	if err != nil {
		return "", err
	}
	defer release()
	rec, err := readRecord(p.folder)
	if err != nil {
		return "", fmt.Errorf("compare the workspace %s: %w", ws.Name, err)
	}
	if err := p.putBack(); err != nil {
		return "", err
	}
	tree, err := k.content(ctx, p, rec)
	if err != nil {
		return "", err
	}
	var out string
	if len(rec.Handed) > 0 {
		err = k.mergeTree(ctx, p, rec, tree, Into{}, func(m *merging) error {
			out, err = compare(ctx, m.r, m.given, m.theirs, stat)
			return err
		})
		return out, err
	}
	r, err := k.keeper(p)
	if err != nil {
		return "", err
	}
	base, tree, err := p.compared(ctx, r, rec.Base.Commit, tree)
	if err != nil {
		return "", err
	}
	return compare(ctx, r, base, tree, stat)
}

// compare shows people how two trees differ.
func compare(ctx context.Context, r repo, from, to string, stat bool) (string, error) {
	args := []string{"diff", "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames",
		"--src-prefix=a/", "--dst-prefix=b/", "--submodule=short"}
	if stat {
		args = append(args, "--stat=100")
	}
	out := git.Capped{Limit: diffMost}
	if err := r.runner.Stream(ctx, &out, append(args, from, to, "--")...); err != nil {
		return "", fmt.Errorf("git diff: %w", err)
	}
	if !out.Cut {
		return out.Buf.String(), nil
	}
	return fmt.Sprintf("%s\n[cut here: it is longer than %d bytes]\n", out.Buf.String(), diffMost), nil
}
