package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newAdmin makes the command with its parts.
func newAdmin(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "admin", Short: "Look at the processes of a server, drain them, pause folders, stop many sessions",
		Long: `Look at what runs the sessions of a server: its processes, the sessions that are kept going, and the folders in which
nothing is begun. To change it takes the right admin, or to be the server's user on its machine.`,
		Example: "troupe admin\ntroupe admin drain 7c2f\ntroupe admin pause /srv/app\ntroupe admin stop --by ann --yes",
		Args:    console.NoArgs,
		RunE: inHome(c, func(ctx context.Context, a api.API, _ []string) error {
			h, err := a.Server().Hosting().Hosted(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				return c.JSON(h)
			}
			return writeHosted(c, h)
		}),
	}
	jsonFlag(cmd, &asJSON)
	cmd.AddCommand(newDrain(c), newPause(c, false), newPause(c, true), newStopMany(c), newActs(c))
	return cmd
}

func writeHosted(c *console.Console, h wire.Hosted) error {
	switch none := len(h.Workers)+len(h.Sessions)+len(h.Paused) == 0; {
	case none && h.Partial:
		return c.Say("Nothing of your projects is kept going.")
	case none:
		return c.Say("No server runs here. Start one: troupe serve")
	}
	type col = console.Column
	t := c.Table(col{Title: "PROCESS"}, col{Title: "MACHINE", Spare: 2}, col{Title: "SINCE", Spare: 1},
		col{Title: "SESSIONS"}, col{Title: "FOLDERS"})
	for _, w := range h.Workers {
		folders := strings.Join(w.Folders, ", ")
		if len(w.Folders) == 0 {
			folders = "none: workers run its sessions"
		}
		if d := w.Draining; d != nil {
			folders = fmt.Sprintf("takes on nothing any more (%s)", console.Line(d.By, 20))
			if !d.Until.IsZero() {
				folders += ", ends " + console.Clock(d.Until.Local(), c.Now())
			}
		}
		t.Row(console.Line(string(w.ID), 12), fmt.Sprintf("%s, pid %d", console.Line(w.Host, 24), w.PID),
			w.Since.Local().Format("2006-01-02 15:04"), w.Kept, console.Line(folders, 0))
	}
	err := error(nil)
	switch {
	case len(h.Workers) > 0:
		err = t.Write()
	case !h.Partial:
		_, err = fmt.Fprintln(c.Out, "No process runs sessions for a server.")
	}
	for _, p := range h.Paused {
		perr := c.Printf("\nPaused by %s since %s: %s\n", console.Line(p.By, 64),
			console.Clock(p.Since.Local(), c.Now()), console.Line(p.Folder, 0))
		err = errors.Join(err, perr)
	}
	if len(h.Sessions) == 0 || err != nil {
		return err
	}
	if len(h.Paused) > 0 || !h.Partial {
		fmt.Fprintln(c.Out)
	}
	t = c.Table(col{Title: "SESSION"}, col{Title: "STATE"}, col{Title: "PROCESS", Spare: 2},
		col{Title: "FOLDER", Spare: 1,
			Least: 10}, col{Title: "WHAT"})
	for _, k := range h.Sessions {
		what := console.Line(k.Title, 50)
		if k.Why != "" {
			what = console.Line(k.Why, 0)
		}
		t.Row(k.ID, k.State, console.Line(string(k.Worker), 12), console.Line(k.Cwd, 40), what)
	}
	return t.Write()
}

func newActs(c *console.Console) *cobra.Command {
	var q wire.ActQuery
	var asJSON bool
	cmd := &cobra.Command{
		Use: "log", Short: "List who did what at a server, the newest first", Args: console.NoArgs,
		Long: `List who did what at a server, the newest first. What was said to agents is in the logs of their sessions ("troupe log"),
under the same names. Acts are kept for 400 days.`,
		Example: "troupe admin log\ntroupe admin log --by ann --limit 200\ntroupe admin log --about 4k7q2m9xw3ht",
		RunE: inHome(c, func(ctx context.Context, a api.API, _ []string) error {
			all, err := a.Server().Acts(ctx, q)
			if err != nil {
				return err
			}
			if asJSON {
				return jsonList(c, all)
			}
			if len(all) == 0 {
				return c.Say("Nothing like that was done.")
			}
			type col = console.Column
			t := c.Table(col{Title: "WHEN"}, col{Title: "WHO", Least: 8}, col{Title: "WHAT"},
				col{Title: "ABOUT", Spare: 2,
					Least: 12}, col{Title: "OUTCOME"})
			for _, x := range all {
				outcome := x.Outcome
				switch {
				case x.Problem != "":
					outcome += ": " + x.Problem
				case outcome == "":
					outcome = "not known"
				}
				about := x.About
				if x.Session != "" && string(x.Session) != about {
					about += " (" + string(x.Session) + ")"
				}
				if x.Times > 0 {
					outcome += fmt.Sprintf(" (%d times within a minute)", x.Times)
				}
				what := x.Verb
				if x.With != "" {
					what += " (" + x.With + ")"
				}
				t.Row(x.At.Local().Format("2006-01-02 15:04:05"), console.Line(x.By, 24), console.Line(what, 60),
					console.Line(about, 40), console.Line(outcome, 0))
			}
			return t.Write()
		}),
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().StringVar(&q.By, "by", "", "Only what this user did")
	cmd.Flags().StringVar(&q.About, "about", "", "Only what was about this session, request, user or folder")
	cmd.Flags().IntVar(&q.Limit, "limit", 50, "How many at the most (0: all)")
	return cmd
}

func newDrain(c *console.Console) *cobra.Command {
	var within time.Duration
	var d wire.Drain
	cmd := &cobra.Command{
		Use: "drain PROCESS", Short: "Have a process take on nothing any more, and end once nothing is at work in it",
		Long: `Have a process take on nothing any more, and a worker end once nothing is at work in it: before its machine is stopped,
or a new version of Troupe is started there. What is said to its sessions later is taken up by other processes with the
folder. A server that is drained runs no sessions and goes on to answer.`,
		Example: "troupe admin drain 7c2f\ntroupe admin drain 7c2f --within 30m\ntroupe admin drain 7c2f --cancel",
		Args:    console.Args(1, 1),
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			if within < 0 {
				return console.Usage("--within is a time such as 30m")
			}
			d.Worker, d.WithinMS = troupe.OwnerID(args[0]), within.Milliseconds()
			if err := a.Server().Hosting().Drain(ctx, d); err != nil {
				return err
			}
			if d.Cancel {
				return c.Say("It takes on sessions again.")
			}
			return c.Say("It takes on nothing any more. See with `troupe admin` what is still at work there.")
		}),
	}
	cmd.Flags().DurationVar(&within, "within", 0, "It ends after so long in any case, and others go on with what it "+
		"has")
	cmd.Flags().BoolVar(&d.Cancel, "cancel", false, "It takes on sessions again")
	return cmd
}

