package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// refOf is a ref that the caller's repository keeps for a workspace.
func refOf(ws troupe.Workspace, name string) string {
	return "refs/troupe/" + string(ws.Owner) + "/" + name
}

// base settles what the workspace begins with, and has it kept, before anything is built on it. It never moves.
func (p place) base(ctx context.Context, r repo, c *caller, rec *record, m Making) error {
	if c == nil {
		return p.baseOfCopy(ctx, r, rec, m)
	}
	if rec.Base.Commit != "" && c.has(gitRef{name: refOf(p.ws, "base"), id: rec.Base.Commit}) {
		return nil
	}
	ctx, release, err := p.k.holdCaller(ctx, c)
	if err != nil {
		return err
	}
	defer release()
	there := rec.Base.Commit != ""
	if there && !holds(ctx, r, rec.Base.Commit) {
		return baseGone(rec.Base)
	}
	if !there {
		if err := p.roomFor(wantsOf(p.k, indexed(c), 0, c.common)...); err != nil {
			return err
		}
		if rec.Base, err = p.k.present(ctx, p, r, c, m); err != nil {
			return err
		}
		if err := p.k.write(p, rec); err != nil {
			return err
		}
		if err := p.k.step("base"); err != nil {
			return err
		}
	}
	lacks := rec.Base.Commit != rec.Base.Head
	if there { // it may have come from another home, with a history that is not here
		lacks = !holds(ctx, c.repo, rec.Base.Commit)
	}
	if lacks {
		in := revisions([]string{rec.Base.Commit})
		if rec.Base.Head != "" && (!there || holds(ctx, c.repo, rec.Base.Head)) {
			in = revisions([]string{rec.Base.Commit}, rec.Base.Head)
		}
		if err := r.hand(ctx, in, c.repo, p.folder, "--keep="+p.pinned()); err != nil {
			return err
		}
		if err := p.k.step("handed base"); err != nil {
			return err
		}
	}
	err = c.update(ctx, []string{"update " + refOf(p.ws, "base") + "\x00" + rec.Base.Commit + "\x00\x00"})
	if err != nil {
		return err
	}
	if err := p.unpin(c); err != nil {
		return err
	}
	return p.k.step("kept base")
}

// errBaseGone: what a workspace began with is nowhere any more, so that it cannot be made again.
var errBaseGone = errors.New("what it began with is gone")

func baseGone(b troupe.WorkspaceBase) error {
	return &troupe.UserError{Problem: fmt.Sprintf("commit %.12s, which it began with, is kept no more", b.Commit),
		Hint: "a workspace that was pruned cannot be gone on in: start another agent", Err: errBaseGone}
}

// holds reports whether a repository has an object.
func holds(ctx context.Context, r repo, id string) bool {
	return r.run(ctx, "cat-file", "-e", id) == nil
}

// update changes refs of the caller's repository, all or none. Another program that has a lock there is waited for.
func (c *caller) update(ctx context.Context, commands []string) error {
	return retry(ctx, c.patience, func() (bool, error) {
		// Directly before: what is a link by then would have git write where it leads.
		if err := straightGit(c.common); err != nil {
			return false, err
		}
		if err := unnoted(c.common, commands); err != nil {
			return false, err
		}
		_, err := c.named().feed(ctx, strings.Join(commands, ""), "update-ref", "-z", "--no-deref", "--stdin")
		return locked(err), err
	})
}

// named has git write our name and nothing of the caller's settings into what it notes of refs, and begin no such
// notes.
func (r repo) named() repo {
	return r.set("core.logAllRefUpdates=false").with("GIT_COMMITTER_NAME=Troupe",
		"GIT_COMMITTER_EMAIL=troupe@localhost")
}

// present makes a commit of what the caller has now: HEAD, or one on it with what was not committed.
func (k *Keeper) present(ctx context.Context, p place, r repo, c *caller, m Making) (troupe.WorkspaceBase, error) {
	b := troupe.WorkspaceBase{Head: c.head, Branch: c.branch}
	if err := copyIndex(c, p); err != nil {
		return b, err
	}
	modules, err := c.supported(ctx, k.environ)
	if err != nil {
		return b, err
	}
	s, err := r.scan(ctx, c.top)
	if err == nil {
		err = c.unfiltered(s.here)
	}
	if err != nil {
		return b, err
	}
	b.Left = append(modules, leave(k, c.top, &s, m.Hidden)...)
	wants, err := counted(ctx, k, r, c, s)
	if err == nil {
		err = p.roomFor(wants...)
	}
	if err != nil {
		return b, err
	}
	if err := nameOld(ctx, r, &b); err != nil {
		return b, err
	}
	if err := takeGiven(ctx, r, c.top, s, &b); err != nil {
		return b, err
	}
	tree, err := r.out(ctx, "write-tree")
	if err != nil {
		return b, err
	}
	var changed []string
	if c.head != "" {
		if changed, tree, err = r.unstage(ctx, c, tree, m.Hidden, &b); err != nil {
			return b, err
		}
		if len(changed) == 0 {
			b.Commit = c.head
			return b, nil
		}
	} else {
		list, err := r.out(ctx, "ls-tree", "-r", "-z", "--name-only", tree)
		if err != nil {
			return b, err
		}
		changed = fields(list)
	}
	b.Dirty = len(changed)
	var parents []string
	if c.head != "" {
		parents = []string{c.head}
	}
	b.Commit, err = k.commit(ctx, r, tree, "What was not committed when "+p.ws.Name+" was made", parents...)
	return b, err
}

