package app

import (
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store/sqlite"
	"github.com/troupe-dev/troupe/internal/turn"
)

// TestLostEventsStayOnTheBill: what a session's row says that the lost end of its log has cost is all kept, each
// kind for itself.
func TestLostEventsStayOnTheBill(t *testing.T) {
	t.Parallel()
	const id = "0123456789ab"
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	bill := troupe.Tally{Usage: troupe.Usage{Input: 1, Output: 20, CacheRead: 300, CacheWrite: 4000}, Cost: 50_000,
		Turns: 6, ToolUses: 7}
	log := []troupe.Event{{Root: id, Session: id, Seq: 1, At: now,
		Body: troupe.Created{Cwd: "/x", Profile: troupe.Profile{Type: "main"}}}}
	out, err := rebuild(now)(log, sqlite.Loss{Why: "it is damaged", Events: 9,
		Row: troupe.Session{ID: id, Root: id, Tally: bill}})
	if err != nil {
		t.Fatal(err)
	}
	if out.Session.Tally != bill || out.End.Tally != bill {
		t.Errorf("the session's bill is %+v, its run's %+v, want %+v", out.Session.Tally, out.End.Tally, bill)
	}
}

// TestRepairKnowsForksOfPeople: a fork that a person had made stands in the log with their words. It is not set to
// work again, nor its end told twice; one whose birth was in the lost end is the person's, and not the session's.
func TestRepairKnowsForksOfPeople(t *testing.T) {
	t.Parallel()
	const id = "0123456789ab"
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	kid := func(call int, name string) (troupe.Session, *troupe.Task) {
		at := troupe.Coord{Call: call}
		s := troupe.Session{ID: troupe.ChildID(id, at), Root: id, Parent: id, Coord: at, Name: name}
		return s, &troupe.Task{ID: troupe.TaskID(s.ID), Kind: troupe.TaskAgent, Name: name, Coord: at, Background: true}
	}
	ended, task := kid(0, "Ended")
	working, also := kid(1, "Working")
	lost, _ := kid(2, "Lost")
	called := troupe.Session{ID: troupe.ChildID(id, troupe.Coord{Reply: 1}), Root: id, Parent: id,
		Coord: troupe.Coord{Reply: 1}, Name: "Called"}
	var log []troupe.Event
	for _, b := range []troupe.Body{
		troupe.Created{Cwd: "/x", Profile: troupe.Profile{Type: "main"}},
		troupe.MailDelivered{Mail: []troupe.Mail{{ID: "p", Kind: troupe.MailPrompt}}}, troupe.Started{Run: 1},
		troupe.MailDelivered{Mail: []troupe.Mail{{ID: "f", Kind: troupe.MailFork,
			OfTeam: troupe.OfTeam{Forked: &troupe.Forked{Task: task}}}}},
		troupe.MailDelivered{Mail: []troupe.Mail{{ID: "g", Kind: troupe.MailFork,
			OfTeam: troupe.OfTeam{Forked: &troupe.Forked{Task: also}}}}},
		troupe.MailDelivered{Mail: []troupe.Mail{{ID: "e", Kind: troupe.MailTaskEnded, Ended: &troupe.Outcome{
			Session: ended.ID, Run: 1, Coord: ended.Coord, Status: troupe.Completed}}}},
	} {
		log = append(log, troupe.Event{Root: id, Session: id, Seq: int64(len(log) + 1), At: now, Body: b})
	}
	out, err := rebuild(now)(log, sqlite.Loss{Why: "it is damaged", Row: troupe.Session{ID: id, Root: id},
		Children: []troupe.Session{ended, working, lost, called}})
	if err != nil {
		t.Fatal(err)
	}
	var waits []string
	for _, w := range out.Waits {
		waits = append(waits, w.Name)
	}
	if got := strings.Join(waits, " "); got != "Working Lost Called" {
		t.Errorf("it waits for %s", got)
	}
	var told string
	for _, e := range out.Log[len(log):] {
		if b, ok := e.Body.(troupe.MailDelivered); ok {
			told += troupe.JoinText(b.Mail[0].Blocks)
		}
	}
	own, persons, ok := strings.Cut(told, "The user had these forks")
	if !ok || !strings.Contains(own, "You had started these agents") || !strings.Contains(own, "- Called (") ||
		strings.Contains(own, "Lost") || !strings.Contains(persons, "- Lost (") || strings.Contains(told, "Ended (") {
		t.Errorf("it is told:\n%s", told)
	}
	st, err := turn.Fold(out.Log)
	if err != nil {
		t.Fatal(err)
	}
	if at := turn.NextFork(&st); at != (troupe.Coord{Call: 3}) {
		t.Errorf("its next fork is at %+v", at)
	}
}

