package worktree

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Handed is what a workspace has got to resolve.
type Handed struct {
	// Commit has all that the caller's folder had; its repository keeps it.
	Commit string
	// Marked are the files of the workspace that have conflicts between markers now, and Open the conflicts that cannot
	// be shown in a file: its agent has to change the file, or the caller to take one side.
	Marked []string
	Open   []Conflict
	// Files is how many were written.
	Files int
}

// HandBack brings what the caller's folder has into the workspace, as a change that is not committed, with the
// conflicts between markers. When its agent has resolved them, Merge takes the caller's content of now for what the two
// have in common; until then, and if the agent puts its files back, it finds the same conflicts. The base stays.
func (k *Keeper) HandBack(ctx context.Context, ws troupe.Workspace, in Into) (Handed, error) {
	var out Handed
	err := k.merging(ctx, ws, in, func(m *merging) error {
		there, _, err := m.p.has(m.rec)
		if err != nil {
			return err
		}
		if !there {
			return &troupe.UserError{Problem: "the folder of the workspace " + ws.Name + " is not there",
				Hint: "it is made again when its agent goes on"}
		}
		out, err = m.handBack(ctx)
		return err
	})
	return out, err
}

func (m *merging) handBack(ctx context.Context) (Handed, error) {
	var out Handed
	if err := layAttributes(ctx, m.r, m.ours); err != nil {
		return out, err
	}
	o, err := m.k.threeWay(ctx, m.r, m.base, m.ours, m.theirs)
	if err != nil {
		return out, err
	}
	m.whose(ctx, o)
	if len(o.stages) == 0 && len(m.marks) == 0 {
		return out, &troupe.UserError{Problem: "the work of " + m.p.ws.Name + " has no conflicts to be resolved in it"}
	}
	if err := m.judged(o); err != nil {
		return out, err
	}
	tree, err := m.marked(ctx, o, &out)
	if err != nil {
		return out, err
	}
	deltas, err := m.r.deltas(ctx, m.raw, tree)
	if err != nil {
		return out, err
	}
	var left []string // another repository stays as it is
	s := side{r: m.r, top: m.p.ws.Top, deltas: deltas, left: &left}
	changes, blocked, err := s.changes(ctx, tree)
	if err != nil {
		return out, err
	}
	for _, c := range blocked {
		out.Marked = slices.DeleteFunc(out.Marked, func(path string) bool { return path == c.Path })
	}
	out.Open = append(out.Open, blocked...)
	if out.Commit, err = m.keepSnapshot(ctx, tree); err != nil {
		return out, err
	}
	// What of it gets there is seen by what is in the files.
	m.rec.Handed = append(m.rec.Handed, handed{Snapshot: out.Commit, Base: m.base, Was: m.theirs, From: m.raw,
		Given: tree})
	if err := errors.Join(m.k.write(m.p, m.rec), m.k.step("handed back")); err != nil {
		return out, err
	}
	written, err := Apply(m.p.ws.Top, changes)
	out.Files = len(written)
	return out, err
}

// judged asks whether what conflicts by now may be handed back.
func (m *merging) judged(o *outcome) error {
	if m.in.Judge == nil {
		return nil
	}
	var paths []string
	for _, c := range m.conflicts(o) {
		paths = append(paths, c.Path)
	}
	return m.in.Judge(paths)
}

// marked is the tree that the workspace gets: what merges, and the conflicts between markers.
func (m *merging) marked(ctx context.Context, o *outcome, out *Handed) (string, error) {
	names := o.names()
	merged, err := m.r.entries(ctx, o.tree, names)
	if err != nil {
		return "", err
	}
	theirs, err := m.r.entries(ctx, m.theirs, names) // of what cannot be shown, the agent's stays
	if err != nil {
		return "", err
	}
	half, err := m.half(ctx, names)
	if err != nil {
		return "", err
	}
	files := map[string]entry{}
	for _, name := range names {
		pieces := o.pieces[name]
		if pieces == nil {
			c := m.conflict(o, name)
			c.Path = filepath.Join(m.p.ws.Top, name)
			out.Open = append(out.Open, c)
			files[name] = theirs[name] // which may be none
			continue
		}
		if stays, is := half[name]; is {
			files[name] = stays
			out.Marked = append(out.Marked, filepath.Join(m.p.ws.Top, name))
			continue
		}
		size := sizeFor(markerShown, o.texts[name][0], o.texts[name][1], o.texts[name][2])
		id, err := m.r.feed(ctx, renderConflict(pieces, size, m.labelOf(name), "base", m.p.ws.Name),
			"hash-object", "-w", "--stdin")
		if err != nil {
			return "", err
		}
		files[name] = entry{merged[name].mode, id}
		out.Marked = append(out.Marked, filepath.Join(m.p.ws.Top, name))
	}
	return graft(ctx, m.r, o.tree, files)
}

