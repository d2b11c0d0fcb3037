package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/scratch"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/gate/command"
	"github.com/troupe-dev/troupe/internal/hidden"
	"github.com/troupe-dev/troupe/internal/proxy"
	"github.com/troupe-dev/troupe/internal/sandbox"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/files"
	"github.com/troupe-dev/troupe/internal/workspace"
)

// guard implements session.Guard: what this machine can confine commands with, and what the
// settings of each folder leave to them.
type guard struct {
	app *App
	box *sandbox.Sandbox
	// ctx: what is looked at for a decision has limits of its own and ends with the process.
	ctx func() context.Context

	sweeping sync.WaitGroup

	mu      sync.Mutex
	temps   []*scratch.Folder // the folders of temporary folders; the last is in use, made by the first command
	led     map[string]string // where folders that commands may write led when they were first looked at
	folders map[session.Place]*folder
	taken   int // how many folders were taken up so far
	proxies map[string]*proxy.Proxy
	finders map[string]*hidden.Finder // of hidden files, by the folder in which they look
	made    made
}

// folder is a folder in which agents work.
type folder struct {
	policy    *policy
	at        session.Place
	protected *config.Protection
	hidden    config.Hidden
	own       config.Hidden // the same for a folder that was made for the session
	others    []string      // trees that such a session works beside: the project, and all folders that were made
	nested    nested
	tenant    *tenant // nil: agents read anything
	// beyond says why nothing writes a path at a server, see outsideServer.
	beyond func(path string) (why string)
	no     int // of the folders that were taken up

	mu       sync.Mutex
	ofOthers map[string]config.Hidden // by the folders of other agents
}

func (a *App) newGuard(ctx context.Context) *guard {
	return &guard{
		app: a, box: sandbox.New(sandbox.Options{Ledgers: resolved(a.dirs.Ledgers())}),
		ctx:     func() context.Context { return context.WithoutCancel(ctx) },
		folders: make(map[session.Place]*folder), proxies: make(map[string]*proxy.Proxy),
		finders: make(map[string]*hidden.Finder), led: make(map[string]string),
	}
}

// sweep removes what killed processes left, beside what this one does.
func (g *guard) sweep() { g.sweeping.Go(scratch.Sweep) }

// sweepFolder removes what they left in a folder in which agents are about to work.
func (g *guard) sweepFolder(cwd string) { g.sweeping.Go(func() { files.Sweep(cwd) }) }

// close lets go of proxies and temporary folders. Nothing that was confined runs any more.
func (g *guard) close() error {
	g.sweeping.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	for _, p := range g.proxies {
		errs = append(errs, p.Close())
	}
	for _, f := range g.finders {
		errs = append(errs, f.Close())
	}
	for _, t := range g.temps {
		errs = append(errs, t.Remove())
	}
	return errors.Join(errs...)
}

// Machine implements session.Guard.
func (g *guard) Machine() (levels []troupe.Level, lacks []string) {
	return g.box.Levels(), append(lacking(g.box.Support(g.ctx())), g.unwatched()...)
}

// lacking names what Linux has and this machine has not.
func lacking(r sandbox.Support) []string {
	var out []string
	if r.OS != "linux" {
		return nil // what there is there is another thing altogether
	}
	if !r.Namespaces {
		out = append(out, "mount namespaces (hidden folders can be listed)")
	}
	if !r.Notify {
		out = append(out, "seccomp notifications (what was attempted cannot be seen)")
	}
	if r.Landlock > 0 && r.Landlock < 6 {
		out = append(out, fmt.Sprintf("more of Landlock than version %d", r.Landlock))
	}
	return out
}

// Protected implements session.Guard.
func (g *guard) Protected(at session.Place) session.Protected {
	gr, err := g.folder(at)
	if err != nil {
		return session.Protected{Places: []string{"/**"}} // what cannot be known is not open
	}
	p := gr.protected
	return session.Protected{Places: p.Globs(), PartOfGit: p.PartOfGit, Closed: gr.closed}
}

