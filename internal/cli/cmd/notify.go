package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newNotify makes the command with its parts.
func newNotify(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "notify", Short: "List, add and change the programs that a server tells what happens",
		Args: console.NoArgs,
		Long: `List, add and change targets: addresses at which a server (troupe serve) tells programs that a session has
ended, that a person is asked something, and the like. "troupe docs server" says more.`,
		Example: "troupe notify\ntroupe notify add chat https://example.com/hook --on session.ended,request.opened\n" +
			"troupe notify test chat\ntroupe notify show chat\ntroupe notify replay chat",
		RunE: inHome(c, func(ctx context.Context, a api.API, _ []string) error {
			all, err := a.Server().Targets().Targets(ctx)
			switch {
			case err != nil:
				return err
			case asJSON:
				return jsonList(c, all)
			case len(all) == 0:
				return c.Say("No program is told what happens. `troupe notify add --help` says how one is.")
			}
			return writeTargets(c, all)
		}),
	}
	jsonFlag(cmd, &asJSON)
	set := func(change func(*wire.TargetTerms), said string) targetVerb {
		return func(a api.Targets, ctx context.Context, name string) (string, error) {
			t, err := a.Target(ctx, name)
			if err != nil {
				return "", err
			}
			change(&t.TargetTerms)
			changed, err := a.SetTarget(ctx, t.TargetTerms)
			return name + said + secretToVerify(changed), err
		}
	}
	cmd.AddCommand(newNotifyAdd(c), newNotifyShow(c), newNotifyReplay(c),
		changeTarget(c, &cobra.Command{Use: "test NAME", Short: "Post a notice of its own to a target, and say what " +
			"it answers", Example: "troupe notify test chat"}, func(a api.Targets, ctx context.Context,
			name string) (string, error) {
			try, err := a.TestTarget(ctx, name)
			if err == nil && try.Why != "" {
				err = fmt.Errorf("%s was not told: %s", name, try.Why)
			}
			return console.Sprintf("%s answered %d.", name, try.Status), err
		}),
		changeTarget(c, &cobra.Command{Use: "secret NAME", Short: "Give a target another secret; the one before is " +
			"good no more", Example: "troupe notify secret chat"}, set(func(t *wire.TargetTerms) { t.NewSecret = true },
			" has another secret.")),
		changeTarget(c, &cobra.Command{Use: "resume NAME", Short: "Have a target that is stopped be told again",
			Example: "troupe notify resume chat"}, set(func(*wire.TargetTerms) {}, " is told again.")),
		changeTarget(c, &cobra.Command{Use: "remove NAME", Short: "Forget a target, with what was to be delivered " +
			"to it", Example: "troupe notify remove chat"}, func(a api.Targets, ctx context.Context,
			name string) (string, error) {
			return "It is forgotten.", a.RemoveTarget(ctx, name)
		}))
	return cmd
}

type targetVerb func(a api.Targets, ctx context.Context, name string) (said string, err error)

// changeTarget makes a command of one verb about the target that it names.
func changeTarget(c *console.Console, cmd *cobra.Command, verb targetVerb) *cobra.Command {
	cmd.Args = console.Args(1, 1)
	cmd.RunE = inHome(c, func(ctx context.Context, a api.API, args []string) error {
		said, err := verb(a.Server().Targets(), ctx, args[0])
		if err != nil {
			return err
		}
		return c.Say(said)
	})
	return cmd
}

