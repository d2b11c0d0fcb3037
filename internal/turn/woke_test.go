package turn

import (
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// TestWakingShifts: of all that a session waited for or measured when it was put away none comes due by the time that
// it slept, and what it did not wait for stays nothing.
func TestWakingShifts(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const slept = 240 * time.Hour
	var s State
	s.Session.AsleepAt = at
	s.Calls = []Call{{Since: at, Request: &troupe.Request{RequestBody: troupe.RequestBody{Until: at}},
		Wait: &troupe.Wait{Until: at}}, {Request: &troupe.Request{}, Wait: &troupe.Wait{}}}
	s.Session.Status, s.Session.StartedAt = troupe.Waiting, at
	s.Tasks = []troupe.Task{{Status: troupe.TaskRunning, StartedAt: at}, {Status: troupe.TaskCompleted, StartedAt: at}}
	s.fault = &modelFault{at: at, retryAt: at}
	s.leave = leave{run: 1, until: at}
	before := s.Calls[0]
	wait, request, fault := *before.Wait, *before.Request, *s.fault
	f := fold{s: &s, e: &troupe.Event{At: at.Add(slept), Body: troupe.Woke{}}}
	if err := woke(&f); err != nil {
		t.Fatal(err)
	}
	c := s.Calls[0]
	for what, got := range map[string]time.Time{"a call at work": c.Since, "a request": c.Request.Until,
		"a wait": c.Wait.Until, "a fault": s.fault.at, "another try": s.fault.retryAt,
		"a wish to leave": s.leave.until, "a run": s.Session.StartedAt, "a task": s.Tasks[0].StartedAt} {
		if passed := got.Sub(at); passed != slept {
			t.Errorf("%s is shifted by %v", what, passed)
		}
	}
	if !s.Tasks[1].StartedAt.Equal(at) {
		t.Error("a task that had ended began at another time")
	}
	if c = s.Calls[1]; !c.Since.IsZero() || !c.Request.Until.IsZero() || !c.Wait.Until.IsZero() {
		t.Errorf("what was no time became %+v", c)
	}
	// Copies of a state share these.
	if *before.Wait != wait || !before.Request.Until.Equal(request.Until) || !fault.at.Equal(at) {
		t.Error("what an older copy of the state shares was changed")
	}
}

// TestGiveSharesNothing: of what forks of one reply are given none sees what another does with it, and in a folder of
// its own a fork has read there what its parent had read.
func TestGiveSharesNothing(t *testing.T) {
	t.Parallel()
	o := Origin{files: map[string]string{"/ws/a": "parent"}, instructed: append(make([]string, 0, 8), "/ws/AGENTS.md")}
	w := troupe.Workspace{Kind: troupe.WorkspaceTree, Of: "/ws", Top: "/own", Folder: "/own"}
	var forks [2]State
	for i := range forks {
		forks[i].Session.Workspace = w
		o.Give(&forks[i])
		forks[i].Files["/ws/a"] = string(rune('a' + i))
		forks[i].instructed = append(forks[i].instructed, string(rune('a'+i)))
	}
	for i, s := range forks {
		own := string(rune('a' + i))
		if s.Files["/ws/a"] != own || s.Files["/own/a"] != "parent" || len(s.instructed) != 2 ||
			s.instructed[1] != own {
			t.Errorf("fork %d knows %v and %q", i, s.Files, s.instructed)
		}
	}
	if len(o.files) != 1 || o.files["/ws/a"] != "parent" || len(o.instructed) != 1 {
		t.Errorf("what they share is %v and %q", o.files, o.instructed)
	}
}