// Git implements session.Guard.
func (g *guard) Git(at session.Place) session.Git {
	return session.Git{
		Safe:    func() bool { return g.safeGit(at.Dir()) },
		Changes: func(args []string) []string { return g.gitChanges(at, args) },
	}
}

// safeGit looks anew each time, which takes some milliseconds: a file
// that was written since by any process, of ours or not, can make a repository another one.
func (g *guard) safeGit(cwd string) bool {
	harmful, err := workspace.HarmfulConfig(g.ctx(), cwd, g.app.env.Environ)
	return err == nil && len(harmful) == 0
}

// gitChanges lists protected files that git would change. If git cannot be asked, nothing is known
// to be changed, and the sandbox holds
// what is protected.
func (g *guard) gitChanges(at session.Place, args []string) []string {
	gr, err := g.folder(at)
	if err != nil {
		return nil
	}
	if args != nil && len(args) == 0 && g.box.Support(g.ctx()).Notify {
		return nil // it is seen as it starts
	}
	names, _, err := workspace.Changes(g.ctx(), at.Dir(), "", g.app.env.Environ, args)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(names, func(name string) bool {
		_, covered := gr.protected.Covers(name)
		return !covered
	})
}

// starts lists the files that git would change which is about to start, if they can all be told. An alias is
// looked up; what it has a shell run starts git again.
func (g *guard) starts(dir, input string, argv, environ []string) []string {
	const maxAliases = 4 // one of another, and so on
	for _, kv := range environ {
		if tree, ok := strings.CutPrefix(kv, "GIT_WORK_TREE="); ok { // git says so to one that it starts itself
			dir = absolute([]string{tree}, dir, g.app.dirs.Home)[0]
		}
	}
	words := command.Words(argv[1:])
	for range maxAliases {
		folder, args, changes := command.GitChangesTree(words)
		if args == nil {
			return nil
		}
		dir = absolute([]string{folder}, dir, g.app.dirs.Home)[0]
		if changes {
			names, known, err := workspace.Changes(g.ctx(), dir, input, g.app.env.Environ, args)
			if !known || err != nil {
				return nil
			}
			return names
		}
		if command.GitReads(args[0]) {
			return nil
		}
		meant := workspace.Alias(g.ctx(), dir, g.app.env.Environ, args[0])
		if len(meant) == 0 {
			return nil
		}
		words = command.Words(append(meant, args[1:]...))
	}
	return nil
}

func (g *guard) folder(at session.Place) (*folder, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if gr, ok := g.folders[at]; ok {
		return gr, nil
	}
	p, err := g.app.policyOf(at.Cwd)
	if err != nil {
		return nil, err
	}
	run, err := p.hookFiles(g.app, at.Cwd)
	if err != nil {
		return nil, err
	}
	return g.take(at, p, run), nil
}

// forget lets go of a place in which no session works any more.
func (g *guard) forget(at session.Place) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.folders, at)
	if f := g.finders[at.Work.Top]; f != nil && at.Work.Kind.Made() {
		delete(g.finders, at.Work.Top)
		if err := f.Close(); err != nil {
			g.app.env.Log.Warn("watches for hidden files", "folder", at.Work.Top, "err", err)
		}
	}
}

// mostIdle is how many folders are kept in which no tree of this process works any more: some 300 KB each.
const mostIdle = 32

// trim lets go of folders in which no tree works, but for those that were taken up last: the next run may be in one
// of them, or about to begin there.
func (g *guard) trim(used map[string]bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var closed []error
	looked := make(map[string]bool) // by the folders that stay
	for at, gr := range g.folders {
		if !used[at.Cwd] && gr.no <= g.taken-mostIdle {
			delete(g.folders, at)
			continue
		}
		looked[gr.hidden.Project()], looked[gr.own.Project()] = true, true
		looked[at.Work.Of], looked[at.Work.Top] = true, true
	}
	for dir, f := range g.finders {
		if !looked[dir] && len(g.finders) > mostIdle {
			delete(g.finders, dir)
			closed = append(closed, f.Close())
		}
	}
	if err := errors.Join(closed...); err != nil {
		g.app.env.Log.Warn("watches for hidden files", "err", err)
	}
}

