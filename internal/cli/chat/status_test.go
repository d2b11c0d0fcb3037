//go:build unix

package chat

import (
	"context"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestBannerAndStatus: what the conversation works with is said at the beginning, above the prompt, and by
// /status; a mode in which nothing is asked is warned of; /mode marks the one that holds.
func TestBannerAndStatus(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		return newFake(func(f *fake, _ string) {
			f.add(rootID, troupe.CallSealed{Reply: 1, Model: "anthropic/opus"},
				troupe.Replied{Reply: 1, Cost: troupe.Dollars(0.25), Blocks: []troupe.Block{troupe.Text("hi")}},
				ended(troupe.Completed))
		})
	}
	screens(t, "status", f, wire.Begin{Permissions: wire.Permissions{Mode: troupe.ModeBypass}},
		func(p *person, _ *fake) {
			p.shows("troupe test · anthropic/opus · mode bypassPermissions ·")
			p.shows("Warning: in the mode bypassPermissions every call runs")
			p.Keys("hello\r")
			p.shows(" · $0.2500\n>")
			p.Keys("/mode\r")
			p.shows("\n* bypassPermissions\n")
			p.Keys("/clear\r")
			p.shows("begins a new conversation")
			p.Keys("/status\r")
			p.shows("none yet")
		})
}

// TestAtAServer: a conversation shows the folder of the server that its agents work in, and what is told of the server
// as it is told.
func TestAtAServer(t *testing.T) {
	t.Parallel()
	heard := make(chan string)
	p := sitting(t, "", 100, func(ctx context.Context, c *console.Console, o Options) error {
		o.Server, o.Folder, o.Heard = "https://troupe.example.com", "/srv/app", heard
		return Run(ctx, c, newFake(func(f *fake, _ string) { f.says("hi") }), wire.Begin{Cwd: c.Cwd}, o)
	})
	p.shows(" · /srv/app · at https://troupe.example.com")
	heard <- "https://troupe.example.com does not answer."
	p.shows("troupe.example.com does not answer.")
}

// TestMainAgentOfAType: with --agent NAME the first line, the one above the prompt and /status say who the main agent
// is.
func TestMainAgentOfAType(t *testing.T) {
	t.Parallel()
	screensOf(t, "agent", func() *fake { return newFake(func(f *fake, _ string) { f.says("I only **look**.") }) },
		wire.Begin{Role: wire.Role{Agent: "reviewer"}, Cwd: "/ws/project",
			Permissions: wire.Permissions{Mode: troupe.ModePlan}},
		func(p *person, _ *fake) {
			const above = "· opus · reviewer · plan · project\n>"
			p.sees(above)
			p.Keys("who are you?\r")
			p.sees("1.5 s\n" + above)
			p.Keys("/status\r")
			p.shows("\nagent    reviewer\n")
			p.sees("0 commands\n" + above)
		})
}

// TestNoProviderIsSaid: at the start, and what could not be sent is not put in front of what is typed next.
func TestNoProviderIsSaid(t *testing.T) {
	t.Parallel()
	f := newFake(nil)
	p := sitAt(t, f, wire.Begin{Model: "nobody"}, 100)
	p.shows("there is no model nobody")
	p.sees("\n>")
	f.mu.Lock()
	f.unbegun = &troupe.UserError{Problem: "no key"}
	f.mu.Unlock()
	p.Keys("hello\r")
	p.sees("troupe: no key\nNot sent; Up brings it back.\n>")
	p.Keys("/help\r")
	p.shows("all that an agent said and did")
}

