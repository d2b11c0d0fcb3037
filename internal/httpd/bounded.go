package httpd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// bounded is the api for the users of a server: of its home they have the sessions that work in the server's folders.
// To them there are no others, such as those that the owner of the home runs elsewhere. A folder that a link leads to
// is where it leads.
type bounded struct {
	api.API

	in folders
}

// boundTo bounds an api to folders, and those of checkouts; none: it has no bounds.
func boundTo(a api.API, in folders, checkouts string) api.API {
	if len(in) == 0 {
		return a
	}
	if checkouts != "" {
		in = append(slices.Clip(in), checkouts)
	}
	return bounded{a, in}
}

// has reports whether a session's folder is one of the server's. One that is gone is judged by its name.
func (b bounded) has(cwd string) bool {
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real
	}
	return troupe.WithinAny(cwd, b.in)
}

// hasSession reports whether a session is one of the server's.
func (b bounded) hasSession(ctx context.Context, id troupe.SessionID) (bool, error) {
	if id == "" {
		return false, nil
	}
	t, err := b.Tree(ctx, id)
	if err != nil {
		return false, err
	}
	return b.has(t.Sessions[0].Cwd), nil
}

// only leaves of a list what belongs to sessions of the server.
func only[T any](ctx context.Context, b bounded, all []T, of func(T) troupe.SessionID) ([]T, error) {
	out, known := []T{}, map[troupe.SessionID]bool{}
	for _, x := range all {
		id := of(x)
		has, asked := known[id]
		if !asked {
			var err error
			if has, err = b.hasSession(ctx, id); err != nil && !isGone(err) {
				return nil, err
			}
			known[id] = has
		}
		if has {
			out = append(out, x)
		}
	}
	return out, nil
}

func isGone(err error) bool { return errors.Is(err, troupe.ErrNotFound) }

func (b bounded) Find(ctx context.Context, ref, cwd string) (wire.Session, error) {
	s, err := b.API.Find(ctx, ref, cwd)
	if err == nil && !b.has(s.Cwd) {
		return wire.Session{}, &troupe.UserError{Problem: fmt.Sprintf("this server has no session %.80q", ref),
			Hint: "`troupe sessions` lists those that it has.", Code: troupe.ExitUsage, Err: troupe.ErrNotFound}
	}
	return s, err
}

// List reads on until a page is full of what the server has.
func (b bounded) List(ctx context.Context, l wire.Listing) ([]wire.Session, error) {
	if l.Parent != "" {
		if _, err := b.Find(ctx, string(l.Parent), ""); err != nil {
			return nil, err
		}
	}
	most, out := l.Limit, []wire.Session{}
	for {
		page, err := b.API.List(ctx, l)
		if err != nil {
			return nil, err
		}
		for _, s := range page {
			if b.has(s.Cwd) {
				if out = append(out, s); len(out) == most {
					return out, nil
				}
			}
		}
		if l.Limit == 0 || len(page) < l.Limit || l.QuietMS > 0 {
			return out, nil
		}
		l.After = page[len(page)-1].ID
	}
}

func (b bounded) Tasks(ctx context.Context, id troupe.SessionID) ([]wire.Task, error) {
	all, err := b.API.Tasks(ctx, id)
	if err != nil || id != "" {
		return all, err
	}
	return only(ctx, b, all, func(t wire.Task) troupe.SessionID { return t.Root })
}

func (b bounded) Begin(ctx context.Context, w wire.Begin) (wire.Begun, error) {
	if w.Resume != "" || w.Continue {
		ref := w.Resume
		if w.Continue {
			ref = "main"
		}
		s, err := b.Find(ctx, ref, w.Cwd)
		if err != nil {
			return wire.Begun{}, err
		}
		w.Resume, w.Continue = string(s.ID), false
	}
	return b.API.Begin(ctx, w)
}

func (b bounded) Requests(ctx context.Context, root troupe.SessionID) ([]wire.Request, error) {
	all, err := b.API.Requests(ctx, root)
	if err != nil || root != "" {
		return all, err
	}
	return only(ctx, b, all, func(r wire.Request) troupe.SessionID { return r.Root })
}

