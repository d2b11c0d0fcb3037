package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newDoctor makes the command.
func newDoctor(c *console.Console) *cobra.Command {
	var asJSON, repair bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check the set-up: provider, database, programs, kernel, agent files",
		Args: console.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if repair {
				return repairDatabase(cmd.Context(), c, asJSON)
			}
			return doctor(cmd.Context(), c, asJSON)
		},
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&repair, "repair", false,
		"save what can be read of a damaged database into a new one; the damaged one is kept")
	return cmd
}

// doctor opens the home without a word: what is odd in the settings is among the problems. A
// home that cannot be opened is one of them, and the rest is looked at all the same.
func doctor(ctx context.Context, c *console.Console, asJSON bool) error {
	quiet := *c
	quiet.Err = io.Discard
	var check wire.Diagnosis
	h, closeHome, failed := quiet.Open(ctx, troupe.SurfaceCommand)
	var err error
	if failed != nil {
		check, err = home.DoctorWithoutHome(ctx, c.Env(slog.New(slog.DiscardHandler)), c.Cwd, failed)
	} else {
		check, err = h.API.Machine().Doctor(ctx, c.Cwd)
		err = errors.Join(err, closeHome())
	}
	if err != nil {
		return err
	}
	if asJSON {
		if err := c.JSON(check); err != nil {
			return err
		}
	} else {
		writeCheck(c, check)
	}
	if failed != nil {
		return &console.Exit{Code: console.Code(failed)} // it stands among the problems
	}
	if !check.Provider.Ready {
		return &console.Exit{Code: troupe.ExitUsage} // as a run without a provider ends
	}
	return nil
}

func writeCheck(c *console.Console, k wire.Diagnosis) {
	row := func(name, format string, args ...any) {
		_ = c.Printf("%-10s %s\n", console.Line(name, 0), console.Line(fmt.Sprintf(format, args...), 0))
	}
	row("troupe", "%s", k.Version)
	row("settings", "%s", c.ShortPath(k.Config))
	if k.Database.Version == 0 {
		row("database", "%s was not opened", c.ShortPath(k.Database.Path))
	} else {
		row("database", "%s (%.1f MB, schema %d)", c.ShortPath(k.Database.Path), float64(k.Database.Bytes)/1e6,
			k.Database.Version)
	}
	writeDamage(row, k.Database)
	writeCheckedModel(row, k)
	if w := k.Window; w != nil {
		row("window", "%s: %s", w.Verdict, console.Line(w.Advice, 0))
	}
	for i, s := range k.Waiting {
		until := ""
		if !s.Until.IsZero() {
			until = " until " + console.Clock(s.Until.Local(), c.Now())
		}
		state := "waits for " + s.Model + until
		if s.Left {
			state = "left behind, while it waited for " + s.Model
		}
		row(map[bool]string{true: "waiting"}[i == 0], "session %s %s: %s", s.ID, state, console.Line(s.Why, 120))
	}
	for _, p := range k.Programs {
		if !p.Found {
			row(p.Name, "not found (used for %s)", p.For)
			continue
		}
		row(p.Name, "%s", console.Line(p.Text, 70))
	}
	for i, line := range k.Kernel.Lines() {
		row(map[bool]string{true: "kernel"}[i == 0], "%s", line)
	}
	if len(k.Environment) > 0 { // without settings it is not known
		row("commands", "get of the environment: %s", console.VisibleLine(strings.Join(k.Environment, " ")))
	}
	for i, ag := range k.Agents {
		row(map[bool]string{true: "agents"}[i == 0], "%s (%s) on %s: %s", ag.Name, sourceText(c, ag.Source),
			cmp.Or(ag.Model, "the main agent's model"), strings.Join(ag.Tools, " "))
	}
	for _, p := range k.Problems {
		fmt.Fprintf(c.Out, "! %s\n", strings.ReplaceAll(console.Clean(p), "\n", "\n  "))
	}
}

// writeCheckedModel shows the model that would be taken, and whatever else is configured.
func writeCheckedModel(row func(name, format string, args ...any), k wire.Diagnosis) {
	row("model", "%s", cmp.Or(k.Model, "none is chosen"))
	state := "ready"
	if !k.Provider.Ready {
		state = "not ready"
	}
	if k.Provider.KeyEnv != "" {
		state += ", " + k.Provider.KeyEnv + " is " + map[bool]string{true: "set", false: "not set"}[k.Provider.Key]
	}
	if k.Provider.BaseURL != "" {
		state += ", at " + console.Line(k.Provider.BaseURL, 80)
	}
	others := slices.DeleteFunc(slices.Clone(k.Providers), func(name string) bool { return name == k.Provider.Name })
	if k.Provider.Name != "" {
		row("provider", "%s: %s", k.Provider.Name, state)
	}
	if besides := map[bool]string{true: " besides"}[k.Provider.Name != ""]; len(others) > 0 {
		row("providers", "configured%s: %s", besides, strings.Join(others, ", "))
	}
}

// sourceText is where an agent's definition stands. The file's name is at its end, so a file of
// this folder is named from here, and no path is cut.
func sourceText(c *console.Console, path string) string {
	return console.Line(strings.TrimPrefix(c.ShortPath(path), c.ShortPath(c.Cwd)+"/"), 0)
}

// writeDamage shows what is damaged of the database.
func writeDamage(row func(name, format string, args ...any), d wire.Database) {
	for _, text := range d.Damage {
		row("", "damaged: %s", text)
	}
	if d.Version != 0 && !d.Checked {
		row("", "too large to be checked as a whole here")
	}
}

// repairDatabase saves what can be read of the database, and says what was.
func repairDatabase(ctx context.Context, c *console.Console, asJSON bool) error {
	r, err := home.Repair(ctx, c.Env(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	if asJSON {
		return c.JSON(r)
	}
	if r.Torn != "" {
		_ = c.Printf("lost    %s\n", console.Line(r.Torn, 0))
	}
	if r.Damaged == "" {
		_ = c.Printf("%s is not damaged. Nothing was changed.\n", c.ShortPath(r.Database))
		return nil
	}
	_ = c.Printf("saved   %d sessions whole, %d cut; %d events, %d unread messages, %d records\n", r.Whole,
		len(r.Cut), r.Events, r.Mail, r.Records)
	for _, s := range r.Cut {
		_ = c.Printf("cut     %s %s\n", s.ID, console.Line(strings.TrimSpace(s.Name+": "+s.Why), 0))
	}
	_ = c.Printf("lost    %d sessions, at least %d events\n", len(r.Lost), r.EventsLost)
	for _, id := range r.Lost {
		_ = c.Printf("lost    %s\n", console.Line(string(id), 0))
	}
	if r.BadRows > 0 || r.UnknownRows > 0 {
		_ = c.Printf("rows    %d could not be read, %d have a form that this version does not know\n", r.BadRows,
			r.UnknownRows)
	}
	_ = c.Printf("The damaged database is kept as %s.\n", c.ShortPath(r.Damaged))
	return nil
}
