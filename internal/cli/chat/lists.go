package chat

import (
	"context"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// placeOf is where the conversation is, with the rules and agents that its command line gives.
func placeOf(v *conversation) wire.Place {
	b := v.trees.next
	return wire.Place{Cwd: b.Cwd, Permissions: b.Permissions, Agents: b.Agents}
}

// printed shows what a command of the command line prints, as wide as the screen is.
func printed(v *conversation, write func(c *console.Console) error) error {
	text, err := prints(v, write)
	if err == nil {
		v.say(console.Slashed(text))
	}
	return err
}

// prints is what a command of the command line prints, as wide as the screen is.
func prints(v *conversation, write func(c *console.Console) error) (string, error) {
	var b strings.Builder
	c := *v.c
	c.Out, c.Err, c.Width, c.Cwd = &b, &b, v.width(), v.trees.next.Cwd
	err := write(&c)
	return b.String(), err
}

// listServers is /mcp: the servers that hold here, or one of them.
func listServers(ctx context.Context, v *conversation, name string) error {
	list, err := v.trees.api.Serving().Servers(ctx, wire.ServerQuery{Place: placeOf(v)})
	if err != nil {
		return err
	}
	if name == "" {
		return printed(v, func(c *console.Console) error { return c.Servers(list) })
	}
	for _, s := range list.Servers {
		if strings.EqualFold(s.Name, name) {
			return printed(v, func(c *console.Console) error { return c.Server(s) })
		}
	}
	return &troupe.UserError{Problem: "there is no MCP server " + console.Line(name, 40) + " here",
		Hint: "/mcp lists those there are."}
}

func listHooks(ctx context.Context, v *conversation, _ string) error {
	list, err := v.trees.api.Setup().Hooks(ctx, wire.HookQuery{Place: placeOf(v)})
	if err != nil {
		return err
	}
	return printed(v, func(c *console.Console) error { return c.Hooks(list) })
}

func listSkills(ctx context.Context, v *conversation, _ string) error {
	list, err := v.trees.api.Skills(ctx, wire.SkillQuery{Place: placeOf(v)})
	if err != nil {
		return err
	}
	return printed(v, func(c *console.Console) error { return c.Skills(list) })
}

// listPlans is /plans: all there are, or the text of one.
func listPlans(ctx context.Context, v *conversation, name string) error {
	list, err := v.trees.api.Plans(ctx, name)
	if err != nil {
		return err
	}
	return printed(v, func(c *console.Console) error {
		if name == "" {
			return c.Plans(list)
		}
		return c.Plan(list[0])
	})
}

// showMemory is /memory: what an agent was told of instructions and of what its type has kept, and what all keep here.
func showMemory(ctx context.Context, v *conversation, word string) error {
	var told *wire.Context
	switch {
	case v.tree != nil:
		x, err := contextOf(ctx, v, word)
		if err != nil {
			return err
		}
		told = &x
	case word != "":
		return &troupe.UserError{Problem: "there is no agent " + console.Line(word, 40) + " yet",
			Hint: "The first words begin a conversation. /memory alone lists what agents keep here."}
	}
	kept, err := v.trees.api.Setup().Memories(ctx, wire.MemoryQuery{Cwd: v.trees.next.Cwd})
	if err != nil {
		return err
	}
	return printed(v, func(c *console.Console) error {
		if told != nil {
			if err := c.Told(*told); err != nil {
				return err
			}
		}
		if err := c.Memories(kept); err != nil {
			return err
		}
		return c.Say("`troupe memory` shows, edits and forgets them.")
	})
}