// meet takes up a folder, unless it is known, as a run that begins there has found it: its policy, and the files that
// hooks name. With g.mu held, take does.
func (g *guard) meet(cwd string, p *policy, run []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at := (session.Place{Cwd: cwd}); g.folders[at] == nil {
		g.take(at, p, run)
	}
}

func (g *guard) take(at session.Place, p *policy, run []string) *folder {
	g.taken++
	gr := &folder{at: at, policy: p, hidden: p.all.Hidden(), no: g.taken}
	if w := at.Work; w.Kind.Made() {
		gr.own = p.all.HiddenIn(w.Top, gr.hidden.Project()) // however many folders it was made through
		gr.others = []string{gr.hidden.Project(), g.app.dirs.Worktrees}
	}
	gr.tenant = tenantOf(g.app, p, at.Cwd)
	gr.beyond = func(path string) string { return outsideServer(g, gr, path) }
	gr.protected = config.Protect(gr.folders(), g.app.dirs, p.settings.Sandbox.DenyWrite, run...)
	g.folders[at] = gr
	return gr
}

// closed says why nothing writes a path, whatever is allowed; "" if nothing keeps it.
func (gr *folder) closed(path string) (why string) {
	if w := gr.at.Work; w.Foreign(path) {
		if w.Kind == troupe.WorkspaceReadOnly {
			return "the agent was given its folder to read only"
		}
		return "it belongs to the tree that the agent works beside; its own folder is " + w.Folder
	} else if w.Kind.Made() && !troupe.Within(path, w.Top) && slices.ContainsFunc(gr.others, func(dir string) bool {
		return dir != "" && troupe.Within(path, dir)
	}) {
		return "it belongs to the project or to another agent; the agent's own folder is " + w.Folder
	}
	return cmp.Or(gr.protected.Denied(path), gr.beyond(path))
}

// matches says why a path may not be read, in the project and in the folders of agents alike.
func (gr *folder) matches(g *guard, path string) (why string, hidden bool) {
	return gr.hiddenFor(g, path).Covers(path)
}

// coversIn is covers for the entries of a folder.
func (gr *folder) coversIn(g *guard, dir string) func(name string) bool {
	return gr.hiddenFor(g, dir).In(dir)
}

// Resolve implements session.Guard.
func (g *guard) Resolve(path string) string { return tool.Resolve(path) }

// Hidden implements session.Guard.
func (g *guard) Hidden(at session.Place) session.Hidden {
	gr, err := g.folder(at)
	if err != nil {
		return session.Hidden{
			Path: func(string) (string, bool) { return "what may be read here is not known: " + err.Error(), true },
			In:   func(string) func(string) bool { return func(string) bool { return true } },
		}
	}
	out := session.Hidden{Path: func(path string) (string, bool) { return gr.matches(g, path) },
		In: func(dir string) func(string) bool { return gr.coversIn(g, dir) }}
	if gr.tenant != nil {
		out.Bound = bounding(g, gr)
	}
	return out
}

// hiddenAt is what nobody's agents read in a folder, whichever session they are of.
func hiddenAt(g *guard, cwd string) session.Hidden {
	return g.Hidden(session.Place{Cwd: cwd}).For(troupe.Session{Cwd: cwd}, nil)
}

// folders are those that the sessions of a place may work in. One that was made for a session is all that it has.
func (gr *folder) folders() []string {
	if gr.at.Work.Kind.Made() {
		return []string{gr.at.Work.Top}
	}
	return append([]string{gr.at.Cwd}, gr.policy.all.Directories(gr.policy.trusted())...)
}