// half are the files that have markers already, and maybe some of their conflicts resolved: each stays as it is while
// the caller's side of it does.
func (m *merging) half(ctx context.Context, names []string) (map[string]entry, error) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(m.marks, name) })
	if len(names) == 0 {
		return nil, nil
	}
	then, err := m.treeOf(ctx, m.rec.Handed[len(m.rec.Handed)-1].Snapshot)
	if err != nil {
		return nil, err
	}
	was, err := m.r.entries(ctx, then, names)
	if err != nil {
		return nil, err
	}
	now, err := m.r.entries(ctx, m.ours, names)
	if err != nil {
		return nil, err
	}
	have, err := m.r.entries(ctx, m.raw, names)
	maps.DeleteFunc(have, func(name string, _ entry) bool { return was[name] != now[name] })
	return have, err
}

// keepSnapshot has the caller's repository keep what its folder has now, what it was compared with, and what the
// workspace had and is given; of a copy, the keeper. One ref holds all that the workspace was ever handed.
func (m *merging) keepSnapshot(ctx context.Context, given string) (string, error) {
	parents := []string{m.rec.Base.Commit}
	for _, also := range []struct{ tree, message string }{
		{m.base, "What both had in common"},
		{m.theirs, "What " + m.p.ws.Name + " had"},
		{given, "What " + m.p.ws.Name + " was given, with the conflicts between markers"},
	} {
		id, err := m.k.commit(ctx, m.r, also.tree, also.message)
		if err != nil {
			return "", err
		}
		parents = append(parents, id)
	}
	if n := len(m.rec.Handed); n > 0 {
		parents = append(parents, m.rec.Handed[n-1].Snapshot)
	}
	id, err := m.k.commit(ctx, m.r, m.ours, "What was there when conflicts of "+m.p.ws.Name+" were handed back",
		parents...)
	if err != nil {
		return "", err
	}
	return id, m.bring(ctx, id, "update "+refOf(m.p.ws, "merged")+"\x00"+id+"\x00\x00")
}

// bring copies a commit to the repository that the workspace is of, and then changes refs there.
func (m *merging) bring(ctx context.Context, id string, commands ...string) error {
	c := m.caller
	if c == nil {
		return m.bringHome(ctx, id)
	}
	if m.in.Folder != m.p.ws.Of {
		var err error
		if c, err = m.k.callerOf(ctx, m.p.ws.Of); err != nil {
			return err
		}
	}
	ctx, release, err := m.k.holdCaller(ctx, c)
	if err != nil {
		return err
	}
	defer release()
	e := &ending{k: m.k, p: m.p, r: m.r, rec: m.rec, caller: c}
	if err := e.transfer(ctx, []string{id}); err != nil {
		return err
	}
	if err := errors.Join(m.k.step("transferred"), e.reachable(ctx, []string{id})); err != nil {
		return err
	}
	if err := c.update(ctx, commands); err != nil {
		return err
	}
	return m.p.unpin(c)
}

// bringHome has the keeper of a copy keep a commit.
func (m *merging) bringHome(ctx context.Context, id string) error {
	r, err := m.k.keeper(m.p)
	if err != nil {
		return err
	}
	if err := m.r.hand(ctx, revisions([]string{id}, m.rec.Base.Commit), r, m.p.folder); err != nil {
		return err
	}
	kept, err := readKept(m.p)
	if err != nil {
		return err
	}
	kept[keptMerged] = id
	return kept.write(m.p)
}

// withoutMarkers takes out of a merge what still has the conflicts that were handed back.
func (m *merging) withoutMarkers(out *Merged, changes []Change) []Change {
	if len(m.rec.Handed) == 0 {
		return changes
	}
	return slices.DeleteFunc(changes, func(c Change) bool {
		if c.Link || !strings.Contains(string(c.Content), m.p.ws.Name) || !hasMarkers(string(c.Content), m.p.ws.Name) {
			return false
		}
		out.Conflicts = append(out.Conflicts, Conflict{Path: c.Path, Theirs: m.p.ws.Name,
			Why: "it still has the markers of conflicts that were handed back"})
		return true
	})
}
