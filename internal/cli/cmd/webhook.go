package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/run"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newWebhook makes the command with its parts.
func newWebhook(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "webhook", Short: "List, add and change what begins when something is delivered", Args: console.NoArgs,
		Long: `List, add and change what begins when a program elsewhere delivers something to a server, such as a forge of which an
issue was opened. "troupe docs server" says more.`,
		Example: "troupe webhook\ntroupe webhook add triage --signed github --only action=opened " +
			"\"triage {{issue.title}}\"\ntroupe webhook show triage\ntroupe webhook secret triage",
		RunE: inHome(c, func(ctx context.Context, a api.API, _ []string) error {
			all, err := a.Server().Webhooks().Webhooks(ctx)
			switch {
			case err != nil:
				return err
			case asJSON:
				return jsonList(c, all)
			case len(all) == 0:
				return c.Say("Nothing begins when something is delivered. `troupe webhook add --help` says how " +
					"something does.")
			}
			return writeWebhooks(c, all)
		}),
	}
	jsonFlag(cmd, &asJSON)
	cmd.AddCommand(run.NewWebhookAdd(c, func(w wire.WebhookChanged) error { return sayWebhook(c, w) }),
		newWebhookShow(c),
		changeWebhook(c, &cobra.Command{Use: "secret NAME", Short: "Give a webhook another secret; the one before is " +
			"good no more", Example: "troupe webhook secret triage"}, func(a api.Webhooks, ctx context.Context,
			name string) (string, error) {
			w, err := a.Webhook(ctx, name)
			if err != nil {
				return "", err
			}
			w.NewSecret = true
			changed, err := a.SetWebhook(ctx, w.WebhookTerms)
			return secretOf(changed), err
		}),
		changeWebhook(c, &cobra.Command{Use: "pause NAME", Short: "Have a webhook take no deliveries for the time " +
			"being",
			Example: "troupe webhook pause triage"}, func(a api.Webhooks, ctx context.Context, name string) (string,
			error) {
			_, err := a.PauseWebhook(ctx, name, wire.WebhookPause{})
			return name + " is paused. What it has begun goes on.", err
		}),
		changeWebhook(c, &cobra.Command{Use: "resume NAME", Short: "Have a webhook that is paused take deliveries " +
			"again",
			Example: "troupe webhook resume triage"}, func(a api.Webhooks, ctx context.Context, name string) (string,
			error) {
			_, err := a.PauseWebhook(ctx, name, wire.WebhookPause{End: true})
			return name + " takes deliveries.", err
		}),
		changeWebhook(c, &cobra.Command{Use: "remove NAME", Short: "Forget a webhook",
			Example: "troupe webhook remove triage"}, func(a api.Webhooks, ctx context.Context, name string) (string,
			error) {
			return "It is forgotten. What it has begun goes on; `troupe stop` ends it.", a.RemoveWebhook(ctx, name)
		}))
	return cmd
}

// changeWebhook makes a command of one verb about the webhook that it names.
func changeWebhook(c *console.Console, cmd *cobra.Command,
	verb func(api.Webhooks, context.Context, string) (said string, err error)) *cobra.Command {
	cmd.Args = console.Args(1, 1)
	cmd.RunE = inHome(c, func(ctx context.Context, a api.API, args []string) error {
		said, err := verb(a.Server().Webhooks(), ctx, args[0])
		if err != nil {
			return err
		}
		return c.Say(said)
	})
	return cmd
}

func sayWebhook(c *console.Console, w wire.WebhookChanged) error {
	text := console.Sprintf("%s begins in %s what is delivered to %s of the server.", w.Name,
		console.Line(c.ShortPath(w.Begin.Cwd), 0), console.Line(w.Address, 0))
	if w.Paused != "" {
		text += console.Sprintf(" It is paused; `troupe webhook resume %s` ends that.", w.Name)
	}
	if w.Secret != "" {
		text += "\n" + secretOf(w)
	}
	return c.Say(text + nobodyBegins(w.Webhook))
}

func secretOf(w wire.WebhookChanged) string {
	return "\nIts sender signs with this secret, which is shown once:\n\n  " + console.Line(w.Secret, 0) + "\n"
}

