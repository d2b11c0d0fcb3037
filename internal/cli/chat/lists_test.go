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

// Memories implements api.Setup.
func (fakeSetup) Memories(_ context.Context, q wire.MemoryQuery) ([]wire.Memory, error) {
	return []wire.Memory{
		{Agent: "reviewer", Scope: troupe.MemoryProject, Folder: q.Cwd + "/.claude/agent-memory/reviewer",
			Files: []string{"MEMORY.md", "habits.md"}},
		{Agent: "keeper", Scope: troupe.MemoryLocal, Session: rootID,
			Folder: "/data/memory/" + string(rootID) + "/keeper",
			Files:  []string{"MEMORY.md"}},
	}, nil
}

// Context implements api.Sessions.
func (f *fake) Context(_ context.Context, id troupe.SessionID) (wire.Context, error) {
	out := wire.Context{Session: wire.Session{ID: id, Path: "main", Model: "anthropic/claude-opus"}, Window: 200_000,
		Tokens: 8_000, Bytes: 32_000, Parts: []troupe.ContextPart{
			{Kind: troupe.ContextSystem, Count: 1, Bytes: 8_000, Tokens: 2_000},
			{Kind: troupe.ContextPrompt, Count: 1, Bytes: 16_000, Tokens: 4_000}}}
	if id == rootID {
		out.Parts = append(out.Parts,
			troupe.ContextPart{Kind: troupe.ContextInstructions, Name: "/etc/troupe/AGENTS.md", Count: 1, Bytes: 800,
				Tokens: 200},
			troupe.ContextPart{Kind: troupe.ContextInstructions, Count: 1, Bytes: 4_000, Tokens: 1_000,
				Name: "/home/ann/projects/a-long-name-of-a-project/packages/server/CLAUDE.md"},
			troupe.ContextPart{Kind: troupe.ContextMemory, Count: 1, Bytes: 3_200, Tokens: 800})
	} else {
		out.Session.Path = "main/One"
	}
	return out, nil
}

// TestMemory: /memory lists what agents keep before the conversation begins, and then what of its context an agent was
// told: instructions file by file, and memory, in tokens.
func TestMemory(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		return newFake(func(f *fake, what string) {
			if what == "go" {
				f.add(childID, troupe.Created{Name: "One", Parent: rootID, Depth: 1,
					Profile: troupe.Profile{Type: "Explore"}}, troupe.Started{Run: 1},
					troupe.Ended{Outcome: troupe.Outcome{Status: troupe.Completed}})
				f.add(rootID, troupe.Replied{Reply: 1, Blocks: []troupe.Block{troupe.Text("Done.")}},
					troupe.Ended{Outcome: troupe.Outcome{Status: troupe.Completed}})
			}
		})
	}
	screens(t, "memory", f, wire.Begin{}, func(p *person, _ *fake) {
		p.Keys("/memory One\r")
		p.shows("there is no agent One yet")
		p.Keys("/memory\r")
		p.shows("shows, edits and forgets them")
		p.Keys("go\r")
		p.shows("Done.")
		p.sees("\n>")
		p.Keys("/memory\r")
		p.shows("2k tokens of instructions and memory")
		p.sees("\n>")
		p.Keys("/memory One\r")
		p.shows("main/One was told no instructions and no memory")
		p.sees("\n>")
	})
}

// TestLists: what is set up is shown as the commands print it, on a narrow screen with nothing left out, before the
// conversation begins as well.
func TestLists(t *testing.T) {
	t.Parallel()
	begin := wire.Begin{Role: wire.Role{Agents: "{}"}}
	screens(t, "lists", func() *fake { return newFake(nil) }, begin, func(p *person, _ *fake) {
		p.Keys("/agents\r")
		p.shows("--agents")
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
