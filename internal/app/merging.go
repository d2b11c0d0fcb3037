package app

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/files"
	toolworktree "github.com/troupe-dev/troupe/internal/tool/worktree"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// merger implements what MergeWorktree needs: it merges into the folder of the session that asks.
type merger struct {
	app   *App
	guard *guard
}

// Merge implements toolworktree.Merger.
func (m merger) Merge(env tool.Env, name, take string) (out toolworktree.Merging, err error) {
	row, into, err := m.find(env, name)
	if err != nil {
		return out, err
	}
	got, err := mergeTaking(m.guard.ctx(), m.app.keeper, row.Workspace, into, take)
	if err != nil {
		return out, err
	}
	out = toolworktree.Merging{Name: row.Workspace.Name, Left: got.Left}
	if len(got.Conflicts) > 0 {
		out.Conflicts = conflictText(row.Workspace.Name, got.Conflicts) + unresolvedText(row.Workspace, got.Unresolved)
		for _, c := range got.Conflicts {
			out.Conflicting = append(out.Conflicting, tool.Resolve(c.Path))
		}
		return out, nil
	}
	for _, c := range got.Changes {
		out.Writes = append(out.Writes, placesOf(c)...)
	}
	if row.Workspace.Merge == troupe.MergeAsk {
		out.Ask = "the agent of " +
			row.Workspace.Name + " was started with merge: ask, so a person decides about its " +
			"work"
	}
	out.Text = mergeText(row.Workspace, got)
	out.Apply = func(ctx context.Context, keep func([]byte) (string, error)) ([]troupe.FileTouch, error) {
		touched, err := applyMerge(ctx, m.app.keeper, row.Workspace.Of, got.Changes, keep)
		brought(context.WithoutCancel(ctx), m.app, row.Workspace, got.Changes[:len(touched)])
		if err == nil && take != "" {
			err = m.app.keeper.Decline(ctx, row.Workspace, got.Own)
		}
		return touched, err
	}
	return out, nil
}

// brought remembers whose work was written, for conflicts that others have with it.
func brought(ctx context.Context, a *App, w troupe.Workspace, changes []worktree.Change) {
	if err := worktree.Brought(ctx, a.keeper, w, changes); err != nil {
		a.env.Log.Warn("whose work it was is not remembered", "worktree", w.Name, "err", err)
	}
}

// HandBack implements toolworktree.Merger.
func (m merger) HandBack(ctx context.Context, env tool.Env, name string, judged []string) (string, error) {
	row, into, err := m.find(env, name)
	if err != nil {
		return "", err
	}
	w := row.Workspace
	if err := m.ofTree(env, w); err != nil {
		return "", err
	}
	if !row.There { // it was removed when its agent ended
		if err := m.open(ctx, env, w); err != nil {
			return "", err
		}
	}
	into.Judge = func(paths []string) error { return stillJudged(judged, paths) }
	got, err := m.app.keeper.HandBack(ctx, w, into)
	if err != nil {
		return "", err
	}
	if len(got.Marked) == 0 && len(got.Open) == 0 {
		return fmt.Sprintf("What conflicted with %s is no conflict any more, and its markers are gone. Merge it now.",
			w.Name), nil
	}
	text := fmt.Sprintf("The worktree %s has what your folder has now, and the conflicts between markers in: %s.",
		w.Name, fileNames(got.Marked))
	if len(got.Open) > 0 {
		text += "\nNot shown by markers: " + conflictText(w.Name, got.Open)
	}
	return text + "\nTell its agent with SendMessage to resolve them there, and merge again when it has ended.", nil
}

// stillJudged refuses what was not judged: the folder goes on while a call is judged.
func stillJudged(judged, paths []string) error {
	for _, path := range paths {
		if !slices.Contains(judged, tool.Resolve(path)) {
			return fmt.Errorf("%s conflicts too by now; merge again to see all that does", path)
		}
	}
	return nil
}

// open makes a folder again as its agent would find it when it goes on.
func (m merger) open(ctx context.Context, env tool.Env, w troupe.Workspace) error {
	var owner troupe.Session
	err := m.app.trees.store.View(ctx, func(r store.Reader) (err error) {
		owner, err = r.Session(w.Owner)
		return err
	})
	if err != nil {
		return err
	}
	e := m.app.engine.Load()
	if e == nil {
		return fmt.Errorf("the folder of %s is not there, and nothing that runs here makes it", w.Name)
	}
	_, err = e.places.Open(ctx, session.Opening{Session: owner, Hides: env.Hidden})
	return err
}