// newPause makes the command that pauses a folder, or the one that ends it.
func newPause(c *console.Console, end bool) *cobra.Command {
	cmd := &cobra.Command{
		Use: "pause FOLDER", Short: "Have nothing begun in a folder of a server, and nothing taken up there",
		Long: `Have nothing begun in a folder of a server and below it, and nothing taken up there that its process has left. What is
at work there goes on; "troupe admin stop" ends it.`,
		Example: "troupe admin pause /srv/app",
	}
	said := "%s is paused: nothing is begun there. It ends with: troupe admin resume %[1]s"
	if end {
		cmd = &cobra.Command{Use: "resume FOLDER", Short: "End a pause", Example: "troupe admin resume /srv/app"}
		said = "%s is paused no more."
	}
	cmd.Args = console.Args(1, 1)
	cmd.RunE = inHome(c, func(ctx context.Context, a api.API, args []string) error {
		folder := args[0]
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(c.Cwd, folder)
		}
		folder = filepath.Clean(folder)
		if err := a.Server().Hosting().Pause(ctx, wire.Pause{Where: folder, End: end}); err != nil {
			return err
		}
		return c.Say(console.Sprintf(said, console.Line(folder, 0)))
	})
	return cmd
}

// newStopMany makes the command that stops what a list shows.
func newStopMany(c *console.Console) *cobra.Command {
	var l wire.Listing
	var status string
	var here, yes, now bool
	cmd := &cobra.Command{
		Use: "stop", Short: "Stop many sessions at once: all, or those that a list would show", Args: console.NoArgs,
		Long: `Stop all sessions that are at work, or those of them that "troupe sessions" would list with the same conditions. Without
--yes it only says which.`,
		Example: "troupe admin stop --by ann\ntroupe admin stop --by ann --yes\ntroupe admin stop --search migrate " +
			"--yes",
		RunE: inHome(c, func(ctx context.Context, a api.API, _ []string) error {
			if here {
				l.Cwd = c.Cwd
			}
			live, err := liveOf(ctx, a, l, troupe.Status(status))
			if err != nil {
				return err
			}
			for _, s := range live {
				word := "would be stopped"
				if yes {
					if err := a.Stop(ctx, s.ID, wire.Stop{Tree: true, Now: now}); err != nil {
						return fmt.Errorf("stop session %s: %w", s.ID, err)
					}
					word = "stops"
				}
				err = c.Printf("%s %s: %s\n", s.ID, word, console.Line(s.Title, 50))
				if err != nil {
					return err
				}
			}
			switch {
			case len(live) == 0:
				return c.Say("Nothing like that is at work.")
			case !yes:
				return c.Say("\nThey are stopped with --yes; each can be resumed.")
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&here, "here", false, "Only those of this folder")
	cmd.Flags().StringVar(&status, "status", "", "Only those that are at this: spawning, running, waiting")
	cmd.Flags().StringVar(&l.By, "by", "", "Only those that this user began")
	cmd.Flags().StringVar(&l.Text, "search", "", "Only those with these words in what they are about, or in their name")
	cmd.Flags().BoolVar(&yes, "yes", false, "Stop them")
	cmd.Flags().BoolVar(&now, "now", false, "Wait for no call that is under way")
	return cmd
}

// liveOf lists the main agents of a list that have not ended.
func liveOf(ctx context.Context, a api.API, l wire.Listing, status troupe.Status) (live []wire.Session, err error) {
	all := []troupe.Status{troupe.Spawning, troupe.Running, troupe.Waiting}
	if status != "" {
		if !slices.Contains(all, status) {
			return nil, console.Usage("--status is one of spawning, running and waiting: what has ended is not stopped")
		}
		all = []troupe.Status{status}
	}
	for _, l.Status = range all {
		found, err := a.List(ctx, l)
		if err != nil {
			return nil, err
		}
		live = append(live, found...)
	}
	return live, nil
}
