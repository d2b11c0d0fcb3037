package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// Row is what is known of one workspace.
type Row struct {
	Workspace     troupe.Workspace
	Base          troupe.WorkspaceBase
	Made, Changed time.Time
	Bytes         int64 // of the folder and of what is kept beside it
	There         bool  // the folder is at its place
	Ended         bool  // its last run has ended, with Result
	Opened        int   // how often an agent was let in
	Result        *troupe.WorkspaceResult
	Tip           string // the last commit that is known
	// Ref is the name by which the caller's repository has it: its branch, or the ref that stays where that is gone.
	Ref string
	// Unmerged: it has work that neither another branch of the caller's has, nor the caller's folder.
	Unmerged bool
	// Since: it holds something else than at the end of its last run, which Result is of.
	Since bool
	// Worked: it holds something else than it began with, as far as that was saved.
	Worked bool
	// Declined are files of it of which the caller has kept its own side: that work is in none of its files.
	Declined []string
	// Would is what a merge of it into the caller's folder would do, where that was worked out on the way.
	Would *Merged
	// Problem is why it could not be looked at; "" if it could. What it holds may be anything then.
	Problem string
}

// Names is all workspaces of the tree that begins at a folder, the oldest first, by what is written down of them; "":
// of all trees. What they hold, and how large they are, is not looked at: that takes git, and walks.
func (k *Keeper) Names(of string) ([]Row, error) {
	all, err := recordsOf(k, of)
	rows := make([]Row, len(all))
	for i, rec := range all {
		rows[i] = noted(rec)
	}
	return rows, err
}

// Listing is how worktrees are looked at.
type Listing struct {
	// Hidden says which files of the folder that a workspace is of no agent may read; nil, or an error: what a merge
	// would do is not told.
	Hidden func(troupe.Workspace) (func(path string) bool, error)
	// Told hears how many of them were looked at; nil: nobody does.
	Told func(done, all int)
}

// List is Names with a look at each.
func (k *Keeper) List(ctx context.Context, of string, how Listing) ([]Row, error) {
	all, err := recordsOf(k, of)
	if err != nil {
		return nil, err
	}
	callers := map[string]*caller{}
	rows := make([]Row, len(all))
	for i, rec := range all {
		if rows[i], err = looked(ctx, k, rec, callers, how); err != nil {
			return nil, err
		}
		if how.Told != nil {
			how.Told(i+1, len(all))
		}
	}
	return rows, nil
}

// Look is what List says of one.
func (k *Keeper) Look(ctx context.Context, ws troupe.Workspace, how Listing) (Row, error) {
	rec, err := readRecord(filepath.Join(k.data, string(ws.Owner)))
	if errors.Is(err, fs.ErrNotExist) {
		return Row{}, fmt.Errorf("a workspace of %s: %w", ws.Owner, troupe.ErrNotFound)
	}
	if err != nil {
		return Row{}, err
	}
	if troupe.Within(rec.Workspace.Of, k.folders) {
		all, err := k.records()
		if err != nil {
			return Row{}, err
		}
		rec.Workspace, rec.in = standing(k, all, rec.Workspace)
	}
	return looked(ctx, k, rec, map[string]*caller{}, how)
}

// noted is what a record says.
func noted(rec *record) Row {
	row := Row{Workspace: rec.Workspace, Base: rec.Base, Made: rec.Made, Changed: rec.Changed,
		Ended: rec.State == closed, Opened: rec.Opened, Result: rec.Result}
	info, err := os.Lstat(rec.Workspace.Top)
	row.There = err == nil && info.IsDir()
	return row
}

