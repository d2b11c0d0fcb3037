package cmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newPush makes the command.
func newPush(c *console.Console) *cobra.Command {
	var p wire.WorktreePush
	var asJSON bool
	cmd := &cobra.Command{
		Use: "push NAME", Short: "Push an agent's work at a server as a branch", Args: console.Args(1, 1),
		Long: `Push what an agent did in a worktree beside a checkout as a branch, to the repository that the checkout is from: of a
session that began with --repo at a server. What is not committed there is one more commit. NAME is that of the worktree, or
of its agent, or its session. The branch is troupe/NAME, or one with the session's id behind it where another has pushed that.

--pull-request opens a pull request for the branch, on GitHub and GitLab, or finds the open one. It goes into the branch
that the checkout is of, and has the title of the session, unless --base and --title say otherwise.

It may be done again as the work goes on. What others have put on a branch is never overwritten.`,
		Example: "troupe push fixer\ntroupe push 7k3f --branch fix-login\ntroupe push fixer --pull-request " +
			"--title \"Fix the login\"",
		ValidArgsFunction: c.Worktrees,
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			ctx, stop := console.Waiting(ctx, c, lookingAt)
			defer stop()
			if !p.PullRequest && (p.Base != "" || p.Title != "") {
				return console.Usage("--base and --title go with --pull-request")
			}
			p.WorktreeQuery = one(c, args)
			out, err := a.Setup().Workspaces().PushWorktree(ctx, p)
			switch {
			case err != nil:
				return err
			case asJSON:
				err = c.JSON(out)
			default:
				err = console.PushedTo(c, out)
			}
			return errors.Join(err, console.NotOpened(out))
		}),
	}
	cmd.Flags().StringVar(&p.Branch, "branch", "", "Name of the branch there (default: troupe/NAME)")
	cmd.Flags().BoolVar(&p.PullRequest, "pull-request", false, "Open a pull request for it, or find the open one")
	cmd.Flags().StringVar(&p.Base, "base", "", "Branch to merge the pull request into (default: the checkout's)")
	cmd.Flags().StringVar(&p.Title, "title", "", "Title of the pull request (default: the session's)")
	jsonFlag(cmd, &asJSON)
	return cmd
}
