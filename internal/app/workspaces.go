package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// workspaces implements session.Workspaces: the keeper's folders, made by the settings of the project that they are
// made from.
type workspaces struct {
	keeper *worktree.Keeper
	app    *App
	guard  *guard

	mu     sync.Mutex
	opened map[string]chan struct{} // the tops of folders that are being opened; closed when they are there
}

// keeperOf has the workspaces of the home.
func keeperOf(a *App) *worktree.Keeper {
	return worktree.New(worktree.Options{Data: a.dirs.Workspaces(), Folders: a.dirs.Worktrees, Environ: a.env.Environ,
		Now: a.env.Now, Reading: newReader(a).reading})
}

func (w *workspaces) ctx() context.Context { return w.guard.ctx() }

// Plan implements session.Workspaces.
func (w *workspaces) Plan(asks troupe.Session, wish session.Wish) (troupe.Workspace, error) {
	return w.plan(worktree.Wish{Owner: wish.ID, Kind: wish.Kind, Name: wish.Name, Exact: wish.Name != "",
		Title: wish.Title, From: asks.Dir(), Hook: wish.Hook})
}

// ofRoot is where a new session is to work: as was asked for, else as its definition says; the zero
// value is its folder.
func (w *workspaces) ofRoot(b wire.Begin, p troupe.Profile, roles *profiles, title string) (troupe.Workspace, error) {
	id := roles.tree
	wish := worktree.Wish{Owner: id, Kind: cmp.Or(b.Workspace, p.Workspace), Title: cmp.Or(b.Name, title), From: b.Cwd}
	if b.Worktree != nil {
		wish.Kind, wish.Name, wish.Exact = troupe.WorkspaceTree, *b.Worktree, *b.Worktree != ""
	}
	if wish.Kind == "" || wish.Kind == troupe.WorkspaceShared {
		return troupe.Workspace{}, nil
	}
	if p := w.app.models.player; p != nil {
		return played{p}.plan(troupe.Session{ID: id, Cwd: b.Cwd}, id, wish.Kind)
	}
	wish.Hook = roles.makeFolders(troupe.Session{ID: id, Root: id, Type: p.Type, Cwd: b.Cwd})
	work, err := w.plan(wish)
	if err == nil {
		work, err = w.beside(work, b.Repository)
	}
	var said *troupe.UserError
	if b.Worktree != nil && errors.Is(err, worktree.ErrNoRepository) && errors.As(err, &said) {
		return work, &troupe.UserError{Problem: said.Problem, Err: err, Code: troupe.ExitUsage,
			Hint: "`git init` makes it one. Without --worktree the session works in the folder itself."}
	}
	return work, w.whose(err)
}

// whose says of a name that is taken which session has it, as people know that, and how to go on there.
func (w *workspaces) whose(err error) error {
	var taken *worktree.NameTaken
	if !errors.As(err, &taken) {
		return err
	}
	by := taken.By
	s, e := w.app.trees.session(w.ctx(), by.Session())
	if e != nil || left(s, by) {
		what := "was removed"
		if e == nil {
			what = "went back out of it"
		}
		return &troupe.UserError{Err: err, Code: troupe.ExitUsage,
			Problem: fmt.Sprintf("the worktree name %q is taken by a session that %s (%s)", by.Name, what,
				by.Session()),
			Hint: fmt.Sprintf("Choose another name. `troupe worktrees prune %s` frees this one once you have its work.",
				by.Name)}
	}
	what, on := "session", fmt.Sprintf("`troupe --resume %s` goes on there", s.ID)
	if s.Depth > 0 {
		what, on = "the agent", fmt.Sprintf("`troupe send %s` writes to it", s.ID)
	}
	name := cmp.Or(s.Name, s.Title)
	if name != "" {
		name = fmt.Sprintf(" (%s)", name)
	}
	return &troupe.UserError{
		Problem: fmt.Sprintf("the worktree name %q is taken by %s %s%s", by.Name, what, s.ID, name),
		Hint:    on + ". Or choose another name.", Err: err, Code: troupe.ExitUsage}
}

// plan settles one. An isolated one is a worktree where there can be one, and else a copy.
func (w *workspaces) plan(wish worktree.Wish) (troupe.Workspace, error) {
	if wish.Kind != troupe.WorkspaceIsolated {
		return w.keeper.Plan(w.ctx(), wish)
	}
	wish.Kind = troupe.WorkspaceTree
	out, err := w.keeper.Plan(w.ctx(), wish)
	if errors.Is(err, worktree.ErrNoTree) {
		wish.Kind = troupe.WorkspaceCopy
		out, err = w.keeper.Plan(w.ctx(), wish)
	}
	return out, err
}