func newNotifyAdd(c *console.Console) *cobra.Command {
	var t wire.TargetTerms
	var on []string
	var replace bool
	cmd := &cobra.Command{
		Use: "add NAME URL", Short: "Have a program be told what happens", Args: console.Args(2, 2),
		Long: `Have a program be told what happens at a server: JSON is posted to its address, which is https. The secret by which it
knows that a server of yours sent it, as Standard Webhooks says, is printed once.

  --on session.ended       a main agent's run has ended, with its status and what it cost
  --on subagent.ended      another agent's has
  --on request.opened      a person is asked something
  --on session.parked      nothing goes on with a session any more
  --on schedule.failed     no run has begun for a moment of a schedule
  --on webhook.failed      no run has begun for what was delivered to a webhook`,
		Example: `troupe notify add chat https://example.com/hook --on session.ended,request.opened
troupe notify add ci https://ci.example.com/troupe --on session.ended --folder ~/app --result`,
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			all := a.Server().Targets()
			t.Name, t.URL = args[0], args[1]
			for _, e := range on {
				t.Events = append(t.Events, wire.NoticeEvent(e))
			}
			if replace {
				before, err := all.Target(ctx, t.Name)
				if err != nil {
					return err
				}
				t.Version = before.Version
			}
			out, err := all.SetTarget(ctx, t)
			if err != nil {
				return err
			}
			return c.Say(console.Sprintf("%s is told of %s.", out.Name, strings.Join(on, ", ")) + secretToVerify(out))
		}),
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&on, "on", []string{string(wire.NoticeSessionEnded)}, "What it is told; may be given again")
	fs.StringVar(&t.Folder, "folder", "", "Only of what works in this folder of the server")
	fs.StringVar(&t.Link, "link", "", "The address of the server, for links in notices")
	fs.BoolVar(&t.Result, "result", false, "Tell the beginning of what agents say at their ends too")
	fs.BoolVar(&replace, "replace", false, "Change the one that has the name")
	return cmd
}

func secretToVerify(t wire.TargetChanged) string {
	if t.Secret == "" {
		return ""
	}
	return "\n\nIts notices are signed with this secret, which is shown once:\n\n  " + console.Line(t.Secret, 0) + "\n"
}

func newNotifyReplay(c *console.Console) *cobra.Command {
	return &cobra.Command{
		Use: "replay NAME [ID]", Short: "Have notices that were given up be delivered anew: one, or all of a target",
		Args: console.Args(1, 2), Example: "troupe notify replay chat",
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			var r wire.Replay
			if len(args) > 1 {
				r.Notice = args[1]
			}
			out, err := a.Server().Targets().ReplayTarget(ctx, args[0], r)
			if err != nil {
				return err
			}
			return c.Say(console.Count(out.Notices, "notice") + " to be delivered anew.")
		}),
	}
}

func writeTargets(c *console.Console, all []wire.Target) error {
	type col = console.Column
	t := c.Table(col{Title: "NAME"}, col{Title: "ON", Spare: 2}, col{Title: "WAITING"}, col{Title: "DEAD"},
		col{Title: "LAST", Spare: 1}, col{Title: "URL", Spare: 2}).Whole()
	for _, x := range all {
		t.Row(x.Name, eventsOf(x), fmt.Sprint(x.Waiting), fmt.Sprint(x.Dead), console.Line(lastTry(x), 60),
			console.Line(x.URL, 60))
	}
	return t.Write()
}

func eventsOf(x wire.Target) string {
	var all []string
	for _, e := range x.Events {
		all = append(all, string(e))
	}
	return strings.Join(all, ",")
}

// lastTry is what came of the last try, or why there are none.
func lastTry(x wire.Target) string {
	switch {
	case x.Stopped != "":
		return "stopped: " + x.Stopped
	case x.Last == nil:
		return "none yet"
	case x.Last.Why != "":
		return "failed: " + x.Last.Why
	}
	return "delivered"
}

func newNotifyShow(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show all of a target, and the newest notices that were given up",
		Args: console.Args(1, 1), Example: "troupe notify show chat",
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			x, err := a.Server().Targets().Target(ctx, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return c.JSON(x)
			}
			said := map[bool]string{true: "their beginnings are told"}
			err = c.Say(facts([][2]string{{"url", x.URL}, {"on", eventsOf(x)}, {"folder", x.Folder}, {"link", x.Link},
				{"results", said[x.Result]}, {"by", x.By}, {"last", lastTry(x)},
				{"delivered", fmt.Sprint(x.Delivered)}, {"failed", fmt.Sprint(x.Failed)},
				{"waiting", fmt.Sprint(x.Waiting)}, {"dead", fmt.Sprint(x.Dead)}, {"dropped", fmt.Sprint(x.Dropped)}}))
			if err != nil || len(x.Letters) == 0 {
				return err
			}
			fmt.Fprintln(c.Out)
			type col = console.Column
			t := c.Table(col{Title: "GIVEN UP"}, col{Title: "ID", Least: 12}, col{Title: "WHAT", Spare: 1},
				col{Title: "WHY", Spare: 2})
			for _, l := range x.Letters {
				t.Row(l.At.Local().Format("2006-01-02 15:04:05"), l.ID, string(l.Type)+" "+string(l.Session),
					console.Line(l.Why, 0))
			}
			return t.Write()
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
