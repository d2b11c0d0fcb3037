package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// worktrees implements api.Workspaces.
type worktrees struct{ bound }

// Workspaces implements api.Setup.
func (a setup) Workspaces() api.Workspaces { return worktrees(a) }

// Worktrees implements api.Workspaces.
func (a worktrees) Worktrees(ctx context.Context, q wire.WorktreeQuery) ([]wire.Worktree, error) {
	ctx = worktree.Looking(ctx, lookWait, api.Waits(ctx))
	look := lookingBy(a)
	rows, err := look.rows(ctx, q)
	if err != nil {
		return nil, err
	}
	out := []wire.Worktree{}
	for i, row := range rows {
		if q.Names {
			out = append(out, look.known(ctx, row))
			continue
		}
		out = append(out, look.shown(ctx, row))
		api.Progress(ctx)(len(rows)+i+1, 2*len(rows))
	}
	for i := range out {
		out[i].Agent = look.address(ctx, out[i])
	}
	return out, nil
}

// address is the path of a worktree's agent by which it is found from everywhere: "main" is only the newest session.
func (l looking) address(ctx context.Context, w wire.Worktree) string {
	s, err := l.app.trees.session(ctx, w.Session)
	if err != nil {
		return w.Agent
	}
	t, err := l.treeOf(ctx, s.Root)
	if err != nil || t.Sessions[0].Name != "" {
		return w.Agent
	}
	return string(s.Root) + strings.TrimPrefix(w.Agent, "main")
}

// lookWait is how long a list of worktrees waits for who is at work on one: a process that is stopped would be waited
// for without end.
const lookWait = 10 * time.Second

// DiffWorktree implements api.Workspaces.
func (a worktrees) DiffWorktree(ctx context.Context, l wire.WorktreeLook) (wire.WorktreeDiff, error) {
	ctx = worktree.Looking(ctx, lookWait, api.Waits(ctx))
	look := lookingBy(a)
	row, err := look.one(ctx, l.WorktreeQuery)
	if err != nil {
		return wire.WorktreeDiff{}, err
	}
	form := worktree.ToRead
	switch {
	case l.Stat:
		form = worktree.Stat
	case l.Patch:
		form = worktree.ToApply
	}
	text, cut, err := look.keeper.Diff(ctx, row.Workspace, form)
	return wire.WorktreeDiff{Worktree: look.known(ctx, row), Text: text, Cut: cut}, err
}

// MergeWorktree implements api.Workspaces.
func (a worktrees) MergeWorktree(ctx context.Context, m wire.WorktreeMerge) (wire.MergedWorktree, error) {
	ctx = worktree.Looking(ctx, 0, api.Waits(ctx))
	look := lookingBy(a)
	row, err := look.one(ctx, m.WorktreeQuery)
	if err != nil {
		return wire.MergedWorktree{}, err
	}
	work := row.Workspace
	if err := refuseToMergeInto(a.app, work); err != nil {
		return wire.MergedWorktree{}, err
	}
	out := wire.MergedWorktree{Worktree: look.known(ctx, row), Folder: work.Of, DryRun: m.DryRun,
		Files: []wire.MergedFile{}, Conflicts: []wire.WorktreeConflict{}}
	if m.HandBack {
		return look.handBack(ctx, row, m, out)
	}
	if m.Into != "" {
		if m.DryRun {
			return out, &troupe.UserError{Problem: "what a merge into a branch would do cannot be tried",
				Hint: "A dry run says what a merge into the folder would write.", Code: troupe.ExitUsage}
		}
		if m.Take != "" {
			return out, &troupe.UserError{Problem: "a side is taken of conflicts with your files, and a merge into a " +
				"branch writes none of them", Hint: "Leave out one of the two.", Code: troupe.ExitUsage}
		}
		var conflict *worktree.Conflict
		out.Branch = m.Into
		var dropped []string
		out.Commits, dropped, conflict, err = look.keeper.Onto(ctx, work, m.Into)
		if conflict != nil {
			out.Conflicts = append(out.Conflicts, shownConflict(*conflict))
		}
		for _, name := range dropped {
			out.Left = append(out.Left, fmt.Sprintf("%s: the agent took back what you have there and did not commit, "+
				"which is on no branch: troupe merge %s does it to your file", name, work.Name))
		}
		out.Already = err == nil && conflict == nil && out.Commits == 0 && len(dropped) == 0
		return out, err
	}
	if m.Take != "" && m.Take != wire.TakeMine && m.Take != wire.TakeTheirs {
		return out, &troupe.UserError{Problem: fmt.Sprintf("%q is no side of a merge", m.Take),
			Hint: "Take mine, which is what is in your folder, or theirs, which is what the agent did.",
			Code: troupe.ExitUsage}
	}
	if !m.DryRun { // what others merge meanwhile waits, so that this one is against what those before it left
		var release func()
		if ctx, release, err = worktree.Writing(ctx, look.keeper, work.Of); err != nil {
			return out, err
		}
		defer release()
	}
	return untilStill(func() (wire.MergedWorktree, error) { return look.mergeOnce(ctx, work, m, out) })
}

