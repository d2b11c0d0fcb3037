package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// find resolves what people type for a session: a name, an id or the beginning of one, or
// a path such as "main/Auth Explorer", whose first part is any of these. "main" is the
// newest root session of the folder cwd, unless a session has been given that name. What is
// none of these may be the bare name of an agent; see findByAgentName.
func (a trees) find(ctx context.Context, ref, cwd string) (troupe.Session, error) {
	if begin, cut := strings.CutSuffix(ref, "…"); cut {
		return a.findByBeginning(ctx, ref, begin, cwd)
	}
	var found troupe.Session
	err := a.store.View(ctx, func(r store.Reader) error {
		var err error
		found, err = a.lookUp(r, ref, cwd)
		return err
	})
	if isNotFound(err) {
		return a.findByAgentName(ctx, ref, cwd, err)
	}
	return found, err
}

func (a trees) lookUp(r store.Reader, ref, cwd string) (troupe.Session, error) {
	first, rest, _ := strings.Cut(ref, "/")
	s, err := a.findRoot(r, first, cwd)
	if err != nil {
		return troupe.Session{}, err
	}
	for rest != "" {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		if name == "" {
			return troupe.Session{}, &troupe.UserError{Problem: fmt.Sprintf("%q has an empty part", ref),
				Hint: `A path looks like "main/Auth Explorer".`, Code: troupe.ExitUsage}
		}
		kids, err := r.Sessions(store.Filter{Root: s.Root, Parent: s.ID, Name: name, Limit: 1})
		if err != nil {
			return troupe.Session{}, fmt.Errorf("look for %q below session %s: %w", name, s.ID, err)
		}
		if len(kids) == 0 {
			return troupe.Session{}, &troupe.UserError{
				Problem: fmt.Sprintf("session %s has no agent named %q", s.ID, name),
				Hint:    fmt.Sprintf("`troupe show %s` lists its agents.", s.ID), Code: troupe.ExitUsage,
				Err: troupe.ErrNotFound,
			}
		}
		s = kids[0]
	}
	return s, nil
}

func (a trees) findRoot(r store.Reader, ref, cwd string) (troupe.Session, error) {
	named, err := r.Sessions(store.Filter{RootsOnly: true, Name: ref, Newest: true, Limit: 1})
	if err != nil {
		return troupe.Session{}, fmt.Errorf("look for session %q: %w", ref, err)
	}
	if len(named) > 0 && ref != "" {
		return named[0], nil
	}
	if ref == "main" {
		return newest(r, cwd, a.by)
	}
	if !troupe.IsIDPrefix(ref) {
		return troupe.Session{}, notFound(ref)
	}
	const show = 5
	byID, err := r.Sessions(store.Filter{IDPrefix: ref, Limit: show + 1})
	switch {
	case err != nil:
		return troupe.Session{}, fmt.Errorf("look for session %q: %w", ref, err)
	case len(byID) == 0:
		return troupe.Session{}, notFound(ref)
	case len(byID) == 1:
		return byID[0], nil
	}
	var ids []string
	for _, s := range byID[:min(show, len(byID))] {
		ids = append(ids, string(s.ID))
	}
	return troupe.Session{}, &troupe.UserError{
		Problem: fmt.Sprintf("%q begins the ids of several sessions: %s", ref, strings.Join(ids, ", ")),
		Hint:    "Type more of the id.", Code: troupe.ExitUsage, Err: troupe.ErrAmbiguous,
	}
}

// newest finds the root session that was born last in a folder.
func newest(r store.Reader, cwd, by string) (troupe.Session, error) {
	list, err := r.Sessions(store.Filter{RootsOnly: true, Cwd: cwd, By: by, Newest: true, Limit: 1,
		Archived: new(false)})
	if err != nil {
		return troupe.Session{}, fmt.Errorf("look for the newest session in %s: %w", cwd, err)
	}
	if len(list) == 0 {
		out := &troupe.UserError{
			Problem: "there is no session yet in " + cwd,
			Hint:    "`troupe sessions` lists those of other folders.", Code: troupe.ExitUsage, Err: troupe.ErrNotFound,
		}
		if by != "" {
			out.Problem = "you have begun no session yet in " + cwd
			out.Hint = "`troupe sessions` lists those of others too: name one by its id."
		}
		return troupe.Session{}, out
	}
	return list[0], nil
}

func notFound(ref string) error {
	return &troupe.UserError{
		Problem: fmt.Sprintf("there is no session named %q and none whose id begins so", ref),
		Hint:    "`troupe sessions` lists them all.", Code: troupe.ExitUsage, Err: troupe.ErrNotFound,
	}
}

// isNotFound reports whether an error says that something is not there.
func isNotFound(err error) bool { return errors.Is(err, troupe.ErrNotFound) }

