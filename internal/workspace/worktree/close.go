package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// Close is the end of a run. What is not committed is committed, all of it is kept in the caller's repository, and
// then the folder goes, unless something would go with it.
func (k *Keeper) Close(ctx context.Context, ws troupe.Workspace, end Ending) (troupe.WorkspaceResult,
	error) {
	res := troupe.WorkspaceResult{Kind: ws.Kind, Name: ws.Name, Folder: ws.Folder}
	p, err := k.place(ws)
	if err != nil {
		return res, err
	}
	ctx, release, err := k.hold(ctx, string(ws.Owner))
	if err != nil {
		return res, err
	}
	defer release()
	rec, err := readRecord(p.folder)
	if errors.Is(err, fs.ErrNotExist) {
		// It was never made, or an end that was not told of removed it, for nothing had changed.
		res.Gone = true
		return res, disk.RemoveTree(p.gone)
	}
	if err != nil {
		return res, err
	}
	if end.If != nil && rec.Opened != end.If.Opened {
		return res, ErrOpened
	}
	if err := p.putBack(); err != nil {
		return res, err
	}
	if rec.Base.Commit == "" {
		err := unmade(p, true) // it was never made
		res.Gone = err == nil
		return res, err
	}
	return p.close(ctx, rec, end)
}

// close is Close of a workspace that was made.
func (p place) close(ctx context.Context, rec *record, end Ending) (troupe.WorkspaceResult, error) {
	res := troupe.WorkspaceResult{Kind: p.ws.Kind, Name: p.ws.Name, Folder: p.ws.Folder, Base: rec.Base.Commit}
	if unborn(p, rec) {
		res.Base, res.Gone = "", true
		return res, abandon(ctx, p)
	}
	r, err := p.k.keeper(p)
	if err != nil {
		return res, err
	}
	there, other, err := p.has(rec)
	if !there && !other && err == nil && unspent(p, rec) {
		return spendAgain(ctx, p, rec)
	}
	switch {
	case other:
		res.Kept = "something else is in its place; what was saved last of it is kept"
	case !there && err == nil && rec.State == made: // else an end has removed it, and it was not made again
		res.Kept = "it was removed or moved away while its agent worked; what was saved last of it is kept"
	}
	if err != nil {
		return res, err
	}
	var s saved
	if there {
		s, err = p.k.save(ctx, p, rec, p.ws.Top, nil)
	} else {
		s.kept, err = readKept(p)
		s.Tree = s.kept.newest(rec)
	}
	if err != nil {
		return res, err
	}
	e := &ending{k: p.k, p: p, r: r, rec: rec, saved: s, res: res, there: there, began: rec.since(end.Began),
		going: end.Going, losing: end.Losing, work: s.Tree}
	return e.res, e.run(ctx, end.Message)
}

// ending is one end of a run.
type ending struct {
	k   *Keeper
	p   place
	r   repo
	rec *record
	saved
	res    troupe.WorkspaceResult
	there  bool
	going  func(context.Context)
	losing func(what string)
	began  string // the tree when the run began; "": the base
	caller *caller
	work   string // the tree that is committed
	// own is what the work is, of a workspace that conflicts were handed to; nil: all that differs from the base.
	own []troupe.FileChanged
}

func (e *ending) run(ctx context.Context, message string) error {
	if e.p.ws.Kind == troupe.WorkspaceTree {
		var err error
		if e.caller, err = e.k.callerOf(ctx, e.p.ws.Of); err != nil {
			if ctx.Err() != nil {
				return err
			}
			return e.alone(ctx, message, noCaller(e.p.ws.Of, err))
		}
	}
	if err := e.settle(ctx); err != nil {
		return err
	}
	if err := e.commit(ctx, message); err != nil {
		return err
	}
	nothing := e.res.Tip == e.rec.Base.Commit && e.extra() == 0
	if !nothing && e.caller != nil {
		if err := e.hand(ctx); err != nil {
			return err
		}
	}
	if err := e.measure(ctx); err != nil {
		return err
	}
	if err := e.merges(ctx); err != nil {
		return err
	}
	e.rec.State = closed
	if err := e.remember(); err != nil {
		return err
	}
	if err := e.removeFolder(ctx); err != nil {
		e.res.Kept = "it cannot be removed: " + err.Error()
	}
	_ = e.dropTips(ctx) // the folder has gone: that is no failed end
	if err := e.remember(); err != nil || !nothing || !e.res.Gone {
		return err
	}
	return e.forget(ctx)
}