// find looks up a workspace that was made from the folder of the session that asks, and what merging into that means.
func (m merger) find(env tool.Env, name string) (row worktree.Row, into worktree.Into, err error) {
	var s troupe.Session
	err = m.app.trees.store.View(m.guard.ctx(), func(r store.Reader) error {
		s, err = r.Session(env.Session)
		return err
	})
	if err != nil {
		return row, into, err
	}
	rows, err := m.rows(s)
	if err != nil {
		return row, into, err
	}
	rows = slices.DeleteFunc(rows, func(r worktree.Row) bool {
		return !troupe.Within(env.Cwd, r.Workspace.Of) || troupe.Within(env.Cwd, r.Workspace.Top)
	})
	named, err := m.named(s, name)
	if err != nil {
		return row, into, err
	}
	row, err = matchRows(rows, func(r worktree.Row) ([]string, error) {
		if slices.Contains(named, r.Workspace.Session()) {
			return []string{name}, nil
		}
		return nil, nil
	}, name)
	if isNotFound(err) {
		err = fmt.Errorf("there is no worktree %q of this folder", name)
	}
	if err != nil {
		return row, into, err
	}
	p, err := m.app.policyOf(s.Cwd)
	if err == nil {
		into.Hidden, err = m.guard.keptFrom(m.guard.ctx(), p, row.Workspace.Of, env.Hidden)
	}
	return row, into, err
}

// named are the agents of a session's tree that have a name.
func (m merger) named(s troupe.Session, name string) (ids []troupe.SessionID, err error) {
	err = m.app.trees.store.View(m.guard.ctx(), func(r store.Reader) error {
		ids = nil
		list, err := r.Sessions(store.Filter{Root: s.Root, Name: name})
		for _, one := range list {
			ids = append(ids, one.ID)
		}
		return err
	})
	return ids, err
}

// ofTree refuses a workspace of another tree, whose agents are not there to resolve anything.
func (m merger) ofTree(env tool.Env, w troupe.Workspace) error {
	return m.app.trees.store.View(m.guard.ctx(), func(r store.Reader) error {
		asks, err := r.Session(env.Session)
		if err != nil {
			return err
		}
		if owner, err := r.Session(w.Owner); err != nil || owner.Root != asks.Root {
			return fmt.Errorf("%s is no worktree of an agent of yours", w.Name)
		}
		return nil
	})
}

// rows are the workspaces that were made from where a session is.
func (m merger) rows(s troupe.Session) (out []worktree.Row, err error) {
	of := []string{s.Workspace.Top}
	if !s.Workspace.Kind.Made() {
		p, err := m.app.policyOf(s.Cwd)
		if err != nil {
			return nil, err
		}
		if of = []string{s.Cwd}; p.all.Hidden().Project() != s.Cwd {
			of = append(of, p.all.Hidden().Project())
		}
	}
	for _, tree := range of {
		rows, err := m.app.keeper.Names(tree)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, nil
}

// applyMerge writes what was worked out, if every file still holds what it held then: all of it or, as far as that can
// be told before, nothing. No other merge is written into the folder meanwhile.
func applyMerge(ctx context.Context, k *worktree.Keeper, of string, changes []worktree.Change,
	keep func([]byte) (string, error)) (touched []troupe.FileTouch, err error) {
	ctx, release, err := worktree.Writing(ctx, k, of)
	if err != nil {
		return nil, err
	}
	defer release()
	touches := make([]troupe.FileTouch, len(changes))
	for i, c := range changes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if touches[i], err = touchOf(c, keep); err != nil {
			return nil, err
		}
	}
	written, err := writeAll(of, changes)
	return touches[:len(written)], err
}

// writeAll writes the files of a merge, whoever merges. The error says how many of them are.
func writeAll(of string, changes []worktree.Change) (written []string, err error) {
	paths := make([]string, len(changes))
	for i, c := range changes {
		paths[i] = c.Path
	}
	sweepBeside(paths)
	written, err = worktree.Apply(of, changes)
	if err != nil && len(written) > 0 {
		err = fmt.Errorf("%w; %d of %d files are merged", err, len(written), len(changes))
	}
	return written, err
}

// sweepBeside removes what merges and undos that were killed have left beside files. Whoever merges again writes the
// files that such a merge did not come to, and the record of an undo says which were its own.
func sweepBeside(paths []string) {
	swept := map[string]bool{}
	for _, path := range paths {
		if dir := filepath.Dir(path); !swept[dir] {
			swept[dir] = true
			files.Sweep(dir)
		}
	}
}

