package worktree

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// came are the workspaces whose work the caller's side of a file has: in the places that conflict, and anywhere that
// the other side is otherwise.
type came struct{ there, anywhere string }

// add names a workspace more.
func (c *came) add(name string, there, anywhere bool) {
	if there {
		c.there = strings.TrimPrefix(c.there+", "+name, ", ")
	}
	if anywhere {
		c.anywhere = strings.TrimPrefix(c.anywhere+", "+name, ", ")
	}
}

// names are the two sides of a file: the workspaces whose work came to the folder before, if it is there in that file,
// and the one that is merged.
func (m *merging) names(path string) (ours, theirs string) { return m.came[path].there, m.p.ws.Name }

// whose finds out for the files that conflict whose work is on the caller's side. That a workspace was merged does not
// tell: another may have changed these lines since, or a person may have undone it. What it has changed does.
func (m *merging) whose(ctx context.Context, o *outcome) {
	m.came = map[string]came{}
	names := o.names()
	if len(names) == 0 {
		return
	}
	others, err := recordsOf(m.k, m.p.ws.Of)
	if err != nil {
		return // names less
	}
	for _, rec := range others {
		if rec.Workspace.Owner == m.p.ws.Owner {
			continue
		}
		var mine []string
		for _, name := range names {
			if slices.Contains(rec.Brought, filepath.Join(m.in.Folder, name)) {
				mine = append(mine, name)
			}
		}
		if len(mine) == 0 {
			continue
		}
		changed := changedBy(ctx, m.k, rec, mine)
		for _, name := range mine {
			path := filepath.Join(m.in.Folder, name)
			c := m.came[path]
			there, anywhere := changed.in(o, name)
			c.add(rec.Workspace.Name, there, anywhere)
			m.came[path] = c
		}
	}
}

// versions are some files as a workspace began with them, and as it has or had them.
type versions struct {
	was   map[string]entry
	now   []map[string]entry
	texts map[string]string // by the ids
}

// offeredNamed is how many of the states of a workspace that were merged are looked at for its name.
const offeredNamed = 2

// changedBy reads what a workspace has made of some files. What of it cannot be read names nobody.
func changedBy(ctx context.Context, k *Keeper, rec *record, names []string) (v versions) {
	p, err := k.place(rec.Workspace)
	if err != nil {
		return v
	}
	r, err := k.keeper(p)
	if err != nil {
		return v
	}
	kept, err := readKept(p)
	if err != nil {
		return v
	}
	if v.was, err = r.entries(ctx, rec.Base.Commit, names); err != nil {
		return v
	}
	var ids []string
	take := func(found map[string]entry) {
		for _, e := range found {
			if e.id != "" && !slices.Contains(ids, e.id) && e.mode != modeRepo {
				ids = append(ids, e.id)
			}
		}
	}
	take(v.was)
	states := append([]string{kept.newest(rec)}, rec.Offered[max(0, len(rec.Offered)-offeredNamed):]...)
	slices.Sort(states)
	for _, tree := range slices.Compact(states) {
		found, err := r.entries(ctx, tree, names)
		if err == nil { // else it was of a merge that is over
			v.now = append(v.now, found)
			take(found)
		}
	}
	if v.texts, err = r.blobs(ctx, ids); err != nil {
		v.texts = nil
	}
	return v
}

// in reports whether the caller's side of a file shows what the workspace has changed: where it conflicts, and anywhere
// that the other side is otherwise.
func (v versions) in(o *outcome, name string) (there, anywhere bool) {
	pieces, texts, was := o.pieces[name], o.texts[name], v.was[name]
	for _, state := range v.now {
		now := state[name]
		if pieces == nil { // it is no matter of lines
			if same := now != was && now == o.stages[name][1]; same {
				return true, true
			}
			continue
		}
		from, to := v.texts[was.id], v.texts[now.id]
		anywhere = anywhere || shows(from, to, texts[2], texts[1])
		for _, p := range pieces {
			there = there || p.hunk != nil && shows(from, to, p.hunk.Base.Text, p.hunk.Ours.Text)
		}
	}
	return there, anywhere || there
}

// shows reports whether a change of lines is seen in another one: a line that it brought is brought there, or lines
// that it only removed are gone there.
func shows(from, to, base, ours string) bool {
	had, has := linesOf(base), linesOf(ours)
	for _, e := range udiff.Lines(from, to) {
		brings := false
		for line := range strings.Lines(e.New) {
			if line = strings.TrimSpace(line); line != "" {
				if brings = true; has[line] && !had[line] {
					return true
				}
			}
		}
		if brings {
			continue
		}
		for line := range strings.Lines(from[e.Start:e.End]) {
			if line = strings.TrimSpace(line); line != "" && had[line] && !has[line] {
				return true
			}
		}
	}
	return false
}

func linesOf(text string) map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(text) {
		all[strings.TrimSpace(line)] = true
	}
	return all
}
