package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// What people type for a worktree means one beside their folder: a command that writes must not go to another project
// because of a word that happens to begin a name or an id there. Only a whole id of a session is meant wherever it is.

// one is the worktree that a name means, and what it holds. If its agent's end could not be kept, it is closed first,
// as by list.
func (l looking) one(ctx context.Context, q wire.WorktreeQuery) (worktree.Row, error) {
	row, err := l.named(ctx, q)
	if err != nil {
		return row, err
	}
	l.keepAgain(ctx, row)
	// whether something runs is asked behind the look at what was opened
	clear(l.trees)
	row, err = l.keeper.Look(ctx, row.Workspace, worktree.Listing{Hidden: l.hiddenOf})
	if isNotFound(err) { // there was nothing in it
		return row, noWorktree(q.Name, nil)
	}
	return row, err
}

// named is the worktree that a name means, as it is noted.
func (l looking) named(ctx context.Context, q wire.WorktreeQuery) (worktree.Row, error) {
	name := strings.TrimPrefix(q.Name, "troupe/") // of its branch
	if q.Name, q.Names = "", true; name == "" {
		return worktree.Row{}, &troupe.UserError{Problem: "the name is empty; is a variable not set?",
			Code: troupe.ExitUsage, Err: troupe.ErrNotFound}
	}
	rows, err := l.rows(ctx, q)
	if err != nil {
		return worktree.Row{}, err
	}
	if row, err := l.match(ctx, rows, name); !isNotFound(err) {
		return row, err
	}
	// A name that is ambiguous among all sessions may be that of no worktree here: then it is not found.
	s, noSession := l.app.trees.find(ctx, name, q.Cwd)
	if row, ok := ownedBy(rows, s); ok && noSession == nil {
		return row, nil
	}
	all := rows
	if !q.All {
		if all, err = l.keeper.Names(""); err != nil {
			return worktree.Row{}, err
		}
	}
	row, there := ownedBy(all, s)
	there = there && noSession == nil
	if id, whole := troupe.ParseSessionID(name); whole {
		if there {
			return row, nil
		}
		if row, ok := ownedBy(all, troupe.Session{ID: id}); ok { // its session was removed
			return row, nil
		}
	}
	if err := l.wasPruned(ctx, name, q.Cwd, s.ID); err != nil {
		return worktree.Row{}, err
	}
	if !there {
		if row, err = l.match(ctx, all, name); !isNotFound(err) && err != nil {
			return worktree.Row{}, err
		}
		there = err == nil
	}
	if there {
		return worktree.Row{}, &troupe.UserError{
			Problem: fmt.Sprintf("the worktree %s is beside %s, and not beside this folder", row.Workspace.Name,
				row.Workspace.Of),
			Hint: "Run it there: cd " + row.Workspace.Of, Code: troupe.ExitUsage}
	}
	if noSession == nil && (s.Name == name || string(s.ID) == name || strings.Contains(name, "/")) {
		return worktree.Row{}, &troupe.UserError{
			Problem: fmt.Sprintf("session %s has no folder of its own, or it was removed", s.ID),
			Hint:    "`troupe worktrees --all` lists them.", Code: troupe.ExitUsage, Err: troupe.ErrNotFound}
	}
	return worktree.Row{}, noWorktree(name, rows)
}

// wasPruned is the error of a name of worktrees that were pruned, of which refs have the work; the newest counts. nil:
// it is the name of none.
func (l looking) wasPruned(ctx context.Context, name, folder string, found troupe.SessionID) error {
	refs, _ := worktree.Left(ctx, l.keeper, config.Folders(resolved(folder))[0]) // none where it is no repository
	var last troupe.Session
	for id := range refs {
		s, err := l.app.trees.session(ctx, id)
		meant := id == found || s.Name == name || strings.HasPrefix(s.Workspace.Name, name)
		if err == nil && meant && !s.CreatedAt.Before(last.CreatedAt) && worktree.Pruned(l.keeper, id) {
			last = s
		}
	}
	if last.ID == "" {
		return nil
	}
	w, ref := last.Workspace.Name, refs[last.ID]
	return &troupe.UserError{Problem: fmt.Sprintf("the worktree %s was pruned; all of its work is in %s", w, ref),
		Hint: fmt.Sprintf("To have it as a branch: git branch %s %s", w, ref), Code: troupe.ExitUsage,
		Err: troupe.ErrNotFound}
}

