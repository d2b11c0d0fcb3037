package checkout

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/workspace/git"
)

// pushed is what refs begin with that say what was pushed last, each as who pushed it and the branch of the remote.
const pushed = "refs/troupe-pushed/"

// ErrNothing: there is no such branch or commit to push.
var ErrNothing = errors.New("there is nothing to push")

// Push brings a commit or branch of a checkout to where that is from, under the first of some names that is free there,
// or has what the commit goes on from, or what the same one pushed there before: what others have put on a branch is
// never overwritten. It may be done again.
func (c *Checkouts) Push(ctx context.Context, folder, what string, by troupe.SessionID, as ...string) (troupe.Pushed,
	error) {
	s, err := c.Of(ctx, folder)
	if err != nil {
		return troupe.Pushed{}, err
	}
	if s, err = c.check(s); err != nil { // hosts may not be listed any more
		return troupe.Pushed{}, err
	}
	for _, name := range as {
		if !goodBranch(name) {
			return troupe.Pushed{}, &troupe.UserError{Problem: fmt.Sprintf("%.100q is no name of a branch", name),
				Hint: "Name one such as fix-login.", Code: troupe.ExitUsage}
		}
	}
	ctx, release, err := c.o.Hold(ctx, folder)
	if err != nil {
		return troupe.Pushed{}, err
	}
	defer release()
	out, err := c.reach(ctx, mostSaid)
	if err != nil {
		return troupe.Pushed{}, err
	}
	defer out.close()
	ctx, cancel := context.WithTimeout(ctx, fetchMost)
	defer cancel()
	r := out.in(folder)
	tip, err := line(ctx, r, "rev-parse", "--verify", "--quiet", what+"^{commit}")
	if exit, ok := errors.AsType[*git.Error](err); ok && exit.Code == 1 {
		err = fmt.Errorf("%w: %s", ErrNothing, what)
	}
	if err != nil {
		return troupe.Pushed{}, err
	}
	for _, name := range as {
		switch err = pushAs(ctx, r, s, tip, name, by); {
		case err == nil:
			return troupe.Pushed{To: s.URL, Branch: name, Commit: tip}, nil
		case !errors.Is(err, errTaken):
			return troupe.Pushed{}, &troupe.UserError{Problem: fmt.Sprintf("the branch %s could not be pushed to %s: "+
				"%v",
				name, s.URL, err), Err: err, Hint: "See that git at the server has a key for it which may push."}
		}
	}
	return troupe.Pushed{}, &troupe.UserError{Problem: fmt.Sprintf("%s has the branch %s, with what was not pushed "+
		"from here",
		s.URL, strings.Join(as, " and ")), Hint: "Name another one with --branch.", Err: err}
}

// Pushed reports whether a branch that was pushed from a checkout has a commit.
func (c *Checkouts) Pushed(ctx context.Context, folder, commit string) bool {
	r, err := git.Open(ctx, folder, c.o.Environ)
	if err != nil {
		return false
	}
	has, err := line(ctx, *r, "for-each-ref", "--count=1", "--format=%(refname)", "--contains", commit, pushed)
	return err == nil && has != ""
}

var errTaken = errors.New("the remote has a branch of that name with something else")

// pushAs pushes a commit as a branch of the remote.
func pushAs(ctx context.Context, r git.Runner, s Source, tip, name string, by troupe.SessionID) error {
	full, note := "refs/heads/"+name, pushed+string(by)+"/"+name
	last, err := line(ctx, r, "for-each-ref", "--format=%(objectname)", note)
	if err != nil {
		return err
	}
	there, err := line(ctx, r, "ls-remote", "--", s.URL, full)
	if err != nil {
		return err
	}
	there, _, _ = strings.Cut(there, "\t")
	onto := there == "" || there == last
	if !onto && there != tip {
		if onto, err = isBehind(ctx, r, there, tip); err != nil {
			return err
		}
	}
	switch {
	case there == tip: // one that was cut off behind its push
	case onto:
		// What came of it between the look and now is seen by the remote: it takes the branch as it was looked at.
		if err := r.Stream(ctx, nothing{}, "push", "--quiet", "--no-recurse-submodules", "--no-signed",
			"--force-with-lease="+full+":"+there, s.URL, tip+":"+full); err != nil {
			return err
		}
	default:
		return errTaken
	}
	return r.Stream(ctx, nothing{}, "update-ref", note, tip)
}

// isBehind reports whether a commit of the remote is here, and another one goes on from it.
func isBehind(ctx context.Context, r git.Runner, commit, tip string) (bool, error) {
	err := r.Stream(ctx, nothing{}, "merge-base", "--is-ancestor", commit, tip)
	if exit, ok := errors.AsType[*git.Error](err); ok && (exit.Code == 1 || exit.Code == 128) { // 128: it is not here
		return false, nil
	}
	return err == nil, err
}