// Confine implements session.Guard.
func (g *guard) Confine(ctx context.Context, c session.Confine) (*troupe.Confinement, []string, error) {
	gr, err := g.folder(session.PlaceOf(c.Session))
	if err != nil {
		return nil, nil, err
	}
	temp, err := g.tempFor(c.Session)
	if err != nil {
		return nil, nil, err
	}
	c.Granted = stillToMake(c)
	s := gr.policy.settings.Sandbox.Without(slices.DeleteFunc(c.Unreached,
		func(h string) bool { return !proxy.Knows(h) }))
	out := &troupe.Confinement{Level: c.Level, Temp: temp, Bounds: s.Limits.Bounds()}
	// tmux puts its socket into /tmp whatever TMPDIR says, where the user's own server has one.
	environ := append(sandbox.Environment(sandbox.Quiet()), "TMPDIR="+temp, "TMUX_TMPDIR="+temp)
	environ = append(environ, gr.tenant.environ(c)...)
	out.Scratch, out.Fixed = g.caches(gr, c, environ)
	out.Writable, out.Granted = g.writable(gr, c)
	out.Scratchpad = c.Scratchpad
	out.Fixed = append(out.Fixed, g.workspace(gr)...)
	reach := g.reach
	switch c.Level {
	case troupe.LevelGranted:
		reach = g.reachGranted
	case troupe.LevelWorkspace:
	default:
		c.Reach = false
	}
	more, err := reach(c, s, out)
	if err != nil {
		return nil, nil, err
	}
	environ = append(environ, more...)
	if n := out.Network; !n.All && n.Proxy == 0 && len(n.Ports)+len(n.Addresses)+len(n.Listens) == 0 {
		environ = append(environ, sandbox.Environment(sandbox.Offline())...)
	}
	g.protect(gr, c, out)
	hidden, err := g.hide(ctx, gr, c)
	out.Hidden = slices.Concat(hidden, g.otherTemps(c.Session))
	rooms(g, c, out)
	if gr.tenant != nil {
		keepTo(g, gr, c, out)
	}
	return out, environ, err
}

// caches are the folders of build caches that a command may write, and the names of all that there are.
func (g *guard) caches(gr *folder, c session.Confine, environ []string) (folders, named []string) {
	kept, _ := config.Environment(g.app.env.Environ, gr.policy.settings)
	kept = append(environ[:len(environ):len(environ)], kept...) // of two with one name the first counts here
	for _, cache := range gr.policy.all.Caches(kept, runtime.GOOS) {
		if t := gr.tenant; t != nil && !troupe.Within(cache.Folder, t.caches) {
			continue // it is no project's
		}
		named = append(named, cache.Named)
		dir := g.leads(cache.Named, func() string { return cache.Folder })
		// What was fetched and will be run is written only by who may fetch.
		if !cache.Fetched || c.Reach {
			if cache.Missing && !g.makes(dir) {
				continue // then the tool says so
			}
			folders = append(folders, dir)
		}
	}
	if t := gr.tenant; t != nil {
		if t.caches != "" && c.Reach {
			folders = append(folders, filepath.Join(t.caches, "xdg"))
		}
		return folders, named
	}
	return folders, append(named, gr.policy.all.CachesToCome(kept, runtime.GOOS)...)
}

// leads is where a folder led when it was first looked at. A link of the user's own is followed then; what has
// become one since, or leads elsewhere, a command may have made, and is not.
func (g *guard) leads(named string, look func() string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if first, ok := g.led[named]; ok {
		return first
	}
	first := look()
	g.led[named] = first
	return first
}

// makes reports whether a cache that is not there can be written: a command that a listener watches makes it if
// it needs it; for others it is made.
func (g *guard) makes(cache string) bool {
	return g.box.Support(g.ctx()).Notify || os.MkdirAll(cache, 0o700) == nil
}

