package turn_test

import (
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// TestNothingFollowsSleep: while a session sleeps its log takes nothing but the waking, whatever the session is at, and
// waking shifts what it waits for by the time that passed.
func TestNothingFollowsSleep(t *testing.T) {
	t.Parallel()
	const id = "0123456789ab"
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var st turn.State
	apply := func(b troupe.Body) error {
		return st.Apply(troupe.Event{Root: id, Session: id, Seq: st.Session.Seq + 1, At: at, Body: b})
	}
	ok := func(b troupe.Body) {
		t.Helper()
		if err := apply(b); err != nil {
			t.Fatal(err)
		}
	}
	until := at.Add(time.Hour)
	for _, b := range []troupe.Body{
		troupe.Created{Cwd: "/x", Profile: troupe.Profile{Type: "main"}}, troupe.Started{Run: 1},
		troupe.CallSealed{Reply: 1, Generation: 1},
		troupe.Replied{Reply: 1, Blocks: []troupe.Block{{Type: troupe.CallBlock,
			Call: &troupe.Call{Reply: 1, Name: "Bash", Input: "{}"}}}},
		troupe.RequestOpened{ID: "r", Reply: 1, RequestBody: troupe.RequestBody{Reason: troupe.WaitApproval,
			Until: until}},
	} {
		ok(b)
	}
	if err := apply(troupe.Woke{}); err == nil {
		t.Error("one that is awake is woken")
	}
	ok(troupe.Slept{})
	for _, b := range []troupe.Body{troupe.Slept{}, troupe.MailDelivered{}, troupe.AuthorityChanged{},
		troupe.RequestAnswered{ID: "r", Reply: 1}, troupe.HookRan{}, troupe.ToolStarted{Reply: 1}, troupe.Ended{}} {
		if err := apply(b); err == nil {
			t.Errorf("%s follows in a log that sleeps", b.Kind())
		}
	}
	if st.Session.Status != troupe.Waiting || !st.Session.AsleepAt.Equal(at) {
		t.Errorf("it is %+v", st.Session)
	}
	at = at.Add(240 * time.Hour)
	ok(troupe.Woke{})
	open := turn.Open(&st)
	if len(open) != 1 || !open[0].Until.Equal(until.Add(240*time.Hour)) || !st.Session.AsleepAt.IsZero() ||
		!st.Session.Until.Equal(open[0].Until) {
		t.Errorf("it waits for %+v until %v", open, st.Session.Until)
	}
}
