package worktree

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// An agent may end, or be looked at, with the markers of conflicts that were handed to it still in its files. They are
// nobody's work: what it has is then taken without what the hand-back wrote, so that its own side is merged, compared
// and committed as it was before.

// unhand settles which files still have markers, and what the workspace has without them.
func (m *merging) unhand(ctx context.Context) error {
	m.raw = m.theirs
	if len(m.rec.Handed) == 0 {
		return nil
	}
	h := m.rec.Handed[len(m.rec.Handed)-1] // what was handed before it was taken back by this one
	var err error
	if m.marks, err = m.markedIn(ctx, m.raw, h); err != nil || len(m.marks) == 0 {
		return err
	}
	if m.theirs, err = m.withoutHanded(ctx, h); err != nil {
		return err
	}
	// What is marked still is in a file that the hand-back did not write there: moved and rewritten.
	left, err := m.markedIn(ctx, m.theirs, h)
	if err != nil || len(left) == 0 {
		return err
	}
	was, err := m.r.entries(ctx, h.Was, left)
	if err != nil {
		return err
	}
	files := map[string]entry{}
	for _, name := range left {
		files[name] = was[name]
	}
	m.theirs, err = graft(ctx, m.r, m.theirs, files)
	return err
}

// markedIn are the files of a tree with markers that what the workspace had before it was handed them does not have.
func (m *merging) markedIn(ctx context.Context, tree string, h handed) ([]string, error) {
	deltas, err := m.r.deltas(ctx, h.Was, tree)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for _, d := range deltas {
		if strings.HasPrefix(d.now.mode, "100") {
			ids[d.now.id] = true
		}
	}
	texts, err := m.r.blobs(ctx, slices.Sorted(maps.Keys(ids)))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range deltas {
		if ids[d.now.id] && hasMarkers(texts[d.now.id], m.p.ws.Name) {
			names = append(names, d.name)
		}
	}
	return names, nil
}

// withoutHanded takes what was handed out of what the workspace has. What its agent did since stays, but in files that
// still have markers.
func (m *merging) withoutHanded(ctx context.Context, h handed) (string, error) {
	was, err := m.r.entries(ctx, h.Was, m.marks)
	if err != nil {
		return "", err
	}
	files := map[string]entry{}
	for _, name := range m.marks {
		files[name] = was[name]
	}
	if h.Given == "" { // an older version handed it
		return graft(ctx, m.r, m.raw, files)
	}
	o, err := m.k.threeWay(ctx, m.r, h.Given, m.raw, h.Was)
	if err != nil {
		return "", err
	}
	names := o.names()
	now, err := m.r.entries(ctx, m.raw, names)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if _, marked := files[name]; !marked {
			files[name] = now[name]
		}
	}
	// Where its agent only moved a file with markers, what git merged is what it had there.
	for _, name := range m.marks {
		if files[name].id == "" && !o.conflicted(name) {
			delete(files, name)
		}
	}
	return graft(ctx, m.r, o.tree, files)
}

// refuseMarked says that nothing is brought while files have markers, and what can be done.
func (m *merging) refuseMarked(ctx context.Context) error {
	open, err := m.undecided(ctx)
	if err != nil || len(open) == 0 {
		return err
	}
	name := m.p.ws.Name
	return &troupe.UserError{
		Problem: fmt.Sprintf("%s still has the markers of conflicts in %s, which were handed to its agent", name,
			some(open)),
		Hint: fmt.Sprintf("`troupe merge %[1]s --take mine` keeps what your folder has of these files, "+
			"`troupe merge %[1]s --take theirs` takes what the agent had, and `troupe merge %[1]s --hand-back` has "+
			"the agent resolve them.", name)}
}

// undecided are the files with markers of which the caller has neither taken its own side nor the agent's.
func (m *merging) undecided(ctx context.Context) ([]string, error) {
	theirs, err := m.r.entries(ctx, m.theirs, m.marks)
	if err != nil {
		return nil, err
	}
	base, err := m.r.entries(ctx, m.base, m.marks)
	if err != nil {
		return nil, err
	}
	var open []string
	for _, name := range m.marks {
		taken := slices.Contains(m.in.Theirs, filepath.Join(m.in.Folder, name))
		if !taken && theirs[name] != base[name] { // else it is what was merged, or declined
			open = append(open, name)
		}
	}
	return open, nil
}

