package httpd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// mixedServer is that of a database in which other folders have sessions and schedules too, for a caller.
type mixedServer struct {
	api.Server

	m *mixed
	c troupe.Caller
}

func (m *mixed) Server() api.Server { return mixedServer{m: m} }

func (s mixedServer) Hosting() api.Hosting { return mixedHosting{m: s.m} }

func (s mixedServer) Schedules() api.Schedules { return mixedSchedules{m: s.m, c: s.c} }

type mixedHosting struct {
	api.Hosting

	m *mixed
}

func (s mixedHosting) Hosted(context.Context) (wire.Hosted, error) {
	return wire.Hosted{
		Workers: []wire.Worker{{ID: "w", Host: "h", Folders: []string{s.m.here, s.m.there}}},
		Sessions: []wire.KeptGoing{{ID: "1", Cwd: s.m.here, Title: "here", Worker: "w"},
			{ID: "2", Cwd: s.m.there, Title: "there"}, {ID: "3", Title: "unknown", Why: "its log cannot be read"}},
		Paused: []wire.Paused{{Folder: filepath.Join(s.m.here, "sub")}, {Folder: s.m.there},
			{Folder: s.m.here + "else"}},
	}, nil
}

// mixedSchedules are those whose names begin with here and there, and one that is broken.
type mixedSchedules struct {
	scheduling

	m *mixed
	c troupe.Caller
}

