package cmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/run"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newSchedule makes the command with its parts.
func newSchedule(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "schedule", Short: "List, add and change what begins by itself", Args: console.NoArgs,
		Long: `List, add and change what begins by itself. Runs begin at a server: on this machine they do as long as troupe
serve or troupe worker runs in their folder.`,
		Example: "troupe schedule\ntroupe schedule add triage --cron \"0 7 * * 1-5\" \"triage the new issues\"\n" +
			"troupe schedule run triage\ntroupe schedule pause triage",
		RunE: inHome(c, func(ctx context.Context, a api.API, _ []string) error {
			all, err := a.Server().Schedules().Schedules(ctx)
			switch {
			case err != nil:
				return err
			case asJSON:
				return jsonList(c, all)
			case len(all) == 0:
				return c.Say("Nothing begins by itself. `troupe schedule add --help` says how something does.")
			}
			return writeSchedules(c, all)
		}),
	}
	jsonFlag(cmd, &asJSON)
	add := run.NewScheduleAdd(c, func(s wire.Schedule) error {
		text := console.Sprintf("%s begins %s, next %s, in %s.", s.Name, scheduleWhen(s), scheduleNext(s),
			console.Line(c.ShortPath(s.Begin.Cwd), 0))
		if s.Paused != "" {
			text = console.Sprintf("%s is changed, and paused; `troupe schedule resume %s` has it go on.", s.Name,
				s.Name)
		}
		return c.Say(text + unserved(s))
	})
	cmd.AddCommand(add, newScheduleShow(c),
		changeSchedule(c, &cobra.Command{Use: "pause NAME", Short: "Have a schedule begin nothing for the time being",
			Example: "troupe schedule pause triage"}, pauses(false), func(s wire.Schedule) string {
			return console.Sprintf("%s is paused. What it has begun goes on.", s.Name)
		}),
		changeSchedule(c, &cobra.Command{Use: "resume NAME", Short: "Have a schedule that is paused go on from now",
			Example: "troupe schedule resume triage"}, pauses(true), func(s wire.Schedule) string {
			return console.Sprintf("%s begins next %s.", s.Name, scheduleNext(s)) + unserved(s)
		}),
		changeSchedule(c, &cobra.Command{Use: "run NAME", Short: "Have a schedule begin a run now, also if it is " +
			"paused",
			Example: "troupe schedule run triage"}, api.Schedules.RunSchedule, func(s wire.Schedule) string {
			if s.Queued > 0 || s.Last == nil {
				return "It begins when the last run is over."
			}
			return console.Sprintf("Session %s has begun. See it with: troupe log %s --follow", s.Last.Root,
				s.Last.Root)
		}),
		changeSchedule(c, &cobra.Command{Use: "remove NAME", Short: "Forget a schedule",
			Example: "troupe schedule remove triage"}, func(a api.Schedules, ctx context.Context,
			name string) (wire.Schedule, error) {
			return wire.Schedule{}, a.RemoveSchedule(ctx, name)
		}, func(wire.Schedule) string {
			return "It is forgotten. What it has begun goes on; `troupe stop` ends it."
		}))
	return cmd
}

// changeSchedule makes a command of one verb about the schedule that it names.
func changeSchedule(c *console.Console, cmd *cobra.Command,
	verb func(api.Schedules, context.Context, string) (wire.Schedule, error),
	said func(wire.Schedule) string) *cobra.Command {
	cmd.Args = console.Args(1, 1)
	cmd.RunE = inHome(c, func(ctx context.Context, a api.API, args []string) error {
		s, err := verb(a.Server().Schedules(), ctx, args[0])
		if err != nil {
			return err
		}
		return c.Say(said(s))
	})
	return cmd
}

func pauses(end bool) func(api.Schedules, context.Context, string) (wire.Schedule, error) {
	return func(a api.Schedules, ctx context.Context, name string) (wire.Schedule, error) {
		return a.PauseSchedule(ctx, name, wire.SchedulePause{End: end})
	}
}

// unserved says where a schedule begins nothing.
func unserved(s wire.Schedule) string {
	if s.Unserved == "" {
		return ""
	}
	return "\nNothing begins it: " + console.Line(s.Unserved, 0) + "."
}

func writeSchedules(c *console.Console, all []wire.Schedule) error {
	type col = console.Column
	t := c.Table(col{Title: "NAME"}, col{Title: "WHEN"}, col{Title: "NEXT"}, col{Title: "LAST"},
		col{Title: "BY", Spare: 1},
		col{Title: "WHAT", Spare: 2}).Whole()
	said := ""
	for _, s := range all {
		t.Row(s.Name, scheduleWhen(s), scheduleNext(s), scheduleLast(s), console.Line(s.By, 20),
			console.Line(s.Begin.Prompt, 50))
		said = max(said, unserved(s))
	}
	if err := t.Write(); err != nil || said == "" {
		return err
	}
	return c.Say(said)
}