// otherOutputs are the large outputs of all sessions but one, which that one's tools do not read either.
func (g *guard) otherOutputs(id troupe.SessionID) []string {
	own, all := g.app.outputDir(id), g.app.dirs.Outputs()
	if _, err := os.Lstat(own); err != nil {
		return []string{all}
	}
	entries, err := os.ReadDir(all)
	if err != nil {
		return []string{all} // nor can a command list it
	}
	var out []string
	for _, e := range entries {
		if path := filepath.Join(all, e.Name()); path != own {
			out = append(out, path)
		}
	}
	return out
}

// reach settles what a command may connect to.
func (g *guard) reach(c session.Confine, s config.Sandbox, out *troupe.Confinement) ([]string, error) {
	switch {
	case s.Offline || !c.Reach:
		return nil, nil
	case len(s.AllowedHosts) > 0 && !slices.Contains(s.AllowedHosts, "*"), len(s.DeniedHosts) > 0:
		p, err := g.proxy(s)
		if err != nil {
			return nil, err
		}
		out.Network.Proxy = p.Port()
		return p.Environ(), nil
	case len(s.AllowedPorts) > 0:
		out.Network.Ports = s.AllowedPorts
		if slices.Contains(s.AllowedPorts, 53) {
			// The kernel knows ports of TCP alone; a socket for datagrams would reach every port.
			return []string{"RES_OPTIONS=use-vc"}, nil
		}
	default:
		out.Network.All = true
	}
	return nil, nil
}

// reachGranted settles what a command may connect to that got exactly what it wanted. What settings keep
// from everybody a yes does not open; and a yes to an address opens no host that settings name.
func (g *guard) reachGranted(c session.Confine, s config.Sandbox, out *troupe.Confinement) ([]string, error) {
	for _, a := range c.Granted {
		switch {
		case !a.Network(), a.AnyHost(), !leavesOpen(s, a.Path):
		case a.Op == troupe.OpListen:
			out.Network.Listens = append(out.Network.Listens, a.Path)
		default:
			out.Network.Addresses = append(out.Network.Addresses, a.Path)
		}
	}
	if c.Reach {
		return g.reach(c, s, out)
	}
	return nil, nil
}

// leavesOpen reports whether settings let an address be reached. A socket of this machine is no host.
func leavesOpen(s config.Sandbox, address string) bool {
	at, err := netip.ParseAddrPort(address)
	switch {
	case s.Offline:
		return false
	case err != nil:
		return true
	case len(s.AllowedPorts) > 0 && !slices.Contains(s.AllowedPorts, int(at.Port())):
		return false
	case len(s.DeniedHosts) == 0 && (len(s.AllowedHosts) == 0 || slices.Contains(s.AllowedHosts, "*")):
		return true
	default:
		return proxy.Options{Allow: s.AllowedHosts, Deny: s.DeniedHosts}.Lists(at)
	}
}

// proxy is the one for these hosts. All commands that may reach the same share it.
func (g *guard) proxy(s config.Sandbox) (*proxy.Proxy, error) {
	key := strings.Join(s.AllowedHosts, ",") + "!" + strings.Join(s.DeniedHosts, ",")
	g.mu.Lock()
	defer g.mu.Unlock()
	if p, ok := g.proxies[key]; ok {
		return p, nil
	}
	p, err := proxy.Start(g.ctx(), proxy.Options{Allow: s.AllowedHosts, Deny: s.DeniedHosts})
	if err != nil {
		return nil, fmt.Errorf("start the proxy for commands: %w", err)
	}
	g.proxies[key] = p
	return p, nil
}

// absolute resolves paths as settings write them.
func absolute(list []string, cwd, home string) []string {
	var out []string
	for _, p := range list {
		switch {
		case p == "~" || strings.HasPrefix(p, "~/"):
			p = filepath.Join(home, strings.TrimPrefix(p, "~"))
		case !filepath.IsAbs(p):
			p = filepath.Join(cwd, p)
		}
		out = append(out, filepath.Clean(p))
	}
	return out
}
