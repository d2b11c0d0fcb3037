package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/live"
	"github.com/troupe-dev/troupe/internal/wire"
)

// shower shows a run's events as they are committed. The function it returns shows what is
// left and waits until all is written.
func shower(
	ctx context.Context, c *console.Console, a api.API, r wire.Begun, cwd string, o Output,
) (rest func() error, err error) {
	var emit func([]troupe.Event) error
	switch {
	case o.Format == formatStream:
		emit = c.Events
	case o.Live:
		view := live.New(c.Err, c.Color(c.ErrTTY), c.Width, cwd)
		view.Know(r.Before)
		emit = func(events []troupe.Event) error { view.Show(events); return nil }
	case !o.Quiet:
		notices := live.NewNotices(c.Warn)
		notices.Know(r.Before)
		emit = func(events []troupe.Event) error { notices.Show(events); return nil }
	default:
		return func() error { return nil }, nil
	}
	said := o.Format != formatStream // what is silent is told of
	f, err := a.Follow(ctx, wire.Follow{Root: r.Root, From: r.After, Deltas: said})
	if err != nil {
		return nil, err
	}
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	stalls, running := live.NewStalls(c.Warn), live.NewRunning(c.Warn)
	stalls.Know(r.Before)
	running.Know(r.Before)
	if said {
		defer watch(ctx, func() {
			stalls.Look(c.Now())
			running.Look(c.Now())
		})
	}
	done := make(chan error, 1)
	go func() {
		done <- func() error {
			for ctx.Err() == nil {
				b, err := f.Next(ctx)
				if err != nil {
					return err
				}
				stalls.See(b, c.Now())
				running.See(b, c.Now())
				if err := emit(b.Events); err != nil {
					return err
				}
			}
			return nil
		}()
	}()
	return func() error {
		cancel()
		defer f.Close()
		if err := <-done; err != nil {
			return err
		}
		last, end := console.Lingering(outer)
		defer end()
		events, err := f.Rest(last)
		if err != nil && last.Err() == nil {
			return err
		}
		return emit(events)
	}, nil
}

// watch looks for what takes long until ctx is over.
func watch(ctx context.Context, look func()) {
	const every = time.Second
	var timer *time.Timer
	timer = time.AfterFunc(time.Hour, func() {
		if ctx.Err() == nil {
			look()
			timer.Reset(every)
		}
	})
	timer.Reset(every)
	context.AfterFunc(ctx, func() { timer.Stop() })
}

// unseen explains that a run went its way while whoever was to see it did not: the reader of
// the output has gone, or its disk is full.
func unseen(root troupe.SessionID, err error) error {
	return &troupe.UserError{
		Problem: fmt.Sprintf("the output of the run could not be written: %v", err),
		Hint:    fmt.Sprintf("The run itself has ended; see its result with: troupe show %s", root),
		Code:    troupe.ExitFailed, Err: err,
	}
}

// away explains that the server of a run is gone: what was begun there goes on, or will.
func away(root troupe.SessionID, server string, err error) error {
	return &troupe.UserError{
		Problem: fmt.Sprintf("%s has not answered for a minute; session %s goes on there, or will when the server is "+
			"back",
			server, root),
		Hint: fmt.Sprintf("Follow it: troupe log %[1]s --follow. See its result: troupe show %[1]s", root),
		Code: troupe.ExitFailed, Err: err,
	}
}

// broken explains an end that is not the agents': nothing that was logged is lost, unless the
// log itself is gone.
func broken(root troupe.SessionID, err error, gone bool) error {
	if gone {
		return &troupe.UserError{
			Problem: fmt.Sprintf("the run was aborted, and session %s no longer exists: %v", root, err),
			Hint: "The session, or the folder with Troupe's data, was deleted. " +
				"Changes to your files are still there. Start a new session.", Code: troupe.ExitFailed, Err: err,
		}
	}
	if errors.Is(err, troupe.ErrFenced) {
		return &troupe.UserError{
			Problem: fmt.Sprintf("another process has taken over session %s; this process no longer runs it", root),
			Hint:    fmt.Sprintf("`troupe log %s --follow` shows what it does.", root), Code: troupe.ExitFailed,
			Err: err,
		}
	}
	return &troupe.UserError{
		Problem: fmt.Sprintf("the run was aborted: %v", err),
		Hint: fmt.Sprintf("The session is saved. When the problem is fixed, continue with: troupe -p --resume %s",
			root),
		Code: troupe.ExitFailed, Err: err,
	}
}

// exitCode maps how the main agent's run ended to the documented exit codes.
func exitCode(r wire.Report) int {
	if r.Status == troupe.Completed && r.Cause != troupe.CauseInterrupt {
		return troupe.ExitOK
	}
	switch r.Cause {
	case troupe.CausePermission:
		return troupe.ExitPermission
	case troupe.CauseLimit:
		return troupe.ExitLimit
	case troupe.CauseInterrupt:
		return troupe.ExitInterrupted
	case troupe.CauseNoModel:
		return troupe.ExitUsage
	case troupe.CauseNone, troupe.CauseError, troupe.CauseRefusal:
	}
	return troupe.ExitFailed
}

