package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

func newMCPLogin(c *console.Console) *cobra.Command {
	q := wire.ServerLogin{Cwd: c.Cwd, Action: wire.LoginBegin}
	cmd := &cobra.Command{
		Use: "login NAME", Short: "Log in to an MCP server at an address", Args: console.Args(1, 1),
		Long: `Log in to an MCP server that answers at an address and wants to know who asks (OAuth). The address to open in a
browser of this machine is printed; the browser comes back to a port of it. What the server gives is kept for the entry as
it stands, in a file that only you may read and that is hidden from agents.`,
		RunE: inSettings(c, func(ctx context.Context, a api.API, args []string) error {
			q.Name = args[0]
			begun, err := a.Serving().Login(ctx, q)
			if err != nil {
				return err
			}
			if err := c.Printf("To log in to %s, open this address:\n\n%s\n\nWaiting for the browser at "+
				"%s "+
				"(Ctrl-C gives up).\n", console.Line(q.Name, 40), begun.Address, begun.Redirect); err != nil {
				return err
			}
			done, err := a.Serving().Login(ctx, wire.ServerLogin{Cwd: q.Cwd, Name: q.Name, Action: wire.LoginWait,
				ID: begun.ID})
			if err != nil {
				return err
			}
			s := done.Server
			if s == nil || s.Failed != "" {
				why := "nothing is known of it"
				if s != nil {
					why = s.Failed
				}
				c.Warn("You are logged in to " + q.Name + ", but what it offers was not told: " + why)
				return &console.Exit{Code: troupe.ExitFailed}
			}
			err = c.Printf("You are logged in to %s. It offers %d tools.\n", console.Line(s.Name, 40),
				len(s.Tools))
			return err
		}),
	}
	cmd.Flags().StringArrayVar(&q.Scopes, "scope", nil, "A right to ask for besides those that the server names; may "+
		"be given again")
	return cmd
}

func newMCPLogout(c *console.Console) *cobra.Command {
	return &cobra.Command{
		Use: "logout NAME", Short: "Forget the login at an MCP server", Args: console.Args(1, 1),
		Long: `Forget the login at an MCP server. The server is not told: what it lists as having access can be removed there.`,
		RunE: inSettings(c, func(ctx context.Context, a api.API, args []string) error {
			done, err := a.Serving().Login(ctx, wire.ServerLogin{Cwd: c.Cwd, Name: args[0], Action: wire.LoginOut})
			if err != nil {
				return err
			}
			word := "You were not logged in to %s.\n"
			if done.Gone {
				word = "The login at %s is forgotten.\n"
			}
			err = c.Printf(word, console.Line(args[0], 40))
			return err
		}),
	}
}