// TestRepairWhileVerified: a log whose end is lost while an agent checks its work is whole again: the run waits for
// nothing any more, that agent is known, and its end is told as any other's.
func TestRepairWhileVerified(t *testing.T) {
	t.Parallel()
	const id, parent = "0123456789ab", "ba9876543210"
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := troupe.Coord{Reply: 1, Call: troupe.VerifyCall}
	check := troupe.Session{ID: troupe.ChildID(id, at), Root: parent, Parent: id, Coord: at, Name: "Check A"}
	task := &troupe.Task{ID: troupe.TaskID(check.ID), Kind: troupe.TaskAgent, Name: check.Name, Coord: at,
		Status: troupe.TaskRunning}
	var log []troupe.Event
	for _, b := range []troupe.Body{
		troupe.Created{Parent: parent, Depth: 1, Name: "A", Cwd: "/x", Profile: troupe.Profile{Type: "worker",
			Model: "m", Beginning: troupe.Beginning{Verify: true}}},
		troupe.MailDelivered{Mail: []troupe.Mail{{ID: "p", Kind: troupe.MailPrompt}}}, troupe.Started{Run: 1},
		troupe.CallSealed{Reply: 1, Generation: 1, Model: "m", Refs: []int64{2}},
		troupe.Replied{Reply: 1, Stop: troupe.StopEndTurn, Blocks: []troupe.Block{troupe.Text("done")}},
		troupe.VerifyStarted{Reply: 1, Task: task},
	} {
		log = append(log, troupe.Event{Root: parent, Session: id, Seq: int64(len(log) + 1), At: now, Body: b})
	}
	out, err := rebuild(now)(log, sqlite.Loss{Why: "it is damaged",
		Row: troupe.Session{ID: id, Root: parent, Parent: parent}, Children: []troupe.Session{check}})
	if err != nil {
		t.Fatal(err)
	}
	st, err := turn.Fold(out.Log)
	if err != nil {
		t.Fatal(err)
	}
	var gaveUp []troupe.VerifyEnded
	for _, e := range out.Log[len(log):] {
		if b, ok := e.Body.(troupe.VerifyEnded); ok {
			gaveUp = append(gaveUp, b)
		}
	}
	if len(gaveUp) != 1 || gaveUp[0].Outcome.Session != check.ID || gaveUp[0].Outcome.Status != troupe.Cancelled {
		t.Errorf("it gave up waiting: %+v", gaveUp)
	}
	if !st.Session.Status.Ended() || st.Session.Status == troupe.Completed || out.End.Verified != nil {
		t.Errorf("it is %s %s, verified %+v", st.Session.Status, st.Session.Waiting, out.End.Verified)
	}
}

// TestRepairOfOneThatSleeps: a log that was cut while its session slept is brought to an end as any other.
func TestRepairOfOneThatSleeps(t *testing.T) {
	t.Parallel()
	const id = "0123456789ab"
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var log []troupe.Event
	for _, b := range []troupe.Body{troupe.Created{Cwd: "/x", Profile: troupe.Profile{Type: "main"}},
		troupe.Started{Run: 1}, troupe.Slept{}} {
		log = append(log, troupe.Event{Root: id, Session: id, Seq: int64(len(log) + 1), At: now, Body: b})
	}
	out, err := rebuild(now)(log, sqlite.Loss{Why: "it is damaged", Events: 3, Row: troupe.Session{ID: id, Root: id}})
	if err != nil || out.Session.Status != troupe.Failed || !out.Session.AsleepAt.IsZero() {
		t.Errorf("rebuilt: %+v, %v", out.Session, err)
	}
}
