package httpd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// mixed is the api of a home with sessions here and elsewhere, by turns: those with even numbers are here.
type mixed struct {
	api.API

	here, there string
	gone        bool // the trees elsewhere are
	did         []string
}

func (m *mixed) at(n int) string { return []string{m.here, m.there}[n%2] }

func (m *mixed) session(n int) wire.Session {
	id := troupe.SessionID(fmt.Sprintf("%012d", n))
	return wire.Session{ID: id, Root: id, Cwd: m.at(n)}
}

// List has sixteen, the first of them elsewhere.
func (m *mixed) List(_ context.Context, l wire.Listing) (out []wire.Session, _ error) {
	behind := l.After == ""
	for n := range 16 {
		switch s := m.session(n + 1); {
		case !behind:
			behind = s.ID == l.After
		case l.Limit == 0 || len(out) < l.Limit:
			out = append(out, s)
		}
	}
	m.did = append(m.did, "list")
	return out, nil
}

func (m *mixed) number(id troupe.SessionID) (n int) {
	_, _ = fmt.Sscanf(string(id), "%d", &n)
	return n
}

func (m *mixed) Tree(_ context.Context, id troupe.SessionID) (wire.Tree, error) {
	n := m.number(id)
	if id == "" || m.gone && m.at(n) == m.there {
		return wire.Tree{}, fmt.Errorf("session %q: %w", id, troupe.ErrNotFound)
	}
	return wire.Tree{Sessions: []wire.Session{m.session(n)}}, nil
}

func (m *mixed) Find(_ context.Context, ref, cwd string) (wire.Session, error) {
	if ref == "main" && cwd == m.here {
		return m.session(2), nil
	}
	return m.session(m.number(troupe.SessionID(ref))), nil
}

func (m *mixed) Begin(_ context.Context, b wire.Begin) (wire.Begun, error) {
	m.did = append(m.did, fmt.Sprintf("begin %s %t", b.Resume, b.Continue))
	return wire.Begun{}, nil
}

func (m *mixed) Plans(context.Context, string) (out []wire.Plan, _ error) {
	for n := range 4 {
		out = append(out, wire.Plan{Name: fmt.Sprint(n), Root: m.session(n).ID})
	}
	return append(out, wire.Plan{Name: "of none"}), nil
}

func (m *mixed) Requests(context.Context, troupe.SessionID) (out []wire.Request, _ error) {
	for n := range 6 {
		out = append(out, wire.Request{ID: fmt.Sprint("r", n), Root: m.session(n).ID})
	}
	return out, nil
}

func (m *mixed) Request(_ context.Context, id string) (wire.Request, error) {
	if id == "" {
		return wire.Request{}, errors.New("there are several")
	}
	return wire.Request{ID: id, Root: m.session(2).ID}, nil
}

// Worktrees has one here and one elsewhere; who names them all asks for names.
func (m *mixed) Worktrees(_ context.Context, q wire.WorktreeQuery) ([]wire.Worktree, error) {
	m.did = append(m.did, fmt.Sprintf("look at %q names %t all %t", q.Name, q.Names, q.All))
	all := []wire.Worktree{{Name: "a", Of: m.here}, {Name: "b", Of: m.there}}
	return slices.DeleteFunc(all, func(w wire.Worktree) bool { return q.Name != "" && q.Name != w.Name }), nil
}

func (m *mixed) DiffWorktree(context.Context, wire.WorktreeLook) (wire.WorktreeDiff, error) {
	m.did = append(m.did, "diff")
	return wire.WorktreeDiff{}, nil
}

func (m *mixed) MergeWorktree(context.Context, wire.WorktreeMerge) (wire.MergedWorktree, error) {
	m.did = append(m.did, "merge")
	return wire.MergedWorktree{}, nil
}

func (m *mixed) PushWorktree(context.Context, wire.WorktreePush) (wire.PushedWorktree, error) {
	m.did = append(m.did, "push")
	return wire.PushedWorktree{}, nil
}

func (m *mixed) PruneWorktrees(context.Context, wire.WorktreePrune) ([]wire.PrunedWorktree, error) {
	m.did = append(m.did, "prune")
	return nil, nil
}

// boundTo is what a home has, as an operator of a server has it that serves a folder.
func boundTo(a api.API, dir string) bounded {
	return bounded{API: a, see: sight{all: a, bind: func(troupe.Caller) api.API { return a }, in: folders{dir},
		c: troupe.Caller{Right: troupe.RightOperator}, needs: troupe.RightOperator}}
}

// since is what was done since it was last asked.
func (m *mixed) since() []string {
	did := m.did
	m.did = nil
	return did
}

