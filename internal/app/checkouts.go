package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/app/checkout"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// checkoutsOf has the repositories that a server of the home has checked out.
func checkoutsOf(a *App) *checkout.Checkouts { return a.once.checkouts() }

func openCheckouts(a *App) *checkout.Checkouts {
	return checkout.New(checkout.Options{Folder: resolved(a.dirs.Checkouts()), Hosts: a.env.GitHosts,
		Environ: a.env.Environ,
		Hold: func(ctx context.Context, folder string) (context.Context, func(), error) {
			return worktree.WritingWithin(ctx, a.keeper, folder, checkout.MadeWithin)
		}})
}

// IsGitHost reports whether repositories can be taken from what is named. All hosts at once are none.
func IsGitHost(name string) bool {
	return checkout.IsHost(name)
}

// Checkouts is the folder in which a server has repositories checked out, by its real name.
func Checkouts(a *App) (string, error) {
	folder := a.dirs.Checkouts()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("make the folder of checkouts: %w", err)
	}
	return resolved(folder), nil
}

// checkOut has the repository that a session is to begin with checked out: it works in a worktree of that folder.
func checkOut(ctx context.Context, a *App, b wire.Begin) (wire.Begin, error) {
	if b.Workspace == troupe.WorkspaceShared {
		return b, &troupe.UserError{Problem: "what is checked out is not changed, so no session can work in that " +
			"folder itself", Hint: "Leave --isolation and --filesystem out: it has a worktree.", Code: troupe.ExitUsage}
	}
	all, from := checkoutsOf(a), checkout.Source{URL: b.Repo, Ref: b.Ref}
	if b.PullRequest {
		if err := all.CanOpen(from); err != nil {
			return b, err
		}
	}
	folder, err := all.Make(ctx, from)
	if err != nil {
		return b, err
	}
	b.Cwd, b.Repo, b.Ref, b.Push = folder, "", "", b.Push || b.PullRequest
	if b.Worktree == nil && b.Workspace == "" {
		b.Worktree = new(string)
	}
	return b, nil
}

// refuseRepository refuses what no server has checked out.
func refuseRepository(b wire.Begin, resumes bool) error {
	switch {
	case resumes && (b.Repo != "" || b.Push || b.PullRequest):
		return &troupe.UserError{Problem: "a session that goes on has its repository",
			Hint: "Leave --repo, --ref, --push and --pull-request out. `troupe push` pushes what it did.",
			Code: troupe.ExitUsage}
	case b.Repo != "" || b.Ref != "":
		return &troupe.UserError{Problem: "only a server checks repositories out, for new sessions",
			Hint: "Name one with --server ADDRESS; here, clone it and begin in its folder.", Code: troupe.ExitUsage}
	case (b.Push || b.PullRequest) && (b.Worktree == nil && b.Workspace != troupe.WorkspaceTree):
		return &troupe.UserError{Problem: "there is nothing to push: the session has no worktree of a checkout",
			Hint: "--push and --pull-request go with --repo.", Code: troupe.ExitUsage}
	}
	return nil
}

// beside notes of a new workspace of which repository the folder is a checkout that it is beside, and whether its work
// is pushed there at its ends.
func (w *workspaces) beside(work troupe.Workspace, b wire.Repository) (troupe.Workspace, error) {
	all := checkoutsOf(w.app)
	switch {
	case all.Has(work.Of):
		of, err := all.Of(w.ctx(), work.Of)
		work.Remote, work.Push, work.PullRequest = of.URL, b.Push || b.PullRequest, b.PullRequest
		return work, err
	case b.Push || b.PullRequest:
		return work, &troupe.UserError{Problem: "there is nowhere to push to: " + work.Of +
			" is no checkout of this server",
			Hint: "--push and --pull-request go with --repo.", Code: troupe.ExitUsage}
	}
	return work, nil
}

// pushed pushes what a workspace came to at the end of a run, and says what came of it: an end waits for no remote
// longer than that.
func (w *workspaces) pushed(ctx context.Context, s troupe.Session, end *troupe.WorkspaceResult) {
	work := s.Workspace
	if end.Remote = work.Remote; !work.Push || end.Unkept != "" || end.Tip == "" || end.Tip == end.Base {
		return
	}
	got, err := checkoutsOf(w.app).Push(ctx, work.Of, end.Tip, work.Owner, branchesFor(work)...)
	if err != nil {
		end.NotPushed = reason(err)
		return
	}
	if work.PullRequest {
		requestPull(ctx, w.app, work, &got, checkout.Pull{Title: cmp.Or(s.Title, s.Name)})
	}
	end.Pushed = &got
}