// noWorktree is the error of a name that means none of those beside a folder.
func noWorktree(name string, rows []worktree.Row) error {
	hint := "`troupe worktrees --all` lists them."
	if n := len(rows); n > 0 {
		const most = 5
		hint = "Beside this folder are: " + namesOf(rows[:min(n, most)])
		if n > most {
			hint += fmt.Sprintf(" and %d more", n-most)
		}
		hint += ". `troupe worktrees --all` lists all."
	}
	return &troupe.UserError{
		Problem: fmt.Sprintf("there is no worktree named %q, and no agent of that name has one", name),
		Hint:    hint, Code: troupe.ExitUsage, Err: troupe.ErrNotFound}
}

// ownedBy is the worktree of a session, or of the one whose folder it works in.
func ownedBy(rows []worktree.Row, s troupe.Session) (worktree.Row, bool) {
	owner := cmp.Or(s.Workspace.Owner, s.ID)
	i := slices.IndexFunc(rows, func(r worktree.Row) bool { return r.Workspace.Owner == owner })
	if i < 0 {
		return worktree.Row{}, false
	}
	return rows[i], true
}

// match is the one of some worktrees that a person means by a word. An agent has its number too, as conversations show
// it: #2.
func (l looking) match(ctx context.Context, rows []worktree.Row, word string) (worktree.Row, error) {
	return matchRows(rows, func(row worktree.Row) ([]string, error) {
		s, err := l.app.trees.session(ctx, row.Workspace.Session())
		if isNotFound(err) {
			return nil, nil
		}
		w := l.known(ctx, row)
		return []string{s.Name, w.Agent, l.address(ctx, w), l.number(ctx, s)}, err
	}, word)
}

// matchRows is the one of some worktrees that a word means: its own name, one of its agent's, one that begins so, or
// the beginning of its agent's id. names are those of an agent; "" is none.
func matchRows(rows []worktree.Row, names func(worktree.Row) ([]string, error), word string) (worktree.Row, error) {
	var own, agents, begin, ids []worktree.Row
	for _, row := range rows {
		w := row.Workspace
		if w.Name == word {
			own = append(own, row)
		}
		called, err := names(row)
		if err != nil {
			return worktree.Row{}, err
		}
		if slices.ContainsFunc(called, func(name string) bool { return strings.EqualFold(name, word) }) {
			agents = append(agents, row)
		}
		if strings.HasPrefix(w.Name, word) {
			begin = append(begin, row)
		}
		if strings.HasPrefix(string(w.Owner), word) || strings.HasPrefix(string(w.Session()), word) {
			ids = append(ids, row)
		}
	}
	for _, found := range []struct {
		rows []worktree.Row
		many string
		hint string
	}{
		{own, "several worktrees are named %q: %s", "Name its session."},
		{agents, "several agents named %q have worktrees: %s", "Name the worktree."},
		{begin, "%q begins the names of several worktrees: %s", "Type more of the name, or name its session."},
		{ids, "%q begins the ids of the agents of several worktrees: %s", "Name the worktree."},
	} {
		switch len(found.rows) {
		case 0:
			continue
		case 1:
			return found.rows[0], nil
		}
		return worktree.Row{}, &troupe.UserError{Problem: fmt.Sprintf(found.many, word, namesOf(found.rows)),
			Hint: found.hint, Code: troupe.ExitUsage, Err: troupe.ErrAmbiguous}
	}
	return worktree.Row{}, troupe.ErrNotFound
}

// number is an agent's in its tree, in order of birth; "" for a main agent.
func (l looking) number(ctx context.Context, s troupe.Session) string {
	t, err := l.treeOf(ctx, s.Root)
	if err != nil {
		return ""
	}
	i := slices.IndexFunc(t.Sessions, func(o troupe.Session) bool { return o.ID == s.ID })
	if i < 1 {
		return ""
	}
	return fmt.Sprintf("#%d", i)
}

// namesOf are their names; with the folder that each is beside where that is not the same of all.
func namesOf(rows []worktree.Row) string {
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i] = row.Workspace.Name
		if slices.ContainsFunc(rows, func(o worktree.Row) bool { return o.Workspace.Of != row.Workspace.Of }) {
			names[i] += " beside " + row.Workspace.Of
		}
	}
	return strings.Join(names, ", ")
}
