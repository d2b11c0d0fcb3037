// Package servers knows the MCP servers that hold in a folder, whoever wrote them down, and makes tools of what
// they offer.
//
// What a server offers is kept in the home by the hash of its entry, so that a session is born with its tools
// without one being started; a server that was never seen is started once to list. Connections belong to a tree,
// see Tree.
package servers

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/disk"
	"github.com/troupe-dev/troupe/internal/hook"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
)

// Scope is whose an entry is, the weakest first: of two of one name the stronger counts.
type Scope string

// Scopes.
const (
	ScopePlugin  Scope = "plugin"
	ScopeUser    Scope = "user"
	ScopeProject Scope = "project"
	ScopeLocal   Scope = "local"
	ScopeManaged Scope = "managed"
	ScopeAgent   Scope = "agent" // it stands in the definition of an agent, and is for that alone
)

// Server is a server that is written down somewhere.
type Server struct {
	entry.Entry
	Scope  Scope
	Source string // the file
	// Brought: its file lies in the project's folder, whoever wrote it.
	Brought bool
	// Why says what keeps it from being used; "" if nothing does.
	Why string
	// Shadows are the files of weaker entries of this name.
	Shadows []string
}

// Level is how far it is confined: the workspace, unless its entry says otherwise. Only who does not come with the
// project can leave it more.
func (s Server) Level() troupe.Level {
	level := cmp.Or(s.Sandbox, troupe.LevelWorkspace)
	if s.Brought || s.Scope == ScopeProject || s.Scope == ScopeAgent || s.Scope == ScopePlugin {
		level = level.Meet(troupe.LevelWorkspace)
	}
	return level
}

// unconfined reports whether it runs on this machine and outside of the sandbox.
func (s Server) unconfined() bool { return s.Type == entry.Stdio && s.Level() == troupe.LevelNone }

// Places are where servers are looked for.
type Places struct {
	Dirs    config.Dirs
	Cwd     string
	Folders []string // whose .mcp.json hold, the outermost first
	Managed []string // files of an administrator; where one is there, no other server is used
	// Counts tells whether a file of the project counts, by its name and its bytes.
	Counts   func(file string, data []byte) bool
	Settings []config.ServerSource
	// Plugins are those that plugins bring, and Odd what is odd about them.
	Plugins []Server
	Odd     []string
	Limits  config.ServerLimits
	// Reads: servers are started where they can change nothing. One that fails there is tried again elsewhere.
	Reads bool
}

// Own finds the server of one's own, of those places, whose tools have the names that those of another would have; ""
// if there is none. stays: a project's server does not take its place. They are looked up once, if at all.
func Own(p Places) func(name string) (own string, stays bool) {
	servers := sync.OnceValue(func() []Server {
		list, _ := read(p)
		return slices.DeleteFunc(list, func(s Server) bool { return s.strange() || s.Why != "" })
	})
	return func(name string) (string, bool) {
		for _, s := range servers() {
			if entry.Alike(s.Name, name) {
				return s.Name, s.Scope != ScopeUser || s.Name != name
			}
		}
		return "", false
	}
}

// Scripts are the files and folders below a place that its servers run, and more, of agents.
func Scripts(p Places, more []Server) (out []string) {
	list, _ := read(p)
	for _, s := range append(list, more...) {
		if !s.Off {
			out = append(out, s.Scripts(p.Cwd)...)
		}
	}
	return out
}

// Scripts are the files and folders below a folder that it runs.
func (s Server) Scripts(cwd string) []string {
	if s.Type != entry.Stdio {
		return nil
	}
	return hook.Scripts(cwd, s.Cwd, append([]string{s.Command}, s.Args...))
}

// strange: whoever wrote it may be anybody. It does not count before it is trusted.
func (s Server) strange() bool { return s.Brought || s.Scope == ScopeProject || s.Scope == ScopeAgent }

// localFile is the user's own file of servers for a folder. It does not stand in the folder: nothing that comes with
// that can look like it.
func localFile(d config.Dirs, folder string) string {
	return strings.TrimSuffix(d.Kept(folder), ".json") + ".mcp.json"
}

// projectFile is the file of servers of a project, in its folder.
const projectFile = ".mcp.json"

