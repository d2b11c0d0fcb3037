package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// Views reads the documented views with plain SQL, the same in every dialect. ask runs one statement over a connection
// of its own, which is none of Troupe's, and returns the rows with each value as a text.
func Views(t *testing.T, home Opener, ask func(sql string) []string) {
	t.Helper()
	e := &env{T: t, home: home}
	e.Store = e.open()
	root, kids := e.plant(1, 7)
	at := epoch().Add(time.Hour)
	for i, is := range []troupe.Session{
		{Status: troupe.Spawning},
		{Status: troupe.Running},
		{Status: troupe.Waiting, Waiting: troupe.WaitModel, Error: "it is tried again"},
		{Status: troupe.Completed, Result: "All 47 tests pass."},
		{Status: troupe.Failed, Cause: troupe.CauseError, Error: "no model", Result: "of the run before"},
		{Status: troupe.Cancelled, Cause: troupe.CauseInterrupt},
		{Status: troupe.MaxTurns, Cause: troupe.CauseLimit},
	} {
		e.update(root.ID, func(tx store.Tx) error {
			s, err := tx.Session(kids[i].ID)
			if err != nil {
				return err
			}
			s, events := next(s, "n")
			s.Status, s.Waiting, s.Cause, s.Result, s.Error = is.Status, is.Waiting, is.Cause, is.Result, is.Error
			s.Tally = troupe.Tally{Turns: i, ToolUses: 2 * i, Cost: troupe.Dollars(0.25),
				Usage: troupe.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4}}
			if is.Status != troupe.Spawning {
				s.Run, s.StartedAt = 1, at
			}
			if is.Status.Ended() {
				s.EndedAt = at.Add(time.Minute)
			}
			return tx.Append(ours(), s, events)
		})
	}
	e.same("the results", ask(`SELECT name, task, status, coalesce(result, '-'), coalesce(error, '-'), iterations,
		tool_calls_count, cost_usd, CASE WHEN completed_at IS NULL THEN 'at work' ELSE 'over' END FROM subagent_results
		WHERE parent_session_id = '`+string(root.ID)+`' ORDER BY name`), []string{
		"Child 0|look at something|spawning|-|-|0|0|0.25|at work",
		"Child 1|look at something|running|-|-|1|2|0.25|at work",
		"Child 2|look at something|running|-|-|2|4|0.25|at work",
		"Child 3|look at something|completed|All 47 tests pass.|-|3|6|0.25|over",
		"Child 4|look at something|failed|-|no model|4|8|0.25|over",
		"Child 5|look at something|cancelled|-|-|5|10|0.25|over",
		"Child 6|look at something|max_iterations|-|-|6|12|0.25|over",
	})
	e.same("who it is", ask(`SELECT count(*) FROM subagent_results WHERE tree = '`+string(root.ID)+
		`' AND subagent_session_id = '`+string(kids[3].ID)+`'`), []string{"1"})
	e.same("the statuses", ask(`SELECT status, coalesce(waiting, '-'), coalesce(cause, '-'), count(*), sum(input_tokens),
		sum(output_tokens), sum(cache_read_tokens), sum(cache_write_tokens) FROM agent_status WHERE parent IS NOT NULL
		GROUP BY status, waiting, cause ORDER BY status`), []string{
		"cancelled|-|interrupted|1|1|2|3|4", "completed|-|-|1|1|2|3|4", "failed|-|error|1|1|2|3|4",
		"max_turns|-|limit|1|1|2|3|4", "running|-|-|1|1|2|3|4", "spawning|-|-|1|1|2|3|4", "waiting|model|-|1|1|2|3|4"})
	e.same("the main agent", ask(`SELECT tree, session, coalesce(parent, '-'), coalesce(name, '-'), type, model, folder,
		run, turns, tool_uses FROM agent_status WHERE parent IS NULL`), []string{
		fmt.Sprintf("%s|%s|-|-|main|script/main|/home/ada/login|0|0|0", root.ID, root.ID)})
	e.same("what is archived", ask(`SELECT count(*) FROM agent_status WHERE archived`), []string{"0"})
	e.update(root.ID, func(tx store.Tx) error {
		s, err := tx.Session(root.ID)
		if err != nil {
			return err
		}
		s, events := next(s, "n")
		s.Archived = true
		return tx.Append(ours(), s, events)
	})
	e.same("what is archived", ask(`SELECT session FROM agent_status WHERE archived`), []string{string(root.ID)})
	for column, want := range map[string]string{"created_at": "05:06:10", "started_at": "06:06:07",
		"ended_at": "06:07:07"} {
		e.same("the time "+column, ask(`SELECT count(*) FROM agent_status WHERE name = 'Child 3' AND
			CAST(`+column+` AS TEXT) LIKE '2026-03-04_`+want+`%'`), []string{"1"})
	}
}
