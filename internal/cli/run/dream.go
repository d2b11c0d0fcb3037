package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/wire"
)

// agentDream is the type of the sessions that put memories in order.
const agentDream = "dream"

// What a dream may use if nothing else is said.
const (
	dreamTurns  = 40
	dreamTokens = 400_000
)

// NewDream makes `troupe memory dream`: a run that puts a memory in order, with the flags of any other.
func NewDream(c *console.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use: "dream NAME", Short: "Have an agent put in order what agents of a type have kept",
		Long: fmt.Sprintf(`Have an agent read what agents of a type have kept, and put it in order: what is said twice is said once, what
no longer holds is taken out, what matters most stands first. It is a session of the type dream, which
writes in that memory and nowhere else, and has at most %d replies and %d tokens unless you say
otherwise. What it changed is printed as a diff, and troupe undo takes it back.`, dreamTurns, dreamTokens),
		Example: "troupe memory dream reviewer\ntroupe memory dream reviewer --model sonnet --max-cost 0.50",
	}
	configure(cmd, c, func(ctx context.Context, f flags, _ Input,
		args []string) error {
		return dream(ctx, c, f, args[0])
	})
	headlessOnly(cmd, "memory dream", "max-agents", "allowed-tools", "disallowed-tools", "permission-mode", "agents",
		"ask")
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return console.Usage("troupe memory dream takes the name of a type of agent; `troupe memory` lists what " +
				"is kept")
		}
		return nil
	}
	return cmd
}

func dream(ctx context.Context, c *console.Console, f flags, name string) error {
	b, err := base(c, f)
	if err != nil {
		return err
	}
	b.Agent, b.Memory, b.Prompt = agentDream, name, "Put the memory of the agents of type "+name+" in order."
	b.MaxTurns, b.MaxTokens = cmp.Or(b.MaxTurns, dreamTurns), cmp.Or(b.MaxTokens, dreamTokens)
	return c.With(ctx, troupe.SurfaceHeadless, func(h *home.Home) error {
		before, err := kept(ctx, h.API, b)
		if err != nil {
			return err
		}
		o := f.output(c)
		report, err := Follow(ctx, c, h.API, b, o)
		if err != nil {
			return err
		}
		after, err := kept(ctx, h.API, b)
		if err != nil {
			return err
		}
		if o.Format == formatText {
			if err := writeDream(c, report, before, after); err != nil {
				return err
			}
		}
		return Finish(c, report, o)
	})
}

// kept is what lies in the memory: its files by their paths.
func kept(ctx context.Context, a api.API, b wire.Begin) (map[string]string, error) {
	files := map[string]string{}
	q := wire.MemoryQuery{Cwd: b.Cwd, Agent: b.Memory}
	found, err := a.Setup().Memories(ctx, q)
	if errors.Is(err, troupe.ErrNotFound) {
		return files, nil
	}
	if err != nil {
		return nil, err
	}
	for _, m := range found {
		if m.Scope == troupe.MemoryLocal {
			continue
		}
		for _, name := range m.Files {
			q.Scope, q.File = m.Scope, name
			one, err := a.Setup().Memories(ctx, q)
			if err != nil {
				return nil, err
			}
			files[filepath.Join(m.Folder, name)] = one[0].Text
		}
	}
	return files, nil
}

// writeDream prints what a dream changed, and how to take it back.
func writeDream(c *console.Console, report wire.Report, before, after map[string]string) error {
	all := maps.Clone(before)
	maps.Copy(all, after)
	changed := false
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if before[path] == after[path] {
			continue
		}
		changed = true
		if _, err := fmt.Fprintln(c.Out, console.Visible(udiff.Unified(path, path, before[path],
			after[path]))); err != nil {
			return err
		}
	}
	if !changed {
		return c.Say("Nothing was changed.")
	}
	return c.Say(fmt.Sprintf("To take it back: troupe undo %s", report.SessionID))
}
