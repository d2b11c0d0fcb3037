package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/wire"
)

// stopped is what --json prints.
type stopped struct {
	Session troupe.SessionID `json:"session"`
	// Effect is "stops", "stopped": it was taken from a process that does not answer, "none": no process was
	// running it, "asleep": nothing of it goes on, or "idle": it had nothing at work.
	Effect string `json:"effect"`
	Now    bool   `json:"now"`
	Tree   bool   `json:"tree"`
	// Alone: it has agents that go on without it.
	Alone bool `json:"alone,omitempty"`
	// Task is the command in the background that was meant.
	Task troupe.TaskID `json:"task,omitempty"`
}

// newStop makes the command.
func newStop(c *console.Console) *cobra.Command {
	var asJSON, now, take, all bool
	cmd := &cobra.Command{
		Use: "stop ID|NAME|TASK", Short: "Stop an agent with its sub-agents, or a background command",
		Long: `Stop an agent, from any terminal. It finishes its current step, or is interrupted with --now.
Stopping a main agent stops all agents and commands of the session. Stopping a sub-agent stops
it and the agents it waits for, and its parent is told. Its work is kept, and it can be
resumed. Stopping a coordinator stops it alone, and its workers go on; --all stops them too.
To stop only a background command, name it by its id, as ` + "`troupe tasks`" + ` shows it; if several
sessions have a command with that id, write SESSION/ID.`,
		Example: "troupe stop 7k3f\ntroupe stop \"main/Auth Explorer\" --now\n" +
			"troupe stop b3.0\ntroupe stop fix-login/b3.0",
		Args:              oneSession,
		ValidArgsFunction: c.Sessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd.Context(), troupe.SurfaceCommand, func(h *home.Home) error {
				if take {
					if taken, err := stopOver(cmd.Context(), c, h, args[0], asJSON); err != nil || taken {
						return err
					}
				}
				return stop(cmd.Context(), c, h.API, args[0], stopped{Now: now, Tree: all}, asJSON)
			})
		},
	}
	takeOverFlag(cmd, &take)
	cmd.Flags().BoolVar(&now, "now", false, "Interrupt the current step")
	cmd.Flags().BoolVar(&all, "all", false, "Stop all below it too, also what goes on in the background")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// stopOver takes a session from a process that does not answer, and stops it. taken: there was such a process.
func stopOver(
	ctx context.Context, c *console.Console, h *home.Home, ref string, asJSON bool,
) (taken bool, err error) {
	of := ref
	owner, task, isTask := parseTask(ref)
	if isTask {
		if of = owner; of == "" {
			of = "main"
		}
	}
	s, err := h.API.Find(ctx, of, c.Cwd)
	if err != nil {
		return false, err
	}
	if isTask {
		return false, &troupe.UserError{Problem: fmt.Sprintf("command %s cannot be stopped without the process that "+
			"runs it", task),
			Hint: fmt.Sprintf("`troupe stop %s --take-over` takes the whole session from that process.", s.Root),
			Code: troupe.ExitUsage}
	}
	taken, err = h.StopOver(ctx, s, wire.Stop{Now: true, Tree: s.Parent == ""})
	if err != nil || !taken {
		return taken, err
	}
	out := stopped{Session: s.ID, Effect: "stopped", Now: true, Tree: s.Parent == ""}
	if asJSON {
		return true, c.JSON(out)
	}
	err = c.Printf("%s: %s\n", console.Line(s.Path, 0), stopText(out, s))
	return true, err
}

func stop(ctx context.Context, c *console.Console, a api.API, ref string, out stopped, asJSON bool) error {
	if owner, task, ok := parseTask(ref); ok {
		return stopTask(ctx, c, a, owner, task, asJSON)
	}
	s, err := a.Find(ctx, ref, c.Cwd)
	if err != nil {
		return err
	}
	t, err := a.Tree(ctx, s.Root)
	if err != nil {
		return err
	}
	// It is looked at before it is told: afterwards everything is at rest.
	busy, err := atWork(ctx, a, s)
	if err != nil {
		return err
	}
	out.Session, out.Effect = s.ID, "stops"
	out.Alone = !out.Tree && s.Type == wire.AgentCoordinator
	out.Tree = out.Tree || s.Parent == "" && !out.Alone
	if err := a.Stop(ctx, s.ID, wire.Stop{Now: out.Now, Tree: out.Tree}); err != nil {
		return err
	}
	switch {
	case !t.Sessions[0].AsleepAt.IsZero():
		out.Effect = "asleep"
	case !t.Running:
		out.Effect = "none"
	case !busy:
		out.Effect = "idle"
	}
	if asJSON {
		return c.JSON(out)
	}
	err = c.Printf("%s: %s\n", console.Line(s.Path, 0), stopText(out, s))
	return err
}