// looked is noted with what the workspace holds.
func looked(ctx context.Context, k *Keeper, rec *record, callers map[string]*caller, how Listing) (Row, error) {
	row := noted(rec)
	p, err := k.place(rec.Workspace)
	p.in = rec.in
	if err != nil { // its folder is below another folder than it would be made in today
		row.Tip, row.Unmerged = rec.Base.Commit, true
		return row, nil
	}
	row.Bytes = size(p.folder)
	if row.There {
		row.Bytes += size(p.ws.Top)
	}
	kept, err := readKept(p)
	if err != nil { // it hides none of the others
		row.Tip, row.Unmerged, row.Problem = rec.Base.Commit, true, err.Error()
		return row, nil
	}
	if row.There && row.Ended { // it stayed, and may hold something else by now
		kept, row.Since = sinceEnd(ctx, p, rec, kept)
	}
	row.Tip, row.Worked = kept.tip(rec), p.worked(ctx, rec, kept)
	c, known := callers[p.ws.Of]
	if !known && rec.Workspace.Kind == troupe.WorkspaceTree {
		c, _ = k.callerOf(ctx, p.ws.Of) // one that is gone has merged nothing
		callers[p.ws.Of] = c
	}
	row.Ref, row.Unmerged = named(p, rec, c), p.unmerged(ctx, rec, c, kept)
	if row.Unmerged && row.Ended {
		// Comparing contents is for one at a time. A workspace that something goes on with is not waited for.
		if held, release, err := k.holdFor(ctx, string(rec.Workspace.Owner), listWait); err == nil {
			in := Into{Listed: true, caller: c}
			if how.Hidden != nil {
				in.Hidden, err = how.Hidden(rec.Workspace)
			}
			all, would := p.brought(held, rec, kept, in)
			if row.Unmerged = !all; would != nil {
				row.Declined = would.Declined
			}
			changing := would != nil && slices.ContainsFunc(would.Conflicts, func(c Conflict) bool { return c.moved })
			if in.Hidden != nil && err == nil && !changing {
				row.Would = would
			}
			release()
		}
	}
	return row, ctx.Err()
}

// sinceEnd is what is kept of a folder that stayed after its agent's end, with what it holds now; differs reports
// whether that is something else than it held then. Where it cannot be looked at, it is as it was.
func sinceEnd(ctx context.Context, p place, rec *record, was kept) (now kept, differs bool) {
	held, release, err := p.k.holdFor(ctx, string(rec.Workspace.Owner), listWait)
	if err != nil {
		return was, false
	}
	defer release()
	if there, _, err := p.has(rec); err != nil || !there {
		return was, false
	}
	s, err := p.k.save(held, p, rec, p.ws.Top, nil)
	if err != nil {
		return was, false
	}
	r := rec.Result
	return s.kept, r != nil && r.Run != nil && (s.Tree != r.Run.Tree || s.kept.tip(rec) != r.Tip)
}

// listWait is how long a list waits for the operations on one workspace.
const listWait = time.Second

// brought reports whether the caller's folder has all that the workspace changed, committed or not, but for what it
// declined. would is what merging it would do; nil: it could not be worked out.
func (p place) brought(ctx context.Context, rec *record, kept kept, in Into) (already bool, would *Merged) {
	err := p.k.mergeTree(ctx, p, rec, kept.newest(rec), in, func(m *merging) error {
		out, err := m.merge(ctx)
		would = &out
		return err
	})
	if err != nil {
		would = nil
	}
	return would != nil && would.Already || broughtBefore(ctx, p, rec, kept), would
}

// tip is the last commit: what the agent's HEAD was, or what was committed for it at an end.
func (k kept) tip(rec *record) string {
	for _, id := range []string{k[keptEnd], k[keptHead]} {
		if id != "" {
			return id
		}
	}
	return rec.Base.Commit
}

// worked reports whether what was kept of it differs from what it began with.
func (p place) worked(ctx context.Context, rec *record, kept kept) bool {
	if rec.Base.Commit == "" || kept.tip(rec) == rec.Base.Commit && kept[keptSaved] == "" {
		return false
	}
	r, err := p.k.keeper(p)
	if err != nil {
		return true
	}
	return kept.tip(rec) != rec.Base.Commit ||
		r.run(ctx, "diff-tree", "--quiet", rec.Base.Commit+"^{tree}", kept[keptSaved]) != nil
}

