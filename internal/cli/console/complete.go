package console

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Completing proposes what a shell may complete a word to.
type Completing = func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective)

// completed is how many sessions are proposed; modelsTime is how long the servers of models may take to say
// what they have.
const (
	completed  = 50
	modelsTime = 2 * time.Second
)

// OneOf completes a word to one of several.
func OneOf(words ...string) Completing {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return begins(words, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// Sessions completes the sessions of this folder, by id and by name.
func (c *Console) Sessions(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion,
	cobra.ShellCompDirective) {
	return c.fromHome(cmd, typed, func(ctx context.Context, a api.API) ([]string, error) {
		return SessionWords(ctx, a, c.Cwd)
	})
}

// SessionWords are the ids and names of a folder's sessions, each with its title behind a tab.
func SessionWords(ctx context.Context, a api.Sessions, cwd string) ([]string, error) {
	list, err := a.List(ctx, wire.Listing{Cwd: cwd, Limit: completed})
	var ids, names []string
	for _, s := range list {
		ids = append(ids, cobra.CompletionWithDesc(string(s.ID), Line(s.Title, 60)))
		if s.Name != "" {
			names = append(names, cobra.CompletionWithDesc(s.Name, Line(s.Title, 60)))
		}
	}
	return append(ids, names...), err
}

// Requests completes the open requests, and then what can be answered.
func (c *Console) Requests(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion,
	cobra.ShellCompDirective) {
	answers := []string{"allow", "deny"}
	if len(args) > 0 {
		return OneOf(answers...)(cmd, args, typed)
	}
	return c.fromHome(cmd, typed, func(ctx context.Context, a api.API) ([]string, error) {
		open, err := a.Requests(ctx, "")
		for _, r := range open {
			answers = append(answers, cobra.CompletionWithDesc(r.ID, Line(r.Path+": "+r.Tool, 60)))
		}
		return answers, err
	})
}

// Worktrees completes the names of folders that agents have of their own beside this one.
func (c *Console) Worktrees(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion,
	cobra.ShellCompDirective) {
	if strings.Contains(cmd.Use, "...") {
		args = nil // it takes several
	}
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.fromHome(cmd, typed, func(ctx context.Context, a api.API) ([]string, error) {
		list, err := a.Setup().Workspaces().Worktrees(ctx, wire.WorktreeQuery{Cwd: c.Cwd, Names: true})
		var words []string
		for _, w := range list {
			words = append(words, cobra.CompletionWithDesc(w.Name, Line(w.Agent, 60)))
		}
		return words, err
	})
}

// Models completes names of models.
func (c *Console) Models(cmd *cobra.Command, _ []string, typed string) (out []cobra.Completion,
	_ cobra.ShellCompDirective) {
	err := c.WithSettings(func(h *home.Home) error {
		words, err := ModelWords(cmd.Context(), h.API.Machine(), c.Cwd)
		out = begins(words, typed)
		return err
	})
	return complete(out, err)
}

// ModelWords are the names of models that can be asked for.
func ModelWords(ctx context.Context, a api.Machine, cwd string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, modelsTime)
	defer cancel()
	list, err := a.Models(ctx, cwd)
	var words []string
	for alias := range list.Aliases {
		words = append(words, alias)
	}
	for _, m := range list.Models {
		words = append(words, m.Name)
	}
	slices.Sort(words)
	return slices.Compact(words), err
}

// Agents completes the types of agents.
func (c *Console) Agents(cmd *cobra.Command, _ []string, typed string) (out []cobra.Completion,
	_ cobra.ShellCompDirective) {
	err := c.WithSettings(func(h *home.Home) error {
		list, err := h.API.Machine().Agents(cmd.Context(), wire.AgentQuery{Place: wire.Place{Cwd: c.Cwd}})
		words := []string{"main"}
		for _, a := range list.Agents {
			words = append(words, a.Name)
		}
		out = begins(words, typed)
		return err
	})
	return complete(out, err)
}

// fromHome completes to what an open home holds. It makes none.
func (c *Console) fromHome(cmd *cobra.Command, typed string,
	words func(context.Context, api.API) ([]string, error)) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	if _, err := os.Stat(home.StateFolder(c.Lookup)); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	err := c.With(cmd.Context(), troupe.SurfaceCommand, func(h *home.Home) error {
		all, err := words(cmd.Context(), h.API)
		out = begins(all, typed)
		return err
	})
	return complete(out, err)
}

func complete(out []cobra.Completion, err error) ([]cobra.Completion, cobra.ShellCompDirective) {
	if err != nil && len(out) == 0 {
		return nil, cobra.ShellCompDirectiveError
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// begins are the words that begin as it was typed, in any case.
func begins(words []string, typed string) []cobra.Completion {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return len(w) < len(typed) || !strings.EqualFold(w[:len(typed)], typed)
	})
}
