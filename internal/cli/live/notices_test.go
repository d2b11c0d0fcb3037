package live

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestNotices: a limit of the tree is told once, however many agents are told of it; one of an
// agent's own for each; a wait once, and a short one not at all.
func TestNotices(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	event := func(s troupe.SessionID, b troupe.Body) troupe.Event { return troupe.Event{Session: s, At: at, Body: b} }
	tree := troupe.BudgetWarned{Limit: "tree tokens", Text: "all agents together have used 8 of 10 tokens; bring the " +
		"work to an end"}
	own := troupe.BudgetWarned{Limit: "turns", Text: "4 of 5 model replies are used up; bring the work to an end"}
	fails := func(after time.Duration) troupe.ModelFailed {
		return troupe.ModelFailed{Message: "rate limit\u202e", RetryAt: at.Add(after)}
	}
	var told []string
	n := NewNotices(func(text string) { told = append(told, text) })
	n.Know([]wire.Session{{ID: "r"}})
	n.Show([]troupe.Event{
		event("c", troupe.Created{Name: "Auth Explorer"}),
		event("r", tree), event("c", tree), event("r", own), event("c", own), event("r", own),
		event("r", fails(time.Hour)), event("c", fails(time.Hour)), event("c", fails(time.Second)),
		event("r", troupe.ModelFailed{Message: "for good"}),
	})
	n.Show([]troupe.Event{event("r", tree), event("c", fails(2*time.Hour)),
		event("r", troupe.ModelChanged{Model: "x/chosen", Caller: &troupe.Caller{Name: "you"}}),
		event("r", troupe.ModelChanged{Model: "x/small", Why: "overloaded"})})
	clock := func(after time.Duration) string { return at.Add(after).Local().Format("15:04:05") }
	want := []string{
		"main: most of a limit is used up: all agents together have used 8 of 10 tokens",
		"main: most of a limit is used up: 4 of 5 model replies are used up",
		"Auth Explorer: most of a limit is used up: 4 of 5 model replies are used up",
		"main: waits until " + clock(time.Hour) + `, then tries again: rate limit\u{202e}`,
		"Auth Explorer: waits until " + clock(2*time.Hour) + `, then tries again: rate limit\u{202e}`,
		"main: goes on with x/small: overloaded",
	}
	if fmt.Sprint(told) != fmt.Sprint(want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}

	var b strings.Builder
	v := New(&b, false, 0, "/")
	v.Show([]troupe.Event{event("r", tree), event("c", tree)})
	if got := strings.Count(b.String(), "! most of a limit is used up: all agents together have used 8 of 10 "+
		"tokens\n"); got != 1 {
		t.Errorf("the view says it %d times:\n%s", got, b.String())
	}
}

// TestRaise: the advice is for the limit that was reached, however much of the others is used.
func TestRaise(t *testing.T) {
	t.Parallel()
	limits := []wire.Limit{
		{Name: wire.LimitTokens, Used: 9500, Limit: 10_000}, {Name: wire.LimitCost, Used: 1.99, Limit: 2},
		{Name: wire.LimitAgents, Used: 200, Limit: 200},
		{Name: wire.LimitTurns, Used: 5, Limit: 5}, {Name: wire.LimitTime, Used: 1020, Limit: 1000},
	}
	for reached, want := range map[string]string{
		wire.LimitTokens: " --max-tokens 20000 (it has used 9500 of 10000)",
		wire.LimitCost:   " --max-cost 4.00 (it has spent $1.99 of $2.00)",
		wire.LimitTurns:  " (it gets 5 model replies again; a new session takes a higher --max-turns)",
		wire.LimitTime:   " (it gets 1s again; a new session takes a longer --max-time)",
		"":               "",
		// A time does not help a session that has no tokens left.
		"time_ms, none left": " --max-tokens 20000 (it has used 10000 of 10000; it gets 1s again; a new session " +
			"takes a longer " +
			"--max-time)",
	} {
		limits := slices.Clone(limits)
		if name, none := strings.CutSuffix(reached, ", none left"); none {
			reached, limits[0].Used = name, 10_000
		}
		want = "go on with: troupe -p --resume 7k3f" + want
		if got := Raise(wire.Report{SessionID: "7k3f", Limit: reached, Limits: limits}); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