// unmerged reports whether there is work that no branch but the workspace's own has.
func (p place) unmerged(ctx context.Context, rec *record, c *caller, kept kept) bool {
	if rec.Base.Commit == "" {
		return false
	}
	r, err := p.k.keeper(p)
	if err != nil {
		return true
	}
	tip := kept.tip(rec)
	tree, err := r.out(ctx, "rev-parse", "--verify", tip+"^{tree}")
	if err != nil || kept[keptSaved] != tree {
		return true // what was saved last is in no commit yet
	}
	if tip == rec.Base.Commit {
		return false
	}
	if c == nil {
		return true
	}
	for _, had := range rec.Onto {
		if had.Tree != tree {
			continue
		}
		// A commit that was collected is in no branch.
		names, err := c.out(ctx, "for-each-ref", "--format=%(refname)", "--contains", had.Commit, "refs/heads",
			"refs/tags")
		if err == nil && strings.TrimSpace(names) != "" {
			return false
		}
	}
	// What another repository has is not kept by that: the next fetch may take such a ref away.
	names, err := c.out(ctx, "for-each-ref", "--format=%(refname)", "--contains", tip, "refs/heads", "refs/tags")
	if err != nil {
		return true
	}
	for name := range strings.Lines(names) {
		if strings.TrimSpace(name) != "refs/heads/"+rec.Own {
			return false
		}
	}
	return true
}

// size is how much of the disk a folder takes. What cannot be looked at takes nothing.
func size(folder string) int64 {
	var n int64
	_ = filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}

// Prune removes folder, keeper and refs of a workspace whose work is in another branch of the caller's or in the
// caller's folder, or which has none. What no ref but the workspace's own reaches stays a ref. Why says what stays, and
// for what reason.
func (k *Keeper) Prune(ctx context.Context, id troupe.SessionID, end Ending) (removed bool, why string, err error) {
	return pruneOne(ctx, k, id, end, nil)
}

// pruneOne is Prune, or with a place for the ref of what was discarded Discard.
func pruneOne(ctx context.Context, k *Keeper, id troupe.SessionID, end Ending, discarded *string) (removed bool,
	why string, err error) {
	if _, ok := troupe.ParseSessionID(string(id)); !ok {
		return false, "", fmt.Errorf("a workspace of %q: %w", id, troupe.ErrNotFound)
	}
	ctx, release, err := k.hold(ctx, string(id))
	if err != nil {
		return false, "", err
	}
	defer release()
	rec, err := readRecord(filepath.Join(k.data, string(id)))
	if errors.Is(err, fs.ErrNotExist) {
		return false, "", fmt.Errorf("a workspace of %s: %w", id, troupe.ErrNotFound)
	}
	if err != nil {
		return false, "", err
	}
	all, err := k.records()
	if err != nil {
		return false, "", err
	}
	p, err := standingPlace(k, all, rec)
	if err != nil {
		return false, "", err
	}
	if rec.State == made {
		return false, "its agent has not ended", nil
	}
	if others, err := within(k, rec.Workspace); err != nil || len(others) > 0 {
		return false, "what its agents have left stays: " + some(others), err
	}
	if err := p.putBack(); err != nil {
		return false, "", err
	}
	if rec.Base.Commit != "" {
		// What was done there since the end is part of it.
		res, err := p.close(ctx, rec, end)
		if err != nil || !res.Gone {
			return false, res.Kept, err
		}
		if _, err := readRecord(p.folder); errors.Is(err, fs.ErrNotExist) {
			return true, "", nil // there was nothing in it
		}
	}
	return p.prune(ctx, rec, end.Had, discarded)
}

