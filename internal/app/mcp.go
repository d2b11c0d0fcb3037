package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/servers"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/mcp"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/shell"
)

// serverHost is the programs that this process starts to stay: MCP servers.
type serverHost struct {
	*servers.Registry
	shell *shell.Shell
	guard *guard
}

// serverPatience is how long the beginning of a session waits for MCP servers that were never seen.
const serverPatience = 10 * time.Second

func newServerHost(ctx context.Context, a *App, g *guard) *serverHost {
	s := &serverHost{shell: shell.New(shell.Options{Confine: g.confine}), guard: g}
	cache := ""
	if xdg, _ := a.env.Lookup("XDG_CACHE_HOME"); filepath.IsAbs(xdg) {
		cache = filepath.Join(xdg, "troupe", "mcp")
	} else if a.dirs.Home != "" {
		cache = filepath.Join(a.dirs.Home, ".cache", "troupe", "mcp")
	}
	s.Registry = servers.New(ctx, servers.Options{
		Version: a.env.Version, Kept: servers.Kept(filepath.Join(a.dirs.Data, "mcp")), Home: a.dirs.Home, Cache: cache,
		Environ: a.env.Environ, Lookup: a.env.Lookup, Now: a.env.Now, Log: a.env.Log, Patience: serverPatience,
		Logins: newLoginStore(a), Mask: a.Mask,
		Start: func(p servers.Program) (mcp.Process, error) {
			return s.shell.Serve(shell.Service{Command: p.Entry.Command, Args: p.Entry.Args, Env: p.Env,
				Dir: p.Entry.Cwd, Stderr: p.Stderr, Confine: p.Confine})
		},
	})
	return s
}

// close ends what still runs.
func (s *serverHost) close() error {
	s.Close()
	return s.shell.Close()
}

// service is what servers may touch that are started before there is a session: what its line of authority will
// leave them.
func (s *serverHost) service(id troupe.SessionID, cwd, home, outputs string, line []gate.Layer) tool.Service {
	reads := onlyReads(line)
	return func(ctx context.Context, level troupe.Level, _ bool) (*troupe.Confinement, []string, error) {
		if reads {
			level = level.Meet(troupe.LevelReadOnly)
		}
		ask := session.ServiceOf(home, troupe.Session{ID: id, Root: id, Cwd: cwd}, []string{cwd, outputs}, line, level)
		return session.Hold(ctx, s.guard, ask)
	}
}

// onlyReads: nothing that is started under this line may change anything.
func onlyReads(line []gate.Layer) bool {
	_, mode, bound := gate.Standing(line)
	return mode.Ceiling < troupe.ClassExec || bound == troupe.LevelReadOnly
}

// lookAtServers finds the MCP servers of a folder for a tree that is about to begin or to go on.
func (e *engine) lookAtServers(ctx context.Context, a *App, p *profiles, from *policy, id troupe.SessionID, cwd,
	kind string,
	authority troupe.Authority) (warnings []string) {
	p.servers = e.servers.Registry
	if player := a.models.player; player != nil {
		tools, byName := player.ServerTools()
		e.servers.Played(cwd, tools, byName)
		p.Clients = playedClients(player, e.tools.Set)
		return nil
	}
	line := []gate.Layer{e.tools.gate.LayerOf(profile.Main, troupe.Profile{Sandbox: p.definition(kind).Sandbox},
		authority, true, false)}
	places := serverPlaces(a, from, cwd)
	places.Reads = onlyReads(line)
	_, warnings = e.servers.Look(ctx, places, p.inline(),
		e.servers.service(id, cwd, resolved(a.dirs.Home), filepath.Clean(a.outputDir(id)), line))
	return warnings
}

// serverPlaces are where MCP servers are written down that hold in a folder.
func serverPlaces(a *App, p *policy, cwd string) servers.Places {
	var managed []string
	for _, m := range config.ManagedFiles(runtime.GOOS) {
		managed = append(managed, filepath.Join(filepath.Dir(m.Path), "managed-mcp.json"))
	}
	brought, odd := p.pluginServers()
	return servers.Places{
		Plugins: brought, Odd: odd,
		Dirs: a.dirs, Cwd: cwd, Folders: p.all.Folders, Managed: managed, Settings: p.all.Servers(p.trusted()),
		Limits: p.all.ServerLimits(),
		Counts: func(file string, data []byte) bool {
			sum := sha256.Sum256(data)
			return p.trusted() && p.trust.Seen[file] == hex.EncodeToString(sum[:])
		},
	}
}

