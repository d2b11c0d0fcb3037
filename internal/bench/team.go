package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

// The team: the main agent puts down tasks, five for each member, and starts its members. Each member takes its tasks
// one after the other and ends them, which is two turns each, and goes idle. Beside it stands the same team whose
// members read a file in each of these turns: what the board takes beyond that is its own.
const (
	teamTasks   = 5
	memberTurns = 2*teamTasks + 1
	// teamReplies stand one after the other: tasks, members, and all of a member's.
	teamReplies  = 2 + memberTurns
	memberPrefix = "You are member "
)

// crew answers as the model of a team. It is called from many goroutines.
type crew struct {
	n     int
	files []string
	board bool
	first atomic.Int64
}

func (c *crew) reply(r *modeltest.Request) modeltest.Reply {
	c.first.CompareAndSwap(0, time.Now().UnixNano())
	if _, text, ok := strings.Cut(r.FirstText(), memberPrefix); ok {
		var n int
		if _, err := fmt.Sscan(text, &n); err != nil {
			return modeltest.Text("Which member am I?")
		}
		return c.member(n, r.Turn)
	}
	switch r.Turn {
	case 1:
		calls := []modeltest.Call{call("TeamCreate", map[string]string{"team_name": "crew"})}
		for i := range c.tasks() {
			calls = append(calls, call("TaskCreate", map[string]string{"subject": fmt.Sprintf("part %d", i+1),
				"description": "Do it."}))
		}
		return modeltest.Calls(calls...)
	case 2:
		calls := make([]modeltest.Call, c.n)
		for i := range calls {
			calls[i] = call("Agent", map[string]string{
				"description": fmt.Sprintf("Member %d", i+1), "name": fmt.Sprintf("m%d", i+1), "team_name": "crew",
				"prompt":        fmt.Sprintf("%s%d . Do your five tasks.", memberPrefix, i+1),
				"subagent_type": "Explore",
			})
		}
		return modeltest.Calls(calls...)
	}
	return modeltest.Text("They are at work.")
}

// tasks is how many are put down: without a board none, for members that are idle are offered what is open.
func (c *crew) tasks() int {
	if !c.board {
		return 0
	}
	return c.n * teamTasks
}

func (c *crew) member(n, turn int) modeltest.Reply {
	switch {
	case turn > 2*teamTasks:
		return modeltest.Text("All five are done.")
	case !c.board:
		return modeltest.Calls(call("Read", map[string]string{"file_path": c.files[turn%len(c.files)]}))
	}
	status := "in_progress"
	if turn%2 == 0 {
		status = "completed"
	}
	return modeltest.Calls(call("TaskUpdate", map[string]string{
		"taskId": fmt.Sprint((n-1)*teamTasks + (turn+1)/2), "status": status}))
}

// team runs one, and says when it had not done all of its turns.
func (l lab) team(ctx context.Context, n int, board bool) (result, error) {
	s, err := l.site(ctx)
	if err != nil {
		return result{}, err
	}
	c := &crew{n: n, files: s.files, board: board}
	r, err := l.run(ctx, s, c.reply, l.firstByte, expected{agents: n + 1, atLeast: 3 + n*memberTurns}, nil,
		func(start time.Time) time.Duration { return time.Unix(0, c.first.Load()).Sub(start) })
	if err != nil {
		return r, fmt.Errorf("a team of %d, board %v: %w", n, board, err)
	}
	return r, nil
}

// teams are the runs of a team with and without its board, in turns.
type teams struct {
	n          int
	ideal      time.Duration
	with, less []result
}

func (l lab) teams(ctx context.Context, n, runs int) (teams, error) {
	out := teams{n: n, ideal: teamReplies * l.firstByte}
	for range runs {
		with, err := l.undisturbed(func() (result, error) { return l.team(ctx, n, true) })
		less, other := l.undisturbed(func() (result, error) { return l.team(ctx, n, false) })
		if err := errors.Join(err, other); err != nil {
			return out, err
		}
		out.with, out.less = append(out.with, with), append(out.less, less)
	}
	return out, nil
}

func (t teams) lines() []string {
	var out []string
	for i, r := range t.with {
		out = append(out, fmt.Sprintf("BenchmarkTeam/N=%d 1 %d ns/op %d without-ns/op %.3f x-without %.3f cpu-s %.3f "+
			"without-cpu-s %d peak-KB", t.n, r.wall.Nanoseconds(), t.less[i].wall.Nanoseconds(),
			float64(r.wall)/float64(t.less[i].wall), r.usage.cpu().Seconds(), t.less[i].usage.cpu().Seconds(),
			r.usage.PeakKB))
	}
	return out
}

func (t teams) table() string {
	wall := func(r result) time.Duration { return r.wall }
	cpu := func(r result) time.Duration { return r.usage.cpu() }
	with, less := median(t.with, wall), median(t.less, wall)
	return fmt.Sprintf("%d members, five tasks each; the same turns with Read in the place of the board:\n\n"+
		"| | wall | CPU | peak memory |\n|---|---|---|---|\n"+
		"| with the board | %.2f s (%.2f ×) | %.2f s | %d MB |\n| without | %.2f s | %.2f s | %d MB |\n",
		t.n, with.Seconds(), float64(with)/float64(less), median(t.with, cpu).Seconds(),
		median(t.with, func(r result) int64 { return r.usage.PeakKB })/1024,
		less.Seconds(), median(t.less, cpu).Seconds(),
		median(t.less, func(r result) int64 { return r.usage.PeakKB })/1024)
}