// TestStatusLineFollows: after /clear the line above the prompt has no cost of the conversation before, and one that
// is gone on with has its mode and cost at once.
func TestStatusLineFollows(t *testing.T) {
	t.Parallel()
	mode := wire.Begin{Permissions: wire.Permissions{Mode: troupe.ModePlan}}
	f := newFake(func(f *fake, _ string) {
		f.add(rootID, troupe.CallSealed{Reply: 1, Model: "anthropic/opus"},
			troupe.Replied{Reply: 1, Cost: troupe.Dollars(0.25), Blocks: []troupe.Block{troupe.Text("hi")}},
			ended(troupe.Completed))
	})
	p := sitAt(t, f, mode, 60)
	p.sees("\n>")
	p.Keys("hello\r")
	p.shows(" · $0.2500\n>")
	p.Keys("/clear\r")
	p.shows("begins a new conversation")
	p.sees(" · plan · 002\n>")

	f = remembers(2)
	f.before[0].CostUSD = 0.5
	mode.Continue = true
	p = sitAt(t, f, mode, 60)
	p.sees(" · $0.5000\ny/n/? + Enter?")
}

// TestAgentsTellAllRuns: how long an agent was at work is told of all its runs, as everywhere.
func TestAgentsTellAllRuns(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, what string) { f.says("heard " + what) })
	p := sitAt(t, f, wire.Begin{}, 100)
	p.sees("\n>")
	p.Keys("hello\r")
	p.sees("1.5 s\n>")
	f.mu.Lock()
	f.next = &wire.Report{Agents: []wire.Session{{ID: rootID, Path: "main", Type: "main", Status: troupe.Completed,
		Run: 3, DurationMS: 8700, ActiveMS: 85_000}}}
	f.mu.Unlock()
	p.Keys("/agents\r")
	p.shows(" · 1 min 25 s in 3 runs\n")
}

// TestHelpFitsTheScreen: /help breaks its rows once, and the facts about an agent between, not within them.
func TestHelpFitsTheScreen(t *testing.T) {
	t.Parallel()
	screens(t, "help", func() *fake { return newFake(func(f *fake, _ string) { f.says("hi") }) }, wire.Begin{},
		func(p *person, f *fake) {
			p.Keys("! ls\r")
			p.shows("No command runs from here")
			p.Keys("# a note\r")
			p.shows("No note is taken from here")
			p.Keys(" # a heading\r")
			p.shows("1.5 s\n>")
			f.mu.Lock()
			f.next = &wire.Report{Agents: []wire.Session{{ID: rootID, Path: "main", Type: "main",
				Status: troupe.Completed, Run: 3, ActiveMS: 85_000, Turns: 12, ToolUses: 120}}}
			f.mu.Unlock()
			p.Keys("/agents\r")
			p.shows("in 3 runs")
			p.Keys("/help\r")
			p.shows("words on the line.")
			p.Keys("/t\t")
			p.sees("\n/tasks   /team\n> /t") // not before the Tab has been heard
		})
	f := newFake(nil)
	p := sit(t, f, wire.Begin{})
	p.sees("\n>")
	p.Keys("# Title\x1b\rtext\r")
	p.shows("> # Title\n  text")
	f.heardAll(t, "begin false", "# Title\ntext")
}

// TestCompactSaysWhatItWaitsFor: a summary that has to wait for an answer is not passed over in silence.
func TestCompactSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, what string) {
		if what == "go" {
			f.ask(wire.Request{ID: "r1", Session: rootID, Path: "main", Tool: "Bash", Action: "make", Running: true})
		}
	})
	p := sitAt(t, f, wire.Begin{}, 100)
	p.sees("\n>")
	p.Keys("go\r")
	p.sees("Enter?")
	p.Keys("/compact\r")
	p.shows("The conversation is shortened once what is asked has an answer.")
}

// TestTeamIsShownFirst: who begins a conversation with a team is told of it before the first words.
func TestTeamIsShownFirst(t *testing.T) {
	t.Parallel()
	for want, team := range map[string]wire.NewTeam{
		"Your first words begin a team: a lead and 3 members of type Explore. You talk to its lead": {Size: 4,
			Type: "Explore"},
		"Your first words begin the team web of the settings. You talk to its lead": {Name: "web"},
	} {
		p := sitAt(t, newFake(func(f *fake, _ string) { f.says("ok") }), wire.Begin{Role: wire.Role{Team: &team}}, 100)
		p.shows(want)
	}
}