// unresolved adds the files with markers to the conflicts.
func (m *merging) unresolved(ctx context.Context, out *Merged) error {
	open, err := m.undecided(ctx)
	for _, name := range m.marks {
		path := filepath.Join(m.in.Folder, name)
		conflicts := slices.ContainsFunc(out.Conflicts, func(c Conflict) bool { return c.Path == path })
		switch {
		case conflicts: // also one that only the caller has under this name
		case slices.Contains(open, name):
			out.Conflicts = append(out.Conflicts, Conflict{Path: path, Theirs: m.p.ws.Name,
				Why: "it still has the markers of conflicts that were handed back"})
		default:
			continue
		}
		out.Unresolved = append(out.Unresolved, path)
	}
	return errors.Join(err, keptItsOwn(ctx, m, out))
}

// keptItsOwn says of what conflicts whether the agent was handed it already and has settled it: what it has
// against the caller's side is the caller's to decide, and another hand-back would only ask the same again.
func keptItsOwn(ctx context.Context, m *merging, out *Merged) error {
	if len(m.rec.Handed) == 0 || len(out.Conflicts) == 0 {
		return nil
	}
	h := m.rec.Handed[len(m.rec.Handed)-1]
	if h.Given == "" {
		return nil
	}
	var names []string
	for _, c := range out.Conflicts {
		if name, err := filepath.Rel(m.in.Folder, c.Path); err == nil && !slices.Contains(m.marks, name) {
			names = append(names, name)
		}
	}
	given, err := m.r.entries(ctx, h.Given, names)
	if err != nil {
		return err
	}
	var ids []string
	for _, e := range given {
		if strings.HasPrefix(e.mode, "100") {
			ids = append(ids, e.id)
		}
	}
	texts, err := m.r.blobs(ctx, ids)
	for i, c := range out.Conflicts {
		name, _ := filepath.Rel(m.in.Folder, c.Path)
		if e, ok := given[name]; ok && hasMarkers(texts[e.id], m.p.ws.Name) {
			out.Conflicts[i].Why += "; " + m.p.ws.Name + " was handed it and has resolved it, which you can take"
		}
	}
	return err
}

// settle finds out what of the folder is work, where conflicts were handed to it: what the caller had is not, and
// markers are not. What cannot be found out counts as work.
func (e *ending) settle(ctx context.Context) error {
	if len(e.rec.Handed) == 0 || e.p.ws.ByHook {
		return nil
	}
	marked := false
	err := e.k.mergeTree(ctx, e.p, e.rec, e.Tree, Into{}, func(m *merging) error {
		changed, err := m.r.changes(ctx, m.given, m.theirs)
		if err != nil {
			return err
		}
		own := append([]troupe.FileChanged{}, changed...)
		if len(m.marks) == 0 {
			e.own = own
			return nil
		}
		id, err := m.k.commit(ctx, m.r, m.theirs, "What "+m.p.ws.Name+" has without what it was handed")
		if err == nil {
			err = m.r.hand(ctx, revisions([]string{id}, m.rec.Base.Commit), e.r, e.p.folder)
		}
		if err == nil {
			e.own, e.work, marked = own, m.theirs, true
		}
		return err
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	delete(e.kept, keptLeft)
	if err == nil && marked {
		e.kept[keptLeft], err = e.k.commit(ctx, e.r, e.Tree, "What "+e.p.ws.Name+" left, with markers of conflicts",
			e.rec.Base.Commit)
		if err != nil {
			return err
		}
	}
	return e.kept.write(e.p)
}

// since is what a checkpoint is compared with: what was handed in between is not of the agent's making.
func (rec *record) since(last string) string {
	for _, h := range rec.Handed {
		if h.From != "" && h.From == last {
			last = h.Given
		}
	}
	return last
}