// alone ends a run whose caller's repository cannot be read, or is gone. The keeper has all of it, and the folder
// stays. Where there is work, it is to be brought by another end: Unkept says so.
func (e *ending) alone(ctx context.Context, message string, why error) error {
	if err := e.commit(ctx, message); err != nil {
		return err
	}
	e.res.Kept = "its work could not be brought to the project: " + firstLine(why)
	if e.res.Tip != e.rec.Base.Commit || e.extra() > 0 {
		e.res.Unkept = firstLine(why)
	}
	e.res.Unmerged = firstLine(why)
	e.rec.State = closed
	if err := e.measure(ctx); err != nil {
		return err
	}
	return e.remember()
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// remember writes the result down.
func (e *ending) remember() error {
	res := e.res
	e.rec.Result = &res
	return errors.Join(e.k.write(e.p, e.rec), e.k.step("closed"))
}

// merges is where it is found out whether the work would merge.
func (e *ending) merges(ctx context.Context) error {
	if e.res.Tip != e.rec.Base.Commit {
		e.res.Conflicts, e.res.Unmerged = e.k.clean(ctx, e.p, e.rec, e.res.Tip)
	}
	return ctx.Err()
}

// extra counts what is kept besides the base, the last checkpoint and the tip.
func (e *ending) extra() int {
	n := 0
	for name, id := range e.kept {
		if name != keptSaved && id != e.rec.Base.Commit {
			n++
		}
	}
	return n
}

// commit settles the tip: the agent's HEAD if all is committed, else a commit on it. One that was made at an end before
// stays below it.
func (e *ending) commit(ctx context.Context, message string) error {
	head := e.kept[keptHead]
	if head == "" {
		head = e.rec.Base.Commit
	}
	parents := []string{head}
	if end := e.kept[keptEnd]; end != "" && !reaches(ctx, e.r, head, end) {
		parents = []string{end}
		if !reaches(ctx, e.r, end, head) {
			parents = []string{head, end}
		}
	}
	tree, err := e.r.out(ctx, "rev-parse", "--verify", parents[0]+"^{tree}")
	if err != nil {
		return err
	}
	e.res.Tip = parents[0]
	if tree == e.work && len(parents) == 1 {
		return nil
	}
	if message = troupe.VisibleLine(strings.TrimSpace(message)); message == "" { // some of it a model wrote
		message = "What " + e.p.ws.Name + " left uncommitted"
	}
	if e.res.Tip, err = e.k.commit(ctx, e.r, e.work, message, parents...); err != nil {
		return err
	}
	e.kept[keptEnd] = e.res.Tip
	return errors.Join(e.kept.write(e.p), e.k.step("committed"))
}

// reaches reports whether a commit is in the history of another.
func reaches(ctx context.Context, r repo, from, to string) bool {
	return from == to || r.run(ctx, "merge-base", "--is-ancestor", to, from) == nil
}

// hand brings all that is kept to the caller's repository, and gives it refs there.
func (e *ending) hand(ctx context.Context) error {
	ctx, release, err := e.k.holdCaller(ctx, e.caller)
	if err != nil {
		return err
	}
	defer release()
	want := map[string]string{"base": e.rec.Base.Commit, "tip": e.res.Tip}
	var old []string
	for name, id := range e.kept {
		switch {
		case strings.HasPrefix(name, keptOld):
			old = append(old, id)
		case strings.HasPrefix(name, keptAgent):
			short := strings.TrimPrefix(name, keptAgent)
			if !strings.HasPrefix(short, "heads/") && !strings.HasPrefix(short, "tags/") && short != "stash" {
				short = "other/" + short
			}
			want[short] = id
		case strings.HasPrefix(name, keptStashed), strings.HasPrefix(name, keptBeside), name == keptLeft:
			want[name] = id
		}
	}
	more, err := e.commits(ctx, unnamed(want))
	if err != nil {
		return err
	}
	if want["old"], err = e.oldest(ctx, append(old, more...), slices.Collect(maps.Values(want))); err != nil {
		return err
	}
	if want["old"] == "" {
		delete(want, "old")
	}
	ids := slices.Collect(maps.Values(want))
	if err := e.transfer(ctx, ids); err != nil {
		return err
	}
	if err := e.k.step("transferred"); err != nil {
		return err
	}
	if err := e.refs(ctx, want); err != nil {
		return err
	}
	if err := e.branch(ctx); err != nil {
		return err
	}
	if err := e.reachable(ctx, ids); err != nil {
		return err
	}
	if err := e.p.unpin(e.caller); err != nil {
		return err
	}
	return e.k.step("handed")
}

// measure counts what was done, since the base and in this run.
func (e *ending) measure(ctx context.Context) error {
	base := e.rec.Base.Commit
	e.res.Run = &troupe.Checkpoint{Tree: e.Tree, Tip: e.Tip}
	var all []troupe.FileChanged
	if e.res.Tip != base {
		count, err := e.r.out(ctx, "rev-list", "--count", e.res.Tip, "^"+base)
		if err != nil {
			return err
		}
		if e.res.Commits, err = strconv.Atoi(count); err != nil {
			return err
		}
		if all = e.own; all == nil {
			if all, err = e.r.changes(ctx, base, e.res.Tip); err != nil {
				return err
			}
		}
	}
	if e.p.ws.ByHook {
		all = slices.DeleteFunc(all, func(f troupe.FileChanged) bool { return control(f.Path) })
	}
	for _, f := range all {
		e.res.Files, e.res.Added, e.res.Removed = e.res.Files+1, e.res.Added+f.Added, e.res.Removed+f.Removed
	}
	if e.began == "" {
		listed(e.res.Run, all)
		return nil
	}
	return e.r.compared(ctx, e.began, e.res.Run)
}

// removeFolder removes the folder if all that is in it is kept.
func (e *ending) removeFolder(ctx context.Context) error {
	if !e.there {
		e.res.Gone = e.res.Kept == ""
		_ = disk.RemoveTree(e.p.making) // of a process that was killed before it had its name
		return nil
	}
	why, err := e.loses(ctx, e.p.ws.Top)
	if err == nil && e.mayLose(why) {
		e.losing(why)
	} else if err != nil || why != "" {
		e.res.Kept = why
		return err
	}
	if e.going != nil {
		e.going(ctx)
		// A hook may have removed it itself: all of it is kept.
		if _, err := os.Lstat(e.p.ws.Top); errors.Is(err, fs.ErrNotExist) {
			e.res.Gone = true
			e.p.tidy()
			return nil
		}
	}
	// What is still written there by a process that outlives its run is seen once the folder has left its place.
	if err := os.Rename(e.p.ws.Top, e.p.leave); err != nil {
		return err
	}
	if err := e.k.step("left"); err != nil {
		return err
	}
	s, err := e.k.save(ctx, e.p, e.rec, e.p.leave, nil)
	if err == nil {
		if why, err = e.loses(ctx, e.p.leave); e.mayLose(why) {
			why = ""
		}
	}
	if err == nil && why == "" && (s.Tree != e.Tree || !maps.Equal(s.kept, e.kept)) {
		why = "something was written there while it was ended"
	}
	if err != nil || why != "" {
		e.res.Kept = why
		return errors.Join(err, takePlace(e.p, e.p.leave))
	}
	if err := errors.Join(os.Rename(e.p.leave, e.p.gone), e.k.step("gone")); err != nil {
		return err
	}
	e.res.Gone = true
	_ = disk.RemoveTree(e.p.gone) // what stays of it is no work, and is removed the next time
	e.p.tidy()
	return nil
}

// mayLose reports whether what would be lost is to go. Commits are not.
func (e *ending) mayLose(why string) bool { return why != "" && e.why == "" && e.losing != nil }

// loses says what would be lost with the folder; "" if nothing.
func (e *ending) loses(ctx context.Context, folder string) (string, error) {
	if e.why != "" {
		return "its commits could not all be kept: " + e.why, nil
	}
	if len(e.odd) > 0 {
		return "it has what git cannot keep: " + some(e.odd), nil
	}
	if e.r.all {
		return "", nil
	}
	entries, err := e.r.out(ctx, "ls-files", "-s", "-z")
	if err != nil {
		return "", err
	}
	for _, name := range gitlinksOf(entries) {
		if inside, err := os.ReadDir(filepath.Join(folder, name)); err == nil && len(inside) > 0 {
			return "the submodule " + name + " is checked out there, which no commit keeps", nil
		}
	}
	args := []string{"ls-files", "-z", "--others", "--ignored", "--exclude-standard"}
	if len(e.rec.Carried) == 0 {
		args = append(args, "--directory")
	}
	list, err := e.r.on(folder).out(ctx, args...)
	if err != nil {
		return "", err
	}
	var ignored []string
	for _, name := range fields(list) {
		sum, carried := e.rec.Carried[name]
		linked := slices.Contains(e.rec.Base.Linked, strings.TrimSuffix(name, "/")) && !strings.HasSuffix(name, "/")
		if !linked && !(carried && unchanged(folder, name, sum)) {
			ignored = append(ignored, name)
		}
	}
	if len(ignored) > 0 {
		return "it has ignored files, which no commit keeps: " + some(ignored), nil
	}
	return "", nil
}

// some names the first few.
func some(names []string) string {
	if len(names) > 3 {
		return strings.Join(names[:3], ", ") + fmt.Sprintf(" and %d more", len(names)-3)
	}
	return strings.Join(names, ", ")
}

// tidy removes the folders above a workspace that are empty now.
func (p place) tidy() {
	for at := filepath.Dir(p.ws.Top); at != p.k.folders && troupe.Within(at, p.k.folders); at = filepath.Dir(at) {
		if os.Remove(at) != nil {
			return // something is in it
		}
	}
}

// dropRefs removes the refs of a workspace but one; "": all.
func (c *caller) dropRefs(ctx context.Context, ws troupe.Workspace, but string) error {
	list, err := c.out(ctx, "for-each-ref", "--format=%(refname)", refOf(ws, ""))
	if err != nil || list == "" {
		return err
	}
	var commands []string
	for name := range strings.Lines(list) {
		if name = strings.TrimSpace(name); name != but {
			commands = append(commands, "delete "+name+"\x00\x00")
		}
	}
	if len(commands) == 0 {
		return nil
	}
	return c.update(ctx, commands)
}