// placesOf are all names of a file that a merge writes, its own first: a merge replaces a link, and a rule may be about
// the link or about what it leads to. A link above it that the same merge removes leads to it from nowhere.
func placesOf(c worktree.Change) []string {
	if c.Above != "" {
		return []string{ownPlace(c.Above) + strings.TrimPrefix(c.Path, c.Above), c.Path}
	}
	out := []string{ownPlace(c.Path)}
	for _, other := range []string{c.Path, tool.Resolve(c.Path)} {
		if !slices.Contains(out, other) {
			out = append(out, other)
		}
	}
	return out
}

// ownPlace is where a file is, be it a link.
func ownPlace(path string) string {
	return filepath.Join(tool.Resolve(filepath.Dir(path)), filepath.Base(path))
}

// touchOf is what the log says of one file that a merge writes. What it held is kept first.
func touchOf(c worktree.Change, keep func([]byte) (string, error)) (t troupe.FileTouch, err error) {
	t = troupe.FileTouch{Path: placesOf(c)[0], Wrote: true, New: c.Was == "", Link: c.Link, WasLink: c.WasLink}
	var found files.Found
	if c.Above == "" {
		found, err = files.Look(t.Path)
	}
	if info, e := os.Lstat(t.Path); c.Was == "" && e == nil && info.IsDir() {
		err = nil // all that is in this folder goes by the same merge
	}
	if err != nil {
		return t, fmt.Errorf("%s: %w", c.Path, err)
	}
	old, exists := found.Content, found.Hash != ""
	if found.Mode.IsRegular() && exists {
		t.Mode = uint32(found.Mode.Perm())
	}
	if link := found.Mode&fs.ModeSymlink != 0; exists && link != c.WasLink {
		return t, fmt.Errorf("%s: %w", c.Path, worktree.ErrMoved)
	}
	if !c.Gone {
		t.Hash = tool.Hash(c.Content)
	}
	t.Added, t.Removed = files.CountLines(old, c.Content)
	if exists && keep != nil {
		if t.Before, err = keep(old); err != nil {
			return t, fmt.Errorf("%s: what it holds could not be kept for undo first: %w", c.Path, err)
		}
	}
	return t, nil
}

// nameOf is a file's name as it stands in what a model is told: on one line, and no mark of the runtime's.
func nameOf(path string) string { return troupe.Escape(troupe.VisibleLine(path)) }

func fileNames(paths []string) string {
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = nameOf(path)
	}
	return strings.Join(names, ", ")
}

// mergeText is what a person is asked about.
func mergeText(w troupe.Workspace, m taking) string {
	var b strings.Builder
	fmt.Fprintf(&b, "merge the worktree %s: %d files (+%d -%d lines)\n", w.Name, m.Files, m.Added, m.Removed)
	for _, c := range m.Changes {
		what := "change"
		switch {
		case c.Gone:
			what = "remove"
		case c.Was == "":
			what = "create"
		}
		fmt.Fprintf(&b, "%s %s", what, troupe.VisibleLine(c.Path))
		if names, is := m.over[c.Path]; is {
			b.WriteString(", in place of " + cmp.Or(troupe.VisibleLine(names), "what is there now"))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// conflictText shows each place that two sides changed otherwise.
func conflictText(name string, all []worktree.Conflict) string {
	var b strings.Builder
	if len(all) == 1 {
		fmt.Fprintf(&b, "1 file of %s conflicts with what is here:\n", name)
	} else {
		fmt.Fprintf(&b, "%d files of %s conflict with what is here:\n", len(all), name)
	}
	for _, c := range all {
		fmt.Fprintf(&b, "\n%s: %s\n", nameOf(c.Path), troupe.VisibleLine(c.Why))
		for _, h := range c.Hunks {
			fmt.Fprintf(&b, "<<<<<<< %s, line %d\n%s=======\n%s>>>>>>> %s, line %d\n", cmp.Or(c.Ours, "your folder"),
				h.Ours.First, h.Ours.Text, h.Theirs.Text, cmp.Or(c.Theirs, name), h.Theirs.First)
			if b.Len() > maxConflictText {
				return b.String() + "… and more\n"
			}
		}
	}
	return b.String()
}

// unresolvedText says which files still have markers, and what can be done about them.
func unresolvedText(w troupe.Workspace, files []string) string {
	if len(files) == 0 {
		return ""
	}
	names := make([]string, len(files))
	for i, path := range files {
		names[i] = nameOf(strings.TrimPrefix(path, w.Of+"/"))
	}
	return fmt.Sprintf("\nIts worktree still has the markers of conflicts that were handed back in: %s. take: mine or "+
		"theirs decides about these files, and with hand_back its agent is to resolve them once more.\n",
		strings.Join(names, ", "))
}

// maxConflictText is how many bytes of conflicts a model is shown.
const maxConflictText = 24 << 10