// read finds the servers that hold at a place, sorted by name. Problems are for people.
func read(p Places) (out []Server, problems []string) {
	r := reader{places: p, byName: map[string]Server{}}
	for _, file := range p.Managed {
		r.file(file, ScopeManaged, nil)
	}
	if len(r.byName) == 0 {
		r.others()
	}
	for _, s := range r.byName {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	r.settle(out)
	return out, r.problems
}

// settle says which servers are used. Of two whose tools would have the same names that is one's own: rules that speak
// of it, and answers that were given, would else hold for what comes with a project.
func (r *reader) settle(out []Server) {
	order := make([]*Server, len(out))
	for i := range out {
		order[i] = &out[i]
	}
	strength := []Scope{ScopeManaged, ScopeLocal, ScopeUser, ScopePlugin, ScopeProject}
	slices.SortStableFunc(order, func(a, b *Server) int {
		switch {
		case a.strange() && !b.strange():
			return 1
		case b.strange() && !a.strange():
			return -1
		}
		return slices.Index(strength, a.Scope) - slices.Index(strength, b.Scope)
	})
	safe := map[string]string{}
	for _, s := range order {
		if setting, file := r.places.Limits.Forbids(s.Name, s.Scope == ScopeProject); setting != "" {
			s.Why = setting + " in " + file
		}
		if s.Off {
			s.Why = cmp.Or(s.Why, "its entry is switched off")
		}
		if long := s.TooLong(); long != "" && s.Why == "" && (s.strange() || s.Scope == ScopePlugin) {
			s.Why = long
			r.say(s.Source, "MCP server "+s.Name+" is not used: "+s.Why)
		}
		key := strings.ToLower(entry.Safe(s.Name))
		if first, taken := safe[key]; taken && s.Why == "" {
			s.Why = sameTools(first)
			r.say(s.Source, "MCP server "+s.Name+": "+s.Why)
		} else if s.Why == "" {
			safe[key] = s.Name
		}
	}
}

type reader struct {
	places   Places
	byName   map[string]Server
	problems []string
}

// others reads all files but an administrator's, the weakest first.
func (r *reader) others() {
	d := r.places.Dirs
	for _, s := range r.places.Plugins {
		r.byName[s.Name] = s
	}
	r.problems = append(r.problems, r.places.Odd...)
	r.settings(config.ScopeUser)
	r.claude(ScopeUser)
	r.file(d.Servers(), ScopeUser, nil)
	r.settings(config.ScopeProject)
	if len(r.places.Folders) > 0 {
		r.project()
	}
	r.settings(config.ScopeLocal)
	r.claude(ScopeLocal)
	r.file(localFile(d, r.places.Cwd), ScopeLocal, nil)
}

func (r *reader) say(file, text string) { r.problems = append(r.problems, file+": "+text) }

func (r *reader) settings(scope config.Scope) {
	for _, s := range r.places.Settings {
		as := map[config.Scope]Scope{config.ScopeManaged: ScopeManaged, config.ScopeUser: ScopeUser,
			config.ScopeProject: ScopeProject, config.ScopeLocal: ScopeLocal}[s.Scope]
		// An administrator's settings bring servers for all, and bind no one to them.
		if s.Scope == scope || s.Scope == config.ScopeManaged && scope == config.ScopeUser {
			found, problems := entry.ParseServers(s.Servers)
			r.take(Server{Scope: as, Source: s.Path, Brought: s.Folder != ""}, found, problems)
		}
	}
}

// project reads the .mcp.json of each folder, through an os.Root: a link may not lead out of the project.
func (r *reader) project() {
	folders := r.places.Folders
	root, err := os.OpenRoot(folders[0])
	if err != nil {
		return // the settings say so
	}
	defer root.Close() //nolint:errcheck // only read from
	for _, folder := range folders {
		if below, err := filepath.Rel(folders[0], folder); err == nil {
			r.file(filepath.Join(folder, projectFile), ScopeProject, func() (*os.File, error) {
				return root.OpenFile(filepath.Join(below, projectFile), disk.Flags, 0)
			})
		}
	}
}

// file reads one file; open is how, nil: as it is.
func (r *reader) file(path string, scope Scope, open func() (*os.File, error)) {
	if open == nil {
		open = func() (*os.File, error) { return os.OpenFile(path, disk.Flags, 0) }
	}
	f, err := open()
	var data []byte
	if err == nil {
		data, _, err = disk.ReadFrom(f, entry.MaxFile)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return
	case err != nil:
		r.say(path, "it cannot be read, so its MCP servers do not count: "+cause(err))
		return
	case scope == ScopeProject && !r.places.Counts(path, data):
		return // what is not trusted is asked about by name elsewhere
	}
	found, problems := entry.Parse(data)
	r.take(Server{Scope: scope, Source: path}, found, problems)
}

func cause(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// take has entries replace weaker ones of their names.
func (r *reader) take(from Server, found []entry.Entry, problems []entry.Problem) {
	for _, p := range problems {
		r.say(from.Source, p.String())
	}
	for _, e := range found {
		s := from
		s.Entry = e
		before, ok := r.byName[e.Name]
		if ok && s.strange() && before.Scope == ScopePlugin {
			r.say(s.Source, "MCP server "+s.Name+" is not used: it has the name of one of a plugin's")
			continue
		}
		if ok {
			s.Shadows = append([]string{before.Source}, before.Shadows...)
		}
		r.byName[e.Name] = s
	}
}

// mostState is far more than that program's file of its state has.
const mostState = 64 << 20

// claude reads the servers that Claude Code keeps in its state, for the user or for one folder.
func (r *reader) claude(scope Scope) {
	if r.places.Dirs.Home == "" {
		return
	}
	path := filepath.Join(r.places.Dirs.Home, ".claude.json")
	data, err := disk.Read(path, mostState)
	if err != nil {
		return // it is that program's file, and holds much else
	}
	var state struct {
		MCPServers json.RawMessage `json:"mcpServers"`
		Projects   map[string]struct {
			MCPServers json.RawMessage `json:"mcpServers"`
			Disabled   []string        `json:"disabledMcpjsonServers"`
			Off        []string        `json:"disabledMcpServers"`
		} `json:"projects"`
	}
	if json.Unmarshal(data, &state) != nil {
		return
	}
	servers := state.MCPServers
	if scope == ScopeLocal {
		servers = state.Projects[r.places.Cwd].MCPServers
	}
	if len(servers) > 0 {
		found, problems := entry.ParseServers(servers)
		r.take(Server{Scope: scope, Source: path}, found, problems)
	}
	if scope != ScopeLocal {
		return
	}
	for name, s := range r.byName {
		p := state.Projects[r.places.Cwd]
		if slices.Contains(p.Off, name) || s.Scope == ScopeProject && slices.Contains(p.Disabled, name) {
			s.Off = true
			r.byName[name] = s
		}
	}
}
