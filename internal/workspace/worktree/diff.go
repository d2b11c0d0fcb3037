package worktree

import (
	"context"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/workspace/git"
)

// Form is how differences are given.
type Form int

// Forms of differences.
const (
	ToRead  Form = iota // the first diffMost bytes
	ToApply             // whole, as git apply takes it: with what binary files hold
	Stat                // only how much of each file
)

// diffMost is how much of a diff is given to read, and patchMost more than a patch has that anybody applies.
const (
	diffMost  = 1 << 20
	patchMost = 128 << 20
)

// Diff shows what was changed in the workspace since its base, committed or not. What the caller handed to it with
// conflicts is not of its own making, where it has been taken over; nor are markers that are still there. cut: there is
// more.
func (k *Keeper) Diff(ctx context.Context, ws troupe.Workspace, form Form) (text string, cut bool, err error) {
	p, err := k.place(ws)
	if err != nil {
		return "", false, err
	}
	ctx, release, err := k.hold(ctx, string(ws.Owner))
	if err != nil {
		return "", false, err
	}
	defer release()
	rec, err := readRecord(p.folder)
	if err != nil {
		return "", false, fmt.Errorf("compare the workspace %s: %w", ws.Name, err)
	}
	if err := p.putBack(); err != nil {
		return "", false, err
	}
	tree, err := k.content(ctx, p, rec)
	if err != nil {
		return "", false, err
	}
	if len(rec.Handed) > 0 {
		err = k.mergeTree(ctx, p, rec, tree, Into{}, func(m *merging) error {
			text, cut, err = compare(ctx, m.r, m.given, m.theirs, form)
			return err
		})
		return text, cut, err
	}
	r, err := k.keeper(p)
	if err != nil {
		return "", false, err
	}
	base, tree, err := p.compared(ctx, r, rec.Base.Commit, tree)
	if err != nil {
		return "", false, err
	}
	return compare(ctx, r, base, tree, form)
}

// compare shows people how two trees differ.
func compare(ctx context.Context, r repo, from, to string, form Form) (text string, cut bool, err error) {
	args := []string{"diff", "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames",
		"--src-prefix=a/", "--dst-prefix=b/", "--submodule=short"}
	out := git.Capped{Limit: diffMost}
	switch form {
	case ToRead:
	case ToApply:
		args, out.Limit = append(args, "--binary", "--full-index"), patchMost
	case Stat:
		args = append(args, "--stat=100", "--no-renames") // as it is counted everywhere else
	}
	if err := r.runner.Stream(ctx, &out, append(args, from, to, "--")...); err != nil {
		return "", false, fmt.Errorf("git diff: %w", err)
	}
	if out.Cut && form == ToApply {
		return "", false, fmt.Errorf("the patch is longer than %d MB; git apply takes what `git diff %.12s <its "+
			"branch>` says",
			patchMost>>20, from)
	}
	return out.Buf.String(), out.Cut, nil
}
