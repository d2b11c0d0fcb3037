package httpd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

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

// has reports whether a session's folder is one of the server's: by the name with which the session was born, so that
// it is seen and stopped whatever stands there by now, or by where that leads.
func (b bounded) has(cwd string) bool {
	if troupe.WithinAny(cwd, b.in) {
		return true
	}
	real, err := filepath.EvalSymlinks(cwd)
	return err == nil && troupe.WithinAny(real, b.in)
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
	first, _, below := strings.Cut(ref, "/")
	gone, unclear := isGone(err), errors.Is(err, troupe.ErrAmbiguous)
	switch {
	case err == nil && b.has(s.Cwd), err != nil && !gone && !unclear, gone && ref == "main":
		return s, err
	case err != nil && below:
		if _, outside := b.Find(ctx, first, cwd); outside == nil {
			return s, err
		}
	case unclear: // the error would name those of others
		return s, &troupe.UserError{Problem: fmt.Sprintf("%.80q may mean several sessions", ref),
			Code: troupe.ExitUsage,
			Hint: "Give more of the id: `troupe sessions` lists those that this server has.", Err: troupe.ErrAmbiguous}
	}
	return wire.Session{}, noneOf("session", ref)
}

// noneOf says that a server has none of a name, whether or not there is one elsewhere.
func noneOf(what, name string) error {
	return &troupe.UserError{Problem: fmt.Sprintf("this server has no %s %.80q", what, name),
		Hint: fmt.Sprintf("`troupe %ss` lists those that it has.", what), Code: troupe.ExitUsage,
		Err: troupe.ErrNotFound}
}

// List reads on until a page is full of what the server has.
func (b bounded) List(ctx context.Context, l wire.Listing) ([]wire.Session, error) {
	for _, named := range []troupe.SessionID{l.Parent, l.After} {
		if named == "" {
			continue
		}
		if _, err := b.Find(ctx, string(named), ""); err != nil {
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
		if len(all) != 1 {
			return wire.Request{}, oneOf(len(all))
		}
		id = all[0].ID
	}
	r, err := b.API.Request(ctx, id)
	of := r.Root
	if isGone(err) { // what became of it is told to those who may know of its session
		session, _, _ := strings.Cut(id, ".")
		if s, outside := b.Find(ctx, session, ""); outside == nil {
			of = s.ID
		}
	} else if err != nil {
		return wire.Request{}, err
	}
	switch has, gone := b.hasSession(ctx, of); {
	case gone != nil && !isGone(gone):
		return wire.Request{}, gone
	case !has:
		return wire.Request{}, noneOf("request", id)
	}
	return r, err
}

// oneOf says that there is not just one open request.
func oneOf(n int) error {
	out := &troupe.UserError{Problem: "no request is open", Hint: "`troupe requests` lists them as they come.",
		Code: troupe.ExitUsage, Err: troupe.ErrNotFound}
	if n > 0 {
		out.Problem, out.Hint = fmt.Sprintf("%d requests are open", n),
			"Name one of them: `troupe requests` lists them."
		out.Err = troupe.ErrAmbiguous
	}
	return out
}

func (b bounded) Answer(ctx context.Context, id string, a wire.Answer) error {
	r, err := b.Request(ctx, id)
	if session, _, whole := strings.Cut(id, "."); whole && isGone(err) {
		if s, outside := b.Find(ctx, session, ""); outside == nil && string(s.ID) == session {
			return b.API.Answer(ctx, id, a) // which may have been given before
		}
	}
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

// Memories and SetMemory know those of trees that the server has, and those that are of no tree.
func (s boundedSetup) Memories(ctx context.Context, q wire.MemoryQuery) ([]wire.Memory, error) {
	q.Has = s.trees(ctx)
	return s.Setup.Memories(ctx, q)
}

func (s boundedSetup) SetMemory(ctx context.Context, c wire.MemoryChange) (wire.Memory, error) {
	c.Has = s.trees(ctx)
	return s.Setup.SetMemory(ctx, c)
}

func (s boundedSetup) trees(ctx context.Context) func(troupe.SessionID) bool {
	return func(id troupe.SessionID) bool {
		has, err := s.b.hasSession(ctx, id)
		return has && err == nil
	}
}

func (s boundedSetup) StatusLine(ctx context.Context, q wire.StatusQuery) (wire.StatusLine, error) {
	if q.Root != "" {
		if _, err := s.b.Find(ctx, string(q.Root), ""); err != nil {
			return wire.StatusLine{}, err
		}
	}
	return s.Setup.StatusLine(ctx, q)
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
	if q.Name != "" {
		if err := w.check(ctx, q); err != nil {
			return nil, err
		}
	}
	q.All = true
	all, err := w.Workspaces.Worktrees(ctx, q)
	return slices.DeleteFunc(all, func(x wire.Worktree) bool { return !w.b.has(x.Of) }), err
}

// check refuses a name of a worktree beside another folder, with the words for one that is nowhere: those of the home
// tell what is beside which folder.
func (w boundedWorkspaces) check(ctx context.Context, q wire.WorktreeQuery) error {
	q.Names, q.All = true, q.All || q.Name != ""
	all, err := w.Workspaces.Worktrees(ctx, q)
	if user, ok := errors.AsType[*troupe.UserError](err); ok && q.Name != "" {
		if _, outside := w.b.Find(ctx, q.Name, q.Cwd); outside != nil || !isGone(err) {
			return noneOf("worktree", q.Name)
		}
		told := *user
		told.Hint = "`troupe worktrees` lists those that this server has."
		return &told
	}
	for _, x := range all {
		if !w.b.has(x.Of) {
			return noneOf("worktree", q.Name)
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
