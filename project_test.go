package troupe_test

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestRightInProject: who has rights in projects has in a folder the greater of theirs at the server and that of the
// deepest project around it; one who administers a project is no admin to what looks at the right alone; and a right
// that is not known gives nothing.
func TestRightInProject(t *testing.T) {
	t.Parallel()
	const (
		none, viewer, operator, admin = troupe.RightNone, troupe.RightViewer, troupe.RightOperator, troupe.RightAdmin
	)
	all := troupe.Projects{{Folder: "/srv/app/secret", Right: viewer}, {Folder: "/srv/app", Right: operator},
		{Folder: "/srv/web", Right: admin}, {Folder: "/srv/new", Right: "auditor"}, {Folder: "", Right: admin}}
	for _, x := range []struct {
		at      troupe.Right
		folder  string
		want    troupe.Right
		governs string
	}{
		{none, "/srv/app", operator, ""}, {none, "/srv/app/sub", operator, ""}, {none, "/srv/app/secret/x", viewer, ""},
		{none, "/srv/apple", none, ""}, {none, "/srv", none, ""}, {none, "", none, ""},
		{none, "/srv/web/x", operator, "/srv/web"}, {viewer, "/srv/web", operator, "/srv/web"},
		{operator, "/srv/web", operator, "/srv/web"}, {admin, "/srv/web", admin, ""},
		{viewer, "/srv/app", operator, ""}, {operator, "/srv/app/secret", operator, ""},
		{viewer, "/srv/other", viewer, ""}, {viewer, "/srv/new", viewer, ""}, {admin, "/srv/app", admin, ""},
		{troupe.RightOwner, "/srv/app", troupe.RightOwner, ""}, {troupe.RightSystem, "/x", troupe.RightSystem, ""},
	} {
		c := troupe.Caller{Right: x.at, Projects: all, Governs: "/before"}.In(x.folder)
		if c.Right != x.want || c.Governs != x.governs || c.Projects != nil {
			t.Errorf("%s in %q: %s, governs %q; want %s, %q", x.at, x.folder, c.Right, c.Governs, x.want, x.governs)
		}
		if may := c.May(admin); may != (x.governs != "" || x.want.Covers(admin)) {
			t.Errorf("%s in %q may what an admin may: %t", x.at, x.folder, may)
		}
	}
	c := troupe.Caller{Right: none, Projects: all}.In("/srv/new")
	if c.May(viewer) || c.May(operator) || c.May(admin) {
		t.Errorf("a right that is not known may look: %+v", c)
	}
	some := troupe.Caller{Right: none, Projects: all[:2]}
	for needs, want := range map[troupe.Right]bool{viewer: true, operator: true, admin: false} {
		if got := some.MaySomewhere(needs); got != want {
			t.Errorf("somewhere %s: %t", needs, got)
		}
	}
}