// Open implements session.Workspaces.
func (w *workspaces) Open(ctx context.Context, o session.Opening) (troupe.WorkspaceBase, error) {
	at := session.PlaceOf(o.Session)
	done := w.opening(at.Work.Top)
	defer done()
	if err := w.waitFor(ctx, at.Work); err != nil {
		return troupe.WorkspaceBase{}, err
	}
	p, err := w.app.policyOf(o.Session.Cwd)
	if err != nil {
		return troupe.WorkspaceBase{}, err
	}
	hidden, err := w.guard.keptFrom(ctx, p, at.Work.Of, o.Hides)
	if err != nil {
		return troupe.WorkspaceBase{}, err
	}
	base, err := w.keeper.Open(ctx, at.Work, worktree.Making{Link: p.settings.Worktree.Link, Hidden: hidden,
		Base: o.Base, Fill: o.Fill, Made: o.Made, Since: o.Since, Progress: o.Progress})
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // whatever it was that could not be done any more
	}
	return base, err
}

// opening notes that a folder is being opened, until the returned function is called.
func (w *workspaces) opening(top string) (done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.opened == nil {
		w.opened = make(map[string]chan struct{})
	}
	mine := make(chan struct{})
	w.opened[top] = mine
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.opened[top] == mine { // else another session opens it too by now
			delete(w.opened, top)
		}
		close(mine)
	}
}

// waitFor waits for the folder that another one is made from, if that is being opened.
func (w *workspaces) waitFor(ctx context.Context, work troupe.Workspace) error {
	w.mu.Lock()
	var wait chan struct{}
	for top, there := range w.opened {
		if top != work.Top && troupe.Within(work.From, top) {
			wait = there
		}
	}
	w.mu.Unlock()
	if wait == nil {
		return nil
	}
	select {
	case <-wait:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Save implements session.Workspaces.
func (w *workspaces) Save(ctx context.Context, s troupe.Session, u session.Unsaved) (troupe.Checkpoint, error) {
	return w.keeper.Save(ctx, s.Workspace, u.Files, u.Last)
}

// Close implements session.Workspaces.
func (w *workspaces) Close(ctx context.Context, s troupe.Session, c session.Closing) (troupe.WorkspaceResult, error) {
	work := s.Workspace
	if c.Stay != "" { // what is there is not all that will be
		saved, err := w.keeper.Save(ctx, work, nil, c.Began)
		return troupe.WorkspaceResult{Kind: work.Kind, Name: work.Name, Folder: work.Folder, Branch: work.Branch,
			Run: &saved, Kept: c.Stay, Pushing: troupe.Pushing{Remote: work.Remote}}, err
	}
	defer w.guard.forget(session.PlaceOf(s))
	end, err := w.keeper.Close(ctx, work, worktree.Ending{Message: cmp.Or(s.Title, s.Name), Began: c.Began,
		Going: c.Going})
	if err == nil {
		w.pushed(ctx, s, &end)
	}
	return end, err
}

// Merge implements session.Workspaces.
func (w *workspaces) Merge(ctx context.Context, s troupe.Session, into session.Into) (session.Merge, error) {
	work := s.Workspace
	p, err := w.app.policyOf(into.Session.Cwd)
	if err != nil {
		return session.Merge{}, err
	}
	hidden, err := w.guard.keptFrom(ctx, p, work.Of, into.Hides)
	if err != nil {
		return session.Merge{}, err
	}
	got, err := w.keeper.Merge(ctx, work, worktree.Into{Hidden: hidden})
	if err != nil {
		return session.Merge{}, err
	}
	out := session.Merge{Left: got.Left}
	for _, c := range got.Conflicts {
		out.Conflicts = append(out.Conflicts, strings.TrimPrefix(c.Path, work.Of+"/"))
	}
	keep := w.app.contents(s.Root).Put
	for _, c := range got.Changes {
		places := placesOf(c)
		out.Leads = append(out.Leads, places[1:]...)
		t, err := touchOf(c, keep)
		if err != nil {
			return session.Merge{}, err
		}
		out.Files = append(out.Files, t)
	}
	out.Write = func(ctx context.Context) error {
		touched, err := applyMerge(ctx, w.keeper, work.Of, got.Changes, nil)
		brought(context.WithoutCancel(ctx), w.app, work, got.Changes[:len(touched)])
		if errors.Is(err, syscall.ENOSPC) {
			err = syscall.ENOSPC // where that was is of no use to anybody
		}
		if err != nil && len(touched) == 0 {
			err = fmt.Errorf("%w: %w", session.ErrUnwritten, err)
		}
		return err
	}
	return out, nil
}
