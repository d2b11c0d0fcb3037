package run

import (
	"cmp"
	"context"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/wire"
)

// NewScheduleAdd makes `troupe schedule add`: what begins has the flags of any other run. said prints what was made.
func NewScheduleAdd(c *console.Console, said func(wire.Schedule) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: "add NAME [prompt]", Short: "Have a run begin by itself",
		Long: `Have a run begin by itself: at times of day (--cron), every so long (--every), or once (--at). It begins as
yours, in the folder you are in or --cwd, with the right that you have when it does. A server begins it (troupe
serve, troupe worker). No one is there to answer what agents ask: --allowed-tools says what they may do, or --ask
has them wait for troupe answer.

  --cron "0 7 * * 1-5"      minute, hour, day of the month, month, day of the week (0 is Sunday)
  --cron @daily             or @hourly, @weekly, @monthly, @yearly
  --every 30m               from now on
  --at "2026-12-01 09:00"   once

--overlap says what is done when a run is due and the last one goes on: skip leaves it out, queue begins one when
the last is over, cancel stops the last one first, allow begins it. --catch-up says what is done about times that
passed while no server was there: one run for all, none, or all (of the last ten).`,
		Example: `troupe schedule add triage --cron "0 7 * * 1-5" --zone Europe/Berlin "triage the new issues"
troupe schedule add watch --every 30m --overlap skip --max-cost-per-day 2 "look at the build; mend it if it is red"
troupe schedule add release --at "2026-12-01 09:00" --allowed-tools 'Bash(make *)' "prepare the release"`,
	}
	var t wire.ScheduleTerms
	var every time.Duration
	var replace bool
	configure(cmd, c, func(ctx context.Context, f flags, _ Input, args []string) error {
		if every%time.Millisecond != 0 || every < 0 {
			return console.Usage("--every %v is no interval; it is a minute at the least, such as 30m", every)
		}
		b, err := request(c, f, args, "")
		if err != nil {
			return err
		}
		t.Begin, t.EveryMS = b, every.Milliseconds()
		t.Zone = cmp.Or(t.Zone, zoneHere(c))
		return c.With(ctx, troupe.SurfaceCommand, func(h *home.Home) error {
			all := h.API.Server().Schedules()
			if replace {
				before, err := all.Schedule(ctx, t.Name)
				if err != nil {
					return err
				}
				t.Version = before.Version
			}
			s, err := all.SetSchedule(ctx, t)
			if err != nil {
				return err
			}
			return said(s)
		})
	})
	fs := cmd.Flags()
	fs.StringVar(&t.Cron, "cron", "", "Times of day, as a line of cron")
	fs.DurationVar(&every, "every", 0, "Every so long, such as 30m; a minute at the least")
	fs.StringVar(&t.At, "at", "", "Once, such as \"2026-12-01 09:00\" or 2026-12-01T09:00:00Z")
	fs.StringVar(&t.Zone, "zone", "", "Time zone of these, and of days, such as Europe/Berlin (default: yours)")
	fs.StringVar((*string)(&t.Overlap), "overlap", string(wire.OverlapSkip),
		"While the last run goes on: skip, queue, "+
			"cancel or allow")
	fs.StringVar((*string)(&t.CatchUp), "catch-up", string(wire.CatchUpOne), "Of times that passed without a server: "+
		"one, none or all")
	byItself(cmd, "schedule", &t.Name, &t.MaxRunsPerDay, &t.MaxCostPerDay, &replace)
	for flag, words := range map[string]console.Completing{"overlap": console.OneOf("skip", "queue", "cancel", "allow"),
		"catch-up": console.OneOf("one", "none", "all")} {
		if err := cmd.RegisterFlagCompletionFunc(flag, words); err != nil {
			panic(err) // there is no such flag
		}
	}
	return cmd
}

// byItself makes of a command with the flags of a run one that adds what begins by itself under a name.
func byItself(cmd *cobra.Command, noun string, name *string, runs *int, cost *float64, replace *bool) {
	without(cmd, noun+" add", "print", "input-format", "output-format", "output-schema", "continue", "resume",
		"take-over", "name", "trust", "quiet", "verbose", "teammate-mode", "repo", "ref", "push", "pull-request")
	fs := cmd.Flags()
	fs.IntVar(runs, "max-runs-per-day", 0, "Begin at most this many on a day (default: no limit)")
	fs.Float64Var(cost, "max-cost-per-day", 0, "Dollars that the runs of a day may cost together (default: no limit)")
	fs.BoolVar(replace, "replace", false, "Change the "+noun+" of this name")
	checked, carryOut := cmd.Args, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || args[0] == "" {
			return console.Usage("troupe %s add takes a name and a prompt", noun)
		}
		return checked(cmd, args[1:])
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		*name = args[0]
		return carryOut(cmd, args[1:])
	}
}

// zoneHere is the name of the time zone of this machine, as far as it can be known.
func zoneHere(c *console.Console) string {
	zone, _ := c.Lookup("TZ")
	if zone = strings.TrimPrefix(zone, ":"); zone == "" {
		link, _ := os.Readlink("/etc/localtime") // where it is none, no zone is known
		_, zone, _ = strings.Cut(link, "zoneinfo/")
	}
	if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
		return "UTC"
	}
	return cmp.Or(zone, "UTC")
}