// untilStill merges anew while nothing was written, for a file was changed meanwhile.
func untilStill(merge func() (wire.MergedWorktree, error)) (wire.MergedWorktree, error) {
	for try := 0; ; try++ {
		out, err := merge()
		if !errors.Is(err, worktree.ErrMoved) {
			return out, err
		}
		if try == mergeTries {
			out.Stopped = err.Error() + "; run it again"
			return out, nil
		}
	}
}

// mergeOnce works out a merge and writes it. ErrMoved: nothing was written, for a file was changed meanwhile.
func (l looking) mergeOnce(ctx context.Context, work troupe.Workspace, m wire.WorktreeMerge, out wire.MergedWorktree) (
	wire.MergedWorktree, error) {
	merged, protected, err := l.merge(ctx, work, m.Take, false)
	if err != nil {
		return out, err
	}
	out.Already, out.Added, out.Removed = merged.Already, merged.Added, merged.Removed
	out.Left, out.Unresolved = append(out.Left, merged.Left...), merged.Unresolved
	for _, c := range merged.Conflicts {
		out.Conflicts = append(out.Conflicts, shownConflict(c))
	}
	if len(merged.own) > 0 && len(merged.Conflicts) == 0 {
		out.Already = false // what is kept is not the agent's
		for _, path := range merged.own {
			out.Left = append(out.Left, fmt.Sprintf("%s: yours is kept; what the agent did there is on its branch %s "+
				"alone",
				path, out.Worktree.Branch))
		}
	}
	changes := slices.DeleteFunc(merged.Changes, func(c worktree.Change) bool {
		why, is := protected(c.Path)
		if is {
			out.Left = append(out.Left, fmt.Sprintf("%s: it is protected (%s), so write it yourself if you want it",
				c.Path, why))
			if t, err := touchOf(c, nil); err == nil { // what is not written is not counted
				out.Added, out.Removed = out.Added-t.Added, out.Removed-t.Removed
			}
		}
		return is
	})
	if m.DryRun {
		out.Files = mergedFiles(changes, merged.over)
		return out, nil
	}
	err = l.bring(ctx, work, merged, changes, m.Take != "" && len(merged.Conflicts) == 0, &out)
	return out, err
}

// bring writes what was worked out, and then remembers what was declined if that is decided by it. If it is stopped
// part-way, what was written is said and nothing is decided. ErrMoved: nothing was written.
func (l looking) bring(ctx context.Context, w troupe.Workspace, merged taking, changes []worktree.Change,
	decides bool, out *wire.MergedWorktree) error {
	written, undo, err := l.writeMerge(ctx, w, changes, merged.own)
	done := changes[:len(written)]
	out.Undo, out.Files = undo, mergedFiles(done, merged.over)
	if len(written) == 0 && errors.Is(err, worktree.ErrMoved) {
		return err
	}
	if err != nil {
		out.Stopped, err = err.Error(), nil
	} else if decides {
		err = l.keeper.Decline(ctx, w, merged.Own)
	}
	brought(ctx, l.app, w, done)
	return err
}

// mergedFiles says what was done to each file.
func mergedFiles(changes []worktree.Change, over map[string]string) []wire.MergedFile {
	out := []wire.MergedFile{}
	for _, c := range changes {
		f := wire.MergedFile{Path: c.Path, Action: wire.MergeChanged, Uncommitted: c.Uncommitted}
		switch {
		case c.Gone:
			f.Action = wire.MergeRemoved
		case c.Was == "":
			f.Action = wire.MergeNew
		}
		if names, is := over[c.Path]; is {
			f.Over = &names
		}
		out = append(out, f)
	}
	return out
}

func shownConflict(c worktree.Conflict) wire.WorktreeConflict {
	out := wire.WorktreeConflict{Path: c.Path, Why: c.Why, Ours: c.Ours, Theirs: c.Theirs}
	for _, h := range c.Hunks {
		out.Hunks = append(out.Hunks, wire.WorktreeHunk{Ours: wire.WorktreeLines(h.Ours),
			Base: wire.WorktreeLines(h.Base), Theirs: wire.WorktreeLines(h.Theirs)})
	}
	return out
}

