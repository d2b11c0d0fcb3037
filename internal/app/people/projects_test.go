package people_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/people"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestProjects: rights in projects are given, changed and taken away one by one, hold with the next call, and go with
// their user.
func TestProjects(t *testing.T) {
	t.Parallel()
	p, _, _ := fresh(t)
	first(t, p)
	at := func(folder string, right troupe.Right) troupe.Project {
		return troupe.Project{Folder: folder, Right: right}
	}
	u, err := p.Change(t.Context(), wire.UserChange{Name: "ann", New: true, Invite: true, Projects: troupe.Projects{
		at("/srv/web", troupe.RightViewer), at("/srv/app", troupe.RightOperator)}})
	if err != nil || u.Right != troupe.RightNone {
		t.Fatalf("%+v, %v", u, err)
	}
	in := signIn(t, p, u.Code)
	if len(in.Projects) != 2 || in.Right != troupe.RightNone {
		t.Errorf("signed in as %+v", in)
	}
	for _, x := range []struct {
		change wire.UserChange
		right  troupe.Right
		want   troupe.Projects
	}{
		{wire.UserChange{}, troupe.RightNone,
			troupe.Projects{at("/srv/app", troupe.RightOperator), at("/srv/web", troupe.RightViewer)}},
		{wire.UserChange{Projects: troupe.Projects{at("/srv/web", troupe.RightNone), at("/srv/no", troupe.RightNone),
			at("/srv/b", troupe.RightAdmin)}}, troupe.RightNone,
			troupe.Projects{at("/srv/app", troupe.RightOperator), at("/srv/b", troupe.RightAdmin)}},
		{wire.UserChange{Right: troupe.RightViewer}, troupe.RightViewer,
			troupe.Projects{at("/srv/app", troupe.RightOperator), at("/srv/b", troupe.RightAdmin)}},
		{wire.UserChange{Right: troupe.RightNone, Projects: troupe.Projects{at("/srv/app", troupe.RightViewer)}},
			troupe.RightNone, troupe.Projects{at("/srv/app", troupe.RightViewer), at("/srv/b", troupe.RightAdmin)}},
	} {
		x.change.Name = "ann"
		if _, err := p.Change(t.Context(), x.change); err != nil {
			t.Fatalf("%+v: %v", x.change, err)
		}
		c, err := p.Whose(t.Context(), in.Token)
		if err != nil || c.Right != x.right || !reflect.DeepEqual(c.Projects, x.want) {
			t.Errorf("after %+v the caller is %+v, %v", x.change, c, err)
		}
		all, err := p.Users(t.Context())
		if err != nil || all[1].Right != x.right || !reflect.DeepEqual(all[1].Projects, x.want) {
			t.Errorf("after %+v there are %+v, %v", x.change, all, err)
		}
	}
	if _, err := p.Change(t.Context(), wire.UserChange{Name: "ann", Remove: true}); err != nil {
		t.Fatal(err)
	}
	u, err = p.Change(t.Context(), wire.UserChange{Name: "ann", Right: troupe.RightViewer})
	if err != nil || len(u.Projects) > 0 {
		t.Errorf("who comes back under the name has %+v, %v", u, err)
	}
}

// TestProjectsRefused: what can be no right in a folder is not kept.
func TestProjectsRefused(t *testing.T) {
	t.Parallel()
	p, _, _ := fresh(t)
	first(t, p)
	many := troupe.Projects{}
	for i := range 101 {
		many = append(many, troupe.Project{Folder: fmt.Sprint("/srv/", i), Right: troupe.RightViewer})
	}
	for _, c := range []wire.UserChange{
		{Projects: troupe.Projects{{Folder: "srv", Right: troupe.RightViewer}}},
		{Projects: troupe.Projects{{Folder: "", Right: troupe.RightViewer}}},
		{Projects: troupe.Projects{{Folder: "/srv/../etc", Right: troupe.RightViewer}}},
		{Projects: troupe.Projects{{Folder: "/srv", Right: "owner"}}},
		{Projects: troupe.Projects{{Folder: "/srv", Right: ""}}},
		{Projects: many}, {},
	} {
		c.Name, c.New = "ann", true
		if _, err := p.Change(t.Context(), c); !errors.As(err, new(*troupe.UserError)) {
			t.Errorf("%.200v: %v", c, err)
		}
	}
	c := wire.UserChange{Name: people.FirstAdmin, Remove: true, Projects: many[:1]}
	if _, err := p.Change(t.Context(), c); !errors.As(err, new(*troupe.UserError)) {
		t.Errorf("changed and removed in one: %v", err)
	}
	if all, err := p.Users(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("there are %+v, %v", all, err)
	}
}

// TestOlderVersion: to a version that knows of no projects, a user who has a right in these alone has none.
func TestOlderVersion(t *testing.T) {
	t.Parallel()
	p, s, _ := fresh(t)
	first(t, p)
	_, err := p.Change(t.Context(), wire.UserChange{Name: "ann", New: true, Projects: troupe.Projects{
		{Folder: "/srv", Right: troupe.RightAdmin}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Record(t.Context(), "server", "users")
	if err != nil {
		t.Fatal(err)
	}
	var older map[string]struct {
		Right   troupe.Right `json:"right"`
		Created time.Time    `json:"created"`
	}
	if err := json.Unmarshal(r.Value, &older); err != nil {
		t.Fatal(err)
	}
	for _, needs := range troupe.UserRights() {
		if older["ann"].Right.Covers(needs) {
			t.Errorf("the right %q covers %s", older["ann"].Right, needs)
		}
	}
	// What it writes takes the projects away, and gives nothing.
	if r.Value, err = json.Marshal(older); err == nil {
		_, err = s.PutRecord(t.Context(), r)
	}
	all, uerr := p.Users(t.Context())
	if err != nil || uerr != nil || len(all) != 2 || all[1].Right != troupe.RightNone || len(all[1].Projects) > 0 {
		t.Errorf("then there are %+v, %v, %v", all, err, uerr)
	}
}
