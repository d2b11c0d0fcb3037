package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// A workspace of a tree whose version control is not git can be made by a hook: it fills the folder at its place, and
// from then on that is a copy. Its base is what the hook put there. What the version control keeps of itself in the
// folder is saved like all else, and is no part of diffs and merges: there it belongs to one folder alone.

// byHook has a hook make the folder, and takes it over. What a killed one has left is made anew: no agent has been in
// it.
func (p place) byHook(ctx context.Context, r repo, rec *record, m Making) error {
	if m.Fill == nil {
		return &troupe.UserError{Problem: "no hook of WorktreeCreate is set any more, and git cannot make it: " +
			p.ws.Of + " is in no repository", Hint: copyHint}
	}
	if err := errors.Join(p.k.apart(p.ws), p.parents()); err != nil {
		return err
	}
	if err := disk.RemoveTree(p.ws.Top); err != nil { // only now: the way there is no link
		return err
	}
	err := m.Fill(ctx, p.ws.Top)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = p.k.step("filled by hook")
	}
	if err == nil {
		err = p.takeOver(ctx, r, rec, m)
	}
	if err != nil && rec.Base.Commit == "" && p.k.straight(p.ws.Top) == nil {
		return errors.Join(p.full(err), disk.RemoveTree(p.ws.Top)) // half made, it is of no use
	}
	return err
}

// takeOver makes what a hook has put into the folder the base.
func (p place) takeOver(ctx context.Context, r repo, rec *record, m Making) error {
	if err := p.k.straight(p.ws.Top); err != nil {
		return err
	}
	info, err := os.Lstat(p.ws.Top)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the hook of WorktreeCreate says that it made %s, and it is not there", p.ws.Top)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no folder after the hook of WorktreeCreate ran", p.ws.Top)
	}
	if _, err := os.Lstat(filepath.Join(p.ws.Top, ".git")); err == nil {
		return fmt.Errorf("the hook of WorktreeCreate made a repository of git in %s; what an agent commits there "+
			"would not be kept", p.ws.Top)
	}
	if err := os.Chmod(p.ws.Top, 0o700); err != nil {
		return err
	}
	if err := unshare(p.ws.Top); err != nil {
		return err
	}
	rec.Inode, rec.Born = inode(info), bornAt(p.ws.Top)
	if err := p.roomFor(want{p.k.data, size(p.ws.Top) + spare}); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(p.repo, "index")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s, err := r.scan(ctx, p.ws.Top)
	if err == nil {
		err = r.takeNested(ctx, p.ws.Top, &s)
	}
	if err != nil {
		return err
	}
	var b troupe.WorkspaceBase
	if b.Left, err = p.unhide(&s, m.Hidden); err != nil {
		return err
	}
	if err := takeGiven(ctx, r, p.ws.Top, s, &b); err != nil {
		return err
	}
	kept := kept{}
	large, err := p.saveBeside(ctx, r, p.ws.Top, kept)
	if err != nil {
		return err
	}
	b.Left = append(b.Left, tooLarge(large)...)
	tree, err := r.out(ctx, "write-tree")
	if err != nil {
		return err
	}
	if b.Commit, err = p.k.commit(ctx, r, tree, "What a hook put into "+p.ws.Name+" when it was made"); err != nil {
		return err
	}
	kept[keptBase], kept[keptSaved] = b.Commit, tree
	if err := errors.Join(kept.write(p), p.k.step("base")); err != nil {
		return err
	}
	rec.Base = b
	return errors.Join(p.k.write(p, rec), p.k.step("settled"))
}

// unshare gives the folder files of its own where it shares one with another folder, as version controls do to save
// room: an agent that writes there would write to the caller's.
func unshare(folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // each file was closed
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err != nil || !linked(info) {
			return err
		}
		return copyInPlace(root, name, info)
	})
}

func copyInPlace(root *os.Root, name string, info fs.FileInfo) error {
	from, err := root.OpenFile(name, readFlags, 0)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // it was only read
	other := name + ".troupe-tmp"
	to, err := root.OpenFile(other, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err == nil {
		err = root.Chmod(other, info.Mode().Perm())
	}
	if err == nil {
		err = root.Chtimes(other, info.ModTime(), info.ModTime())
	}
	if err == nil { // a half copy gets no name
		err = root.Rename(other, name)
	}
	return err
}

// unhide removes what no agent may read, as it is not carried over by git either.
func (p place) unhide(s *scan, hidden func(string) bool) (left []string, err error) {
	if hidden == nil {
		return nil, nil
	}
	root, err := os.OpenRoot(p.ws.Top)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // what was removed is so
	s.here = slices.DeleteFunc(s.here, func(name string) bool {
		if err != nil || !hidden(filepath.Join(p.ws.Top, name)) && !hidden(filepath.Join(p.ws.Of, name)) {
			return false
		}
		left, err = append(left, name+leftHidden), root.Remove(filepath.FromSlash(name))
		return true
	})
	return left, err
}

// controls are the names that version controls other than git have for what they keep of themselves in a folder.
func controls() []string {
	return []string{".hg", ".jj", ".svn", ".sl", ".bzr", "_darcs", ".pijul", ".fslckout", "_FOSSIL_",
		".fossil-settings", "CVS", ".p4config"}
}

// control reports whether a file is one that a version control has for itself.
func control(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return slices.Contains(controls(), part)
	})
}

// compared are the trees of a workspace that people and merges see of two.
func (p place) compared(ctx context.Context, r repo, from, to string) (string, string, error) {
	if !p.ws.ByHook {
		return from, to, nil
	}
	from, err := withoutControl(ctx, r, from)
	if err == nil {
		to, err = withoutControl(ctx, r, to)
	}
	return from, to, err
}

// withoutControl is a tree without such files.
func withoutControl(ctx context.Context, r repo, tree string) (string, error) {
	tree, err := r.out(ctx, "rev-parse", "--verify", "--end-of-options", tree+"^{tree}")
	if err != nil {
		return "", err
	}
	list, err := r.out(ctx, "ls-tree", "-r", "-z", "--name-only", "--full-tree", tree)
	if err != nil {
		return "", err
	}
	gone := map[string]entry{}
	for _, name := range fields(list) {
		if control(name) {
			gone[name] = entry{}
		}
	}
	return graft(ctx, r, tree, gone)
}