// scheduleWhen is when a schedule begins, as it was given.
func scheduleWhen(s wire.Schedule) string {
	switch {
	case s.Broken != "":
		return ""
	case s.EveryMS > 0:
		d := (time.Duration(s.EveryMS) * time.Millisecond).String()
		if strings.HasSuffix(d, "m0s") {
			d = strings.TrimSuffix(d, "0s")
		}
		if strings.HasSuffix(d, "h0m") {
			d = strings.TrimSuffix(d, "0m")
		}
		return "every " + d
	case s.At != "":
		return "at " + console.Line(s.At, 64) + zoneOf(s)
	}
	return console.Line(s.Cron, 200) + zoneOf(s)
}

func zoneOf(s wire.Schedule) string {
	if s.Zone == "" {
		return " (UTC)"
	}
	return " (" + console.Line(s.Zone, 64) + ")"
}

// scheduleNext is the next moment, by the clock of the schedule's zone; of one that has none, by the reader's.
func scheduleNext(s wire.Schedule) string {
	switch who, _, troupes := strings.Cut(s.Paused, ":"); {
	case s.Broken != "":
		return "broken: troupe schedule show " + s.Name
	case troupes:
		return "paused by Troupe"
	case who != "":
		return "paused by " + console.Line(who, 20)
	case s.Next.IsZero():
		return "never"
	}
	at := s.Next.Local()
	if zone, err := time.LoadLocation(s.Zone); err == nil && s.EveryMS == 0 { // "" is UTC
		at = s.Next.In(zone)
	}
	return at.Format("Mon 2 Jan 15:04 MST")
}

func localMoment(t time.Time) string { return t.Local().Format("Mon 2 Jan 15:04") }

// scheduleLast is what came of the last moment.
func scheduleLast(s wire.Schedule) string {
	switch l := s.Last; {
	case l == nil:
		return "none yet"
	case l.Why != "":
		return "none began: " + console.Line(l.Why, 80)
	case l.Status == "":
		return string(l.Root) + " (removed)"
	default:
		return string(l.Root) + " " + console.EndWord(string(l.Status))
	}
}

func newScheduleShow(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show all of a schedule", Args: console.Args(1, 1),
		Example: "troupe schedule show triage",
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			s, err := a.Server().Schedules().Schedule(ctx, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return c.JSON(s)
			}
			return writeSchedule(c, s)
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func writeSchedule(c *console.Console, s wire.Schedule) error {
	if s.Broken != "" {
		return c.Say(fmt.Sprintf("It begins nothing: %s.\nAn admin can remove it: troupe schedule remove %s",
			console.Line(s.Broken, 0), console.Line(s.Name, 0)))
	}
	next, last := scheduleNext(s), ""
	if _, why, ok := strings.Cut(s.Paused, ": "); ok {
		next += ": " + console.Line(why, 0)
	}
	if s.Last != nil {
		last = localMoment(s.Last.At) + ": " + scheduleLast(s)
	}
	b, waiting := s.Begin, ""
	if s.Queued > 0 {
		waiting = console.Count(s.Queued, "run")
	}
	lines := facts([][2]string{{"when", scheduleWhen(s)}, {"next", next}, {"last", last},
		{"claimed", scheduleClaimed(s.Claimed)}, {"waiting", waiting},
		{"today", today(s.RunsToday, s.CostToday, s.MaxRunsPerDay, s.MaxCostPerDay)}, {"overlap", string(s.Overlap)},
		{"catch-up", string(s.CatchUp)}, {"by", s.By}, {"folder", c.ShortPath(b.Cwd)}, {"model", b.Model},
		{"agent", b.Agent}, {"mode", string(b.Mode)}, {"allowed", strings.Join(b.Allow, ", ")},
		{"denied", strings.Join(b.Deny, ", ")}})
	return c.Say(lines + unserved(s) + "\n\n" + console.Clean(b.Prompt))
}

// scheduleClaimed is what is about to begin, and where.
func scheduleClaimed(c *wire.ScheduleClaim) string {
	if c == nil {
		return ""
	}
	text := fmt.Sprintf("%s: session %s, by process %s (see troupe admin)", localMoment(c.At), c.Root, c.By)
	if c.By == "" {
		text = fmt.Sprintf("%s: session %s, for the next process that has the folder", localMoment(c.At), c.Root)
	}
	if c.Tries > 0 {
		text += fmt.Sprintf("; it could not begin %s: %s", console.Count(c.Tries, "time"), c.Why)
	}
	return text
}