// parseTask takes a reference to a command in the background apart: its session, if that is named, and
// its id, which is b, the number of the reply, and that of the call.
func parseTask(ref string) (owner string, task troupe.TaskID, ok bool) {
	at := strings.LastIndexByte(ref, '/') + 1
	var reply, call int
	if n, err := fmt.Sscanf(ref[at:], "b%d.%d", &reply, &call); n != 2 || err != nil {
		return "", "", false
	}
	task = troupe.ShellTaskID(troupe.Coord{Reply: reply, Call: call})
	return strings.TrimSuffix(ref[:at], "/"), task, ref[at:] == string(task)
}

// stopTask ends one command in the background.
func stopTask(ctx context.Context, c *console.Console, a api.API, owner string, id troupe.TaskID, asJSON bool) error {
	var of troupe.SessionID
	if owner != "" {
		s, err := a.Find(ctx, owner, c.Cwd)
		if err != nil {
			return err
		}
		of = s.ID
	}
	list, err := a.Tasks(ctx, of)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(t wire.Task) bool {
		return t.ID != id || t.Status != troupe.TaskRunning || t.Left || of != "" && t.Session != of
	})
	switch len(list) {
	case 0:
		return &troupe.UserError{Problem: fmt.Sprintf("no command %s is at work", id),
			Hint: "`troupe tasks` lists what is.", Code: troupe.ExitUsage, Err: troupe.ErrNotFound}
	case 1:
	default:
		var all []string
		for _, t := range list {
			all = append(all, t.Path+"/"+string(t.ID))
		}
		return &troupe.UserError{Problem: fmt.Sprintf("%d commands are %s: %s", len(list), id, strings.Join(all, ", ")),
			Hint: "Name one of them so.", Code: troupe.ExitUsage, Err: troupe.ErrAmbiguous}
	}
	t := list[0]
	if err := a.Stop(ctx, t.Session, wire.Stop{Task: t.ID}); err != nil {
		return err
	}
	if asJSON {
		return c.JSON(stopped{Session: t.Session, Effect: "stops", Now: true, Task: t.ID})
	}
	err = c.Printf("%s: %s (%s) ends; its agent is told\n", console.Line(t.Path, 0), t.ID,
		console.VisibleLine(t.Name))
	return err
}

// atWork reports whether there is something that a stop would end.
func atWork(ctx context.Context, a api.API, s wire.Session) (bool, error) {
	if s.Status.Live() {
		return true, nil
	}
	list, err := a.Tasks(ctx, s.ID)
	return s.Parent == "" && slices.ContainsFunc(list,
		func(t wire.Task) bool { return t.Status == troupe.TaskRunning }), err
}

func stopText(o stopped, s wire.Session) string {
	again := "go on later with: troupe -p --resume " + string(s.Root)
	if s.Parent != "" {
		again = fmt.Sprintf("have it go on with: troupe send %s \"…\"", s.ID)
	}
	if o.Alone {
		again = fmt.Sprintf("its agents go on (with them: troupe stop %s --all); %s", s.ID, again)
	}
	switch {
	case o.Effect == "asleep":
		return "it is asleep; there is nothing to stop"
	case o.Effect == "none":
		return "no process is running it; there is nothing to stop"
	case o.Effect == "idle" && s.Parent == "":
		return "it is idle: no agent and no command of it is at work; there is nothing to stop"
	case o.Effect == "idle":
		return fmt.Sprintf("it is not at work (%s); there is nothing to stop",
			console.EndWord(string(s.Status)))
	case o.Effect == "stopped":
		return "taken over and stopped; " + again
	case o.Now:
		return "stops now; " + again
	}
	return "stops after the step it is in; " + again
}
