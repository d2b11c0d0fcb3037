package chat

import (
	"context"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// placeOf is where the conversation is, with the rules that its command line gives.
func placeOf(v *conversation) wire.Place {
	b := v.trees.next
	return wire.Place{Cwd: b.Cwd, Permissions: b.Permissions}
}

// printed shows what a command of the command line prints, as wide as the screen is.
func printed(v *conversation, write func(c *console.Console) error) error {
	var b strings.Builder
	c := *v.c
	c.Out, c.Err, c.Width, c.Cwd = &b, &b, v.width(), v.trees.next.Cwd
	if err := write(&c); err != nil {
		return err
	}
	v.say(b.String())
	return nil
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