func (p place) prune(ctx context.Context, rec *record, had bool, discarded *string) (removed bool, why string,
	err error) {
	kept, err := readKept(p)
	if err != nil {
		return false, "", err
	}
	var c *caller
	if p.ws.Kind == troupe.WorkspaceTree {
		if c, err = p.k.callerOf(ctx, p.ws.Of); err != nil {
			return false, "the repository it is from cannot be read", nil //nolint:nilerr // it stays, and is said why
		}
	}
	lone := p.unmerged(ctx, rec, c, kept)
	switch {
	case lone && discarded != nil && c == nil:
		return false, discardHint, nil
	case lone && discarded != nil:
		if *discarded, why, err = discard(ctx, p, rec, c, kept); err != nil {
			return false, "", err
		}
		c = nil // its refs are dealt with
	case lone:
		switch all, would := p.brought(ctx, rec, kept, Into{}); {
		case !all && !had:
			// Its folder has gone with its end: all that is kept has what was in it.
			return false, fmt.Sprintf("its folder is gone; its work is kept, and nowhere else: troupe merge %s, or "+
				"throw "+
				"it away: troupe worktrees prune --discard %s", p.ws.Name, p.ws.Name), nil
		case would != nil && len(would.Declined) > 0:
			return false, "it has its own version of " + some(would.Declined) + ", of which you kept yours", nil
		}
	}
	if c != nil {
		if why, err = p.pruneRefs(ctx, rec, c); err != nil {
			return false, "", err
		}
	}
	if err := errors.Join(disk.RemoveTree(p.making), disk.RemoveTree(p.repo), p.k.step("pruned")); err != nil {
		return false, "", err
	}
	p.tidy()
	return true, why, disk.RemoveTree(p.folder)
}

// pruneRefs removes the refs of the caller's repository that another of its refs reaches, and the branch that was made
// for the workspace if HEAD, or what stays, has all of it. What stays is said.
func (p place) pruneRefs(ctx context.Context, rec *record, c *caller) (why string, err error) {
	ctx, release, err := p.k.holdCaller(ctx, c)
	if err != nil {
		return "", err
	}
	defer release()
	list, err := c.out(ctx, "for-each-ref", "--format=%(objectname) %(refname)",
		strings.TrimSuffix(refOf(p.ws, ""), "/"))
	if err != nil {
		return "", err
	}
	branch, commands, stays, err := pruneBranch(ctx, c, rec.Own, list)
	if err != nil {
		return "", err
	}
	var stay []string
	for line := range strings.Lines(list) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		lone, err := c.out(ctx, "rev-list", "-1", id, "--not", "--exclude="+refOf(p.ws, "*"),
			"--exclude=refs/remotes/*", "--exclude="+cmp.Or(branch, "-"), "--all")
		if err != nil {
			return "", err
		}
		if lone == "" {
			commands = append(commands, "delete "+name+"\x00"+id+"\x00")
		} else {
			stay = append(stay, name)
		}
	}
	if len(stay) > 0 {
		why = "its commits stay as " + some(stay) + ", for no branch of yours has all of them"
	}
	if stays != "" {
		why = strings.TrimPrefix(why+"; "+stays, "; ")
	}
	if len(commands) == 0 {
		return why, nil
	}
	return why, errors.Join(c.update(ctx, commands), p.k.step("refs pruned"))
}

// pruneBranch says whether the branch that was made for a workspace may go, as HEAD or one of the refs that are listed
// has all of it: then its name, and the command; else why it stays, if it is there.
func pruneBranch(ctx context.Context, c *caller, own, refs string) (full string, commands []string, stays string,
	err error) {
	if own == "" {
		return "", nil, "", nil
	}
	full = "refs/heads/" + own
	at := slices.IndexFunc(c.refs, func(r gitRef) bool { return r.name == full })
	if at < 0 {
		return "", nil, "", nil
	}
	out, err := c.out(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return "", nil, "", err
	}
	if slices.Contains(strings.Split(out, "\n"), "branch "+full) {
		return "", nil, "the branch " + own + " stays, for it is checked out", nil
	}
	id := c.refs[at].id
	has := []string{"HEAD"}
	for line := range strings.Lines(refs) {
		other, _, _ := strings.Cut(line, " ")
		has = append(has, other)
	}
	for _, other := range has {
		if _, err := c.out(ctx, "merge-base", "--is-ancestor", id, other); err == nil {
			return full, []string{"delete " + full + "\x00" + id + "\x00"}, "", nil
		}
	}
	return "", nil, "the branch " + own + " stays, for it has commits that nothing else has", ctx.Err()
}