// requestPull has a pull request for a branch that was pushed, or says there why not.
func requestPull(ctx context.Context, a *App, work troupe.Workspace, got *troupe.Pushed, p checkout.Pull) {
	p.Branch, p.Commit = got.Branch, got.Commit
	p.Title = cmp.Or(troupe.VisibleLine(p.Title), work.Name)
	p.Title = strings.ToValidUTF8(p.Title[:min(len(p.Title), 250)], "")
	p.Body = fmt.Sprintf("Made by an agent: session %s of Troupe.", work.Session())
	var err error
	if got.PullRequest, err = checkoutsOf(a).Open(ctx, work.Of, p); err != nil {
		got.NotOpened = reason(err)
	}
}

// reason is why a push failed, on one line. What a remote says of it may be long.
func reason(err error) string {
	text := err.Error()
	if said, ok := errors.AsType[*troupe.UserError](err); ok {
		text = said.Problem
	}
	text = troupe.VisibleLine(text)
	return strings.ToValidUTF8(text[:min(len(text), 500)], "")
}

// branchesFor are the names that the work of a workspace gets at a remote: the first that is free there.
func branchesFor(work troupe.Workspace) []string {
	name := "troupe/" + work.Name
	return []string{name, name + "-" + string(work.Owner)[:6]}
}

// pushedAs is the branch of the checkout that has what a command pushes of a workspace. Its name comes again when it is
// gone, and its owner's does not.
func pushedAs(work troupe.Workspace) string { return "troupe-push/" + string(work.Owner) }

// titleOf is what the session of a worktree is about; "" if it was removed.
func titleOf(ctx context.Context, a *App, work troupe.Workspace) string {
	s, err := a.trees.session(ctx, work.Session())
	if err != nil {
		return ""
	}
	return cmp.Or(s.Title, s.Name)
}

// PushWorktree implements api.Workspaces.
func (a worktrees) PushWorktree(ctx context.Context, p wire.WorktreePush) (out wire.PushedWorktree, err error) {
	ctx = worktree.Looking(ctx, 0, api.Waits(ctx))
	look := lookingBy(a)
	row, err := look.one(ctx, p.WorktreeQuery)
	if err != nil {
		return out, err
	}
	out.Worktree = look.known(ctx, row)
	work, all := row.Workspace, checkoutsOf(a.app)
	if !all.Has(work.Of) {
		return out, &troupe.UserError{Problem: fmt.Sprintf("%s is no checkout of a server, so there is nowhere to "+
			"push %s to",
			work.Of, work.Name), Hint: "troupe merge brings it to that folder; --into puts it on a branch there.",
			Code: troupe.ExitUsage}
	}
	local := pushedAs(work)
	if _, _, conflict, err := look.keeper.Onto(ctx, work, local); err != nil {
		return out, err
	} else if conflict != nil {
		return out, &troupe.UserError{Problem: fmt.Sprintf("%s cannot be pushed: %s conflicts with what was pushed "+
			"of it "+
			"before", work.Name, conflict.Path), Hint: "Have the agent go on from what it pushed, or name another " +
			"branch " +
			"with --branch.", Code: troupe.ExitFailed}
	}
	names := branchesFor(work)
	if p.Branch != "" {
		names = []string{p.Branch}
	}
	out.Pushed, err = all.Push(ctx, work.Of, "refs/heads/"+local, work.Owner, names...)
	if err == nil && p.PullRequest {
		requestPull(ctx, a.app, work, &out.Pushed, checkout.Pull{Base: p.Base,
			Title: cmp.Or(p.Title, titleOf(ctx, a.app, work))})
	}
	if errors.Is(err, checkout.ErrNothing) {
		err = &troupe.UserError{Problem: "nothing was changed in " + work.Name + ", so there is nothing to push",
			Code: troupe.ExitUsage, Err: err}
	}
	return out, err
}

// refuseToMergeInto refuses to write what was done in a worktree to a checkout: that is never changed.
func refuseToMergeInto(a *App, work troupe.Workspace) error {
	if !checkoutsOf(a).Has(work.Of) {
		return nil
	}
	return &troupe.UserError{Problem: "the worktree " + work.Name + " is beside a checkout, which is not changed",
		Hint: "`troupe push " + work.Name + "` pushes its work as a branch, `troupe diff " + work.Name + "` shows it.",
		Code: troupe.ExitUsage}
}
