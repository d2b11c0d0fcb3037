package turn_test

import (
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// rounds adds replies that one letter each stands for: the capitals are calls with their results.
func (l *life) rounds(what string) {
	l.t.Helper()
	finished := func(text string) troupe.ToolFinished {
		return troupe.ToolFinished{Name: "Read", Result: troupe.Result{Reply: l.st.Reply(),
			Blocks: []troupe.Block{troupe.Text(text)}}}
	}
	for _, r := range what {
		switch r {
		case '!':
			l.add(troupe.BudgetWarned{Limit: troupe.LimitRepeats, Text: "w"})
		case ',': // somebody says something
			l.add(troupe.MailDelivered{Mail: []troupe.Mail{{ID: "m", Kind: troupe.MailPrompt}}})
		case 'n': // a person says no
			l.no(1)
		case 'm': // to one of two
			l.turn(troupe.StopToolUse, "Edit", "Read").add(
				troupe.RequestOpened{Reply: l.st.Reply(), RequestBody: troupe.RequestBody{Reason: troupe.WaitApproval}},
				troupe.RequestAnswered{Reply: l.st.Reply(), Effect: troupe.Deny, Mail: "m",
					Caller: &troupe.Caller{Right: troupe.RightOwner}}).denied(0).done(1)
		case 'h':
			l.held(1)
		case 'd':
			l.turn(troupe.StopToolUse, "Read").denied(0)
		case 'w':
			l.turn(troupe.StopToolUse, "Read").add(troupe.ToolStarted{Reply: l.st.Reply(),
				Wait: &troupe.Wait{Task: "t"}}, finished("A"))
		case 's': // a command that takes its time
			l.turn(troupe.StopToolUse, "Read")
			e := l.event(finished("A"))
			e.At = epoch.Add(6 * time.Second)
			if err := l.st.Apply(e); err != nil {
				l.t.Fatal(err)
			}
		case '2': // two calls
			l.turn(troupe.StopToolUse, "Read", "Read").add(finished("A")).done(1)
		default:
			l.turn(troupe.StopToolUse, "Read").add(finished(string(r)))
		}
	}
}

// TestRepeats: replies that do the same again and again are warned of half-way, and end the run. What else happens
// begins the count anew.
func TestRepeats(t *testing.T) {
	t.Parallel()
	for rounds, want := range map[string]string{
		"AA": "call", "AAA": "warn", "AAA!": "call", "AAA!AA": "call", "AAA!AAA": "end", "AAAAA": "warn",
		"AAA!AAB": "call", "AAA!AA2": "call", "AAA!AA,A": "call", "AAA!AAsA": "call", "AAA!AAwA": "call",
		"AAA!BAA": "warn", "AAA!BBB": "warn", "AAA!AAnA": "call", "nnnnnnn": "call", "mmmmmmm": "call",
		"hhhhhh": "call", "AAA!AAdA": "call",
		"ABA": "call", "ABAB": "warn", "ABAB!ABA": "end", "ABCDABC!DAB": "end", "ABCDEABCDEABCDE": "call",
	} {
		for _, most := range []int{0, 6} {
			l := born(t, troupe.Limits{})
			l.rounds(rounds)
			got := "call"
			act := turn.Next(&l.st, inputs(func(in *turn.Inputs) { in.Settings.Policy.MaxRepeats = most }))
			switch act := act.(type) {
			case turn.Warn:
				got = "warn"
				if act.Warning.Limit != troupe.LimitRepeats || !strings.Contains(act.Warning.Text, " times in a row") {
					t.Errorf("%s: warned of %+v", rounds, act.Warning)
				}
			case turn.End:
				got = "end"
				if act.Status != troupe.Failed || act.Cause != troupe.CauseError || act.Limit != troupe.LimitRepeats {
					t.Errorf("%s: %+v", rounds, act)
				}
			case turn.CallModel:
			default:
				t.Errorf("%s: %#v", rounds, act)
			}
			if limited := most > 0; limited && got != want || !limited && got != "call" {
				t.Errorf("%s: %s, want %s (limit %d)", rounds, got, want, most)
			}
		}
	}
}
