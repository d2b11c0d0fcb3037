package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/servers"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/mcp"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/workspace"
)

// serving implements api.Serving.
type serving struct{ bound }

// Servers lists the MCP servers that hold at a place, and tries one.
func (a serving) Servers(ctx context.Context, q wire.ServerQuery) (out wire.ServerList, err error) {
	x, _, err := machine(a).explainerAt(ctx, at(q.Place))
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, x.close()) }()
	known := x.servers.Known(x.request.Cwd)
	out = wire.ServerList{Servers: []wire.ServerRow{}, Problems: append([]string{}, x.unread...)}
	found := q.Test == ""
	for _, s := range known.Servers {
		row := a.serverRow(x, s)
		l, why := known.List(s.Entry)
		if strings.EqualFold(q.Test, s.Name) {
			found = true
			if l, err = a.try(ctx, x, s); err != nil {
				why = err.Error()
			} else {
				why = ""
			}
		} else if q.Test != "" {
			continue
		}
		if file, err := servers.FileOf(a.app.dirs, s.Scope, x.request.Cwd); err == nil {
			row.ETag = serverTag(file, s.Name)
		}
		row.list(l, why)
		out.Servers = append(out.Servers, row.ServerRow)
	}
	if !found {
		hint := "`troupe mcp list` shows those there are."
		if !x.trusted {
			hint += " Those of this project count once its folder is trusted: `troupe --trust`."
		}
		return out, &troupe.UserError{Problem: fmt.Sprintf("there is no MCP server %q here", q.Test),
			Hint: hint, Code: troupe.ExitUsage, Err: troupe.ErrNotFound}
	}
	return out, nil
}

// try starts a server as a session in the folder would, and asks what it offers.
func (a serving) try(ctx context.Context, x *explainer, s servers.Server) (mcp.List, error) {
	if s.Why != "" {
		return mcp.List{}, fmt.Errorf("it is not used: %s", s.Why)
	}
	cwd := x.request.Cwd
	line := []gate.Layer{x.tools.gate.LayerOf(profile.Main, troupe.Profile{}, x.authority, true, false)}
	const id = "mcp-test"
	service := x.servers.service(id, cwd, resolved(a.app.dirs.Home), filepath.Clean(a.app.outputDir(id)), line)
	l, err := x.servers.List(ctx, s, cwd, service, onlyReads(line))
	if err != nil {
		return l, fmt.Errorf("%w", err)
	}
	return l, nil
}

type serverRowOf struct{ wire.ServerRow }

func (a serving) serverRow(x *explainer, s servers.Server) serverRowOf {
	row := wire.ServerRow{Name: s.Name, Type: string(s.Type), Line: s.Line(), Scope: string(s.Scope), Source: s.Source,
		Shadows: s.Shadows, Off: s.Why, Env: slices.Sorted(maps.Keys(s.Env)),
		Headers: slices.Sorted(maps.Keys(s.Headers)), Variables: s.Variables(),
		Tools: []wire.ServerTool{}}
	if s.OAuth != nil {
		row.Client = s.OAuth.Line()
		if s.OAuth.Secret != "" {
			row.Client += ", with a secret"
		}
	}
	if s.Type == entry.Stdio {
		row.Sandbox = string(s.Level())
	} else if l, err := x.servers.Login(s, x.request.Cwd); err == nil {
		row.Login = string(l.State())
	}
	return serverRowOf{row}
}

// list fills in what a server offers.
func (r *serverRowOf) list(l mcp.List, why string) {
	if r.Off != "" {
		return
	}
	r.Failed, r.Resources = why, l.Resources
	names := make([]string, len(l.Tools))
	for i, t := range l.Tools {
		names[i] = t.Name
	}
	for i, name := range entry.ToolNames(r.Name, names) {
		r.Tools = append(r.Tools, wire.ServerTool{Name: name, Description: l.Tools[i].Description})
	}
	for _, p := range l.Prompts {
		r.Prompts = append(r.Prompts, p.Name)
	}
}

// SetServer writes an entry down, or takes it out.
func (a serving) SetServer(_ context.Context, c wire.ServerChange) (out wire.ServerChanged, err error) {
	cwd, err := workspace.Resolve("", c.Cwd)
	if err != nil {
		return out, err
	}
	scope := servers.Scope(c.Scope)
	if scope == "" {
		scope = servers.ScopeLocal
		if c.Entry == nil {
			scope = a.scopeOf(cwd, c.Name)
		}
	}
	if out.File, err = servers.FileOf(a.app.dirs, scope, cwd); err != nil {
		return out, err
	}
	if c.Entry != nil {
		_, problems := entry.Check(c.Name, c.Entry)
		for _, problem := range problems {
			if problem.Unusable {
				return out, &troupe.UserError{Problem: problem.String(), Code: troupe.ExitUsage}
			}
			out.Notes = append(out.Notes, problem.String())
		}
	}
	a.app.changing.Lock()
	defer a.app.changing.Unlock()
	if err := c.Check(fmt.Sprintf("the MCP server %q in %s", c.Name, out.File), serverTag(out.File, c.Name),
		"troupe mcp list"); err != nil {
		return out, err
	}
	if err := servers.Change(out.File, c.Name, c.Entry); err != nil {
		return out, err
	}
	out.ETag = serverTag(out.File, c.Name)
	if scope == servers.ScopeProject && c.Entry != nil {
		out.Notes = append(out.Notes, "A project's servers count once the folder is trusted as it is now: `troupe "+
			"--trust`.")
	}
	return out, nil
}

// serverTag is the ETag of a server's entry in a file; "" if it has none there.
func serverTag(file, name string) string {
	if raw := servers.Standing(file, name); raw != nil {
		return wire.ETag(string(raw))
	}
	return ""
}

// scopeOf is where a server stands that is to be taken out.
func (a serving) scopeOf(cwd, name string) servers.Scope {
	for _, scope := range []servers.Scope{servers.ScopeLocal, servers.ScopeProject, servers.ScopeUser} {
		if file, err := servers.FileOf(a.app.dirs, scope, cwd); err == nil && servers.Standing(file, name) != nil {
			return scope
		}
	}
	return servers.ScopeLocal
}