// serverFiles are what in a folder its MCP servers run, whether or not they count yet: what an agent wrote there would
// run with the keys of their entries, and with less of a sandbox than its commands.
func (p *policy) serverFiles(a *App, cwd string, types profile.Set) []string {
	places := serverPlaces(a, p, cwd)
	places.Settings, places.Counts = p.all.Servers(true), func(string, []byte) bool { return true }
	return servers.Scripts(places, inlineOf(types))
}

// inline are the servers that definitions of agents bring, or brought when agents of the tree were born.
func (p *profiles) inline() []servers.Server { return inlineOf(p.Types, p.Former...) }

func inlineOf(types profile.Set, former ...formerServer) (out []servers.Server) {
	for _, f := range append(broughtIn(types), former...) {
		out = append(out, f.inline())
	}
	return out
}

// withServers is the roles of a tree and its MCP servers.
type withServers struct {
	*profiles
	*servers.Tree
}

// withServers is p for a session, with the servers of its folder.
func (p *profiles) withServers() session.Roles {
	if p.servers == nil {
		return p
	}
	return withServers{p, p.servers.Open(p.Cwd,
		replayTools(withClients(p.tools.Set, p.Clients), p.models.player), p.refs, p.played())}
}

// played is what a replay does to the tools of servers; nil: nothing is played.
func (p *profiles) played() func([]tool.Descriptor) []tool.Descriptor {
	player := p.models.player
	if player == nil {
		return nil
	}
	return func(tools []tool.Descriptor) []tool.Descriptor {
		for i := range tools {
			tools[i].Runner = replayRunner{tools[i].Runner, player}
		}
		return tools
	}
}

func (p *profiles) definition(kind string) profile.Definition {
	if strings.EqualFold(kind, profile.Main) {
		return p.kinds().Main()
	}
	d, _ := p.kinds().Lookup(kind) // one that is gone names no servers
	return d
}

// ofTree are the tools that an agent of a type has of MCP servers, and of the client that began the tree. One of a
// server that its definition names and that is not to be had is an error: the agent would begin without what it is for.
func (p *profiles) ofTree(d profile.Definition) ([]troupe.ToolFacts, error) {
	known, have, err := p.serversOf(d)
	return append(known.Facts(have), p.clientFacts()...), err
}

// settle has a profile hold what of its servers it is told by name alone.
func (p *profiles) settle(d profile.Definition, out troupe.Profile, err error) (troupe.Profile, error) {
	if err == nil {
		known, have, _ := p.serversOf(d) // it is not born without those that it needs
		known.Settle(&out, have, p.models.Window(out.Model))
		p.clientsLast(&out)
		if note := p.models.lessEffort(out.Model, out.Effort); note != "" {
			out.Notes = append(out.Notes, note)
		}
	}
	return out, err
}

func (p *profiles) serversOf(d profile.Definition) (known *servers.Known, have []servers.Server, err error) {
	known = &servers.Known{}
	if p.servers != nil {
		if k := p.servers.Known(p.Cwd); k != nil {
			known = k
		}
	}
	have, missing := known.Of(d.Servers.Named(), d.Source)
	for _, name := range d.Servers.Needs {
		i := slices.IndexFunc(have, func(s servers.Server) bool { return strings.EqualFold(s.Name, name) })
		if i < 0 {
			_, not := known.Of([]entry.Ref{{Name: name}}, d.Source)
			missing = append(missing, not...)
		} else if _, why := known.List(have[i].Entry); why != "" {
			missing = append(missing, name+" ("+why+")")
		}
	}
	if len(missing) > 0 {
		return known, nil, fmt.Errorf("an agent of type %s needs MCP servers that are not to be had: %s", d.Name,
			strings.Join(missing, ", "))
	}
	return known, have, nil
}

// everything is what is known of the tools of all servers of a folder, those of agents included.
func (s *serverHost) everything(cwd string, inline []servers.Server) []troupe.ToolFacts {
	known := s.Known(cwd)
	all, _ := known.Of(nil, "")
	return known.Facts(append(all, inline...))
}
