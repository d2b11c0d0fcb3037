package turn_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// reporting is a session whose runs end with an object.
func reporting(t testing.TB) *life {
	t.Helper()
	l := &life{t: t}
	return l.add(troupe.Created{Name: "x", Profile: troupe.Profile{Type: "x",
		Beginning: troupe.Beginning{Schema: json.RawMessage(`{"type":"object"}`)}}},
		troupe.MailDelivered{Mail: []troupe.Mail{{ID: "p", Kind: troupe.MailPrompt}}}, troupe.Started{Run: 1})
}

// gives adds a reply with a call that gives an object, or what is none.
func (l *life) gives(object, wrong string) *life {
	l.t.Helper()
	l.turn(troupe.StopToolUse, troupe.ReportTool)
	return l.add(troupe.ToolFinished{Name: troupe.ReportTool,
		Result:   troupe.Result{Reply: l.st.Reply(), IsError: wrong != ""},
		Reported: &troupe.Reported{Object: json.RawMessage(object), Wrong: wrong}})
}

// next is the action, after what is asked again was told.
func (l *life) next() turn.Action { return turn.Next(&l.st, inputs()) }

func (l *life) told() *life {
	l.t.Helper()
	n, ok := l.next().(turn.Nudge)
	if !ok || !strings.Contains(n.Text, troupe.ReportTool) {
		l.t.Fatalf("it is not asked again: %#v", l.next())
	}
	return l.add(troupe.MailDelivered{Mail: []troupe.Mail{{ID: "n", Kind: troupe.MailNotice}}})
}

func TestReported(t *testing.T) {
	const object = `{"a":1}`
	given := turn.End{Status: troupe.Completed, Result: object}
	failed := func(why string) turn.End {
		return turn.End{Status: troupe.Failed, Cause: troupe.CauseError, Result: "reply 3",
			Error: "it gave no result that follows the schema which was asked for, although it was asked again 2 " +
				"times: " + why}
	}
	for name, c := range map[string]struct {
		log  func(l *life)
		want turn.Action
	}{
		"at once":      {func(l *life) { l.gives(object, "") }, given},
		"wrong, again": {func(l *life) { l.gives("", "bad") }, turn.CallModel{Reply: 2, Attempt: 1}},
		"wrong twice, then right": {func(l *life) { l.gives("", "bad").gives("", "worse").gives(object, "") },
			given},
		"wrong three times": {func(l *life) { l.gives("", "bad").gives("", "worse").gives("", "worst") },
			failed("worst")},
		"never": {func(l *life) {
			l.turn(troupe.StopEndTurn).told().turn(troupe.StopEndTurn).told().turn(troupe.StopEndTurn)
		}, failed("it ended its turn without calling SyntheticOutput")},
		"words, then wrong, then right": {func(l *life) {
			l.turn(troupe.StopEndTurn).told().gives("", "bad").gives(object, "")
		}, given},
		"two wrong calls of one reply count once": {func(l *life) {
			for range 2 {
				l.turn(troupe.StopToolUse, troupe.ReportTool, troupe.ReportTool)
				for i := range 2 {
					l.add(troupe.ToolFinished{Name: troupe.ReportTool,
						Result:   troupe.Result{Reply: l.st.Reply(), Call: i},
						Reported: &troupe.Reported{Wrong: "bad"}})
				}
			}
		}, turn.CallModel{Reply: 3, Attempt: 1}},
		"other calls of the reply are done first": {func(l *life) {
			l.turn(troupe.StopToolUse, troupe.ReportTool, "Read")
			l.add(troupe.ToolFinished{Name: troupe.ReportTool, Result: troupe.Result{Reply: 1},
				Reported: &troupe.Reported{Object: json.RawMessage(object)}})
		}, turn.RunCalls{Calls: []int{1}}},
		"a hook has it go on": {func(l *life) {
			l.gives(object, "").add(troupe.HookRan{Event: troupe.HookStop, GoesOn: true},
				troupe.MailDelivered{Mail: []troupe.Mail{{ID: "h", Kind: troupe.MailNotice}}})
		}, turn.CallModel{Reply: 2, Attempt: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			l := reporting(t)
			c.log(l)
			if got := l.next(); !cmp.Equal(got, c.want) {
				t.Errorf("got %#v, want %#v", got, c.want)
			}
		})
	}
	again := reporting(t).gives("", "a").gives("", "b").gives("", "c")
	again.add(troupe.Ended{Outcome: troupe.Outcome{Status: troupe.Failed}}, troupe.Started{Run: 2},
		troupe.MailDelivered{Mail: []troupe.Mail{{ID: "q", Kind: troupe.MailPrompt}}})
	if got := again.next(); !cmp.Equal(got, turn.Action(turn.CallModel{Reply: 4, Attempt: 1})) {
		t.Errorf("another run does not begin anew: %#v", got)
	}
	fork := born(t, troupe.Limits{}).gives(object, "") // it has no schema
	if got := fork.next(); !cmp.Equal(got, turn.Action(turn.CallModel{Reply: 2, Attempt: 1})) {
		t.Errorf("what is not asked for ends a run: %#v", got)
	}
}

// TestReportedAfterRestart: a process that is killed before the call's result is logged has the call run again, one
// that is killed behind it ends the run.
func TestReportedAfterRestart(t *testing.T) {
	l := reporting(t).gives("", "bad")
	l.turn(troupe.StopToolUse, troupe.ReportTool)
	if got := turn.Recover(&l.st); got != nil {
		t.Errorf("the call is given up: %v", got)
	}
	if got := l.next(); !cmp.Equal(got, turn.Action(turn.RunCalls{Calls: []int{0}})) {
		t.Errorf("the call is not run again: %#v", got)
	}
	l.add(troupe.ToolFinished{Name: troupe.ReportTool, Result: troupe.Result{Reply: 2},
		Reported: &troupe.Reported{Object: json.RawMessage(`{}`)}})
	if got := turn.Recover(&l.st); got != nil {
		t.Errorf("there is something to mend: %v", got)
	}
	if got := l.next(); !cmp.Equal(got, turn.Action(turn.End{Status: troupe.Completed, Result: "{}"})) {
		t.Errorf("the run does not end: %#v", got)
	}
}