// TestBoundedLists: of what a home has, the users of a server are told what is the server's: pages are full of it, one
// behind the other, and what has gone meanwhile is nobody's.
func TestBoundedLists(t *testing.T) {
	t.Parallel()
	dir := realDir(t)
	m := &mixed{here: dir, there: filepath.Dir(dir)}
	b := boundTo(m, dir)
	ctx := t.Context()
	var got []int
	for after := troupe.SessionID(""); ; {
		page, err := b.List(ctx, wire.Listing{Limit: 3, After: after})
		if err != nil || len(page) > 3 || len(page) < 3 && len(got)+len(page) < 8 {
			t.Fatalf("a page of %d: %v", len(page), err)
		}
		for _, s := range page {
			got = append(got, m.number(s.ID))
		}
		if len(page) < 3 || len(got) > 8 {
			break
		}
		after = page[len(page)-1].ID
	}
	if want := []int{2, 4, 6, 8, 10, 12, 14, 16}; !slices.Equal(got, want) {
		t.Errorf("listed are %v", got)
	}
	m.since()
	if _, err := b.List(ctx, wire.Listing{QuietMS: 1, Limit: 1}); err != nil || len(m.since()) != 1 {
		t.Errorf("what has been quiet is asked for page by page: %v", err)
	}
	for range 2 { // then what is elsewhere has gone
		plans, err := b.Plans(ctx, "")
		if err != nil || len(plans) != 2 || plans[0].Name != "0" || plans[1].Name != "2" {
			t.Errorf("plans: %+v, %v", plans, err)
		}
		all, err := b.Requests(ctx, "")
		if err != nil || len(all) != 3 {
			t.Errorf("requests: %+v, %v", all, err)
		}
		m.gone = true
	}
	if r, err := b.Request(ctx, ""); err == nil {
		t.Errorf("of three requests one is %s", r.ID)
	}
	if _, err := b.Begin(ctx, wire.Begin{Continue: true, Cwd: dir}); err != nil ||
		!slices.Equal(m.since(), []string{"begin 000000000002 false"}) {
		t.Errorf("what goes on without a name: %v", err)
	}
}

// TestBoundedWorktrees: of worktrees too, and nothing is shown, merged or removed of those beside other folders.
func TestBoundedWorktrees(t *testing.T) {
	t.Parallel()
	dir := realDir(t)
	m := &mixed{here: dir, there: filepath.Dir(dir)}
	w := boundedWorkspaces{m, boundTo(m, dir)}
	ctx := t.Context()
	if all, err := w.Worktrees(ctx, wire.WorktreeQuery{}); err != nil || len(all) != 1 || all[0].Name != "a" {
		t.Errorf("%+v, %v", all, err)
	}
	m.since()
	for name, refused := range map[string]bool{"a": false, "b": true, "": true} {
		q := wire.WorktreeQuery{Name: name}
		_, diff := w.DiffWorktree(ctx, wire.WorktreeLook{WorktreeQuery: q})
		_, merge := w.MergeWorktree(ctx, wire.WorktreeMerge{WorktreeQuery: q})
		_, push := w.PushWorktree(ctx, wire.WorktreePush{WorktreeQuery: q})
		p := wire.WorktreePrune{All: true}
		if name != "" {
			p.Names = []string{"a", name}
		}
		_, prune := w.PruneWorktrees(ctx, p)
		for what, err := range map[string]error{"diff": diff, "merge": merge, "push": push, "prune": prune} {
			if errors.Is(err, troupe.ErrNotFound) != refused || !refused && err != nil {
				t.Errorf("%s of %q: %v", what, name, err)
			}
		}
		did := m.since()
		for _, act := range []string{"diff", "merge", "push", "prune"} {
			if slices.Contains(did, act) == refused {
				t.Errorf("of %q was done %q", name, did)
			}
		}
		if want := fmt.Sprintf("look at %q names true all true", name); !slices.Contains(did, want) {
			t.Errorf("of %q was done %q, and not %s", name, did, want)
		}
	}
}

// ambiguous is an api to which each beginning of an id means several.
type ambiguous struct{ mixed }

func (*ambiguous) Find(_ context.Context, ref, _ string) (wire.Session, error) {
	if len(ref) == 12 {
		return wire.Session{ID: troupe.SessionID(ref)}, nil
	}
	return wire.Session{}, fmt.Errorf("%q begins the ids of 7k3f00000000 and others: %w", ref, troupe.ErrAmbiguous)
}

func (m *ambiguous) Request(ctx context.Context, id string) (wire.Request, error) {
	all, err := m.Requests(ctx, "")
	for _, r := range all {
		if r.ID == id {
			return r, err
		}
	}
	return wire.Request{}, fmt.Errorf("%q begins several: %w", id, troupe.ErrAmbiguous)
}

// TestMeantInAProject: what may mean several of the home means to the user of a project the one that is theirs, and
// nothing if none is; what others have is not so much as counted.
func TestMeantInAProject(t *testing.T) {
	t.Parallel()
	dir := realDir(t)
	m := &ambiguous{mixed{here: dir, there: filepath.Dir(dir)}}
	b := bounded{see: sight{all: m, bind: func(troupe.Caller) api.API { return m }, in: folders{filepath.Dir(dir)},
		c: troupe.Caller{Right: troupe.RightNone,
			Projects: troupe.Projects{{Folder: dir, Right: troupe.RightViewer}}}, needs: troupe.RightViewer}}
	for ref, want := range map[string]error{
		"000000000002": nil, "00000000000": troupe.ErrAmbiguous, "00000000001": troupe.ErrAmbiguous,
		"0000000000": troupe.ErrAmbiguous, "9": troupe.ErrNotFound,
	} {
		s, err := b.ownOf(t.Context(), ref, "")
		if !errors.Is(err, want) || want == nil && (err != nil || string(s.ID) != ref) {
			t.Errorf("%q: %s, %v", ref, s.ID, err)
		}
		if _, found := b.Find(t.Context(), ref, ""); len(ref) < 12 && !errors.Is(found, want) {
			t.Errorf("%q is found: %v", ref, found)
		}
	}
	for id, want := range map[string]error{"r": troupe.ErrAmbiguous, "x": troupe.ErrNotFound,
		"r1": troupe.ErrNotFound, "r2": nil} {
		if r, err := b.Request(t.Context(), id); !errors.Is(err, want) || want == nil && r.ID != id {
			t.Errorf("request %q: %+v, %v", id, r, err)
		}
	}
	if b.API != nil {
		t.Error("what is not known to be theirs can be looked at")
	}
}
