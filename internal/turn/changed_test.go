package turn_test

import (
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// TestSessionChanged: a main agent is named whatever it is at. It is archived where its run is over or it sleeps, and
// then nothing but another change follows in its log.
func TestSessionChanged(t *testing.T) {
	t.Parallel()
	const id = "0123456789ab"
	var st turn.State
	session := troupe.SessionID(id)
	apply := func(b troupe.Body) error {
		return st.Apply(troupe.Event{Root: id, Session: session, Seq: st.Session.Seq + 1, At: time.Unix(9, 0), Body: b})
	}
	ok := func(bodies ...troupe.Body) {
		t.Helper()
		for _, b := range bodies {
			if err := apply(b); err != nil {
				t.Fatal(err)
			}
		}
	}
	no := func(what string, bodies ...troupe.Body) {
		t.Helper()
		for _, b := range bodies {
			if err := apply(b); err == nil {
				t.Errorf("%s: %s", what, b.Kind())
			}
		}
	}
	archive, restore := troupe.SessionChanged{Archived: true}, troupe.SessionChanged{Unarchived: true}
	named := troupe.SessionChanged{Name: "n", Title: "t"}
	ok(troupe.Created{Name: "first", Title: "what", Cwd: "/x", Profile: troupe.Profile{Type: "main"}},
		troupe.Started{Run: 1}, named)
	if s := st.Session; s.Name != "n" || s.Title != "t" || s.Status != troupe.Running {
		t.Errorf("it is %+v", s)
	}
	ok(troupe.SessionChanged{Title: "other"})
	if s := st.Session; s.Name != "n" || s.Title != "other" {
		t.Errorf("it is %+v", s)
	}
	no("it is at work", archive)
	ok(troupe.Slept{}, archive, restore, archive)
	no("it is archived, and sleeps", troupe.Woke{}, troupe.Slept{}, troupe.MailDelivered{})
	ok(restore, troupe.Woke{}, troupe.Ended{
		Outcome: troupe.Outcome{Status: troupe.Completed, Run: 1}}, archive)
	if !st.Session.Archived {
		t.Error("it is not archived")
	}
	no("it is archived", troupe.Started{Run: 2}, troupe.MailDelivered{}, troupe.ModelChanged{}, troupe.HookRan{})
	ok(troupe.SessionChanged{Name: "z"}, restore, troupe.Started{Run: 2})
	if st.Session.Archived || st.Session.Name != "z" {
		t.Errorf("it is %+v", st.Session)
	}
	st, session = turn.State{}, "0123456789ac"
	ok(troupe.Created{Parent: id, Depth: 1, Name: "child", Cwd: "/x", Profile: troupe.Profile{Type: "x"}})
	no("it is a sub-agent", named)
}