// findByAgentName resolves a reference whose first part names no session as the name of an agent, if only
// one agent of the trees that people have in mind bears it: those that a process runs, and the
// newest of the folder. missing is the error if it does not.
func (a trees) findByAgentName(ctx context.Context, ref, cwd string, missing error) (troupe.Session, error) {
	if ref == "" || strings.Contains(ref, "/") {
		return troupe.Session{}, missing
	}
	trees, err := a.candidateTrees(ctx, cwd)
	if err != nil {
		return troupe.Session{}, errors.Join(missing, err)
	}
	var named []troupe.Session
	var paths, near []string
	for _, t := range trees {
		// A path begins with the tree's id where there are several: "main" is only the newest.
		for _, s := range t.Sessions[1:] {
			path := t.Paths[s.ID]
			if len(trees) > 1 && t.Sessions[0].Name == "" {
				path = string(s.Root) + strings.TrimPrefix(path, "main")
			}
			switch {
			case strings.EqualFold(s.Name, ref):
				named, paths = append(named, s), append(paths, path)
			case alike(s.Name, ref):
				near = append(near, path)
			}
		}
	}
	switch len(named) {
	case 1:
		return named[0], nil
	case 0:
		return troupe.Session{}, noAgent(ref, near, missing)
	}
	return troupe.Session{}, &troupe.UserError{
		Problem: fmt.Sprintf("there are several agents named %q: %s", ref, quoted(paths)),
		Hint:    "Name the one that is meant by its path.", Code: troupe.ExitUsage, Err: troupe.ErrAmbiguous,
	}
}

// findByBeginning resolves a path as a table prints it, cut behind its beginning.
func (a trees) findByBeginning(ctx context.Context, ref, begin, cwd string) (troupe.Session, error) {
	first, rest, below := strings.Cut(begin, "/")
	var in []Tree
	if below {
		s, err := a.find(ctx, first, cwd)
		if err != nil {
			return troupe.Session{}, err
		}
		t, err := a.tree(ctx, s.Root)
		if err != nil {
			return troupe.Session{}, err
		}
		in = append(in, t)
	} else {
		var err error
		if in, err = a.candidateTrees(ctx, cwd); err != nil {
			return troupe.Session{}, err
		}
	}
	var found []troupe.Session
	var all []string
	for _, t := range in {
		for _, s := range t.Sessions {
			path := t.Paths[s.ID]
			name := path
			if below {
				_, name, _ = strings.Cut(path, "/")
			}
			if want := rest; strings.HasPrefix(name, want) && below || !below && strings.HasPrefix(name, begin) {
				found, all = append(found, s), append(all, path)
			}
		}
	}
	switch len(found) {
	case 0:
		return troupe.Session{}, notFound(ref)
	case 1:
		return found[0], nil
	}
	return troupe.Session{}, &troupe.UserError{
		Problem: fmt.Sprintf("%q begins the names of several agents: %s", ref, quoted(all[:min(len(all), 5)])),
		Hint:    "Type more of the name of the one that is meant.", Code: troupe.ExitUsage, Err: troupe.ErrAmbiguous,
	}
}

// candidateTrees reads the trees that a process runs and the newest one of a folder.
func (a trees) candidateTrees(ctx context.Context, cwd string) ([]Tree, error) {
	var roots []troupe.Session
	held := make(map[troupe.SessionID]troupe.Lease)
	err := a.store.View(ctx, func(r store.Reader) error {
		var err error
		if roots, err = r.Sessions(store.Filter{RootsOnly: true, Newest: true, Archived: new(false)}); err != nil {
			return err
		}
		for _, s := range roots {
			if held[s.ID], err = r.Lease(s.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for agents: %w", err)
	}
	var out []Tree
	alive := make(map[troupe.OwnerID]bool)
	here := false // the newest one of the folder is among them
	for _, s := range roots {
		l := held[s.ID]
		if _, known := alive[l.Owner]; !known {
			if _, alive[l.Owner], err = a.owner(ctx, l); err != nil {
				return nil, err
			}
		}
		newest := !here && s.Cwd == cwd
		here = here || newest
		if !newest && !alive[l.Owner] {
			continue
		}
		t, err := a.tree(ctx, s.ID)
		if isNotFound(err) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// noAgent says that a word names neither a session nor an agent, and what an agent's name looks like.
func noAgent(ref string, near []string, missing error) error {
	var user *troupe.UserError
	if !errors.As(missing, &user) {
		return missing
	}
	hint := user.Hint + ` An agent is named by its path, such as "main/Auth Explorer".`
	if len(near) > 0 {
		slices.SortFunc(near, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
		hint += fmt.Sprintf(" Like %q there are: %s.", ref, quoted(near[:min(len(near), 5)]))
	}
	return &troupe.UserError{Problem: user.Problem, Hint: hint, Code: user.Code, Err: user.Err}
}

func quoted(paths []string) string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = fmt.Sprintf("%q", p)
	}
	return strings.Join(out, ", ")
}

// alike reports whether a person who types one name may have meant the other: one is part of
// the other, or they differ by a slip or two.
func alike(a, b string) bool {
	x, y := strings.ToLower(a), strings.ToLower(b)
	return min(len(x), len(y)) >= 3 &&
		(strings.Contains(x, y) || strings.Contains(y, x) || troupe.Nearest(x, []string{y}) != "")
}
