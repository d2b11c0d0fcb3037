package worktree

import (
	"context"
	"strings"

	"github.com/troupe-dev/troupe"
)

// discard is Prune of work that nobody has and that is not wanted. All commits stay below one ref, and on no branch but
// one that is checked out: who wants them after all has them by that. Tags with words of their own keep their refs. The
// ref is said, and why the branch stays, if it does.
func discard(ctx context.Context, p place, rec *record, c *caller, kept kept) (ref, stays string, err error) {
	r, err := p.k.keeper(p)
	if err != nil {
		return "", "", err
	}
	ctx, release, err := p.k.holdCaller(ctx, c)
	if err != nil {
		return "", "", err
	}
	defer release()
	list, err := c.out(ctx, "for-each-ref", "--format=%(objectname) %(refname) %(objecttype)",
		strings.TrimSuffix(refOf(p.ws, ""), "/"))
	if err != nil {
		return "", "", err
	}
	tip := kept.tip(rec)
	ref = refOf(p.ws, "discarded")
	var ids, commands []string
	for line := range strings.Lines(list) {
		parts := strings.Fields(line)
		if len(parts) == 3 && parts[2] == "commit" && parts[1] != ref {
			ids = append(ids, parts[0])
			commands = append(commands, "delete "+parts[1]+"\x00"+parts[0]+"\x00")
		}
	}
	_, branch, stays, err := pruneBranch(ctx, c, rec.Own, list)
	if err != nil {
		return "", "", err
	}
	id, err := gather(ctx, p, r, tip, ids)
	if err != nil {
		return "", "", err
	}
	if err := r.hand(ctx, revisions([]string{id}, ids...), c.repo, p.folder, "--keep="+p.pinned()); err != nil {
		return "", "", err
	}
	// The new ref is there before the first of the others goes.
	if err := c.update(ctx, []string{"update " + ref + "\x00" + id + "\x00\x00"}); err != nil {
		return "", "", err
	}
	if err := p.unpin(c); err != nil {
		return "", "", err
	}
	if err := p.k.step("discarded"); err != nil {
		return "", "", err
	}
	if commands = append(commands, branch...); len(commands) == 0 {
		return ref, stays, nil
	}
	if err := c.update(ctx, commands); err != nil {
		return ref, "", err
	}
	return ref, stays, p.k.step("refs discarded")
}

// gather is a commit that has what a tip has, with all of some commits in its history.
func gather(ctx context.Context, p place, r repo, tip string, ids []string) (string, error) {
	ids, err := lone(ctx, r, ids, tip)
	if err != nil {
		return "", err
	}
	if len(ids) == 0 {
		return tip, nil
	}
	tree, err := r.out(ctx, "rev-parse", "--verify", tip+"^{tree}")
	if err != nil {
		return "", err
	}
	return p.k.commit(ctx, r, tree, "What "+p.ws.Name+" did, with what it had besides",
		append([]string{tip}, ids...)...)
}

// Discard removes what Prune does, with work that is nowhere else: that stays below the ref alone which it says; and,
// if the ending is to be told of that, with what no commit keeps.
func Discard(ctx context.Context, k *Keeper, id troupe.SessionID, end Ending) (removed bool, ref, why string,
	err error) {
	removed, why, err = pruneOne(ctx, k, id, end, &ref)
	return removed, ref, why, err
}

// discardHint is for what can be discarded by nothing that would keep it.
const discardHint = "it is a copy, and nothing would keep its work: save what `troupe diff` shows, then remove its " +
	"folder"
