package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/servers"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/wire"
)

// maxPrompt is how many bytes of a server's prompt a session is told.
const maxPrompt = 50_000

// serverPrompt is what a session is told for /mcp__SERVER__PROMPT: what a person typed, and the server's words, which
// are marked as such. The server is started for it as by a call of the session, and under the same rules:
// where no process runs the session, which rules these are is not known, and none is started.
func (s speaking) serverPrompt(ctx context.Context, name, typed, args string) (out spoken, err error) {
	if s.mute != "" {
		return out, promptError(name, s.mute+", and its server is started under the rules of the run; say it when "+
			"you resume the session")
	}
	a, cwd, line := s.app, s.at.Session.Cwd, slices.Clone(s.at.Line)
	x, _, err := machine{bound{app: a}}.explainerAt(ctx, wire.Begin{Cwd: cwd})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, x.close()) }()
	if len(line) == 0 {
		line = []gate.Layer{x.tools.gate.LayerOf(profile.Main, troupe.Profile{}, x.authority, true, false)}
	}
	line[len(line)-1].Offered = nil // a person says it, whatever the agent has
	const id = "mcp-prompt"
	service := x.servers.service(id, cwd, resolved(a.dirs.Home), filepath.Clean(a.outputDir(id)), line)
	if d := x.tools.gate.Decide(gate.Query{Tool: name, Access: troupe.Access{Class: troupe.ClassExec},
		Chain: line}); d.Effect == troupe.Deny && d.Rule != "" {
		return out, promptError(name, d.Why)
	}
	p, all, err := x.servers.FindPrompt(ctx, x.servers.Known(cwd), name, cwd, service, onlyReads(line))
	if near := troupe.Nearest(name, all); err != nil && near != "" {
		return out, promptError(name, fmt.Sprintf("%v. Did you mean /%s?", err, near))
	} else if err != nil {
		return out, promptError(name, err.Error())
	}
	said, err := x.servers.Say(ctx, p, args, cwd, service)
	if err != nil {
		return out, promptError(name, err.Error())
	}
	if len(said) > maxPrompt {
		said = strings.ToValidUTF8(said[:maxPrompt], "") + "\n(… the rest is left out.)"
	}
	return asTyped(typed).amid(a.Mask(typed + "\n\nThe MCP server " + p.Server.Name + " has these words for it:\n" +
		said)), nil
}

func promptError(name, why string) error {
	return &troupe.UserError{Problem: fmt.Sprintf("/%s cannot be used: %s", name, why), Hint: "`troupe skills` lists " +
		"the prompts of MCP servers as well. To send words that begin with a slash, write two.", Code: troupe.ExitUsage}
}

// promptRows are the prompts of servers among the commands that people can say.
func (s skills) promptRows(ctx context.Context, p *policy, cwd string) (out []wire.Skill, err error) {
	host := newServerHost(ctx, s.app, s.guard)
	known, _ := host.Look(ctx, serverPlaces(s.app, p, cwd), nil, nil)
	for _, s := range known.Prompts() {
		out = append(out, wire.Skill{Name: s.Name, Description: s.Description, Source: s.Server.Source, Scope: "mcp",
			Command: true, Hint: s.Hint(), People: true})
	}
	return out, host.close()
}

// isPrompt reports whether a command is that of a server.
func isPrompt(name string) bool {
	return strings.HasPrefix(strings.ToLower(name), servers.PromptPrefix)
}
