package cmd

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newUsers makes the command with its parts.
func newUsers(c *console.Console) *cobra.Command {
	var asJSON bool
	list := inHome(c, func(ctx context.Context, a api.API, _ []string) error {
		all, err := a.Server().People().Users(ctx)
		if err != nil {
			return err
		}
		if asJSON {
			return jsonList(c, all)
		}
		if len(all) == 0 {
			return c.Say("No users yet. `troupe serve` prints the first login.")
		}
		t := c.Table(console.Column{Title: "NAME"}, console.Column{Title: "RIGHT"},
			console.Column{Title: "SINCE", Spare: 1})
		for _, u := range all {
			t.Row(console.Line(u.Name, 64), u.Right, u.CreatedAt.Local().Format("2006-01-02 15:04"))
		}
		return t.Write()
	})
	cmd := &cobra.Command{
		Use: "users", Short: "List, add and remove the users of a server", Args: console.NoArgs,
		Long: `List, add and remove the users of a server. On the machine of the server it is enough to be its user there; elsewhere
it takes the right admin.

  viewer    looks at everything, changes nothing
  operator  begins, steers, stops and answers agents
  admin     decides besides who may do what, what is trusted, and what is set up`,
		Example: "troupe users\ntroupe users add ann\ntroupe users add bob --right viewer\ntroupe users remove bob",
		RunE:    list,
	}
	jsonFlag(cmd, &asJSON)
	cmd.AddCommand(newUsersAdd(c), newUsersSet(c), newUsersInvite(c), newUsersRemove(c), newUsersTokens(c),
		newUsersRevoke(c))
	return cmd
}

// changeUser makes a command of one change to the user that it names.
func changeUser(c *console.Console, cmd *cobra.Command, change wire.UserChange, right *string,
	said func(wire.UserChanged) string) *cobra.Command {
	cmd.Args = console.Args(1, 1)
	cmd.RunE = inHome(c, func(ctx context.Context, a api.API, args []string) error {
		change.Name = args[0]
		if right != nil && *right != "" && !slices.Contains(troupe.UserRights(), troupe.Right(*right)) {
			return console.Usage("--right %s: there are viewer, operator and admin", *right)
		}
		if right != nil {
			change.Right = troupe.Right(*right)
		}
		if right != nil && !change.New { // a name that is misspelt makes no user
			if change.Right == "" {
				return console.Usage("give the right: --right viewer, operator or admin")
			}
			all, err := a.Server().People().Users(ctx)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(all, func(u wire.User) bool { return u.Name == change.Name }) {
				return &troupe.UserError{Problem: console.Sprintf("there is no user %q", change.Name),
					Hint: "`troupe users` lists them; `troupe users add NAME` adds one.", Code: troupe.ExitUsage,
					Err: troupe.ErrNotFound}
			}
		}
		u, err := a.Server().People().SetUser(ctx, change)
		if err != nil {
			return err
		}
		text := said(u)
		if u.Code != "" {
			text += console.Sprintf("\nTo log in (once, until %s): troupe login ADDRESS, with the code\n\n  %s\n",
				u.Until.Local().Format("15:04:05"), u.Code)
		}
		return c.Say(text)
	})
	return cmd
}

func newUsersAdd(c *console.Console) *cobra.Command {
	var right string
	cmd := changeUser(c, &cobra.Command{
		Use: "add NAME", Short: "Add a user, and print a login code",
		Example: "troupe users add ann\ntroupe users add bob --right viewer",
	}, wire.UserChange{New: true, Invite: true}, &right, func(u wire.UserChanged) string {
		return console.Sprintf("%s is a user now, with the right %s.", console.Line(u.Name, 64), u.Right)
	})
	rightFlag(cmd, &right, string(troupe.RightOperator))
	return cmd
}

func newUsersSet(c *console.Console) *cobra.Command {
	var right string
	cmd := changeUser(c, &cobra.Command{
		Use: "set NAME", Short: "Give a user another right", Example: "troupe users set bob --right operator",
	}, wire.UserChange{}, &right, func(u wire.UserChanged) string {
		return console.Sprintf("%s has the right %s now, with all tokens.", console.Line(u.Name, 64), u.Right)
	})
	rightFlag(cmd, &right, "")
	return cmd
}

func rightFlag(cmd *cobra.Command, right *string, usual string) {
	cmd.Flags().StringVar(right, "right", usual, "viewer, operator or admin")
	all := make([]string, 0, len(troupe.UserRights()))
	for _, r := range troupe.UserRights() {
		all = append(all, string(r))
	}
	if err := cmd.RegisterFlagCompletionFunc("right", console.OneOf(all...)); err != nil {
		panic(err) // there is no such flag
	}
}

func newUsersInvite(c *console.Console) *cobra.Command {
	return changeUser(c, &cobra.Command{
		Use: "invite NAME", Short: "Print a new login code for a user", Example: "troupe users invite ann",
	}, wire.UserChange{Invite: true}, nil, func(u wire.UserChanged) string {
		return console.Sprintf("%s (%s) may log in once more.", console.Line(u.Name, 64), u.Right)
	})
}

func newUsersRemove(c *console.Console) *cobra.Command {
	return changeUser(c, &cobra.Command{
		Use: "remove NAME", Short: "Remove a user with all tokens", Example: "troupe users remove bob",
	}, wire.UserChange{Remove: true}, nil, func(u wire.UserChanged) string {
		return console.Line(u.Name, 64) + " is no user any more. What they began goes on; it is stopped with: " +
			"troupe admin stop --by " + console.Line(u.Name, 64)
	})
}

func newUsersTokens(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "tokens", Short: "List the tokens that hold", Args: console.NoArgs, Example: "troupe users tokens",
		RunE: inHome(c, func(ctx context.Context, a api.API, _ []string) error {
			all, err := a.Server().People().Tokens(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				return jsonList(c, all)
			}
			if len(all) == 0 {
				return c.Say("No token holds. `troupe users invite NAME` makes a login code.")
			}
			type col = console.Column
			t := c.Table(col{Title: "ID"}, col{Title: "USER"}, col{Title: "FOR", Spare: 1}, col{Title: "USED"},
				col{Title: "UNTIL", Spare: 2})
			for _, x := range all {
				who := console.Line(x.User, 64)
				if x.Yours {
					who += " (this one)"
				}
				t.Row(x.ID, who, console.Line(x.Label, 40), x.UsedAt.Local().Format("2006-01-02 15:04"),
					x.ExpiresAt.Local().Format("2006-01-02"))
			}
			return t.Write()
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newUsersRevoke(c *console.Console) *cobra.Command {
	return &cobra.Command{
		Use: "revoke TOKEN", Short: "Have a token hold no more", Args: console.Args(1, 1),
		Example: "troupe users revoke 7k3f2m9qxwzt",
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			if err := a.Server().People().Revoke(ctx, wire.Revoke{ID: args[0]}); err != nil {
				return err
			}
			return c.Say("The token holds no more.")
		}),
	}
}
