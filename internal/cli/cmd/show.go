package cmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/live"
	"github.com/troupe-dev/troupe/internal/cli/run"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newShow makes the command.
func newShow(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show ID|NAME", Short: "Show a session: its agents, what each did and cost", Args: oneSession,
		Example:           "troupe show 7k3f\ntroupe show \"main/Auth Explorer\" --json",
		ValidArgsFunction: c.Sessions,
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			return show(ctx, c, a, args[0], asJSON)
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func show(ctx context.Context, c *console.Console, a api.API, ref string, asJSON bool) error {
	s, err := a.Find(ctx, ref, c.Cwd)
	if err != nil {
		return err
	}
	report, err := a.Report(ctx, s.Root)
	if err != nil {
		return err
	}
	if s.Parent != "" {
		report = narrow(report, s)
	} else if team, err := a.Team(ctx, s.Root); err != nil {
		return err
	} else if len(team.Members) > 0 {
		report.Team = &team
	}
	if asJSON {
		report.Type = "session"
		return c.JSON(report)
	}
	t, err := a.Tree(ctx, s.Root)
	if err != nil {
		return err
	}
	events, err := a.Events(ctx, s.Root, 0, 0)
	if err != nil {
		return err
	}
	if report, err = nowHad(ctx, a, report, s.Cwd); err != nil {
		return err
	}
	writeSession(c, t, report, s, fromText(events))
	if report.Team != nil {
		fmt.Fprintln(c.Out)
		if err := c.Team(*report.Team); err != nil {
			return err
		}
	}
	if s.Parent == "" {
		writeBoard(c, events)
	}
	return nil
}

// fromText is from where a session came; "" if it was begun here.
func fromText(events []troupe.Event) (text string) {
	for _, e := range events {
		if b, ok := e.Body.(troupe.Imported); ok {
			text = fmt.Sprintf("another home, where it worked in %s (file %.12s)", console.Line(b.Folder, 0), b.File)
		}
	}
	return text
}

// nowHad has what is said of agents' own folders be what is so now: work that was merged since is no more to be merged.
func nowHad(ctx context.Context, a api.API, r wire.Report, cwd string) (wire.Report, error) {
	if !slices.ContainsFunc(r.Agents, func(ag wire.Session) bool {
		return ag.Kept != nil && ag.Kept.Tip != ag.Kept.Base && (ag.Kept.Into == "" || ag.Kept.NotMerged != "")
	}) {
		return r, nil
	}
	list, err := a.Setup().Workspaces().Worktrees(ctx, wire.WorktreeQuery{Cwd: cwd})
	if err != nil {
		return r, err
	}
	r.Agents = slices.Clone(r.Agents)
	for i, ag := range r.Agents {
		for _, w := range list {
			if ag.Kept != nil && w.Session == ag.ID && w.State == wire.WorktreeMerged {
				now := *ag.Kept
				now.Into, now.NotMerged, now.Unmerged, now.Conflicts = w.Of, "", "", nil
				r.Agents[i].Kept = &now
			}
		}
	}
	return r, nil
}

// narrow narrows a tree's report to one agent of it.
func narrow(r wire.Report, s wire.Session) wire.Report {
	for _, ag := range r.Agents {
		if ag.ID == s.ID {
			r.SessionID, r.Name, r.Status, r.Cause, r.Result, r.Error = s.ID, s.Name, s.Status, s.Cause, s.Result,
				s.Error
			r.Usage, r.CostUSD, r.NumTurns = ag.Usage, ag.CostUSD, ag.Turns
			r.DurationMS, r.ActiveMS = ag.DurationMS, ag.ActiveMS
			r.Agents, r.Denials = []wire.Session{ag}, nil
			return r
		}
	}
	return r
}

// writeBoard tells what the agents of a tree have put down to be done.
func writeBoard(c *console.Console, events []troupe.Event) {
	var board live.Board
	for _, e := range events {
		if b, ok := e.Body.(troupe.BoardChanged); ok {
			board.Take(b)
		}
	}
	for i, l := range board.Lines() {
		if i == 0 {
			fmt.Fprintln(c.Out)
		}
		fmt.Fprintln(c.Out, l)
	}
}

func leftBehind(root troupe.SessionID) string {
	return "left behind by a process that is gone; go on with: troupe -p --resume " + string(root)
}

// parked says why no process of a server goes on with a session, and how one does.
func parked(s wire.Session) string {
	return fmt.Sprintf("parked: %s; words to it have it go on: troupe send %s \"...\"", console.Line(s.Parked, 0),
		s.Root)
}

// asleepText says since when a tree sleeps, and what it was at.
func asleepText(c *console.Console, root wire.Session, status string) string {
	return fmt.Sprintf("asleep since %s (it was %s); wake it with: troupe wake %s",
		console.Clock(root.AsleepAt.Local(), c.Now()), status, cmp.Or(console.Line(root.Name, 0), string(root.ID)))
}

// agentsLeft counts the sub-agents that have not ended and that no process runs.
func agentsLeft(t wire.Tree) (n int) {
	for _, a := range t.Sessions {
		if a.Parent != "" && a.Status.Live() && !t.Running {
			n++
		}
	}
	return n
}

func writeSession(c *console.Console, t wire.Tree, r wire.Report, s wire.Session, from string) {
	status := console.EndWord(string(s.Status))
	asleep := len(t.Sessions) > 0 && !t.Sessions[0].AsleepAt.IsZero()
	switch {
	case len(t.Sessions) > 0 && t.Sessions[0].Archived:
		status += "; archived: troupe archive --undo " + cmp.Or(console.Line(t.Sessions[0].Name, 0), string(s.Root))
	case asleep && (s.Status.Live() || s.Parent == ""):
		status = asleepText(c, t.Sessions[0], status)
	case s.Parked != "":
		status = parked(s)
	case s.Status.Live() && t.Kept:
		status += ", in the hands of no process at the moment; one of the server's goes on with it"
	case s.Status.Live() && !t.Running:
		status = leftBehind(s.Root)
	case s.Status.Live():
		status += fmt.Sprintf(", run by process %d", t.Owner.PID)
		if s.Waiting != "" {
			status += ", waits for " + string(s.Waiting)
			if !s.Until.IsZero() {
				status += " until " + console.Clock(s.Until.Local(), c.Now())
			}
		}
	case s.Cause != "":
		status += " (" + string(s.Cause) + ")"
	}
	if left := agentsLeft(t); s.Parent == "" && s.Status.Ended() && left > 0 && !asleep {
		status += fmt.Sprintf("; %s %s", console.Count(left, "agent"), leftBehind(s.Root))
	}
	_ = c.Printf("session  %s %s\nwhat     %s\nfolder   %s\nmodel    %s\nstatus   %s\nbegan    %s\ntime     %s\n",
		s.ID,
		console.Line(s.Name, 0), console.Line(s.Title, 0),
		console.Line(c.ShortPath(s.Cwd), 0), console.Model(s.Model), console.Line(status, 0),
		s.CreatedAt.Local().Format("2006-01-02 15:04:05"), console.Took(s.Run, r.DurationMS, r.ActiveMS))
	if from != "" {
		_ = c.Printf("from     %s\n", from)
	}
	writePlace(c, r, s)
	if s.Error != "" && s.Status == troupe.Spawning {
		_ = c.Printf("queue    %s\n", console.Line(s.Error, 0))
	} else if s.Error != "" {
		_ = c.Printf("error    %s\n", console.Line(s.Error, 0))
	}
	fmt.Fprintln(c.Out)
	run.Table(c, r)
	if s.Result != "" {
		fmt.Fprintf(console.Verbatim(c.Out), "\n%s\n", strings.TrimRight(console.Clean(s.Result), "\n"))
	}
}

// writePlace says where a session works, if that is not its folder, and what became of the folders that its agents
// had of their own.
func writePlace(c *console.Console, r wire.Report, s wire.Session) {
	if w := s.Workspace; w != nil {
		text := console.Line(c.ShortPath(w.Folder), 0)
		switch {
		case w.Kind == troupe.WorkspaceReadOnly:
			text += " (which it cannot write)"
		case w.Branch != "":
			text += " (branch " + console.Line(w.Branch, 0) + ")"
		}
		_ = c.Printf("works in %s\n", text)
	}
	if p := r.Scratchpad; p != nil && s.Parent == "" {
		_ = c.Printf("shares   %s (%s, %s)\n", console.Line(c.ShortPath(p.Folder), 0),
			console.Count(p.Files, "file"), console.Size(p.Bytes))
	}
	for _, ag := range r.Agents {
		if text := console.Workspace(ag.Kept); text != "" {
			_ = c.Printf("kept     %s: %s\n", console.Line(ag.Path, 0), text)
		}
	}
}