func printText(c *console.Console, r wire.Report, o Output) {
	if o.Live {
		fmt.Fprintln(c.Err)
		beside := *c
		beside.Out, beside.OutTTY = c.Err, c.ErrTTY
		Table(&beside, r)
		fmt.Fprintln(c.Err)
	}
	if r.Result != "" && (!o.Object || r.Structured != nil) {
		text := r.Result
		if c.OutTTY {
			text = console.Clean(text)
		}
		fmt.Fprintln(c.Out, strings.TrimRight(text, "\n"))
	}
	for i, d := range r.Denials {
		if i == 5 && len(r.Denials) > 6 {
			c.Warn(fmt.Sprintf("and %d more calls were denied (--output-format json lists them)", len(r.Denials)-i))
			break
		}
		c.Warn(fmt.Sprintf("denied in %s: %s: %s", console.Line(d.Agent, 0), console.Line(d.Tool, 60),
			console.Line(d.Why, 0)))
	}
	if r.Status == troupe.Completed && r.Cause == troupe.CauseInterrupt {
		text := "interrupted: what was still at work in the background was stopped"
		if !o.Gone {
			text += fmt.Sprintf("; go on with: troupe -p --resume %s", r.SessionID)
		}
		c.Warn(text)
	}
	if r.Status != troupe.Completed {
		c.Warn(fmt.Sprintf("%s: %s", console.EndWord(string(r.Status)), r.Error))
		if o.Gone {
			return
		}
		switch r.Cause {
		case troupe.CauseRefusal:
		case troupe.CauseNoModel:
			c.Warn(mend(r))
		case troupe.CauseLimit:
			c.Warn(live.Raise(r))
		case troupe.CauseNone, troupe.CauseError, troupe.CausePermission, troupe.CauseInterrupt:
			c.Warn(fmt.Sprintf("go on with: troupe -p --resume %s", r.SessionID))
		}
	}
}

// mend says how to go on when the model was not to be had. Which other one is, nobody knows here.
func mend(r wire.Report) string {
	text := "when that is fixed"
	if r.Suspects != "" {
		text += " (" + r.Suspects + ")"
	}
	return fmt.Sprintf("%s, continue with: troupe -p --resume %s; "+
		"or with another model: add --model NAME (`troupe models` lists them)", text, r.SessionID)
}

// agentPath names an agent with its number, as everywhere.
func agentPath(a wire.Session) string {
	path := console.Middle(console.Line(a.Path, 0), 40)
	if a.Number > 0 {
		path = fmt.Sprintf("#%d %s", a.Number, path)
	}
	return path
}

// statusOf is an agent's status. One that has not ended and that no process runs was left behind.
func statusOf(a wire.Session) string {
	if !a.AsleepAt.IsZero() {
		return "asleep"
	}
	if a.Status.Live() && !a.Running {
		return "left behind"
	}
	return console.EndWord(string(a.Status))
}

// Table writes the bill: a row per agent, and their sum. A narrow terminal is shown less of each.
func Table(c *console.Console, r wire.Report) {
	type col = console.Column
	columns := []col{{Title: "AGENT", Least: 12}, {Title: "TYPE", Spare: 3}, {Title: "STATUS", Spare: 1},
		{Title: "TURNS", Spare: 5}, {Title: "TOOLS", Spare: 4}, {Title: "TOKENS"}, {Title: "COST"}}
	again := slices.ContainsFunc(r.Agents, func(a wire.Session) bool { return a.Run > 1 })
	if again {
		columns = append(columns, col{Title: "LAST RUN", Spare: 2}, col{Title: "ALL RUNS"})
	} else {
		columns = append(columns, col{Title: "TIME"})
	}
	row := func(t *console.Table, last, all int64, cells ...any) {
		if again {
			cells = append(cells, console.Duration(last))
		} else {
			all = last
		}
		t.Row(append(cells, console.Duration(all))...)
	}
	t := c.Table(columns...)
	for _, a := range r.Agents {
		row(t, a.DurationMS, a.ActiveMS, agentPath(a), console.Line(a.Type, 40), statusOf(a), a.Turns, a.ToolUses,
			troupe.FormatTokens(a.Usage.Total()), troupe.Dollars(a.CostUSD))
	}
	if len(r.Agents) > 1 {
		row(t, r.DurationMS, r.ActiveMS, "all", "", "", "", "", troupe.FormatTokens(r.Usage.Total()),
			troupe.Dollars(r.CostUSD))
	}
	_ = t.Write() // there is nowhere to tell that the terminal is gone
	for _, a := range r.Agents {
		if text := console.Flags(a.Flags); text != "" {
			_ = c.Say(agentPath(a) + ": " + text) // as above
		}
		if v := a.Verified; v != nil {
			_ = c.Say(agentPath(a) + ": " + console.Check(v.Name, v.Verdict, v.Why, len(v.Commands))) // as above
		}
		if a.Unchecked != "" {
			_ = c.Say(agentPath(a) + ": " + console.Line(a.Unchecked, 0)) // as above
		}
	}
	if len(r.Unpriced) > 0 {
		_ = c.Say(console.Unpriced(r.Unpriced)) // as above
	}
	if cut := console.Cut(r.Agents); cut != "" {
		_ = c.Say(cut) // as above
	}
}