// Request finds one by its id, or the only one that the server has.
func (b bounded) Request(ctx context.Context, id string) (wire.Request, error) {
	if id == "" {
		all, err := b.Requests(ctx, "")
		if err != nil {
			return wire.Request{}, err
		}
		if len(all) == 1 {
			id = all[0].ID
		}
	}
	r, err := b.API.Request(ctx, id)
	if err != nil {
		return r, err
	}
	has, err := b.hasSession(ctx, r.Root)
	if err == nil && !has {
		err = &troupe.UserError{Problem: fmt.Sprintf("this server has no request %.80q", id),
			Hint: "`troupe requests` lists those that it has.", Code: troupe.ExitUsage, Err: troupe.ErrNotFound}
	}
	if err != nil {
		return wire.Request{}, err
	}
	return r, nil
}

func (b bounded) Answer(ctx context.Context, id string, a wire.Answer) error {
	r, err := b.Request(ctx, id)
	if err != nil {
		return err
	}
	return b.API.Answer(ctx, r.ID, a)
}

func (b bounded) Plans(ctx context.Context, name string) ([]wire.Plan, error) {
	all, err := b.API.Plans(ctx, name)
	if err != nil {
		return nil, err
	}
	return only(ctx, b, all, func(p wire.Plan) troupe.SessionID { return p.Root })
}

func (b bounded) Setup() api.Setup { return boundedSetup{b.API.Setup(), b} }

type boundedSetup struct {
	api.Setup

	b bounded
}

func (s boundedSetup) Workspaces() api.Workspaces {
	return boundedWorkspaces{s.Setup.Workspaces(), s.b}
}

// boundedWorkspaces are the worktrees beside folders of the server: beside whichever one, for who calls stands in none.
type boundedWorkspaces struct {
	api.Workspaces

	b bounded
}

func (w boundedWorkspaces) Worktrees(ctx context.Context, q wire.WorktreeQuery) ([]wire.Worktree, error) {
	q.All = true
	all, err := w.Workspaces.Worktrees(ctx, q)
	return slices.DeleteFunc(all, func(x wire.Worktree) bool { return !w.b.has(x.Of) }), err
}

// check refuses a name of a worktree beside another folder.
func (w boundedWorkspaces) check(ctx context.Context, q wire.WorktreeQuery) error {
	q.Names, q.All = true, q.All || q.Name != ""
	all, err := w.Workspaces.Worktrees(ctx, q)
	for _, x := range all {
		if !w.b.has(x.Of) {
			return &troupe.UserError{Problem: fmt.Sprintf("this server has no worktree %.80q", q.Name),
				Hint: "`troupe worktrees` lists those that it has.", Code: troupe.ExitUsage, Err: troupe.ErrNotFound}
		}
	}
	return err
}

func (w boundedWorkspaces) DiffWorktree(ctx context.Context, l wire.WorktreeLook) (wire.WorktreeDiff, error) {
	if err := w.check(ctx, l.WorktreeQuery); err != nil {
		return wire.WorktreeDiff{}, err
	}
	l.All = true
	return w.Workspaces.DiffWorktree(ctx, l)
}

func (w boundedWorkspaces) MergeWorktree(ctx context.Context, m wire.WorktreeMerge) (wire.MergedWorktree, error) {
	if err := w.check(ctx, m.WorktreeQuery); err != nil {
		return wire.MergedWorktree{}, err
	}
	m.All = true
	return w.Workspaces.MergeWorktree(ctx, m)
}

func (w boundedWorkspaces) PushWorktree(ctx context.Context, p wire.WorktreePush) (wire.PushedWorktree, error) {
	if err := w.check(ctx, p.WorktreeQuery); err != nil {
		return wire.PushedWorktree{}, err
	}
	p.All = true
	return w.Workspaces.PushWorktree(ctx, p)
}

func (w boundedWorkspaces) PruneWorktrees(ctx context.Context, p wire.WorktreePrune) ([]wire.PrunedWorktree, error) {
	names := p.Names
	if p.All = p.All || len(names) > 0; len(names) == 0 {
		names = []string{""}
	}
	for _, name := range names {
		if err := w.check(ctx, wire.WorktreeQuery{Cwd: p.Cwd, All: p.All, Name: name}); err != nil {
			return nil, err
		}
	}
	return w.Workspaces.PruneWorktrees(ctx, p)
}
