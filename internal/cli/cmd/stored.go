package cmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/wire"
)

// withStored is inSettings for what tells of stored agents too, where there is a home that may hold some.
func withStored(c *console.Console, fn func(context.Context, api.API, []string) error) func(*cobra.Command,
	[]string) error {
	return func(cmd *cobra.Command, args []string) error {
		if _, err := os.Stat(filepath.Join(home.StateFolder(c.Lookup), "troupe.db")); err != nil {
			if address, _ := c.Lookup("TROUPE_DATABASE"); address == "" {
				return inSettings(c, fn)(cmd, args)
			}
		}
		h, closeHome, err := c.Open(cmd.Context(), troupe.SurfaceCommand)
		if err != nil { // such as on a disk that cannot be written to
			return inSettings(c, fn)(cmd, args)
		}
		defer closeHome() //nolint:errcheck // it was only read from
		return fn(cmd.Context(), h.API, args)
	}
}

// newStored makes the commands about agents that are kept in the database.
func newStored(c *console.Console) []*cobra.Command {
	var asJSON bool
	list := &cobra.Command{
		Use: "stored", Short: "List the agents that are stored here, and who may change each", Args: console.NoArgs,
		Long: `List the agents whose definitions are kept in the database, of this home or of the server that commands go to.
All who work there can start them. Those that were removed are listed too: their versions stay.`,
		Example: "troupe agents stored\ntroupe agents add reviewer.md\ntroupe agents versions reviewer",
		RunE: inHome(c, func(ctx context.Context, a api.API, _ []string) error {
			all, err := a.Server().Stored().StoredAgents(ctx)
			switch {
			case err != nil:
				return err
			case asJSON:
				return jsonList(c, all)
			case len(all) == 0:
				return c.Say("No agent is stored here. `troupe agents add FILE` stores one.")
			}
			return writeStored(c, all)
		}),
	}
	jsonFlag(list, &asJSON)
	remove := &cobra.Command{
		Use: "remove NAME", Short: "Have a stored agent start nothing any more", Args: console.Args(1, 1),
		Example: "troupe agents remove reviewer",
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			if err := a.Server().Stored().RemoveStoredAgent(ctx, wire.StoredRemoval{Name: args[0]}); err != nil {
				return err
			}
			return c.Say("It starts nothing any more. Its versions can be read: troupe agents versions " + args[0])
		}),
	}
	return []*cobra.Command{list, newStoredSet(c, false), newStoredSet(c, true), newStoredVersions(c), remove}
}

func writeStored(c *console.Console, all []wire.StoredAgent) error {
	type col = console.Column
	t := c.Table(col{Title: "NAME"}, col{Title: "VERSION"}, col{Title: "HASH"}, col{Title: "CHANGED"},
		col{Title: "OWNER", Spare: 1}, col{Title: "WHEN TO USE", Spare: 2}).Whole()
	for _, s := range all {
		about := console.Line(s.Description, 200)
		if !s.Removed.IsZero() {
			about = "removed " + localMoment(s.Removed)
		}
		t.Row(s.Name, console.Sprintf("%d", s.Version), short(s.Hash), localMoment(s.At), console.Line(s.Owner, 30),
			about)
	}
	return t.Write()
}

// short is the beginning of a hash, which names a version.
func short(hash string) string { return hash[:min(12, len(hash))] }

// ownName is the name that a definition gives itself.
var ownName = regexp.MustCompile(`(?s)\A---[ \t]*\r?\n(?:[^\n]*\n)*?name:[ \t]*["']?([A-Za-z0-9._-]+)`)

// newStoredSet makes the command that stores an agent, or its next version.
func newStoredSet(c *console.Console, next bool) *cobra.Command {
	var name string
	var version int64
	cmd := &cobra.Command{
		Use: "add FILE", Short: "Store an agent, for all who work here", Args: console.Args(1, 1),
		Long: `Store the definition of an agent in the database, of this home or of the server that commands go to: a file as
those in .claude/agents. All who work there can start it. Hooks, a memory, a permission mode and MCP servers that
are written out are not for stored agents, and refused.`,
		Example: "troupe agents add reviewer.md\ntroupe agents add --name security .claude/agents/reviewer.md",
	}
	if next {
		cmd.Use, cmd.Short = "update FILE", "Store the next version of an agent"
		cmd.Long = `Store a definition as the next version of a stored agent. Runs that begin from now on have it; the versions before
it stay. With --version it is refused if another one is the newest by now.`
		cmd.Example = "troupe agents update reviewer.md\ntroupe agents update reviewer.md --version 3"
		cmd.Flags().Int64Var(&version, "version", 0, "The version that is changed; without it, whichever is the newest")
	}
	cmd.Flags().StringVar(&name, "name", "",
		"What it is started by; without it, the name in the file, or that of the file")
	cmd.RunE = inHome(c, func(ctx context.Context, a api.API, args []string) error {
		text, err := os.ReadFile(under(c.Cwd, args)[0])
		if err != nil {
			return console.Usage("the definition cannot be read: %s", err)
		}
		t := wire.StoredTerms{Name: name, Text: string(text), Version: version}
		if own := ownName.FindStringSubmatch(t.Text); name == "" && own != nil {
			t.Name = own[1]
		} else if name == "" {
			t.Name = strings.TrimSuffix(filepath.Base(args[0]), filepath.Ext(args[0]))
		}
		if next && version == 0 {
			now, err := a.Server().Stored().StoredAgent(ctx, wire.StoredQuery{Name: t.Name})
			if err != nil {
				return err
			}
			t.Version = now.Version
		}
		s, err := a.Server().Stored().SetStoredAgent(ctx, t)
		if err != nil {
			return err
		}
		for _, w := range s.Warnings {
			c.Warn(w)
		}
		return c.Say(console.Sprintf("%s is stored as version %d (%s). Start it with: troupe --agent %s", s.Name,
			s.Version,
			short(s.Hash), s.Name))
	})
	return cmd
}

// newStoredVersions makes the command that lists the versions of a stored agent, and shows one.
func newStoredVersions(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "versions NAME [VERSION]", Short: "List the versions of a stored agent, or print one of them",
		Long: `List the versions of a stored agent, the newest first. VERSION is a number, or the beginning of a hash of six
letters or more; the definition is then printed as it was stored.`,
		Example: "troupe agents versions reviewer\ntroupe agents versions reviewer 2 > reviewer.md",
		Args:    console.Args(1, 2),
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			q := wire.StoredQuery{Name: args[0]}
			if len(args) > 1 {
				q.Version = args[1]
			}
			s, err := a.Server().Stored().StoredAgent(ctx, q)
			switch {
			case err != nil:
				return err
			case asJSON:
				return c.JSON(s)
			case q.Version != "":
				_, err := fmt.Fprint(c.Out, console.Clean(s.Text))
				return err
			}
			t := c.Table(console.Column{Title: "VERSION"}, console.Column{Title: "HASH"},
				console.Column{Title: "STORED"}, console.Column{Title: "BY", Spare: 1}).Whole()
			for _, v := range s.Versions {
				t.Row(console.Sprintf("%d", v.Version), short(v.Hash), localMoment(v.At), console.Line(v.By, 60))
			}
			if err := t.Write(); err != nil || s.Removed.IsZero() {
				return err
			}
			return c.Say("It was removed " + localMoment(s.Removed) + ", and starts nothing any more.")
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