// looking is one look at the worktrees of a home.
type looking struct {
	worktrees
	keeper *worktree.Keeper
	trees  map[troupe.SessionID]Tree   // by their roots
	unkept map[troupe.SessionID]string // why the work of agents could not be kept, neither at their ends nor now

	histories map[troupe.SessionID]*history // by the roots of trees
}

func lookingBy(a worktrees) looking {
	return looking{a, a.app.keeper, map[troupe.SessionID]Tree{}, map[troupe.SessionID]string{},
		map[troupe.SessionID]*history{}}
}

// rows are the worktrees that a query is about.
func (l looking) rows(ctx context.Context, q wire.WorktreeQuery) ([]worktree.Row, error) {
	tidyMerges(ctx, l.app)
	if q.Name != "" {
		row, err := l.one(ctx, q)
		if err != nil {
			return nil, err
		}
		return []worktree.Row{row}, nil
	}
	list := l.list
	if q.Names {
		list = l.names
	}
	if q.All {
		return list(ctx, "")
	}
	cwd, err := folderOf(l.app, q.Cwd)
	if err != nil {
		return nil, err
	}
	top := config.Folders(resolved(cwd))[0]
	rows, err := list(ctx, top)
	if here := resolved(cwd); err == nil && here != top { // a copy is beside the folder alone
		var more []worktree.Row
		more, err = list(ctx, here)
		rows = append(rows, more...)
	}
	return rows, err
}

// known is what is known of a worktree without a look at what it holds.
func (l looking) known(ctx context.Context, row worktree.Row) wire.Worktree {
	w := row.Workspace
	out := wire.Worktree{Name: w.Name, Kind: w.Kind, Session: w.Owner, Folder: w.Folder, There: row.There, Of: w.Of,
		Branch: w.Branch, Base: row.Base.Commit, Dirty: row.Base.Dirty, Made: row.Made.UTC(),
		Changed: row.Changed.UTC(), Bytes: row.Bytes}
	if r := row.Result; r != nil && row.Ended {
		if out.Kept = r.Kept; r.Unkept != "" {
			out.Branch = "" // there is none yet
		}
		out.Branch = cmp.Or(row.Ref, r.Branch, out.Branch)
		out.WorktreeSums = wire.WorktreeSums{Commits: r.Commits, Files: r.Files, Added: r.Added, Removed: r.Removed,
			Conflicts: r.Conflicts}
	}
	out.Session = w.Session()
	s, err := l.app.trees.session(ctx, w.Session())
	if err != nil {
		return out // it was removed, and left its work
	}
	out.Left = left(s, w)
	out.Status, out.Agent = s.Status, displayName(s)
	if why := l.unkept[s.ID]; why != "" {
		out.Kept = "its work could not be kept elsewhere: " + why
	}
	t, err := l.treeOf(ctx, s.Root)
	if err != nil {
		return out
	}
	out.Agent = t.Paths[s.ID]
	out.Asleep = !out.Left && asleep(t)
	if t.Running && s.Status.Live() && !out.Left {
		out.State = wire.WorktreeWorking
	}
	return out
}

// left reports whether a session works elsewhere by now than in the folder that was made for it, for good: a main agent
// that goes into a worktree again gets another one.
func left(s troupe.Session, w troupe.Workspace) bool {
	return s.Depth == 0 && s.Workspace.Owner != w.Owner
}

// rootOf is the main agent of the session that a worktree was made for.
func (l looking) rootOf(ctx context.Context, row worktree.Row) troupe.SessionID {
	s, err := l.app.trees.session(ctx, row.Workspace.Session())
	if err != nil {
		return row.Workspace.Owner
	}
	return s.Root
}

// shown is a worktree with what it holds. A checkout is never changed, so that nothing is merged into it: what a branch
// there has was at the most pushed.
func (l looking) shown(ctx context.Context, row worktree.Row) wire.Worktree {
	out := holds(ctx, l, row)
	work, all := row.Workspace, checkoutsOf(l.app)
	if work.Remote == "" || !all.Has(work.Of) || out.State != wire.WorktreeMerged &&
		out.State != wire.WorktreeUnmerged {
		return out
	}
	if out.Pushed = all.Pushed(ctx, work.Of, row.Tip); out.State == wire.WorktreeMerged {
		out.Pushed = out.Pushed || all.Pushed(ctx, work.Of, "refs/heads/"+pushedAs(work))
	}
	out.State = wire.WorktreeUnmerged
	return out
}