func (s mixedSchedules) Schedules(ctx context.Context) (out []wire.Schedule, _ error) {
	for _, name := range []string{"broken", "here", "there"} {
		x, err := s.Schedule(ctx, name)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func (s mixedSchedules) Schedule(_ context.Context, name string) (out wire.Schedule, _ error) {
	switch out.Name = name; {
	case name == "broken":
		out.Broken = "it is"
	case strings.HasPrefix(name, "here"):
		out.Begin.Cwd = s.m.here
	case strings.HasPrefix(name, "there"):
		out.Begin.Cwd = s.m.there
	default:
		return wire.Schedule{}, fmt.Errorf("%s: %w", name, troupe.ErrNotFound)
	}
	return out, nil
}

func (s mixedSchedules) SetSchedule(_ context.Context, t wire.ScheduleTerms) (wire.Schedule, error) {
	s.m.did = append(s.m.did, fmt.Sprintf("set %s %d as %s", t.Name, t.Version, s.c.Right))
	return wire.Schedule{}, nil
}

func (s mixedSchedules) RemoveSchedule(_ context.Context, name string) error {
	s.m.did = append(s.m.did, fmt.Sprintf("remove %s as %s", name, s.c.Right))
	return nil
}

// by is what a home has, for a verb that needs a right.
func (m *mixed) by(c troupe.Caller, needs troupe.Right, served ...string) bounded {
	o := &operations{bind: func(c troupe.Caller) api.API { return knowing{m, c} }, in: served}
	verb := map[troupe.Right]string{troupe.RightViewer: "hosted", troupe.RightOperator: "set-schedule"}[needs]
	b, _ := o.bounds(c, verb).(bounded)
	return b
}

// knowing is a mixed api that knows who asks.
type knowing struct {
	*mixed
	c troupe.Caller
}

func (a knowing) Server() api.Server { return mixedServer{m: a.mixed, c: a.c} }

// TestBoundedServer: of what a database knows of sessions that are kept going, of pauses and of schedules, the users of
// a server are told what is in its folders, and those with rights in projects what is in these. (The titles and prompts
// of all were told before.)
func TestBoundedServer(t *testing.T) {
	t.Parallel()
	base := realDir(t)
	m := &mixed{here: filepath.Join(base, "here"), there: filepath.Join(base, "there")}
	who := func(right troupe.Right, in string, there troupe.Right) troupe.Caller {
		return troupe.Caller{Right: right, Projects: troupe.Projects{{Folder: in, Right: there}}}
	}
	const none, viewer, admin = troupe.RightNone, troupe.RightViewer, troupe.RightAdmin
	for name, x := range map[string]struct {
		c         troupe.Caller
		served    string
		sessions  string
		paused    int
		workers   int
		schedules string
	}{
		"a viewer":            {troupe.Caller{Right: viewer}, m.here, "here", 1, 1, "broken here"},
		"an admin":            {troupe.Caller{Right: admin}, m.here, "here ", 1, 1, "broken here"},
		"a viewer of all":     {troupe.Caller{Right: viewer}, base, "here there", 3, 1, "broken here there"},
		"a member":            {who(none, m.here, viewer), base, "here", 1, 0, "here"},
		"a member of another": {who(none, m.there, admin), base, "there", 1, 0, "there"},
		"a member below":      {who(none, filepath.Join(m.there, "sub"), admin), base, "", 1, 0, ""},
		"a member of nowhere": {who(none, "/else", admin), base, "", 0, 0, ""},
		"a member and viewer": {who(viewer, m.here, admin), m.there, "there", 1, 1, "broken there"},
	} {
		b := m.by(x.c, troupe.RightViewer, x.served)
		h, err := b.Server().Hosting().Hosted(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var titles, names []string
		for _, k := range h.Sessions {
			titles = append(titles, k.Title)
			if (k.Worker != "") != (k.ID == "1" && x.workers > 0) {
				t.Errorf("%s: session %s is in the hands of %q", name, k.ID, k.Worker)
			}
		}
		if got := strings.Join(titles, " "); got != x.sessions || len(h.Paused) != x.paused ||
			len(h.Workers) != x.workers || h.Partial != (x.workers == 0) {
			t.Errorf("%s is told %+v", name, h)
		}
		for _, w := range h.Workers {
			if slices.Contains(w.Folders, m.there) != troupe.Within(m.there, x.served) {
				t.Errorf("%s: a process has %q", name, w.Folders)
			}
		}
		all, err := b.Server().Schedules().Schedules(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); got != x.schedules {
			t.Errorf("%s is told of the schedules %q", name, got)
		}
	}
}

// TestSchedulesByProject: who changes a schedule has the right in its folder, before and after; what another project
// has is not there, but that its name is taken; and who administers a project may remove what others have there, and
// not give it terms of their own.
func TestSchedulesByProject(t *testing.T) {
	t.Parallel()
	base := realDir(t)
	m := &mixed{here: filepath.Join(base, "here"), there: filepath.Join(base, "there")}
	for name, x := range map[string]struct {
		here, there troupe.Right
		set, remove map[string]string // what is done with which; else with what error
	}{
		"an operator": {troupe.RightOperator, troupe.RightNone,
			map[string]string{"here": "set here 7 as operator", "there": "set there 0 as operator",
				"new": "set new 7 as operator"},
			map[string]string{"here": "remove here as operator", "there": "not found", "none": "not found",
				"broken": "not found"}},
		"an admin of the project": {troupe.RightAdmin, troupe.RightViewer,
			map[string]string{"here": "set here 7 as operator", "there": "not allowed"},
			map[string]string{"here": "remove here as admin", "there": "not allowed", "none": "not found"}},
	} {
		c := troupe.Caller{Right: troupe.RightNone, Projects: troupe.Projects{{Folder: m.here, Right: x.here}}}
		if x.there != troupe.RightNone {
			c.Projects = append(c.Projects, troupe.Project{Folder: m.there, Right: x.there})
		}
		told := func(err error) string {
			did := m.since()
			user, _ := errors.AsType[*troupe.UserError](err)
			switch {
			case err == nil && len(did) == 1:
				return did[0]
			case errors.Is(err, troupe.ErrNotFound):
				return "not found"
			case user != nil && user.Code == troupe.ExitPermission:
				return "not allowed"
			}
			return fmt.Sprint(did, err)
		}
		in, err := m.by(c, troupe.RightOperator, base).at(m.here) // where it is to begin
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for which := range x.set {
			_, err := in.Server().Schedules().SetSchedule(t.Context(), wire.ScheduleTerms{Name: which, Version: 7})
			got[which] = told(err)
		}
		if !reflect.DeepEqual(got, x.set) {
			t.Errorf("%s sets: %q", name, got)
		}
		got = map[string]string{}
		for which := range x.remove {
			all := m.by(c, troupe.RightOperator, base).Server().Schedules()
			got[which] = told(all.RemoveSchedule(t.Context(), which))
		}
		if !reflect.DeepEqual(got, x.remove) {
			t.Errorf("%s removes: %q", name, got)
		}
	}
}
