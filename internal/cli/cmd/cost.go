package cmd

import (
	"cmp"
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newCost makes the command.
func newCost(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "cost ID|NAME", Short: "Show what a tree has cost, agent by agent, and its limits",
		Example:           "troupe cost 7k3f\ntroupe cost main --json",
		Args:              oneSession,
		ValidArgsFunction: c.Sessions,
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			return showCost(ctx, c, a, args[0], asJSON)
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func showCost(ctx context.Context, c *console.Console, a api.API, ref string, asJSON bool) error {
	s, err := a.Find(ctx, ref, c.Cwd)
	if err != nil {
		return err
	}
	bill, err := a.Cost(ctx, s.ID)
	if err != nil {
		return err
	}
	if asJSON {
		return c.JSON(bill)
	}
	return writeCost(c, bill)
}

func writeCost(c *console.Console, bill wire.Cost) error {
	type col = console.Column
	cols := []col{{Title: "AGENT"}, {Title: "MODEL", Spare: 7}, {Title: "TURNS", Spare: 2}, {Title: "INPUT", Spare: 4},
		{Title: "CACHED", Spare: 3}, {Title: "WRITTEN", Spare: 5}, {Title: "OUTPUT", Spare: 4}, {Title: "COST"},
		{Title: "TIME"}}
	if console.Saved(bill.Shared) != "" {
		cols = append(cols, col{Title: "SAVED", Spare: 6})
	}
	t := c.Table(cols...)
	row := func(who, model string, turns int, u troupe.Usage, cost float64, time string, s *wire.Shared) {
		cells := []any{who, model, turns, troupe.FormatTokens(u.Input), troupe.FormatTokens(u.CacheRead),
			troupe.FormatTokens(u.CacheWrite), troupe.FormatTokens(u.Output), troupe.Dollars(cost), time}
		if console.Saved(bill.Shared) != "" {
			cells = append(cells, console.Saved(s))
		}
		t.Row(cells...)
	}
	turns := 0
	for _, a := range bill.Agents {
		row(console.Middle(console.Line(a.Path, 0), 40), console.Model(a.Model), a.Turns, a.Usage, a.CostUSD,
			console.Duration(a.ActiveMS), a.Shared)
		turns += a.Turns
	}
	if len(bill.Agents) > 1 {
		row("all", "", turns, bill.Usage, bill.CostUSD, "", bill.Shared)
	}
	if err := t.Write(); err != nil {
		return err
	}
	if len(bill.Unpriced) > 0 {
		fmt.Fprintln(c.Out, console.Unpriced(bill.Unpriced))
	}
	if cut := console.Cut(bill.Sessions()); cut != "" {
		fmt.Fprintln(c.Out, cut)
	}
	if text := console.Shared(bill.Shared); text != "" {
		fmt.Fprintln(c.Out, text)
	}
	if s := bill.Spared; s != nil {
		_ = c.Printf("about %s tokens of instructions were not sent in %s of %s that need none\n",
			troupe.FormatTokens(s.Tokens), console.Count(s.Calls, "call"), console.Count(s.Agents, "agent"))
	}
	if len(bill.Limits) > 0 {
		fmt.Fprintln(c.Out)
	}
	w := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	for _, l := range bill.Limits {
		name, used, share := console.Limit(l)
		share = cmp.Or(share, "no limit")
		fmt.Fprintf(w, "limit of %s\t%s\t%s\n", name, used, share)
	}
	return w.Flush()
}