func nobodyBegins(w wire.Webhook) string { return unserved(wire.Schedule{Unserved: w.Unserved}) }

func writeWebhooks(c *console.Console, all []wire.Webhook) error {
	type col = console.Column
	t := c.Table(col{Title: "NAME"}, col{Title: "SIGNED"}, col{Title: "ONLY", Spare: 1}, col{Title: "LAST"},
		col{Title: "BY", Spare: 1}, col{Title: "WHAT", Spare: 2}).Whole()
	said := ""
	for _, w := range all {
		t.Row(w.Name, string(w.Signed), console.Line(onlyOf(w), 60), scheduleLast(lastOf(w)), console.Line(w.By, 20),
			console.Line(w.Begin.Prompt, 50))
		said = max(said, nobodyBegins(w))
	}
	if err := t.Write(); err != nil || said == "" {
		return err
	}
	return c.Say(said)
}

// lastOf is what came of the last delivery, or why none is taken.
func lastOf(w wire.Webhook) wire.Schedule { return wire.Schedule{Last: w.Last} }

// onlyOf are the conditions of a webhook as they are given.
func onlyOf(w wire.Webhook) string {
	var all []string
	for _, o := range w.Only {
		name := o.Value
		if o.Header != "" {
			name = "header:" + o.Header
		}
		all = append(all, name+"="+strings.Join(o.Is, ","))
	}
	return strings.Join(all, " ")
}

func newWebhookShow(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show all of a webhook, and its newest deliveries", Args: console.Args(1, 1),
		Example: "troupe webhook show triage",
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			w, err := a.Server().Webhooks().Webhook(ctx, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return c.JSON(w)
			}
			return writeWebhook(c, w)
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func writeWebhook(c *console.Console, w wire.Webhook) error {
	b, waiting := w.Begin, ""
	if w.Queued > 0 {
		waiting = console.Count(w.Queued, "delivery")
	}
	lines := facts([][2]string{{"address", w.Address}, {"signed", string(w.Signed)}, {"only", onlyOf(w)},
		{"paused", w.Paused}, {"waiting", waiting},
		{"today", today(w.RunsToday, w.CostToday, w.MaxRunsPerDay, w.MaxCostPerDay)},
		{"overlap", string(w.Overlap)}, {"by", w.By}, {"folder", c.ShortPath(b.Cwd)}, {"model", b.Model},
		{"agent", b.Agent}, {"mode", string(b.Mode)}, {"allowed", strings.Join(b.Allow, ", ")},
		{"denied", strings.Join(b.Deny, ", ")}})
	err := c.Say(lines + nobodyBegins(w) + "\n\n" + console.Clean(b.Prompt))
	if err != nil || len(w.Deliveries) == 0 {
		return err
	}
	fmt.Fprintln(c.Out)
	type col = console.Column
	t := c.Table(col{Title: "DELIVERED"}, col{Title: "ID", Spare: 1, Least: 12},
		col{Title: "WHAT CAME OF IT", Spare: 2})
	for _, d := range w.Deliveries {
		came := d.State
		switch {
		case d.Why != "":
			came += ": " + console.Line(d.Why, 0)
		case d.Root != "":
			came += ": " + console.Line(string(d.Root), 0)
		}
		t.Row(d.At.Local().Format("2006-01-02 15:04:05"), console.Line(d.ID, 40), came)
	}
	return t.Write()
}

// today is what the runs of the day are, and may be.
func today(runs int, cost float64, mostRuns int, mostCost float64) string {
	text := console.Sprintf("%s, %v", console.Count(runs, "run"), troupe.Dollars(cost))
	if mostRuns > 0 {
		text += "; at the most " + console.Count(mostRuns, "run")
	}
	if mostCost > 0 {
		text += "; at the most " + troupe.Dollars(mostCost).String()
	}
	return text
}

// facts are a line each, but for what is empty.
func facts(all [][2]string) string {
	var lines []string
	for _, l := range all {
		if l[1] != "" {
			lines = append(lines, console.Sprintf("%-10s %s", l[0], console.Line(l[1], 0)))
		}
	}
	return strings.Join(lines, "\n")
}
