//go:build unix

package chat

import (
	"context"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Servers implements api.Serving.
func (f *fake) Servers(_ context.Context, q wire.ServerQuery) (wire.ServerList, error) {
	return wire.ServerList{
		Problems: []string{"/etc/mcp.json: MCP server odd: shell means nothing here"},
		Servers: []wire.ServerRow{
			{Name: "docs", Type: "http", Line: "https://docs.example.com/mcp", Scope: "user", Source: "/etc/mcp.json",
				Failed: "needs login: troupe mcp login docs", Tools: []wire.ServerTool{}},
			{Name: "everything", Type: "stdio", Line: "npx -y @modelcontextprotocol/server-everything",
				Scope:  "project",
				Source: q.Cwd + "/.mcp.json", Sandbox: "workspace", Prompts: []string{"simple-prompt"},
				Tools: []wire.ServerTool{{Name: "mcp__everything__echo", Description: "Echoes back the input"}}},
		},
	}, nil
}

// Plans implements api.Requests.
func (f *fake) Plans(_ context.Context, name string) ([]wire.Plan, error) {
	p := wire.Plan{Name: "mend-the-login", File: "/plans/mend-the-login.md", State: "approved", By: "you",
		Changed: time.Unix(0, 0)}
	if name != "" {
		p.Text = "# Mend the login\n\n1. Look.\n"
	}
	return []wire.Plan{p}, nil
}

// Setup implements api.API.
func (f *fake) Setup() api.Setup { return fakeSetup{of: f} }

type fakeSetup struct {
	api.Setup
	of *fake
}

// StatusLine implements api.Setup.
func (s fakeSetup) StatusLine(_ context.Context, q wire.StatusQuery) (wire.StatusLine, error) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.of.line == nil {
		return wire.StatusLine{}, nil
	}
	return s.of.line(q), nil
}

func (fakeSetup) Hooks(_ context.Context, q wire.HookQuery) (wire.HookList, error) {
	return wire.HookList{Hooks: []wire.HookRow{
		{Event: troupe.HookPreToolUse, Matcher: "Bash", Type: "command", Run: "./check.sh --strict --all-of-it",
			Source: q.Cwd + "/.claude/settings.json", Off: "this folder is not trusted"},
		{Event: troupe.HookStop, Type: "http", Run: "https://example.com/hook", Source: "/etc/settings.json"},
	}}, nil
}

// TestLists: what is set up is shown as the commands print it, on a narrow screen with nothing left out, before the
// conversation begins as well.
func TestLists(t *testing.T) {
	t.Parallel()
	screens(t, "lists", func() *fake { return newFake(nil) }, wire.Begin{}, func(p *person, _ *fake) {
		p.Keys("/mcp\r")
		p.shows("docs: needs login: troupe mcp login docs")
		p.Keys("/mcp everything\r")
		p.shows("mcp__everything__echo")
		p.Keys("/mcp none\r")
		p.shows("there is no MCP server none here")
		p.Keys("/hooks\r")
		p.shows("https://example.com/hook")
		p.Keys("/skills\r")
		p.shows("/ship")
		p.Keys("/plans mend\r")
		p.shows("1. Look.")
		p.Keys("/plans\r")
		p.shows("approved by you")
		p.sees("\n>")
	})
}
