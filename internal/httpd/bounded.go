package httpd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// bounded is the api for the users of a server: of its home they have the sessions that work in the server's folders,
// and of these the ones in whose folders they have a right. To them there are no others, such as those that the owner
// of the home runs elsewhere. A folder that a link leads to is where it leads.
type bounded struct {
	// API is for what is in the folder cwd, as one who has the right there. It is nil until it is known which that is,
	// unless the caller has the right at the server: what nobody thought of can be asked by no one else.
	api.API
	cwd string

	see sight
}

// at is the api for what is in a folder, if the verb may be had there.
func (b bounded) at(cwd string) (bounded, error) {
	if b.cwd = b.see.place(cwd); b.API != nil && len(b.see.c.Projects) == 0 {
		return b, nil
	}
	c := b.see.c.In(b.cwd)
	if !c.May(b.see.needs) {
		return b, troupe.NotAllowed(b.see.needs)
	}
	b.API = b.see.bind(c)
	return b, nil
}

// judged is a caller as one who asks for what an api is about.
func judged(a api.API, c troupe.Caller) troupe.Caller {
	if b, ok := a.(bounded); ok && b.cwd != "" {
		return c.In(b.cwd)
	}
	return c
}

// only leaves of a list what belongs to sessions of the server.
func only[T any](ctx context.Context, see sight, all []T, of func(T) troupe.SessionID) ([]T, error) {
	out, known := []T{}, map[troupe.SessionID]bool{}
	for _, x := range all {
		id := of(x)
		has, asked := known[id]
		if !asked {
			var err error
			if has, err = see.hasSession(ctx, id, troupe.RightViewer); err != nil && !isGone(err) {
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
	s, err := b.see.all.Find(ctx, ref, cwd)
	first, _, below := strings.Cut(ref, "/")
	gone, unclear := isGone(err), errors.Is(err, troupe.ErrAmbiguous)
	if unclear && !below && b.see.inProject() { // what it may mean may be other people's
		return b.ownOf(ctx, ref, cwd)
	}
	switch {
	case err == nil && b.see.has(s.Cwd), err != nil && !gone && !unclear,
		gone && ref == "main" && (!b.see.inProject() || b.see.has(cwd)):
		return s, err
	case err != nil && below:
		if _, outside := b.Find(ctx, first, cwd); outside == nil {
			return s, err
		}
	case unclear: // the error would name those of others
		return s, severalOf(ref)
	}
	return wire.Session{}, noneOf("session", ref)
}

func severalOf(ref string) error {
	return &troupe.UserError{Problem: fmt.Sprintf("%.80q may mean several sessions", ref), Code: troupe.ExitUsage,
		Hint: "Give more of the id: `troupe sessions` lists those that this server has.", Err: troupe.ErrAmbiguous}
}

// ownOf is the one main agent of the caller's projects that is meant by a word which means several of the home.
func (b bounded) ownOf(ctx context.Context, ref, cwd string) (wire.Session, error) {
	all, err := b.List(ctx, wire.Listing{})
	if err != nil {
		return wire.Session{}, err
	}
	all = slices.DeleteFunc(all, func(s wire.Session) bool {
		return s.Name != ref && !strings.HasPrefix(string(s.ID), ref)
	})
	switch len(all) {
	case 0:
		return wire.Session{}, noneOf("session", ref)
	case 1:
		return b.see.all.Find(ctx, string(all[0].ID), cwd)
	}
	return wire.Session{}, severalOf(ref)
}

// noneOf says that a server has none of a name, whether or not there is one elsewhere.
func noneOf(what, name string) error {
	command := what + "s"
	if what == "schedule" || what == "webhook" {
		command = what
	}
	return &troupe.UserError{Problem: fmt.Sprintf("this server has no %s %.80q", what, name),
		Hint: fmt.Sprintf("`troupe %s` lists those that it has.", command), Code: troupe.ExitUsage,
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
		page, err := b.see.all.List(ctx, l)
		if err != nil {
			return nil, err
		}
		for _, s := range page {
			if b.see.has(s.Cwd) {
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
	if id != "" {
		return b.API.Tasks(ctx, id)
	}
	all, err := b.see.all.Tasks(ctx, id)
	if err != nil {
		return nil, err
	}
	return only(ctx, b.see, all, func(t wire.Task) troupe.SessionID { return t.Root })
}

func (b bounded) Begin(ctx context.Context, w wire.Begin) (wire.Begun, error) {
	where := w.Cwd
	switch {
	case w.Resume != "" || w.Continue:
		ref := w.Resume
		if w.Continue {
			ref = "main"
		}
		s, err := b.Find(ctx, ref, w.Cwd)
		if err != nil {
			return wire.Begun{}, err
		}
		where, w.Resume, w.Continue = s.Cwd, string(s.ID), false
	case w.Repo != "":
		where = b.see.checkouts
	}
	b, err := b.at(where)
	if err != nil {
		return wire.Begun{}, err
	}
	return b.API.Begin(ctx, w)
}

func (b bounded) Requests(ctx context.Context, root troupe.SessionID) ([]wire.Request, error) {
	if root != "" {
		return b.API.Requests(ctx, root)
	}
	all, err := b.see.all.Requests(ctx, root)
	if err != nil {
		return nil, err
	}
	return only(ctx, b.see, all, func(r wire.Request) troupe.SessionID { return r.Root })
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
	r, err := b.see.all.Request(ctx, id)
	of := r.Root
	if errors.Is(err, troupe.ErrAmbiguous) && b.see.inProject() { // those that it may mean may be other people's
		return ownRequest(ctx, b, id)
	}
	if isGone(err) { // what became of it is told to those who may know of its session
		session, _, _ := strings.Cut(id, ".")
		if s, outside := b.Find(ctx, session, ""); outside == nil {
			of = s.ID
		}
	} else if err != nil {
		return wire.Request{}, err
	}
	switch has, gone := b.see.hasSession(ctx, of, troupe.RightViewer); {
	case gone != nil && !isGone(gone):
		return wire.Request{}, gone
	case !has:
		return wire.Request{}, noneOf("request", id)
	}
	return r, err
}

// ownRequest is the one of the caller's projects that is meant by the beginning of several ids of the home.
func ownRequest(ctx context.Context, b bounded, id string) (wire.Request, error) {
	all, err := b.Requests(ctx, "")
	if err != nil {
		return wire.Request{}, err
	}
	all = slices.DeleteFunc(all, func(r wire.Request) bool { return !strings.HasPrefix(r.ID, id) })
	switch len(all) {
	case 0:
		return wire.Request{}, noneOf("request", id)
	case 1:
		return b.see.all.Request(ctx, all[0].ID)
	}
	return wire.Request{}, oneOf(len(all))
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
			if b, err = b.at(s.Cwd); err != nil {
				return err
			}
			return b.API.Answer(ctx, id, a) // which may have been given before
		}
	}
	if err != nil {
		return err
	}
	cwd, err := b.see.folderOf(ctx, r.Root)
	if err == nil {
		b, err = b.at(cwd)
	}
	if err != nil {
		return err
	}
	return b.API.Answer(ctx, r.ID, a)
}

func (b bounded) Plans(ctx context.Context, name string) ([]wire.Plan, error) {
	all, err := b.see.all.Plans(ctx, "")
	if err != nil {
		return nil, err
	}
	all, err = only(ctx, b.see, all, func(p wire.Plan) troupe.SessionID { return p.Root })
	if err != nil || name == "" {
		return all, err
	}
	match := func(is func(slug, name string) bool) (out []wire.Plan) {
		for _, p := range all {
			if is(p.Name, name) {
				out = append(out, p)
			}
		}
		return out
	}
	found := match(func(slug, name string) bool { return slug == name })
	if len(found) != 1 {
		found = match(strings.HasPrefix)
	}
	if len(found) == 1 {
		return b.see.all.Plans(ctx, found[0].Name)
	}
	err = noneOf("plan", name)
	if len(found) > 1 {
		err = &troupe.UserError{Problem: fmt.Sprintf("%d plans begin with %.80q", len(found), name),
			Hint: "`troupe plans` lists them.", Code: troupe.ExitUsage, Err: troupe.ErrAmbiguous}
	}
	return nil, err
}

func (b bounded) Setup() api.Setup { return boundedSetup{b.API.Setup(), b} }

type boundedSetup struct {
	api.Setup

	b bounded
}

// Memories and SetMemory know those of trees that the server has, and those that are of no tree.
func (s boundedSetup) Memories(ctx context.Context, q wire.MemoryQuery) ([]wire.Memory, error) {
	q.Has, q.InProject = s.trees(ctx), s.b.see.inProject()
	return s.Setup.Memories(ctx, q)
}

func (s boundedSetup) SetMemory(ctx context.Context, c wire.MemoryChange) (wire.Memory, error) {
	c.Has, c.InProject = s.trees(ctx), s.b.see.inProject()
	return s.Setup.SetMemory(ctx, c)
}

func (s boundedSetup) trees(ctx context.Context) func(troupe.SessionID) bool {
	return func(id troupe.SessionID) bool {
		has, err := s.b.see.hasSession(ctx, id, s.b.see.needs)
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
	return slices.DeleteFunc(all, func(x wire.Worktree) bool { return !w.b.see.has(x.Of) }), err
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
		if !w.b.see.has(x.Of) {
			return noneOf("worktree", q.Name)
		}
	}
	for _, x := range all {
		if _, may := w.b.at(x.Of); may != nil {
			return may
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