// holds is shown, for a worktree that may be beside any folder.
func holds(ctx context.Context, l looking, row worktree.Row) wire.Worktree {
	out := l.known(ctx, row)
	switch {
	case out.State == wire.WorktreeWorking:
		return out
	case row.Problem != "":
		out.State, out.Problem = wire.WorktreeUnknown, row.Problem
		return out
	case row.Base.Commit == "": // it was never made
		out.State = wire.WorktreeEmpty
		return out
	case row.Ended && !row.Unmerged:
		out.Declined = row.Declined
		if out.State = wire.WorktreeMerged; out.Files == 0 && out.Commits == 0 && !(row.Since && row.Worked) {
			out.State = wire.WorktreeEmpty
		}
		return out
	}
	var merged taking
	var err error
	if row.Would != nil {
		merged.Merged = *row.Would
	} else {
		merged, _, err = l.merge(ctx, row.Workspace, "", true)
	}
	out.Declined = merged.Declined
	switch {
	case err != nil && row.Ended:
		out.State, out.Problem = wire.WorktreeUnmerged, err.Error()
	case err != nil:
		out.State, out.Problem = wire.WorktreeUnknown, err.Error()
	case merged.Already && (row.Worked || out.Files > 0), l.rewritten(ctx, row, merged.Merged):
		out.State, out.Conflicts = wire.WorktreeMerged, nil
	case merged.Already:
		out.State = wire.WorktreeEmpty
	default:
		out.State, out.Conflicts = wire.WorktreeUnmerged, nil
		for _, c := range merged.Conflicts {
			out.Conflicts = append(out.Conflicts, strings.TrimPrefix(c.Path, row.Workspace.Of+"/"))
		}
		if !row.Ended || row.Since {
			out.Files, out.Added, out.Removed = merged.Files, merged.Added, merged.Removed
		}
	}
	return out
}

// handBack puts what conflicts into the agent's folder.
func (l looking) handBack(ctx context.Context, row worktree.Row, m wire.WorktreeMerge, out wire.MergedWorktree) (
	wire.MergedWorktree, error) {
	work := row.Workspace
	switch {
	case m.Into != "" || m.DryRun || m.Take != "":
		return out, &troupe.UserError{Problem: "conflicts are handed back as they are: no branch, side or dry run",
			Code: troupe.ExitUsage}
	case out.Worktree.State == wire.WorktreeWorking:
		return out, &troupe.UserError{Problem: "the agent of " + work.Name + " is at work in that folder",
			Hint: "Wait until it has ended, or stop it: troupe stop " + string(out.Worktree.Session)}
	}
	p, err := l.app.policyOf(work.From)
	if err != nil {
		return out, err
	}
	hidden := l.hidden(p, work)
	if !row.There { // it was removed when its agent ended
		if _, err := l.keeper.Open(ctx, work, worktree.Making{Link: p.settings.Worktree.Link,
			Hidden: hidden}); err != nil {
			return out, err
		}
	}
	got, err := l.keeper.HandBack(ctx, work, worktree.Into{Hidden: hidden})
	if err != nil {
		return out, err
	}
	out.HandedBack = got.Marked
	for _, c := range got.Open {
		out.Conflicts = append(out.Conflicts, shownConflict(c))
	}
	return out, nil
}

// hidden says which files beside a folder settings keep from every agent.
func (l looking) hidden(p *policy, w troupe.Workspace) func(path string) bool {
	hidden := p.all.HiddenIn(w.Of, p.all.Hidden().Project())
	return func(path string) bool {
		_, is := hidden.Covers(path)
		return is
	}
}

// hiddenOf is hidden by the policy of the folder that a worktree is beside.
func (l looking) hiddenOf(w troupe.Workspace) (func(path string) bool, error) {
	p, err := l.app.policyOf(w.From)
	if err != nil {
		return nil, err
	}
	return l.hidden(p, w), nil
}

// merge works out what merging a worktree into the folder that it is beside would write, and which paths there a merge
// may not write. listed: it is not for a merge, but to show what one would do.
func (l looking) merge(ctx context.Context, w troupe.Workspace, take string, listed bool) (out taking,
	protected func(string) (string, bool), err error) {
	p, err := l.app.policyOf(w.From)
	if err != nil {
		return out, nil, err
	}
	run, err := p.hookFiles(l.app, w.From)
	if err != nil {
		return out, nil, err
	}
	out, err = mergeTaking(ctx, l.keeper, w, worktree.Into{Hidden: l.hidden(p, w),
		Listed: listed}, take)
	return out, config.Protect([]string{w.Of}, l.app.dirs, p.settings.Sandbox.DenyWrite, run...).Covers, err
}
