package cmd

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

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
			t.Row(console.Line(u.Name, 64), rightsOf(u.Right, u.Projects),
				u.CreatedAt.Local().Format("2006-01-02 15:04"))
		}
		return t.Write()
	})
	cmd := &cobra.Command{
		Use: "users", Short: "List, add and remove the users of a server", Args: console.NoArgs,
		Long: `List, add and remove the users of a server. On the machine of the server it is enough to be its user there; elsewhere
it takes the right admin.

  viewer    looks at everything, changes nothing
  operator  begins, steers, stops and answers agents
  admin     decides besides who may do what, what is trusted, and what is set up

A right holds at the whole server, or with --project in one folder of it and below. Of several around a folder the
deepest counts, and the right at the server if that is greater.`,
		Example: "troupe users\ntroupe users add ann\ntroupe users add bob --right viewer\n" +
			"troupe users add eve --project /srv/app=operator --project /srv/web=viewer\ntroupe users remove bob",
		RunE: list,
	}
	jsonFlag(cmd, &asJSON)
	cmd.AddCommand(newUsersAdd(c), newUsersSet(c), newUsersInvite(c), newUsersRemove(c), newUsersTokens(c),
		newUsersRevoke(c))
	return cmd
}

// rightsOf says which rights a user has, in a line.
func rightsOf(right troupe.Right, projects troupe.Projects) string {
	if len(projects) == 0 {
		return console.Line(string(right), 20)
	}
	all := make([]string, len(projects))
	for i, p := range projects {
		all[i] = console.Line(p.Folder, 0) + "=" + console.Line(string(p.Right), 20)
	}
	if right == troupe.RightNone {
		return strings.Join(all, ", ")
	}
	return console.Line(string(right), 20) + ", " + strings.Join(all, ", ")
}

// rights are flags that say which rights a user has.
type rights struct {
	right    string
	projects []string
}

// change is the change to a user that is asked for. A new one has the usual right, unless it is said in which projects.
func (r *rights) change(u *wire.UserChange) error {
	all := append(troupe.UserRights(), troupe.RightNone)
	if u.Right = troupe.Right(r.right); u.Right != "" && !slices.Contains(all, u.Right) {
		return console.Usage("--right %s: there are viewer, operator and admin, and none", r.right)
	}
	u.Projects = nil
	for _, text := range r.projects {
		i := strings.LastIndexByte(text, '=')
		if i < 0 || !slices.Contains(all, troupe.Right(text[i+1:])) || !filepath.IsAbs(text[:i]) {
			return console.Usage("--project %s: it is a folder by its whole name and a right, such as "+
				"--project /srv/app=operator; there are viewer, operator and admin, and none", text)
		}
		u.Projects = append(u.Projects,
			troupe.Project{Folder: filepath.Clean(text[:i]), Right: troupe.Right(text[i+1:])})
	}
	switch {
	case u.Right != "" || len(u.Projects) > 0:
	case u.New:
		u.Right = troupe.RightOperator
	default:
		return console.Usage("give a right: --right viewer, operator, admin or none; or --project FOLDER=RIGHT")
	}
	return nil
}

// changeUser makes a command of one change to the user that it names.
func changeUser(c *console.Console, cmd *cobra.Command, change wire.UserChange, flags *rights,
	said func(wire.UserChanged) string) *cobra.Command {
	cmd.Args = console.Args(1, 1)
	cmd.RunE = inHome(c, func(ctx context.Context, a api.API, args []string) error {
		change.Name = args[0]
		if flags != nil {
			if err := flags.change(&change); err != nil {
				return err
			}
		}
		if flags != nil && !change.New { // a name that is misspelt makes no user
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
	var r rights
	cmd := changeUser(c, &cobra.Command{
		Use: "add NAME", Short: "Add a user, and print a login code",
		Example: "troupe users add ann\ntroupe users add bob --right viewer\n" +
			"troupe users add eve --project /srv/app=operator",
	}, wire.UserChange{New: true, Invite: true}, &r, func(u wire.UserChanged) string {
		return console.Sprintf("%s is a user now, with the right %s.", console.Line(u.Name, 64),
			rightsOf(u.Right, u.Projects))
	})
	r.flags(cmd, "viewer, operator, admin or none; without it operator, or with --project none")
	return cmd
}

func newUsersSet(c *console.Console) *cobra.Command {
	var r rights
	cmd := changeUser(c, &cobra.Command{
		Use: "set NAME", Short: "Give a user another right", Example: "troupe users set bob --right operator\n" +
			"troupe users set eve --project /srv/app=viewer --project /srv/web=none",
	}, wire.UserChange{}, &r, func(u wire.UserChanged) string {
		return console.Sprintf("%s has the right %s now, with all tokens.", console.Line(u.Name, 64),
			rightsOf(u.Right, u.Projects))
	})
	r.flags(cmd, "viewer, operator, admin or none; without it the right at the whole server stays")
	return cmd
}

func (r *rights) flags(cmd *cobra.Command, about string) {
	cmd.Flags().StringVar(&r.right, "right", "", about)
	cmd.Flags().StringArrayVar(&r.projects, "project", nil, "FOLDER=RIGHT: the right in a folder of the server and "+
		"below it; none takes it away. May be given again")
	all := []string{string(troupe.RightNone)}
	for _, right := range troupe.UserRights() {
		all = append(all, string(right))
	}
	if err := cmd.RegisterFlagCompletionFunc("right", console.OneOf(all...)); err != nil {
		panic(err) // there is no such flag
	}
}

func newUsersInvite(c *console.Console) *cobra.Command {
	return changeUser(c, &cobra.Command{
		Use: "invite NAME", Short: "Print a new login code for a user", Example: "troupe users invite ann",
	}, wire.UserChange{Invite: true}, nil, func(u wire.UserChanged) string {
		return console.Sprintf("%s (%s) may log in once more.", console.Line(u.Name, 64),
			rightsOf(u.Right, u.Projects))
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
