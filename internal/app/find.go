package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// Find resolves what people type for a session: a name, an id or the beginning of one, or
// a path such as "main/Auth Explorer", whose first part is any of these. "main" is the
// newest root session of the folder cwd, unless a session has been given that name.
func (a *App) Find(ctx context.Context, ref, cwd string) (troupe.Session, error) {
	var found troupe.Session
	err := a.store.View(ctx, func(r store.Reader) error {
		var err error
		found, err = find(r, ref, cwd)
		return err
	})
	return found, err
}

func find(r store.Reader, ref, cwd string) (troupe.Session, error) {
	first, rest, _ := strings.Cut(ref, "/")
	s, err := findRoot(r, first, cwd)
	if err != nil {
		return troupe.Session{}, err
	}
	for rest != "" {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		if name == "" {
			return troupe.Session{}, &troupe.UserError{Problem: fmt.Sprintf("%q has an empty part", ref), Hint: `A path looks like "main/Auth Explorer".`, Code: 2}
		}
		kids, err := r.Sessions(store.Filter{Root: s.Root, Parent: s.ID, Name: name, Limit: 1})
		if err != nil {
			return troupe.Session{}, fmt.Errorf("look for %q below session %s: %w", name, s.ID, err)
		}
		if len(kids) == 0 {
			return troupe.Session{}, &troupe.UserError{
				Problem: fmt.Sprintf("session %s has no agent named %q", s.ID, name),
				Hint:    fmt.Sprintf("`troupe show %s` lists its agents.", s.ID), Code: 2, Err: troupe.ErrNotFound,
			}
		}
		s = kids[0]
	}
	return s, nil
}

func findRoot(r store.Reader, ref, cwd string) (troupe.Session, error) {
	named, err := r.Sessions(store.Filter{RootsOnly: true, Name: ref, Newest: true, Limit: 1})
	if err != nil {
		return troupe.Session{}, fmt.Errorf("look for session %q: %w", ref, err)
	}
	if len(named) > 0 && ref != "" {
		return named[0], nil
	}
	if ref == "main" {
		return newest(r, cwd)
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
		Hint:    "Type more of the id.", Code: 2, Err: troupe.ErrAmbiguous,
	}
}

// newest finds the root session that was born last in a folder.
func newest(r store.Reader, cwd string) (troupe.Session, error) {
	list, err := r.Sessions(store.Filter{RootsOnly: true, Cwd: cwd, Newest: true, Limit: 1})
	if err != nil {
		return troupe.Session{}, fmt.Errorf("look for the newest session in %s: %w", cwd, err)
	}
	if len(list) == 0 {
		return troupe.Session{}, &troupe.UserError{
			Problem: "there is no session yet in " + cwd,
			Hint:    "`troupe sessions` lists those of other folders.", Code: 2, Err: troupe.ErrNotFound,
		}
	}
	return list[0], nil
}

func notFound(ref string) error {
	return &troupe.UserError{
		Problem: fmt.Sprintf("there is no session named %q and none whose id begins so", ref),
		Hint:    "`troupe sessions` lists them all.", Code: 2, Err: troupe.ErrNotFound,
	}
}

// isNotFound reports whether an error says that something is not there.
func isNotFound(err error) bool { return errors.Is(err, troupe.ErrNotFound) }