// nameOld has a git that will not be able to merge named when the work begins.
func nameOld(ctx context.Context, r repo, b *troupe.WorkspaceBase) error {
	problem, err := tooOld(ctx, r)
	if problem != "" {
		b.Left = append(b.Left, "a merge by troupe at the end: "+problem)
	}
	return err
}

// unstage lists how a tree differs from the caller's HEAD, and gives one without hidden files that were staged.
func (r repo) unstage(ctx context.Context, c *caller, tree string, hidden func(string) bool,
	b *troupe.WorkspaceBase) (changed []string, result string, err error) {
	list, err := r.out(ctx, "diff-tree", "-r", "-z", "--no-renames", c.head, tree)
	if err != nil {
		return nil, "", err
	}
	entries := fields(list)
	var undo strings.Builder
	for i := 0; i+1 < len(entries); i += 2 {
		name, was := entries[i+1], strings.Fields(strings.TrimPrefix(entries[i], ":"))
		if len(was) < 4 {
			return nil, "", fmt.Errorf("git diff-tree printed %q", entries[i])
		}
		if hidden == nil || !hidden(filepath.Join(c.top, name)) {
			changed = append(changed, name)
			continue
		}
		b.Left = append(b.Left, name+leftHidden)
		fmt.Fprintf(&undo, "%s %s\t%s\x00", was[0], was[2], name)
	}
	if undo.Len() == 0 {
		return changed, tree, nil
	}
	if _, err := r.feed(ctx, undo.String(), "update-index", "-z", "--index-info"); err != nil {
		return nil, "", err
	}
	tree, err = r.out(ctx, "write-tree")
	return changed, tree, err
}

// spans reports whether a path of a tree lies in a folder of ours that the tree itself does not lie in: of an agent
// that starts others, the tree is in one.
func spans(top, path, ours string) bool {
	return troupe.Within(path, ours) && !troupe.Within(top, ours)
}

// isTemp reports whether a file is one that Troupe writes before it renames it to what it is for.
func isTemp(name string) bool {
	return strings.HasPrefix(name, ".troupe-") && strings.HasSuffix(name, ".tmp")
}

// leave takes out of a scan what is not carried over, and names it.
func leave(k *Keeper, top string, s *scan, hidden func(string) bool) []string {
	var left []string
	no := func(name string) bool {
		path := filepath.Join(top, name)
		switch {
		case spans(top, path, k.folders) || spans(top, path, k.data):
			return true // ours, in a repository that spans all of a home
		case isTemp(filepath.Base(name)):
			return true // of a change that is under way, or was when its process died
		case hidden != nil && hidden(path):
			left = append(left, name+leftHidden)
			return true
		}
		return false
	}
	s.here, s.gone = slices.DeleteFunc(s.here, no), slices.DeleteFunc(s.gone, no)
	for _, name := range s.nested {
		if !spans(top, filepath.Join(top, name), k.folders) {
			left = append(left, strings.TrimSuffix(name, "/")+": it is a repository of its own")
		}
	}
	for _, name := range s.odd {
		left = append(left, name+": it is no file that can be read")
	}
	return left
}

// copyIndex gives the keeper the caller's index: what it says of times and sizes makes looking fast. The copy is as old
// as the index is: git compares what a file holds only where it may have changed after the index was written, in the
// second in which it was, and a younger copy would have such a change go unseen.
func copyIndex(c *caller, p place) error {
	shared, err := filepath.Glob(disk.Pattern(c.dir) + "/sharedindex.*") // of which a split one has its files
	if err != nil {
		return err
	}
	for _, name := range append(shared, filepath.Join(c.dir, "index")) {
		info, err := os.Lstat(name) // first: one that takes its place from here on is younger
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		var data []byte
		if err == nil {
			data, err = plainFile(name, 4<<30)
		}
		copied := filepath.Join(p.repo, filepath.Base(name))
		if err == nil {
			err = disk.Cache(copied, data)
		}
		if err == nil {
			err = os.Chtimes(copied, info.ModTime(), info.ModTime())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// commit makes a commit in our name, or that of the caller's settings.
func (k *Keeper) commit(ctx context.Context, r repo, tree, message string, parents ...string) (string, error) {
	now := k.now()
	date := fmt.Sprintf("%d %s", now.Unix(), now.Format("-0700"))
	args := []string{"commit-tree", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	return r.with("GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date).feed(ctx, message+"\n", args...)
}
