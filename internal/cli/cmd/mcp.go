package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newMCP makes the command with its parts.
func newMCP(c *console.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use: "mcp", Short: "List, add and try MCP servers",
		Long: `MCP servers bring tools to agents. They are written down in .mcp.json of a project, in settings, or for
yourself with mcp add. See "troupe docs mcp".`,
		Example: "troupe mcp list\ntroupe mcp add github -e GITHUB_TOKEN='${GITHUB_TOKEN}' -- npx -y " +
			"@modelcontextprotocol/server-github\ntroupe mcp test github",
		Args: console.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newMCPList(c), newMCPGet(c), newMCPAdd(c), newMCPRemove(c), newMCPTest(c), newMCPLogin(c),
		newMCPLogout(c), newMCPServe(c))
	return cmd
}

func newMCPList(c *console.Console) *cobra.Command {
	q := wire.ServerQuery{Place: wire.Place{Cwd: c.Cwd}}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the MCP servers that hold here", Args: console.NoArgs,
		Long: `List the MCP servers that hold in this folder, what is known of each, and where it is written down. None is
started for it.`,
		RunE: inSettings(c, func(ctx context.Context, a api.API, _ []string) error {
			list, err := a.Serving().Servers(ctx, q)
			if err != nil {
				return err
			}
			if asJSON {
				return c.JSON(list)
			}
			return c.Servers(list)
		}),
	}
	cmd.Flags().BoolVar(&q.Trust, "trust", false, "As if this folder were trusted")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newMCPGet(c *console.Console) *cobra.Command {
	q := wire.ServerQuery{Place: wire.Place{Cwd: c.Cwd}}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "get NAME", Short: "Show one MCP server", Args: console.Args(1, 1),
		RunE: inSettings(c, func(ctx context.Context, a api.API, args []string) error {
			list, err := a.Serving().Servers(ctx, q)
			if err != nil {
				return err
			}
			for _, s := range list.Servers {
				if strings.EqualFold(s.Name, args[0]) {
					if asJSON {
						return c.JSON(s)
					}
					return c.Server(s)
				}
			}
			return console.Usage("there is no MCP server %q here; `troupe mcp list` shows those there are", args[0])
		}),
	}
	cmd.Flags().BoolVar(&q.Trust, "trust", false, "As if this folder were trusted")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newMCPTest(c *console.Console) *cobra.Command {
	q := wire.ServerQuery{Place: wire.Place{Cwd: c.Cwd}}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "test NAME", Short: "Start an MCP server and ask what it offers", Args: console.Args(1, 1),
		Long: `Start an MCP server, or reach it, as a session in this folder would: in its sandbox, with its environment. It is
asked what it offers, and ended. What it says is kept, for the next session.`,
		RunE: inSettings(c, func(ctx context.Context, a api.API, args []string) error {
			q.Test = args[0]
			list, err := a.Serving().Servers(ctx, q)
			if err != nil {
				return err
			}
			s := list.Servers[0]
			show := c.Server
			if asJSON {
				show = func(s wire.ServerRow) error { return c.JSON(s) }
			}
			if err := show(s); err != nil {
				return err
			}
			if s.Failed != "" {
				return &console.Exit{Code: troupe.ExitFailed}
			}
			return nil
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newMCPAdd(c *console.Console) *cobra.Command {
	var scope, transport, asEntry string
	var env, headers []string
	cmd := &cobra.Command{
		Use: "add NAME COMMAND|URL [ARGS...]", Short: "Write an MCP server down",
		Long: `Write an MCP server down: a command that starts it, or the address it answers at. Scopes are local (for you, in
this folder; the default), project (.mcp.json, for all who work in it) and user (for you, everywhere).

Values may name variables of the environment as ${NAME} or ${NAME:-default}: what is secret need not stand in a
file.`,
		Example: `troupe mcp add everything -- npx -y @modelcontextprotocol/server-everything
troupe mcp add --scope user docs https://docs.example.com/mcp
troupe mcp add issues https://issues.example.com/mcp -H 'Authorization: Bearer ${ISSUES_TOKEN}'
troupe mcp add odd --json '{"command": "odd", "timeout": 60000}'`,
		Args: console.Args(1, -1),
		RunE: inSettings(c, func(ctx context.Context, a api.API, args []string) error {
			raw, err := newEntry(args[1:], transport, env, headers)
			if asEntry != "" {
				raw, err = json.RawMessage(asEntry), nil
			}
			if err != nil {
				return err
			}
			done, err := a.Serving().SetServer(ctx, wire.ServerChange{Cwd: c.Cwd, Scope: scope, Name: args[0],
				Entry: raw})
			if err != nil {
				return err
			}
			for _, n := range done.Notes {
				c.Warn(n)
			}
			err = c.Printf("Wrote %s to %s. `troupe mcp test %s` tries it.\n", args[0],
				c.Place(done.File),
				args[0])
			return err
		}),
	}
	fs := cmd.Flags()
	fs.StringVarP(&scope, "scope", "s", "", "Where it is written: local, project or user")
	fs.StringVarP(&transport, "transport", "t", "", "How it is spoken to: stdio, http or sse (default: by what is "+
		"given)")
	fs.StringArrayVarP(&env, "env", "e", nil, "NAME=value for its environment; may be given again")
	fs.StringArrayVarP(&headers, "header", "H", nil, "'Name: value' to send with each request; may be given again")
	fs.StringVar(&asEntry, "json", "", "The entry itself, as it stands in .mcp.json")
	return cmd
}

// newEntry writes the words of a command line as an entry.
func newEntry(words []string, transport string, env, headers []string) (json.RawMessage, error) {
	if len(words) == 0 {
		return nil, console.Usage("troupe mcp add takes a name and a command or an address; put -- before a command " +
			"with " +
			"options of its own")
	}
	pairs := func(list []string, sep, what string) (map[string]string, error) {
		out := map[string]string{}
		for _, kv := range list {
			name, value, ok := strings.Cut(kv, sep)
			if !ok || strings.TrimSpace(name) == "" {
				return nil, console.Usage("%q is not of the form %s", kv, what)
			}
			out[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
		return out, nil
	}
	e := map[string]any{}
	isURL := strings.HasPrefix(words[0], "http://") || strings.HasPrefix(words[0], "https://") ||
		strings.HasPrefix(words[0], "${") && transport != "" && transport != "stdio"
	if isURL {
		e["type"], e["url"] = cmp.Or(transport, "http"), words[0]
		if len(words) > 1 {
			return nil, console.Usage("%q is one word too many behind an address", words[1])
		}
	} else {
		e["type"], e["command"], e["args"] = cmp.Or(transport, "stdio"), words[0], words[1:]
	}
	vars, err := pairs(env, "=", "NAME=value")
	if err != nil {
		return nil, err
	}
	sent, err := pairs(headers, ":", "'Name: value'")
	if err != nil {
		return nil, err
	}
	if len(vars) > 0 {
		e["env"] = vars
	}
	if len(sent) > 0 {
		e["headers"] = sent
	}
	return json.Marshal(e)
}

func newMCPRemove(c *console.Console) *cobra.Command {
	var scope string
	cmd := &cobra.Command{
		Use: "remove NAME", Short: "Take an MCP server out of its file", Args: console.Args(1, 1),
		RunE: inSettings(c, func(ctx context.Context, a api.API, args []string) error {
			done, err := a.Serving().SetServer(ctx, wire.ServerChange{Cwd: c.Cwd, Scope: scope, Name: args[0]})
			if err != nil {
				return err
			}
			err = c.Printf("Took %s out of %s.\n", args[0], c.Place(done.File))
			return err
		}),
	}
	cmd.Flags().StringVarP(&scope, "scope", "s", "", "Where it is written: local, project or user (default: the "+
		"first of "+
		"these that has it)")
	return cmd
}
