package httpd

import (
	"context"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
)

// sight is what the user of a server may know to be there, and for what they may use a verb.
type sight struct {
	all   api.API // of the home; it only looks
	bind  Bind
	c     troupe.Caller
	needs troupe.Right // of the verb
	in    folders      // the server's, and those of checkouts
	// checkouts is where what has a repository works.
	checkouts string
}

// place is the folder in which a session works by a name that tells whether it is one of the server's: by the one with
// which the session was born, so that it is seen and stopped whatever stands there by now, or by where that leads.
// "": it is none of the server's.
func (s sight) place(cwd string) string {
	if troupe.WithinAny(cwd, s.in) {
		return cwd
	}
	if real, err := filepath.EvalSymlinks(cwd); err == nil && troupe.WithinAny(real, s.in) {
		return real
	}
	return ""
}

// has reports whether a session's folder is one of the server's in which the caller may look.
func (s sight) has(cwd string) bool { return s.may(cwd, troupe.RightViewer) }

// may reports whether a folder is one of the server's in which the caller has a right.
func (s sight) may(cwd string, needs troupe.Right) bool {
	place := s.place(cwd)
	return place != "" && s.c.In(place).May(needs)
}

// inProject reports whether the caller has the right in projects alone.
func (s sight) inProject() bool { return !s.c.Right.Covers(s.needs) }

// folderOf is where a session works.
func (s sight) folderOf(ctx context.Context, id troupe.SessionID) (string, error) {
	t, err := s.all.Tree(ctx, id)
	if err != nil {
		return "", err
	}
	return t.Sessions[0].Cwd, nil
}

// hasSession reports whether a session is one of the server's in whose folder the caller has a right.
func (s sight) hasSession(ctx context.Context, id troupe.SessionID, needs troupe.Right) (bool, error) {
	if id == "" {
		return false, nil
	}
	cwd, err := s.folderOf(ctx, id)
	return err == nil && s.may(cwd, needs), err
}
